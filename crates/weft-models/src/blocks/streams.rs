//! Hyper-connections between residual streams (Xie et al., *mHC: Manifold-Constrained Hyper-Connections*, 2025,
//! <https://arxiv.org/abs/2512.24880>).
//!
//! The residual is four streams, which all begin as the embedding. A branch reads a weighted sum of them, and what it returns is added to
//! each with another weight, after the streams were mixed by a matrix whose rows and columns add up to about 1:
//!
//! ```text
//! m = fn · rms_norm(all streams)                                24 values a token
//! before_h = sigmoid(m_h · scale_0 + base_h) + ε                after_h = 2 · sigmoid(m_(4+h) · scale_1 + base_(4+h))
//! mix_(d,s) = sinkhorn(m_(8+d+4s) · scale_2 + base_(8+d+4s))    from stream s to stream d
//! y = branch(norm(Σ_h before_h · x_h))                          x'_d = after_d · y + Σ_s mix_(d,s) · x_s
//! ```
//!
//! Sinkhorn's iteration begins with a softmax over d, to which ε is added, and divides in turn by the sums over s and over d, each with ε;
//! the last division is by the sums over s. All 24 values of a token are scalars of one row program, and so are the iterations: it also
//! computes what the branch reads, and the mixed streams, to which the branch's last product adds its result.

use weft_ir::{Dim, NodeId};

use super::{Block, Norm};
use crate::error::Error;
use crate::keys::Keys;
use crate::segment::SegmentBuilder;

/// The number of streams.
pub(crate) const STREAMS: usize = 4;

/// The values of a token: a weight of each stream before a branch, one after it, and a matrix.
const VALUES: usize = (2 + STREAMS) * STREAMS;

/// The most iterations. (Published models have 20.)
const MAX_ITERATIONS: usize = 64;

/// The residual streams of a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Streams {
    /// Iterations of Sinkhorn's algorithm, at least one.
    iterations: usize,
    /// ε of the weights and of the sums that are divided by.
    eps: f32,
}

/// A token's weights of a branch, each `[T, 1]`.
struct Weights {
    before: [NodeId; STREAMS],
    after: [NodeId; STREAMS],
    /// By target and source.
    mix: [[NodeId; STREAMS]; STREAMS],
}

impl Streams {
    /// Reads the keys `hyper_connection.*`.
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Streams, Error> {
        const COUNT: &str = "hyper_connection.count";
        let count = keys.number(COUNT, 1..=usize::from(u16::MAX))?;
        if count != STREAMS {
            return Err(keys.unsupported(COUNT, count, format!("it can only be {STREAMS}")));
        }
        let iterations = keys.number("hyper_connection.sinkhorn_iterations", 1..=MAX_ITERATIONS)?;
        Ok(Streams { iterations, eps: keys.positive("hyper_connection.epsilon")? })
    }

    /// The width of all streams of so many values.
    pub(crate) fn width(of: Option<Streams>, hidden: usize) -> usize {
        of.map_or(hidden, |_| STREAMS * hidden)
    }

    /// All streams of an embedding, `[T, 4 · hidden]`.
    pub(crate) fn of_embedding(s: &mut SegmentBuilder<'_>, x: NodeId) -> NodeId {
        s.g.concat(&[x; STREAMS], 1)
    }

    /// The mean of the streams of `x`, `[R, hidden]`.
    pub(crate) fn mean(s: &mut SegmentBuilder<'_>, x: NodeId, hidden: usize) -> NodeId {
        let streams = parts(s, x, hidden);
        let sum = sum(s, streams);
        let share = s.g.scalar(1.0 / STREAMS as f32);
        s.g.mul(sum, share)
    }

    /// The streams of `x`, `[T, 4 · hidden]`, after a branch, whose tensors begin with `hc_{which}_` and whose norm is `norm`.
    pub(crate) fn around(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        (which, norm): (&str, &str),
        (of, hidden): (Norm, usize),
        branch: &dyn Block,
    ) -> Result<NodeId, Error> {
        let weights = self.weights(s, x, which, (of, hidden))?;
        let streams = parts(s, x, hidden);
        let read = weighted(s, streams, weights.before);
        let read = of.build(s, read, norm, 1, hidden)?;
        let mixed = weights.mix.map(|mix| weighted(s, streams, mix));
        let y = branch.build(s, read)?;
        let mut next = mixed;
        for (stream, after) in next.iter_mut().zip(weights.after) {
            let own = s.g.mul(y, after);
            *stream = s.g.add(own, *stream);
        }
        Ok(s.g.concat(&next, 1))
    }

