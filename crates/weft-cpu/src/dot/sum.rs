//! Weighted sums of products.
//!
//! An output's terms are added in the order of the sum: `t₀ · w₀`, then `+ t₁ · w₁` and so on, where `tᵢ` are the products
//! with each matrix, rounded to `f32` in the order that their own module defines. Every operation is rounded.

use super::product::Sum;
use crate::isa::{Simd, Work};
use crate::rows::Fault;
use crate::thread::Thread;

/// Adds up the terms of some rows.
pub(super) struct AddTerms<'a> {
    pub(super) cx: &'a Thread<'a>,
    pub(super) sum: &'a Sum,
    pub(super) rows: &'a [usize],
    /// The terms of each row, one after the other, vectors of `stride` values.
    pub(super) terms: &'a [f32],
    /// A vector for each row.
    pub(super) out: &'a mut [f32],
    pub(super) stride: usize,
}

impl Work for AddTerms<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Result<(), Fault> {
        let AddTerms { cx, sum, rows, terms, out, stride } = self;
        let rows = rows.iter().zip(terms.chunks_exact(sum.terms * stride)).zip(out.chunks_exact_mut(stride));
        for ((row, terms), out) in rows {
            let coords = cx.space.coords(*row);
            for (i, term) in terms.chunks_exact(stride).enumerate() {
                let weight = sum.weight(cx.args, &coords, i)?;
                let pairs = out.iter_mut().zip(term);
                if i == 0 {
                    pairs.for_each(|(y, t)| *y = t * weight);
                } else {
                    pairs.for_each(|(y, t)| *y += t * weight);
                }
            }
        }
        Ok(())
    }
}
