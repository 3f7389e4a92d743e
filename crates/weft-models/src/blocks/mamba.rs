//! Mamba-2: linear attention that forgets, with a state for each sequence (Dao and Gu, 2024, <https://arxiv.org/abs/2405.21060>).

use weft_ir::{Dim, NodeId, Recurrence};

use super::delta::MAX_TAPS;
use super::shortconv::together;
use super::{Block, Norm, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_HEADS, MAX_WIDTH};
use crate::segment::SegmentBuilder;

/// A layer of Mamba-2, after a short convolution of values, keys and queries (x, B and C in its paper).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Mamba {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// Heads of values.
    pub(crate) heads: usize,
    /// Width of a head of values.
    pub(crate) width: usize,
    /// Heads of keys and queries, which neighbouring heads of values share. Results are normed in as many parts.
    pub(crate) groups: usize,
    /// Width of a head of keys and queries.
    pub(crate) state: usize,
    /// Weights of a channel of the convolution.
    pub(crate) taps: usize,
    /// The norm of results.
    pub(crate) norm: Norm,
}

impl Mamba {
    /// Reads the keys `ssm.*`.
    pub(crate) fn read(keys: &Keys<'_>, hidden: usize, norm: Norm) -> Result<Mamba, Error> {
        const GROUPS: &str = "ssm.group_count";
        const HEADS: &str = "ssm.time_step_rank";
        const INNER: &str = "ssm.inner_size";
        let state = keys.number("ssm.state_size", 1..=MAX_HEAD_WIDTH)?;
        let groups = keys.number(GROUPS, 1..=MAX_HEADS)?;
        let heads = keys.number(HEADS, 1..=MAX_HEADS)?;
        let inner = keys.number(INNER, 1..=MAX_WIDTH)?;
        let taps = keys.number("ssm.conv_kernel", 2..=MAX_TAPS)?;
        if !heads.is_multiple_of(groups) {
            let rule = format!("it must be a multiple of {GROUPS}, {groups}");
            return Err(keys.wrong(HEADS, heads, rule));
        }
        if !inner.is_multiple_of(heads) || inner / heads > MAX_HEAD_WIDTH {
            let rule =
                format!("it must be {HEADS}, {heads}, times the width of a head, at most {MAX_HEAD_WIDTH}");
            return Err(keys.wrong(INNER, inner, rule));
        }
        Ok(Mamba { hidden, heads, width: inner / heads, groups, state, taps, norm })
    }

    /// Values, keys and queries, each `[T, heads, width]`, of `all` before its convolution.
    fn convolved(&self, s: &mut SegmentBuilder<'_>, all: NodeId) -> Result<[NodeId; 3], Error> {
        let Mamba { heads, width, groups, state, taps, .. } = *self;
        let channels = heads * width + 2 * groups * state;
        let part = together(channels);
        let x = s.g.reshape(all, [Dim::T, (channels / part).into(), part.into()]);
        let weights = s.squeezed("ssm_conv1d.weight", &[channels, taps])?;
        let convolved = s.scan("conv", Recurrence::Convolution, &[x, weights]);
        let convolved = s.g.reshape(convolved, [Dim::T, channels.into()]);
        let convolved = s.add_bias(convolved, "ssm_conv1d.bias", channels)?;
        let active = s.g.silu(convolved);
        let parts =
            [(0, heads, width), (heads * width, groups, state), (channels - groups * state, groups, state)];
        Ok(parts.map(|(start, heads, width)| {
            let part = s.g.slice(active, 1, start, heads * width);
            s.g.reshape(part, [Dim::T, heads.into(), width.into()])
        }))
    }

    /// Norms each part of `x`, `[T, inner]`, by itself.
    fn normed(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let (inner, groups) = (self.heads * self.width, self.groups);
        let part = inner / groups;
        let parts = s.g.reshape(x, [Dim::T, groups.into(), part.into()]);
        let unit = self.norm.unit(s, parts, 2, part);
        let weights = s.squeezed("ssm_norm.weight", &[groups, part])?;
        let normed = s.g.mul(unit, weights);
        Ok(s.g.reshape(normed, [Dim::T, inner.into()]))
    }
}

impl Block for Mamba {
    fn short_name(&self) -> &'static str {
        "mamba"
    }

    fn info(&self) -> BlockInfo {
        let Mamba { heads, width, groups, state, taps, .. } = *self;
        let sizes = vec![
            ("heads", heads),
            ("head_width", width),
            ("key_heads", groups),
            ("key_width", state),
            ("convolution", taps),
        ];
        let summary = format!("Mamba-2 of {heads} heads of {width}, which share {groups} of keys of {state}");
        BlockInfo { kind: "mamba", sizes, summary }
    }

    /// The last inputs of the convolution are in the state `conv`, the matrices in the state `ssm`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Mamba { hidden, heads, width, groups, state, .. } = *self;
        let inner = heads * width;
        let channels = inner + 2 * groups * state;
        let all = linear(s, x, "ssm_in", hidden, inner + channels + heads)?;
        let z = s.g.slice(all, 1, 0, inner);
        let mixed = s.g.slice(all, 1, inner, channels);
        let step = s.g.slice(all, 1, inner + channels, heads);
        let [v, k, q] = self.convolved(s, mixed)?;

        let offset = s.vector("ssm_dt.bias", heads)?;
        let step = s.g.add(step, offset);
        let step = s.g.softplus(step);
        let rate = s.squeezed("ssm_a", &[heads])?;
        let decay = s.g.mul(step, rate);
        let decay = s.g.exp(decay);
        let out = s.scan("ssm", Recurrence::Linear, &[q, k, v, decay, step]);
        let passed = s.squeezed("ssm_d", &[heads, 1])?;
        let passed = s.g.mul(v, passed);
        let out = s.g.add(out, passed);

        let out = s.g.reshape(out, [Dim::T, inner.into()]);
        let z = s.g.silu(z);
        let gated = s.g.mul(z, out);
        let normed = self.normed(s, gated)?;
        linear(s, normed, "ssm_out", inner, hidden)
    }
}
