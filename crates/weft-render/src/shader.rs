//! A rendered kernel, and the bindings of its launch.
//!
//! In WGSL a launch binds group 0. Bindings 0 and 1 are *uniform* buffers, `args` and `sizes`, with the words of [`Shader::args`] and
//! [`Shader::sizes`]. `args` is written once per launch of a program, `sizes` once per step. From binding 2 on there is a storage buffer
//! for each slot: a whole buffer of the device as 32-bit words, writable if [`Shader::slots`] says so. A weight that is larger than a
//! binding is several storage buffers, one after another. In CUDA `args` and `sizes` are the first two arguments, by value, and a pointer
//! for each slot follows.
//!
//! Parameters in the same buffer share a slot: graphics APIs track whole buffers, and reject a
//! launch that binds one for reading and for writing at once.
//!
//! Every *quantised* weight is in tiles of [`weft_quant::packed`], for all uses: row `r` is row `r % 16` of tile `r / 16`, and the last
//! tile is padded to sixteen rows. Everything else has the layout of its [`Format`](weft_kern::Format). Buffers are padded to whole words.

use weft_kern::{Sizes, TextPlace};
use weft_shader::dialect::STATIC_SHARED_BYTES;
use weft_shader::grid::{Grid, SIZES};
use weft_shader::module::{Content, Memory};

/// Bytes at the beginning of scratch memory that count workgroups in CUDA: zero between launches.
pub const COUNTER_BYTES: u64 = 1 << 10;

/// Words of a vector in a uniform buffer.
const VECTOR: usize = 4;

/// A rendered kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shader {
    /// The kernel's name.
    pub name: String,
    /// The text.
    pub source: String,
    /// The name of its entry point.
    pub entry: String,
    /// Whether each storage buffer that it binds is written: those of the slots, in order. A weight in several [pieces](Slots::pieces) is
    /// several buffers.
    pub slots: Vec<bool>,
    /// Invocations (lanes) of a workgroup; CUDA's threads of a block.
    pub lanes: u32,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Bytes of scratch memory that the kernel's shaders share at the largest sizes, in a slot
    /// after the kernel's own; 0 if there is none. In CUDA the first [`COUNTER_BYTES`] of it are zero
    /// before the first launch; shaders leave them so.
    pub scratch_bytes: u64,
    /// The workgroups of a launch.
    pub grid: Grid,
    /// Whether its text waits for the previous launch, so that it may begin before that one has ended (CUDA's programmatic dependent
    /// launch).
    pub dependent: bool,
    /// Whether it lets the next launch begin before it has waited itself.
    pub releases_early: bool,
    /// Whether its text calls intrinsics for operations on cooperative matrices that WGSL cannot express. See
    /// [`Features::cooperative_values`](crate::Features::cooperative_values).
    pub needs_spirv: bool,
    /// Whether its text uses instructions of a single architecture, whose name ends with an `a` for CUDA's compiler.
    pub own_architecture: bool,
    /// The words of `sizes` that its text reads. Steps that differ only in others can share its arguments.
    pub sizes_read: [bool; 4],
    /// Its uses of memory that matter to a [chain](crate::Chain).
    pub memory: Memory,
    /// The place of a user-supplied text. Nothing is known of such a text, so it is compiled with all checks of its compiler.
    pub given: Option<TextPlace>,
}

impl Shader {
    /// The words of `args` for a launch with these regions (byte offset within the slot, number of
    /// values), one for each parameter of the kernel; there are [`args_words`] of them. `None` if a
    /// region is beyond the range of 32 bits.
    pub fn args(regions: impl IntoIterator<Item = (usize, usize)>) -> Option<Vec<u32>> {
        let mut words = Vec::new();
        let mut params = 0;
        for (offset, values) in regions {
            words.push(u32::try_from(offset / 4).ok()?);
            words.push(u32::try_from(values).ok()?);
            params += 1;
        }
        words.resize(args_words(params), 0);
        Some(words)
    }

    /// Bytes of dynamic shared memory for its launch in CUDA: all of its workgroup memory, or none.
    pub const fn dynamic_bytes(&self) -> u32 {
        if self.shared_bytes > STATIC_SHARED_BYTES { self.shared_bytes } else { 0 }
    }

    /// The words of `sizes` for a step.
    pub fn sizes(sizes: &Sizes) -> [u32; 4] {
        SIZES.map(|sym| u32::try_from(sizes.get(sym)).unwrap_or(u32::MAX))
    }
}

/// Words of `args` for a kernel of `params` parameters: the first word and the number of values of
/// each; a multiple of four, and at least four.
pub const fn args_words(params: usize) -> usize {
    let words = (2 * params).next_multiple_of(VECTOR);
    if words == 0 { VECTOR } else { words }
}

/// The bindings of the arguments of a launch. Arguments in one buffer share a slot, except [`Content::Stable`] ones, which have a slot of
/// their own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Slots {
    /// The slot of each argument; slots are numbered from 0 without a gap.
    pub of: Vec<usize>,
    /// What each slot holds.
    pub contents: Vec<Content>,
    /// The pieces of each slot: one, unless it holds a weight larger than [`Gpu::piece_bytes`](crate::Gpu::piece_bytes).
    pub pieces: Vec<u32>,
    /// Whether the launch [releases the next one early](crate::releases_early).
    pub releases_early: bool,
}

impl Slots {
    /// The slots of arguments in these buffers, and the buffer of each slot.
    pub fn new<B: PartialEq>(buffers: impl IntoIterator<Item = (B, Content)>) -> (Slots, Vec<B>) {
        let (mut slots, mut distinct) = (Slots::default(), Vec::new());
        for (buffer, content) in buffers {
            let stable = content == Content::Stable;
            let same =
                |(known, other): (&B, &Content)| *known == buffer && (*other == Content::Stable) == stable;
            let slot = distinct.iter().zip(&slots.contents).position(same).unwrap_or_else(|| {
                distinct.push(buffer);
                slots.contents.push(content);
                distinct.len() - 1
            });
            slots.of.push(slot);
            // A buffer is a weight only if all of its arguments are.
            slots.contents[slot] = slots.contents[slot].max(content);
        }
        slots.pieces = vec![1; distinct.len()];
        (slots, distinct)
    }

    /// The slots of arguments in these buffers, without weights.
    pub fn without_weights<B: PartialEq>(buffers: impl IntoIterator<Item = B>) -> Slots {
        Slots::new(buffers.into_iter().map(|buffer| (buffer, Content::Open))).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_one_buffer_share_a_slot() {
        use Content::{Open, Stable, Weight};

        let content = |buffer| if buffer == 3 { Weight } else { Open };
        let (slots, buffers) = Slots::new([7, 3, 7, 9, 3].map(|buffer| (buffer, content(buffer))));
        assert_eq!((slots.of, slots.contents), (vec![0, 1, 0, 2, 1], vec![Open, Weight, Open]));
        assert_eq!(buffers, [7, 3, 9]);
        let (slots, buffers) = Slots::new([(7, Open), (7, Stable), (3, Weight), (7, Stable), (3, Open)]);
        assert_eq!((slots.of, slots.contents), (vec![0, 1, 2, 1, 2], vec![Open, Stable, Open]));
        assert_eq!(buffers, [7, 7, 3]);
        assert_eq!(Slots::without_weights([0; 0]), Slots::default());
    }
}
