//! RMSNorm (Zhang and Sennrich, 2019, <https://arxiv.org/abs/1910.07467>), and LayerNorm without a bias (Ba et al., 2016,
//! <https://arxiv.org/abs/1607.06450>).

use weft_ir::NodeId;

use crate::error::Error;
use crate::segment::SegmentBuilder;

/// `x · w / √(mean(x²) + ε)` along one axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Norm {
    /// ε, above zero.
    pub(crate) eps: f32,
    /// Whether the mean of `x` is subtracted first, which makes it a LayerNorm.
    pub(crate) centred: bool,
}

impl Norm {
    /// RMSNorm with this ε.
    pub(crate) fn rms(eps: f32) -> Norm {
        Norm { eps, centred: false }
    }

    /// Norms `x` along its last axis, which is `axis` and has `width` values, and multiplies by the tensor `weight`.
    pub(crate) fn build(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        weight: &str,
        axis: usize,
        width: usize,
    ) -> Result<NodeId, Error> {
        let weight = s.vector(weight, width)?;
        let unit = self.unit(s, x, axis, width);
        Ok(s.g.mul(unit, weight))
    }

    /// Norms `x` along its last axis, which is `axis` and has `width` values, without weights.
    pub(crate) fn unit(&self, s: &mut SegmentBuilder<'_>, x: NodeId, axis: usize, width: usize) -> NodeId {
        let x = match self.centred {
            true => {
                let sum = s.g.reduce_sum(x, axis);
                let count = s.g.scalar(width as f32);
                let mean = s.g.div(sum, count);
                s.g.sub(x, mean)
            }
            false => x,
        };
        let scale = self.factor(s, x, axis, width);
        s.g.mul(x, scale)
    }

    /// `1 / √(mean(x²) + ε)` along its last axis, which is `axis` and has `width` values.
    pub(crate) fn factor(&self, s: &mut SegmentBuilder<'_>, x: NodeId, axis: usize, width: usize) -> NodeId {
        let g = &mut s.g;
        let squares = g.mul(x, x);
        let sum = g.reduce_sum(squares, axis);
        let count = g.scalar(width as f32);
        let mean = g.div(sum, count);
        let eps = g.scalar(self.eps);
        let above_zero = g.add(mean, eps);
        g.rsqrt(above_zero)
    }
}
