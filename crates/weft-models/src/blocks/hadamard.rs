//! The Hadamard rotation of what a quantised cache stores.
//!
//! A few of a head's values are often much larger than the others, and the values of a block of 8, 5 or 4 bits share one scale.
//! Multiplied by an orthonormal Hadamard matrix, every value becomes a sum of all of them with changing signs, so that none stands out.
//! Queries are multiplied by the same matrix, which leaves their products with keys as they are; sums of values are multiplied by it once
//! more, which undoes it, since the matrix is its own inverse. (Ashkboos et al., *QuaRot*, 2024, <https://arxiv.org/abs/2404.00456>,
//! section 4. llama.cpp does the same.)

use weft_ir::{Dim, NodeId, Shape};

use crate::segment::SegmentBuilder;

/// The largest matrix: 64 products a value.
const MOST: usize = 64;

/// Multiplies blocks of values by a Hadamard matrix, if the cache is quantised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hadamard {
    /// The matrix, and its number of rows.
    matrix: Option<(NodeId, usize)>,
}

impl Hadamard {
    /// For heads whose widths are `widths`: no block may lie in two heads.
    pub(crate) fn new(s: &mut SegmentBuilder<'_>, widths: &[usize]) -> Hadamard {
        let fits = |n: &usize| widths.iter().all(|width| width.is_multiple_of(*n));
        let mut sizes = std::iter::successors(Some(MOST), |n| Some(n / 2)).take_while(|n| *n > 1);
        let size = if s.options.kv.is_quantised() { sizes.find(fits) } else { None };
        Hadamard { matrix: size.map(|n| (s.g.hadamard(n), n)) }
    }

    /// Multiplies `x`, whose axes after the first are `axes`.
    pub(crate) fn apply(self, s: &mut SegmentBuilder<'_>, x: NodeId, axes: &[usize]) -> NodeId {
        let Some((matrix, n)) = self.matrix else { return x };
        let blocks = axes.iter().product::<usize>() / n;
        let cut = s.g.reshape(x, [Dim::T, blocks.into(), n.into()]);
        let rotated = s.g.dot(cut, matrix);
        let whole: Vec<Dim> = std::iter::once(Dim::T).chain(axes.iter().map(|n| Dim::Const(*n))).collect();
        s.g.reshape(rotated, Shape::new(whole))
    }
}