    fn weights(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        which: &str,
        (norm, hidden): (Norm, usize),
    ) -> Result<Weights, Error> {
        let width = STREAMS * hidden;
        let name = |tensor: &str| format!("hc_{which}_{tensor}.weight");
        let matrix = s.matrix(&name("fn"), &[VALUES, width])?;
        let base = s.vector(&name("base"), VALUES)?;
        let scale = s.vector(&name("scale"), 3)?;
        let values = s.g.dot(x, matrix);
        // All values of the row program begin with the factor of the norm, which makes them one program.
        let factor = norm.factor(s, x, 1, width);
        // Groups of values, not columns of a product, which would become 24 products.
        let groups = [Dim::T, (VALUES / STREAMS).into(), STREAMS.into()];
        let groups = s.g.reshape(values, groups);
        let value = |s: &mut SegmentBuilder<'_>, at: usize, kind: usize| {
            let own = s.g.slice(groups, 1, at / STREAMS, 1);
            let own = s.g.slice(own, 2, at % STREAMS, 1);
            let own = s.g.reshape(own, [Dim::T, 1.into()]);
            let (scale, base) = (s.g.slice(scale, 0, kind, 1), s.g.slice(base, 0, at, 1));
            let own = s.g.mul(own, factor);
            let scaled = s.g.mul(own, scale);
            s.g.add(scaled, base)
        };
        let [eps, two] = [self.eps, 2.0].map(|n| s.g.scalar(n));
        let before = std::array::from_fn(|h| {
            let value = value(s, h, 0);
            let share = s.g.sigmoid(value);
            s.g.add(share, eps)
        });
        let after = std::array::from_fn(|h| {
            let value = value(s, STREAMS + h, 1);
            let share = s.g.sigmoid(value);
            s.g.mul(share, two)
        });
        let place = |target: usize, source: usize| 2 * STREAMS + target + STREAMS * source;
        let raw =
            std::array::from_fn(|target| std::array::from_fn(|source| value(s, place(target, source), 2)));
        Ok(Weights { before, after, mix: self.sinkhorn(s, raw, eps) })
    }

    /// Sinkhorn's iteration of a matrix by target and source.
    fn sinkhorn(
        &self,
        s: &mut SegmentBuilder<'_>,
        raw: [[NodeId; STREAMS]; STREAMS],
        eps: NodeId,
    ) -> [[NodeId; STREAMS]; STREAMS] {
        // By source and target.
        let mut mix = transposed(raw).map(|of_source| {
            let top = of_source[1..].iter().fold(of_source[0], |top, value| s.g.max(top, *value));
            let powers = of_source.map(|value| {
                let below = s.g.sub(value, top);
                s.g.exp(below)
            });
            let sum = sum(s, powers);
            powers.map(|power| {
                let share = s.g.div(power, sum);
                s.g.add(share, eps)
            })
        });
        for iteration in 0..self.iterations {
            if iteration > 0 {
                mix = mix.map(|of_source| divided(s, of_source, eps));
            }
            mix = transposed(transposed(mix).map(|of_target| divided(s, of_target, eps)));
        }
        transposed(mix)
    }
}

/// The streams of `x`, each `hidden` wide.
fn parts(s: &mut SegmentBuilder<'_>, x: NodeId, hidden: usize) -> [NodeId; STREAMS] {
    std::array::from_fn(|stream| s.g.slice(x, 1, stream * hidden, hidden))
}

/// The sum in order.
fn sum(s: &mut SegmentBuilder<'_>, values: [NodeId; STREAMS]) -> NodeId {
    values[1..].iter().fold(values[0], |sum, value| s.g.add(sum, *value))
}

/// The weighted sum in order.
fn weighted(s: &mut SegmentBuilder<'_>, streams: [NodeId; STREAMS], weights: [NodeId; STREAMS]) -> NodeId {
    let products = std::array::from_fn(|i| s.g.mul(streams[i], weights[i]));
    sum(s, products)
}

/// The values divided by their sum and ε.
fn divided(s: &mut SegmentBuilder<'_>, values: [NodeId; STREAMS], eps: NodeId) -> [NodeId; STREAMS] {
    let sum = sum(s, values);
    let sum = s.g.add(sum, eps);
    values.map(|value| s.g.div(value, sum))
}

fn transposed(matrix: [[NodeId; STREAMS]; STREAMS]) -> [[NodeId; STREAMS]; STREAMS] {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix[j][i]))
}
