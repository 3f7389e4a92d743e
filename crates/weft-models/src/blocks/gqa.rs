//! Grouped-query attention (Ainslie et al., 2023, <https://arxiv.org/abs/2305.13245>).

use weft_ir::{AttendInputs, Dim, NodeId, RopeStyle};

use super::hadamard::Hadamard;
use super::{Block, Norm, Rope, RopeScaling, Temperature, linear};
use crate::common::Common;
use crate::config::BlockInfo;
use crate::error::Error;
use crate::file::ModelFile;
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
    /// The norm of queries (`attn_q_norm`) and keys (`attn_k_norm`), if they have one.
    pub(crate) qk_norm: Option<QkNorm>,
    /// The rotary embedding. `None` if queries and keys do not depend on positions.
    pub(crate) rope: Option<Rope>,
    /// How rotated queries are scaled by their position, if they are.
    pub(crate) temperature: Option<Temperature>,
    /// Factor applied to scores before the softmax.
    pub(crate) scale: f32,
    /// How many positions a token sees at most, its own included. `None` if it sees all.
    pub(crate) window: Option<usize>,
    /// Whether the softmax of each head has a further score, `attn_sinks`, which has no value.
    pub(crate) sinks: bool,
    /// The matrix of gates, if the result is multiplied by the sigmoid of one.
    pub(crate) gate: Option<Gate>,
}

/// The norm of queries and keys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum QkNorm {
    /// Each head before rotation.
    Heads(Norm),
    /// Each head after rotation (Hunyuan).
    RotatedHeads(Norm),
    /// All heads together, before rotation (OLMo 2, MiniMax-M2).
    Whole(Norm),
}

/// Which matrix makes the gates of heads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gate {
    /// `attn_q`, which has a head's gate after its query.
    WithQueries,
    /// `attn_gate`, which has a gate for each value of a head.
    Own,
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

const KV_HEADS: &str = "attention.head_count_kv";

impl Heads {
    /// Reads `attention.head_count_kv`, by default the number of query heads, and `attention.key_length`, by default the
    /// width of the hidden state divided by the number of query heads.
    pub(crate) fn read(keys: &Keys<'_>, common: &Common) -> Result<Heads, Error> {
        let shared = keys.number_opt(KV_HEADS, 1..=MAX_HEADS)?.unwrap_or(common.heads);
        Heads::of(keys, common, shared)
    }

    /// The same for models some of whose blocks have no attention, for which the file has 0 heads of keys and values. Also returns which
    /// blocks have heads.
    pub(crate) fn read_some(keys: &Keys<'_>, common: &Common) -> Result<(Heads, Vec<bool>), Error> {
        let counts = keys.per_layer(KV_HEADS, common.blocks)?;
        let attends: Vec<bool> = counts.iter().map(|count| *count > 0).collect();
        let mut some = counts.into_iter().filter(|count| *count > 0);
        let Some(first) = some.next() else { return Ok((Heads::of(keys, common, common.heads)?, attends)) };
        if let Some(other) = some.find(|count| *count != first) {
            let rule = format!("all layers with attention must have as many, {first}");
            return Err(keys.unsupported(KV_HEADS, other, rule));
        }
        let shared = keys.within(KV_HEADS, first, 1..=MAX_HEADS)?;
        Ok((Heads::of(keys, common, shared)?, attends))
    }

    /// Query heads that share so many heads of keys and values.
    fn of(keys: &Keys<'_>, common: &Common, shared: usize) -> Result<Heads, Error> {
        let queries = common.heads;
        if !queries.is_multiple_of(shared) {
            let rule = format!("it must divide attention.head_count, {queries}");
            return Err(keys.wrong(KV_HEADS, shared, rule));
        }
        Ok(Heads { queries, keys: shared, width: usual_width(keys, common.hidden, queries)? })
    }

    /// The number of values of a head that are rotated: `rope.dimension_count`, by default all.
    pub(crate) fn rotated(&self, keys: &Keys<'_>) -> Result<usize, Error> {
        rotated(keys, "rope.dimension_count", self.width)
    }

