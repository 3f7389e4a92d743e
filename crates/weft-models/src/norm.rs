//! RMSNorm.

use weft_ir::NodeId;

use crate::error::Error;
use crate::segment::SegmentBuilder;

/// `x · w / √(mean(x²) + ε)` along the last axis of `x`, `[T, width]` (Zhang and Sennrich, 2019,
/// <https://arxiv.org/abs/1910.07467>).
pub(crate) fn rms_norm(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    weight: &str,
    width: usize,
    eps: f32,
) -> Result<NodeId, Error> {
    let weight = s.vector(weight, width)?;
    let g = &mut s.g;
    let squares = g.mul(x, x);
    let sum = g.reduce_sum(squares, 1);
    let count = g.scalar(width as f32);
    let mean = g.div(sum, count);
    let eps = g.scalar(eps);
    let above_zero = g.add(mean, eps);
    let scale = g.rsqrt(above_zero);
    let unit = g.mul(x, scale);
    Ok(g.mul(unit, weight))
}
