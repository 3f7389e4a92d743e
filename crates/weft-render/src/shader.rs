//! A kernel as text: what the renderer hands to a runtime, and what a runtime gives the text when it runs.
//!
//! A launch binds group 0. Bindings 0 and 1 are *uniform* buffers, `args` and `sizes`: what [`Shader::args`] and [`Shader::sizes`] return, the
//! first written once for each launch of a program, the second once a step. Binding `2 + slot` is a storage buffer: a whole buffer of the
//! device, seen as words. Parameters that lie in one buffer share a slot, because the graphics interfaces track buffers as wholes and refuse
//! a launch that has one bound for reading and for writing at once; a slot is bound for reading and writing if [`Shader::slots`] says it is
//! written, else for reading alone.
//!
//! Every *quantised* weight is in tiles of [`weft_quant::packed`], one after another, whatever kernels do with it: row `r` is row `r % 16` of tile
//! `r / 16`, and missing rows of the last tile are there. Everything else is laid out as its [`Format`](weft_kern::Format) says. Buffers are rounded up
//! to whole words.

use weft_kern::{Dim, Sizes, Sym};

/// Words of a vector of a uniform buffer.
const VECTOR: usize = 4;

/// A rendered kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shader {
    /// The kernel's name.
    pub name: String,
    /// The text; its entry point is called `main`.
    pub source: String,
    /// Whether a slot is written by the shader.
    pub slots: Vec<bool>,
    /// Invocations of a workgroup.
    pub lanes: u32,
    /// Bytes of workgroup memory.
    pub shared_bytes: u32,
    /// Bytes that the last slot must have at the largest sizes, if that is none of the kernel's: what a kernel's shaders tell each other. 0 if they do not.
    pub scratch_bytes: u64,
    /// How many workgroups a launch has.
    pub grid: Grid,
}

impl Shader {
    /// The words of `args` for a launch with these regions (byte offset within the slot, number of values), one for each of the kernel's parameters; `None` if one lies beyond what 32 bits can
    /// count. There are always as many, a multiple of four and at least four.
    pub fn args(&self, regions: impl IntoIterator<Item = (usize, usize)>) -> Option<Vec<u32>> {
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

    /// The words of `sizes` for a step.
    pub fn sizes(sizes: &Sizes) -> [u32; 4] {
        Sym::ALL.map(|sym| u32::try_from(sizes.get(sym)).unwrap_or(u32::MAX))
    }
}

/// Words of `args` for a kernel of `params` parameters: where each begins, in words, and how many values it has.
pub const fn args_words(params: usize) -> usize {
    let words = (2 * params).next_multiple_of(VECTOR);
    if words == 0 { VECTOR } else { words }
}

/// The slot of each of a launch's arguments, and the buffer of each slot: arguments in one buffer share one.
pub fn slots<B: PartialEq>(buffers: impl IntoIterator<Item = B>) -> (Vec<usize>, Vec<B>) {
    let mut distinct: Vec<B> = Vec::new();
    let slot = |buffer: B| {
        distinct.iter().position(|known| *known == buffer).unwrap_or_else(|| {
            distinct.push(buffer);
            distinct.len() - 1
        })
    };
    let slots = buffers.into_iter().map(slot).collect();
    (slots, distinct)
}

/// How many workgroups a launch has, by the sizes of the step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Workgroups along the first axis before the second begins.
    pub wide: u32,
    /// The parts' workgroups, one range after another.
    pub parts: Vec<Groups>,
}

/// Workgroups of a part: `⌈axis · inner / tile⌉ · times · chunks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Groups {
    /// The first axis of the part's rows.
    pub axis: Dim,
    /// What it is multiplied with.
    pub inner: u32,
    /// How many of these one workgroup takes.
    pub tile: u32,
    /// Workgroups for each such tile.
    pub times: u32,
    /// Positions are cut, and each chunk has as many.
    pub chunks: Option<Chunks>,
}

/// Positions cut into chunks: `⌈pages · page / positions⌉`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunks {
    /// Positions of a page.
    pub page: u32,
    /// Positions of a chunk.
    pub positions: u32,
}

impl Chunks {
    /// How many there are; saturates.
    pub(crate) fn count(&self, sizes: &Sizes) -> u64 {
        (sizes.pages as u64).saturating_mul(u64::from(self.page)).div_ceil(u64::from(self.positions.max(1)))
    }
}

impl Groups {
    /// How many there are; saturates.
    pub(crate) fn count(&self, sizes: &Sizes) -> u64 {
        let rows = (self.axis.eval(sizes) as u64).saturating_mul(u64::from(self.inner));
        let chunks = self.chunks.map_or(1, |chunks| chunks.count(sizes));
        rows.div_ceil(u64::from(self.tile)).saturating_mul(u64::from(self.times)).saturating_mul(chunks)
    }
}

impl Grid {
    /// Workgroups of all parts; saturates.
    pub(crate) fn all(&self, sizes: &Sizes) -> u64 {
        self.parts.iter().fold(0, |all: u64, part| all.saturating_add(part.count(sizes)))
    }

    /// Workgroups along the three axes; all 0 if there is nothing to do, and then nothing must be launched.
    ///
    /// They fit the adapter's limits for the sizes that the kernel was rendered for, and all smaller ones.
    pub fn groups(&self, sizes: &Sizes) -> [u32; 3] {
        let all = self.all(sizes);
        if all == 0 {
            return [0; 3];
        }
        let high = u32::try_from(all.div_ceil(u64::from(self.wide))).unwrap_or(u32::MAX);
        [all.min(u64::from(self.wide)) as u32, high, 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_one_buffer_share_a_slot() {
        assert_eq!(slots([7, 3, 7, 9, 3]), (vec![0, 1, 0, 2, 1], vec![7, 3, 9]));
        assert_eq!(slots([0; 0]), (vec![], vec![]));
    }

    #[test]
    fn groups_of_several_parts_fold_into_two_axes() {
        let part = |axis, inner, tile, times| Groups { axis, inner, tile, times, chunks: None };
        let grid = Grid { wide: 8, parts: vec![part(Dim::T, 3, 2, 2), part(Dim::Const(1), 1, 1, 1)] };
        let groups = |tokens| grid.groups(&Sizes { tokens, ..Sizes::default() });
        assert_eq!(groups(0), [1, 1, 1]);
        assert_eq!(groups(1), [5, 1, 1]);
        assert_eq!(groups(4), [8, 2, 1]);
        let nothing = Grid { wide: 8, parts: vec![part(Dim::T, 1, 1, 1)] };
        assert_eq!(nothing.groups(&Sizes::default()), [0; 3]);
        let chunks = Some(Chunks { page: 32, positions: 128 });
        let spread = Grid { wide: 64, parts: vec![Groups { chunks, ..part(Dim::T, 20, 4, 1) }] };
        assert_eq!(spread.groups(&Sizes { tokens: 1, pages: 9, ..Sizes::default() }), [15, 1, 1]);
    }
}
