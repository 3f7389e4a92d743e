//! Grouped-query attention (Ainslie et al., 2023, <https://arxiv.org/abs/2305.13245>).

use weft_ir::{AttendInputs, Dim, NodeId};

use super::hadamard::Hadamard;
use super::{Block, RmsNorm, Rope, Temperature, linear};
use crate::common::Common;
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_HEAD_WIDTH, MAX_HEADS};
use crate::segment::SegmentBuilder;

/// Attention in which several query heads share each key/value head.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Grouped {
    /// Width of the hidden state.
    pub(crate) hidden: usize,
    /// The heads.
    pub(crate) heads: Heads,
    /// Whether one tensor, `attn_qkv`, holds the matrices of queries, keys and values, in this order.
    pub(crate) joined: bool,
    /// QK-norm: the norm of every query head (`attn_q_norm`) and key head (`attn_k_norm`), before rotation.
    pub(crate) qk_norm: Option<RmsNorm>,
    /// The rotary embedding.
    pub(crate) rope: Rope,
    /// How rotated queries are scaled by their position, if they are.
    pub(crate) temperature: Option<Temperature>,
    /// Factor applied to scores before the softmax.
    pub(crate) scale: f32,
    /// How many positions a token sees at most, its own included. `None` if it sees all.
    pub(crate) window: Option<usize>,
    /// Whether the softmax of each head has a further score, `attn_sinks`, which has no value.
    pub(crate) sinks: bool,
    /// Whether each head's result is multiplied by the sigmoid of a gate. `attn_q` has a head's gate after its query.
    pub(crate) gated: bool,
}

/// The number and width of heads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Heads {
    /// Query heads.
    pub(crate) queries: usize,
    /// Key/value heads. Divides `queries`.
    pub(crate) keys: usize,
    /// Width of a head, the same for queries, keys and values.
    pub(crate) width: usize,
}

impl Heads {
    /// Reads `attention.head_count_kv`, by default the number of query heads, and `attention.key_length`, by default the
    /// width of the hidden state divided by the number of query heads.
    pub(crate) fn read(keys: &Keys<'_>, common: &Common) -> Result<Heads, Error> {
        let queries = common.heads;
        let shared = keys.number_opt("attention.head_count_kv", 1..=MAX_HEADS)?.unwrap_or(queries);
        if !queries.is_multiple_of(shared) {
            let rule = format!("it must divide attention.head_count, {queries}");
            return Err(keys.wrong("attention.head_count_kv", shared, rule));
        }
        Ok(Heads { queries, keys: shared, width: head_width(keys, common.hidden, queries)? })
    }

    /// The number of values of a head that are rotated: `rope.dimension_count`, by default all.
    pub(crate) fn rotated(&self, keys: &Keys<'_>) -> Result<usize, Error> {
        let rotated = keys.number_opt("rope.dimension_count", 2..=self.width)?.unwrap_or(self.width);
        if !rotated.is_multiple_of(2) {
            return Err(keys.wrong("rope.dimension_count", rotated, "it must be even"));
        }
        Ok(rotated)
    }

    /// The usual scale, for families that read no key for it.
    ///
    /// # Errors
    ///
    /// If the file asks for another.
    pub(crate) fn only_scale(&self, keys: &Keys<'_>) -> Result<f32, Error> {
        only_scale(keys, self.scale(), "1/√key_length")
    }

    /// The usual scale, 1/√width.
    pub(crate) fn scale(&self) -> f32 {
        (1.0 / (self.width as f64).sqrt()) as f32
    }
}

/// The scale of a family that reads no key for it, with what it is.
///
/// # Errors
///
/// If the file asks for another.
pub(crate) fn only_scale(keys: &Keys<'_>, scale: f32, what: &str) -> Result<f32, Error> {
    const SCALE: &str = "attention.scale";
    match keys.f32(SCALE)? {
        Some(other) if other != 0.0 && other != scale => {
            Err(keys.unsupported(SCALE, other, format!("it can only be {scale}, {what}")))
        }
        _ => Ok(scale),
    }
}

/// Reads the width of a head.
fn head_width(keys: &Keys<'_>, hidden: usize, heads: usize) -> Result<usize, Error> {
    const KEY: &str = "attention.key_length";
    const VALUE: &str = "attention.value_length";
    let key = match keys.number_opt(KEY, 2..=MAX_HEAD_WIDTH)? {
        Some(key) => key,
        None => {
            let width = hidden / heads;
            if !hidden.is_multiple_of(heads) || !(2..=MAX_HEAD_WIDTH).contains(&width) {
                let rule = format!("without {KEY}, it must divide embedding_length, {hidden}");
                return Err(keys.wrong("attention.head_count", heads, rule));
            }
            width
        }
    };
    match keys.number_opt(VALUE, 1..=MAX_HEAD_WIDTH)? {
        Some(value) if value != key => {
            let architecture = keys.architecture;
            let supported = format!("for `{architecture}`, it must equal attention.key_length, {key}");
            Err(keys.unsupported(VALUE, value, supported))
        }
        _ => Ok(key),
    }
}

