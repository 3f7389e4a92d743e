//! Grouped-query attention whose values are normed, and may be the keys, or those of another layer.

use weft_ir::{AttendInputs, Dim, NodeId};

use crate::blocks::{Block, Hadamard, Heads, Norm, Rope, attend_inputs, linear};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::segment::SegmentBuilder;

/// The attention of a layer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Attention {
    /// Width of the hidden state.
    pub(super) hidden: usize,
    /// The heads.
    pub(super) heads: Heads,
    /// The norm of every head of queries, keys and values. The last has no weights.
    pub(super) norm: Norm,
    /// The rotary embedding.
    pub(super) rope: Rope,
    /// How many positions a token sees at most, its own included. `None` if it sees all.
    pub(super) window: Option<usize>,
    /// Whose keys and values it reads.
    pub(super) cache: Cache,
}

/// Whose keys and values a layer reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cache {
    /// Its own.
    Own,
    /// Those of the layer with this index.
    Of(usize),
}

impl Attention {
    /// Splits `x`, `[T, count·width]`, into heads.
    fn split(&self, s: &mut SegmentBuilder<'_>, x: NodeId, count: usize) -> NodeId {
        s.g.reshape(x, [Dim::T, count.into(), self.heads.width.into()])
    }

    /// The states of keys and values, with those of the step's tokens.
    fn store(&self, s: &mut SegmentBuilder<'_>, x: NodeId, hadamard: Hadamard) -> Result<[NodeId; 2], Error> {
        let Heads { keys, width, .. } = self.heads;
        let kv_width = keys * width;
        let k = linear(s, x, "attn_k", self.hidden, kv_width)?;
        // In a file without `attn_v`, values are keys before their norm.
        let v = if s.has("attn_v.weight") { linear(s, x, "attn_v", self.hidden, kv_width)? } else { k };
        let (k, v) = (self.split(s, k, keys), self.split(s, v, keys));
        let k = self.norm.build(s, k, "attn_k_norm.weight", 2, width)?;
        let k = self.rope.apply(s, k, 3, width);
        let v = self.norm.unit(s, v, 2, width);
        let [k, v] = [("k", k), ("v", v)].map(|(name, heads)| {
            let rows = s.g.reshape(heads, [Dim::T, kv_width.into()]);
            let rows = hadamard.apply(s, rows, &[kv_width]);
            s.store(name, rows, kv_width)
        });
        Ok([k, v])
    }
}

impl Block for Attention {
    fn short_name(&self) -> &'static str {
        match (self.window, self.cache) {
            (Some(_), Cache::Own) => "swa",
            (None, Cache::Own) => "gqa",
            (Some(_), Cache::Of(_)) => "shared_swa",
            (None, Cache::Of(_)) => "shared_gqa",
        }
    }

    fn info(&self) -> BlockInfo {
        let Heads { queries, keys, width } = self.heads;
        let mut sizes = vec![("kv_heads", keys), ("head_width", width)];
        let mut summary = format!("{queries} heads of {width}, {keys} of keys and values");
        if let Some(window) = self.window {
            sizes.push(("window", window));
            summary += &format!(", over the last {window} positions");
        }
        if let Cache::Of(layer) = self.cache {
            sizes.push(("cache_of", layer));
            summary += &format!(", which are those of layer {layer}");
        }
        BlockInfo { kind: "grouped", sizes, summary }
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Heads { queries, keys, width } = self.heads;
        let (q_width, kv_width) = (queries * width, keys * width);
        s.check_blocks(width)?;
        let hadamard = Hadamard::new(s, &[width]);
        let q = linear(s, x, "attn_q", self.hidden, q_width)?;
        let q = self.split(s, q, queries);
        let q = self.norm.build(s, q, "attn_q_norm.weight", 2, width)?;
        let q = self.rope.apply(s, q, 3, width);
        let q = hadamard.apply(s, q, &[queries, width]);
        let [k, v] = match self.cache {
            Cache::Own => self.store(s, x, hadamard)?,
            Cache::Of(layer) => ["k", "v"].map(|name| s.stored_by(layer, name, kv_width)),
        };
        let inputs = AttendInputs { window: self.window, ..attend_inputs(s, q, k, v) };
        let heads = s.g.attend(inputs, 1.0, keys, s.options.page);
        let joined = s.g.reshape(heads, [Dim::T, q_width.into()]);
        let joined = hadamard.apply(s, joined, &[q_width]);
        linear(s, joined, "attn_output", q_width, self.hidden)
    }
}