    /// The same for families that rotate whole heads only.
    ///
    /// # Errors
    ///
    /// If the file asks for less.
    pub(crate) fn all_rotated(&self, keys: &Keys<'_>) -> Result<usize, Error> {
        match self.rotated(keys)? {
            rotated if rotated == self.width => Ok(rotated),
            rotated => {
                let supported = format!("it can only be the width of a head, {}", self.width);
                Err(keys.unsupported("rope.dimension_count", rotated, supported))
            }
        }
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

/// How many values of a head of this width are rotated, by default all.
pub(crate) fn rotated(keys: &Keys<'_>, key: &str, width: usize) -> Result<usize, Error> {
    let rotated = keys.number_opt(key, 2..=width)?.unwrap_or(width);
    if !rotated.is_multiple_of(2) {
        return Err(keys.wrong(key, rotated, "it must be even"));
    }
    Ok(rotated)
}

/// The scale of a family that reads no key for it. `what` names it in the error.
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

/// Reads the width of a head, by default the hidden state's over the number of heads.
fn usual_width(keys: &Keys<'_>, hidden: usize, heads: usize) -> Result<usize, Error> {
    const KEY: &str = "attention.key_length";
    if keys.u32(KEY)?.is_some() {
        return head_width(keys, "");
    }
    let width = hidden / heads;
    if !hidden.is_multiple_of(heads) || !(2..=MAX_HEAD_WIDTH).contains(&width) {
        let rule = format!("without {KEY}, it must divide embedding_length, {hidden}");
        return Err(keys.wrong("attention.head_count", heads, rule));
    }
    equal_values(keys, "", width)
}

/// Reads the width of the heads of some layers, which keys with this suffix give, the same for keys and values.
pub(crate) fn head_width(keys: &Keys<'_>, suffix: &str) -> Result<usize, Error> {
    let width = keys.number(&format!("attention.key_length{suffix}"), 2..=MAX_HEAD_WIDTH)?;
    equal_values(keys, suffix, width)
}

/// Returns the width of keys, or an error if that of values is another.
fn equal_values(keys: &Keys<'_>, suffix: &str, width: usize) -> Result<usize, Error> {
    let key = format!("attention.value_length{suffix}");
    match keys.number_opt(&key, 1..=MAX_HEAD_WIDTH)? {
        Some(value) if value != width => {
            let architecture = keys.architecture;
            let supported =
                format!("for `{architecture}`, it must equal attention.key_length{suffix}, {width}");
            Err(keys.unsupported(&key, value, supported))
        }
        _ => Ok(width),
    }
}

impl Grouped {
    /// Attention with heads that are all rotated alike, and none of the switches.
    pub(crate) fn new(hidden: usize, heads: Heads, rope: Rope, scale: f32) -> Grouped {
        Grouped { rope: Some(rope), ..Grouped::unrotated(hidden, heads, scale) }
    }

    /// Attention without positions, and none of the switches.
    pub(crate) fn unrotated(hidden: usize, heads: Heads, scale: f32) -> Grouped {
        Grouped {
            hidden,
            heads,
            joined: false,
            qk_norm: None,
            rope: None,
            temperature: None,
            scale,
            window: None,
            sinks: false,
            gate: None,
        }
    }

    /// Reads the keys of attention with the usual scale and none of the switches. Heads may be rotated in part.
    pub(crate) fn read(keys: &Keys<'_>, common: &Common, style: RopeStyle) -> Result<Grouped, Error> {
        let heads = Heads::read(keys, common)?;
        let rope = Rope::read(keys, style, heads.rotated(keys)?, common.context)?;
        Ok(Grouped::new(common.hidden, heads, rope, heads.only_scale(keys)?))
    }

    /// Like [`read`](Grouped::read), for families that rotate whole heads only.
    pub(crate) fn read_rotated(keys: &Keys<'_>, common: &Common, style: RopeStyle) -> Result<Grouped, Error> {
        Heads::read(keys, common)?.all_rotated(keys)?;
        Grouped::read(keys, common, style)
    }

    /// The same attention with the frequency factors of the file, if it has them.
    pub(crate) fn with_factors(self, file: &ModelFile<'_>) -> Result<Grouped, Error> {
        let rope = self.rope.map(|rope| rope.with_factors(file)).transpose()?;
        Ok(Grouped { rope, ..self })
    }

    /// The same attention with a rotary embedding that is not scaled for a longer context.
    pub(crate) fn unscaled(self) -> Grouped {
        let unscaled = |rope| Rope { scaling: RopeScaling::Linear { factor: 1.0 }, magnitude: 1.0, ..rope };
        Grouped { rope: self.rope.map(unscaled), ..self }
    }

    /// The same attention without positions.
    pub(crate) fn without_positions(self) -> Grouped {
        Grouped { rope: None, ..self }
    }

    /// Queries, `[T, heads·width]`, and keys and values, `[T, keys·width]` each. Gated queries are `[T, heads, 2·width]`, with the
    /// gate of each head after its query.
    fn project(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<[NodeId; 3], Error> {
        let Heads { queries, keys, width } = self.heads;
        let (q, kv) = (queries * width, keys * width);
        if self.joined {
            let all = linear(s, x, "attn_qkv", self.hidden, q + 2 * kv)?;
            return Ok([(0, q), (q, kv), (q + kv, kv)].map(|(start, len)| s.g.slice(all, 1, start, len)));
        }
        if self.gate == Some(Gate::WithQueries) {
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
        weight: &str,
    ) -> Result<NodeId, Error> {
        let width = self.heads.width;
        let gated = self.gate == Some(Gate::WithQueries) && count == self.heads.queries;
        let x = match self.qk_norm {
            Some(QkNorm::Whole(norm)) => norm.build(s, x, weight, 1, count * width)?,
            _ => x,
        };
        let mut heads = if gated { x } else { s.g.reshape(x, [Dim::T, count.into(), width.into()]) };
        if let Some(QkNorm::Heads(norm)) = self.qk_norm {
            heads = norm.build(s, heads, weight, 2, width)?;
        }
        if let Some(rope) = &self.rope {
            heads = rope.apply(s, heads, 3, width);
        }
        if let Some(QkNorm::RotatedHeads(norm)) = self.qk_norm {
            heads = norm.build(s, heads, weight, 2, width)?;
        }
        Ok(heads)
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
        if self.rope.is_none() {
            summary += ", without positions";
        }
        BlockInfo { kind: "grouped", sizes, summary }
    }

    /// The keys and values of all heads are stored side by side in the states `k` and `v`.
    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let Heads { queries, keys, width } = self.heads;
        let (q_width, kv_width) = (queries * width, keys * width);
        let [mut q, k, v] = self.project(s, x)?;
        let mut gate = None;
        match self.gate {
            Some(Gate::WithQueries) => {
                gate = Some(s.g.slice(q, 2, width, width));
                q = s.g.slice(q, 2, 0, width);
            }
            Some(Gate::Own) => {
                let all = linear(s, x, "attn_gate", self.hidden, q_width)?;
                gate = Some(s.g.reshape(all, [Dim::T, queries.into(), width.into()]));
            }
            None => {}
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
    let pages = s.pages();
    AttendInputs { q, k, v, pos, first, pages, window: None, sinks: None, list: None }
}