impl Grouped {
    /// Queries, `[T, heads·width]`, and keys and values, `[T, keys·width]` each. Gated queries are `[T, heads, 2·width]`, with the
    /// gate of each head after its query.
    fn project(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<[NodeId; 3], Error> {
        let Heads { queries, keys, width } = self.heads;
        let (q, kv) = (queries * width, keys * width);
        if self.joined {
            let all = linear(s, x, "attn_qkv", self.hidden, q + 2 * kv)?;
            return Ok([(0, q), (q, kv), (q + kv, kv)].map(|(start, len)| s.g.slice(all, 1, start, len)));
        }
        if self.gated {
            let both = linear(s, x, "attn_q", self.hidden, 2 * q)?;
            return Ok([
                s.g.reshape(both, [Dim::T, queries.into(), (2 * width).into()]),
                linear(s, x, "attn_k", self.hidden, kv)?,
                linear(s, x, "attn_v", self.hidden, kv)?,
            ]);
        }
        Ok([
            linear(s, x, "attn_q", self.hidden, q)?,
            linear(s, x, "attn_k", self.hidden, kv)?,
            linear(s, x, "attn_v", self.hidden, kv)?,
        ])
    }

    /// Splits `x`, `[T, count·width]` or `[T, count, width]`, into heads, norms them if there is a QK-norm, and rotates them. Returns
    /// `[T, count, width]`.
    fn heads(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        count: usize,
        norm: &str,
    ) -> Result<NodeId, Error> {
        let width = self.heads.width;
        let mut heads = match self.gated && count == self.heads.queries {
            true => x,
            false => s.g.reshape(x, [Dim::T, count.into(), width.into()]),
        };
        if let Some(qk_norm) = &self.qk_norm {
            heads = qk_norm.build(s, heads, norm, 2, width)?;
        }
        Ok(self.rope.apply(s, heads, 3, width))
    }
}

impl Block for Grouped {
    fn short_name(&self) -> &'static str {
        if self.window.is_some() { "swa" } else { "gqa" }
    }

    fn info(&self) -> BlockInfo {
        let Heads { queries, keys, width } = self.heads;
        let mut sizes = vec![("kv_heads", keys), ("head_width", width)];
        let mut summary = format!("{queries} heads of {width}, {keys} of keys and values");
        if let Some(window) = self.window {
            sizes.push(("window", window));
            summary += &format!(", over the last {window} positions");
        }
        if self.temperature.is_some() {
            summary += ", queries scaled by position";
        }
        BlockInfo { kind: "grouped", sizes, summary }
    }

    /// The keys and values of all heads are stored side by side in the states `k` and `v`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Heads { queries, keys, width } = self.heads;
        let (q_width, kv_width) = (queries * width, keys * width);
        let [mut q, k, v] = self.project(s, x)?;
        let mut gate = None;
        if self.gated {
            gate = Some(s.g.slice(q, 2, width, width));
            q = s.g.slice(q, 2, 0, width);
        }
        let q = self.heads(s, q, queries, "attn_q_norm.weight")?;
        let q = self.temperature.map_or(q, |temperature| temperature.apply(s, q));
        let k = self.heads(s, k, keys, "attn_k_norm.weight")?;
        let k = s.g.reshape(k, [Dim::T, kv_width.into()]);
        s.check_blocks(width)?;
        let hadamard = Hadamard::new(s, &[width]);
        let q = hadamard.apply(s, q, &[queries, width]);
        let k = hadamard.apply(s, k, &[kv_width]);
        let v = hadamard.apply(s, v, &[kv_width]);
        let k = s.store("k", k, kv_width);
        let v = s.store("v", v, kv_width);

        let sinks = self.sinks.then(|| s.vector("attn_sinks.weight", queries)).transpose()?;
        let inputs = AttendInputs { window: self.window, sinks, ..attend_inputs(s, q, k, v) };
        let mut heads = s.g.attend(inputs, self.scale, keys, s.options.page);
        if let Some(gate) = gate {
            heads = hadamard.apply(s, heads, &[queries, width]);
            let gate = s.g.sigmoid(gate);
            let gated = s.g.mul(heads, gate);
            let joined = s.g.reshape(gated, [Dim::T, q_width.into()]);
            return linear(s, joined, "attn_output", q_width, self.hidden);
        }
        let joined = s.g.reshape(heads, [Dim::T, q_width.into()]);
        let joined = hadamard.apply(s, joined, &[q_width]);
        linear(s, joined, "attn_output", q_width, self.hidden)
    }
}

/// The inputs of attention: queries, states, and where each token's sequence is in the states.
pub(crate) fn attend_inputs(s: &mut SegmentBuilder<'_>, q: NodeId, k: NodeId, v: NodeId) -> AttendInputs {
    let (pos, first) = (s.per_token("pos"), s.per_token("first"));
    let pages = s.g.input("pages", weft_quant::GgmlType::I32, [Dim::P]);
    AttendInputs { q, k, v, pos, first, pages, window: None, sinks: None }
}
