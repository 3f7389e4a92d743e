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

use weft_kern::{Sizes, Sym};

use crate::grid::Grid;

/// Words of a vector of a uniform buffer.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_one_buffer_share_a_slot() {
        assert_eq!(slots([7, 3, 7, 9, 3]), (vec![0, 1, 0, 2, 1], vec![7, 3, 9]));
        assert_eq!(slots([0; 0]), (vec![], vec![]));
    }
}
