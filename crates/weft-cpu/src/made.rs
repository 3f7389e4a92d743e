//! Rows that a prologue has computed, and where a product reads its operand: from these rows or from memory.

use weft_kern::q8;

use crate::memory::{Arg, Rounded};

/// Rows that a thread has computed for the part it runs: row `r`, of `len` values, begins at `r · len` in each plane.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Whether each row has been computed.
    pub(crate) ready: Vec<bool>,
    pub(crate) floats: Vec<f32>,
    pub(crate) quants: Vec<i8>,
    pub(crate) scales: Vec<f32>,
    pub(crate) sums: Vec<f32>,
}

/// Where a product reads its operand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Factor<'a> {
    Memory(&'a Arg),
    Made(&'a Made),
}

impl Factor<'_> {
    /// `len` floats from value `at` on.
    #[inline(always)]
    pub(crate) fn f32s(&self, at: usize, len: usize) -> Option<&[f32]> {
        match self {
            Factor::Memory(arg) => arg.f32s(at, len),
            Factor::Made(made) => made.floats.get(at..)?.get(..len),
        }
    }

    /// `len` rounded values from value `at` on, both numbers being multiples of 32.
    #[inline(always)]
    pub(crate) fn rounded(&self, at: usize, len: usize) -> Option<Rounded<'_>> {
        match self {
            Factor::Memory(arg) => arg.rounded(at, len),
            Factor::Made(made) => Some(Rounded {
                quants: made.quants.get(at..)?.get(..len)?,
                scales: made.scales.get(at / q8::BLOCK..)?.get(..len / q8::BLOCK)?,
                sums: made.sums.get(at / 16..)?.get(..len / 16)?,
            }),
        }
    }
}
