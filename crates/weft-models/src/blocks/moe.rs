//! Mixture of experts: a router picks a few gated networks for each token.

use weft_ir::{Dim, NodeId};

use super::{Activation, Block, Gated};
use crate::config::BlockInfo;
use crate::error::Error;
use crate::keys::{Keys, MAX_EXPERTS, MAX_SHARED_EXPERTS, MAX_WIDTH};
use crate::segment::SegmentBuilder;

/// The lower bound of the sum that chosen probabilities are divided by: the smallest normal `f16`, as in llama.cpp's
/// `build_moe_ffn`.
const MIN_SUM: f32 = 1.0 / 16384.0;

/// Routed experts, weighted and summed, plus shared experts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Experts {
    /// How many experts there are, and how many run for a token.
    pub(crate) count: Count,
    /// The network of one expert.
    pub(crate) expert: Gated,
    /// Experts that run for every token.
    pub(crate) shared: Option<Shared>,
    /// Picks the experts.
    pub(crate) router: Router,
}

/// Experts that run for every token, stored as one network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shared {
    /// How many there are.
    pub(crate) count: usize,
    /// The width of the network: of all of them together.
    pub(crate) width: usize,
    /// How its gate and up are combined.
    pub(crate) activation: Activation,
    /// Whether the result is multiplied by the sigmoid of a score that each token gets, `ffn_gate_inp_shexp`.
    pub(crate) scored: bool,
}

/// How many experts there are, and how many run for a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    /// Experts to choose from.
    pub(crate) experts: usize,
    /// Experts chosen for a token.
    pub(crate) used: usize,
}

/// Picks and weights experts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Router {
    /// How logits become probabilities.
    pub(crate) gating: Gating,
    /// The groups of experts that are chosen before experts are.
    pub(crate) groups: Option<Groups>,
    /// Whether the file may have a load-balancing bias, `exp_probs_b`, which affects the choice of experts but not their
    /// weights.
    pub(crate) bias: bool,
    /// Whether the chosen probabilities are divided by their sum.
    pub(crate) normalise: bool,
    /// Factor applied to the chosen probabilities last.
    pub(crate) scale: f32,
}

/// Groups of experts that follow each other. A token's experts come from the few groups whose two best experts score highest
/// (DeepSeek-V3, 2024, <https://arxiv.org/abs/2412.19437>, section 2.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Groups {
    /// The number of groups, which divides that of experts.
    pub(crate) count: usize,
    /// How many of them are chosen.
    pub(crate) used: usize,
}

/// How router logits become probabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gating {
    /// Softmax over all experts.
    Softmax,
    /// Sigmoid of each expert's logit.
    Sigmoid,
}

impl Gating {
    /// Reads `expert_gating_func`. Zero means "not set".
    pub(crate) fn read(keys: &Keys<'_>, default: Gating) -> Result<Gating, Error> {
        const GATING: &str = "expert_gating_func";
        match keys.u32(GATING)? {
            None | Some(0) => Ok(default),
            Some(1) => Ok(Gating::Softmax),
            Some(2) => Ok(Gating::Sigmoid),
            Some(other) => Err(keys.unsupported(GATING, other, "it can be 1 (softmax) or 2 (sigmoid)")),
        }
    }
}

impl Groups {
    /// Reads `expert_group_count` and `expert_group_used_count`. Returns `None` if all experts can be chosen.
    pub(crate) fn read(keys: &Keys<'_>, experts: Count, gating: Gating) -> Result<Option<Groups>, Error> {
        const COUNT: &str = "expert_group_count";
        const USED: &str = "expert_group_used_count";
        let Some(count) = keys.number_opt(COUNT, 0..=MAX_EXPERTS)?.filter(|count| *count > 1) else {
            return Ok(None);
        };
        let Count { experts, used: chosen } = experts;
        if !experts.is_multiple_of(count) || experts / count < 2 {
            let rule = format!("it must divide expert_count, {experts}, into groups of two or more");
            return Err(keys.wrong(COUNT, count, rule));
        }
        let used = keys.number(USED, 1..=count)?;
        if used == count {
            return Ok(None);
        }
        if used * (experts / count) < chosen {
            let rule = format!("so many groups have fewer experts than expert_used_count, {chosen}");
            return Err(keys.wrong(USED, used, rule));
        }
        // DeepSeek-V2 has a softmax and scores a group by its best expert alone.
        if gating == Gating::Softmax {
            return Err(keys.unsupported(COUNT, count, "with softmax gating it can only be 1"));
        }
        Ok(Some(Groups { count, used }))
    }

    /// Lowers the scores of all experts, `[T, experts]`, in groups that are not chosen, so far that none of them is. Of groups
    /// that score the same as the last one that is chosen, all are.
    fn limit(self, s: &mut SegmentBuilder<'_>, scores: NodeId, experts: usize) -> NodeId {
        // Scores of groups that differ at all differ by more than a millionth of their experts' scores.
        const FAR: f32 = 1e30;
        let (g, groups) = (&mut s.g, self.count);
        let grouped = g.reshape(scores, [Dim::T, groups.into(), (experts / groups).into()]);
        let best = g.topk(grouped, 2);
        let best = g.take(grouped, best);
        let sums = g.reduce_sum(best, 2);
        let sums = g.reshape(sums, [Dim::T, groups.into()]);
        let chosen = g.topk(sums, self.used);
        let chosen = g.take(sums, chosen);
        let negated = g.neg(chosen);
        let least = g.reduce_max(negated, 1);
        // The distance to the last group that is chosen: 0, or below it.
        let distance = g.add(sums, least);
        let zero = g.scalar(0.0);
        let below = g.min(distance, zero);
        let far = g.scalar(FAR);
        let lowered = g.mul(below, far);
        let lowered = g.reshape(lowered, [Dim::T, groups.into(), 1.into()]);
        let limited = g.add(grouped, lowered);
        g.reshape(limited, [Dim::T, experts.into()])
    }
}

impl Shared {
    /// Reads `expert_shared_feed_forward_length`, the width of all of them together, and `expert_shared_count`. `None` if there are none.
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Option<Shared>, Error> {
        let width = keys.number_opt("expert_shared_feed_forward_length", 0..=MAX_WIDTH)?.unwrap_or(0);
        let count = keys.number_opt("expert_shared_count", 0..=MAX_SHARED_EXPERTS)?.unwrap_or(0).max(1);
        Ok((width > 0).then_some(Shared { count, width, activation: Activation::Silu, scored: false }))
    }
}

impl Count {
    /// Reads `expert_count` and `expert_used_count`, both required.
    pub(crate) fn read(keys: &Keys<'_>) -> Result<Count, Error> {
        let experts = keys.number("expert_count", 1..=MAX_EXPERTS)?;
        Ok(Count { experts, used: keys.number("expert_used_count", 1..=experts)? })
    }

    /// Like [`read`](Count::read), but returns `None` for dense models, in which `expert_count` is missing or 0.
    pub(crate) fn read_opt(keys: &Keys<'_>) -> Result<Option<Count>, Error> {
        match keys.number_opt("expert_count", 0..=MAX_EXPERTS)? {
            None | Some(0) => Ok(None),
            Some(_) => Count::read(keys).map(Some),
        }
    }
}

impl Experts {
    /// The gate and up products of the chosen experts, `f32[T, used, width]` each, with the biases that the file has. Some files
    /// join both matrices in one tensor, the gates first.
    fn gate_up(&self, s: &mut SegmentBuilder<'_>, x: NodeId, ids: NodeId) -> Result<(NodeId, NodeId), Error> {
        let Experts { count: Count { experts, .. }, expert, .. } = *self;
        let Gated { hidden, width, activation } = expert;
        if s.has("ffn_gate_up_exps.weight") {
            let w = s.matrix("ffn_gate_up_exps.weight", &[experts, 2 * width, hidden])?;
            let both = s.g.select_dot(x, w, ids);
            let both = add_biases(s, both, "ffn_gate_up_exps.bias", &[experts, 2 * width], ids)?;
            return Ok((s.g.slice(both, 2, 0, width), s.g.slice(both, 2, width, width)));
        }
        if !activation.has_gate() {
            let up = s.matrix("ffn_up_exps.weight", &[experts, width, hidden])?;
            let up = s.g.select_dot(x, up, ids);
            let up = add_biases(s, up, "ffn_up_exps.bias", &[experts, width], ids)?;
            return Ok((up, up));
        }
        let gate = s.matrix("ffn_gate_exps.weight", &[experts, width, hidden])?;
        let up = s.matrix("ffn_up_exps.weight", &[experts, width, hidden])?;
        let (gate, up) = (s.g.select_dot(x, gate, ids), s.g.select_dot(x, up, ids));
        let gate = add_biases(s, gate, "ffn_gate_exps.bias", &[experts, width], ids)?;
        Ok((gate, add_biases(s, up, "ffn_up_exps.bias", &[experts, width], ids)?))
    }

    /// The weighted sum of the chosen experts of `x`. The router sees `seen`, so many values of each token. An expert's result is
    /// multiplied by its value of the tensor `scale`, if there is one.
    pub(crate) fn routed(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        (seen, values): (NodeId, usize),
        scale: Option<&str>,
    ) -> Result<NodeId, Error> {
        let Experts { count, expert, router, .. } = self;
        let (hidden, width) = (expert.hidden, expert.width);
        let (ids, weights) = router.build(s, seen, *count, values)?;
        let (gate, up) = self.gate_up(s, x, ids)?;
        let down = s.matrix("ffn_down_exps.weight", &[count.experts, hidden, width])?;
        let inner = expert.gate(s, gate, up);
        let each = s.g.select_dot(inner, down, ids);
        let each = add_biases(s, each, "ffn_down_exps.bias", &[count.experts, hidden], ids)?;
        let g = &mut s.g;
        let mut weights = g.reshape(weights, [Dim::T, count.used.into(), 1.into()]);
        if let Some(scale) = scale {
            let scales = s.squeezed(scale, &[count.experts, 1])?;
            let chosen = s.g.rows(scales, ids);
            weights = s.g.mul(weights, chosen);
        }
        let g = &mut s.g;
        let weighted = g.mul(each, weights);
        let sum = g.reduce_sum(weighted, 1);
        Ok(g.reshape(sum, [Dim::T, hidden.into()]))
    }
}

/// Adds the bias of each chosen expert to its product, `f32[T, used, N]`, if the file has biases.
fn add_biases(
    s: &mut SegmentBuilder<'_>,
    x: NodeId,
    name: &str,
    shape: &[usize],
    ids: NodeId,
) -> Result<NodeId, Error> {
    if !s.has(name) {
        return Ok(x);
    }
    let biases = s.plain_matrix(name, shape)?;
    let chosen = s.g.rows(biases, ids);
    Ok(s.g.add(x, chosen))
}

impl Block for Experts {
    fn short_name(&self) -> &'static str {
        "moe"
    }

    fn info(&self) -> BlockInfo {
        let Experts { count: Count { experts, used }, expert: Gated { width, .. }, shared, .. } = *self;
        let mut sizes = vec![("experts", experts), ("used", used)];
        let summary = match shared {
            None => format!("with {used} of {experts} experts of {width}"),
            Some(Shared { count, width: all, .. }) if all == count * width => {
                format!("with {used} of {experts} experts and {count} shared of {width}")
            }
            Some(Shared { width: all, .. }) => {
                format!("with {used} of {experts} experts of {width} and a shared one of {all}")
            }
        };
        sizes.extend([("shared", shared.map_or(0, |shared| shared.count)), ("width", width)]);
        if let Some(Shared { count, width: all, .. }) =
            shared.filter(|shared| shared.width != shared.count * width)
        {
            sizes.push(("shared_width", all / count));
        }
        BlockInfo { kind: "experts", sizes, summary }
    }

    fn build(&self, s: &mut SegmentBuilder<'_>, x: NodeId) -> Result<NodeId, Error> {
        let hidden = self.expert.hidden;
        let routed = self.routed(s, x, (x, hidden), None)?;
        let Some(Shared { width, activation, scored, .. }) = self.shared else { return Ok(routed) };
        let mut shared = Gated { hidden, width, activation }.build_as(s, x, "_shexp")?;
        if scored {
            let w = s.matrix("ffn_gate_inp_shexp.weight", &[1, hidden])?;
            let score = s.g.dot(x, w);
            let share = s.g.sigmoid(score);
            shared = s.g.mul(shared, share);
        }
        Ok(s.g.add(routed, shared))
    }
}

impl Router {
    /// Returns an error if the router picks groups of experts first.
    pub(crate) fn refuse_groups(keys: &Keys<'_>) -> Result<(), Error> {
        const GROUPS: &str = "expert_group_count";
        match keys.u32(GROUPS)? {
            None | Some(0 | 1) => Ok(()),
            Some(groups) => Err(keys.unsupported(GROUPS, groups, "it can only be 1")),
        }
    }

    /// Softmax, normalised over the chosen experts and not scaled: the only router of families that read no keys for it.
    ///
    /// # Errors
    ///
    /// If the file asks for another.
    pub(crate) fn normalised_softmax(keys: &Keys<'_>) -> Result<Router, Error> {
        Router::only_softmax(keys, true)
    }

    /// Softmax without scale, normalised over the chosen experts or not.
    ///
    /// # Errors
    ///
    /// If the file asks for another.
    pub(crate) fn only_softmax(keys: &Keys<'_>, normalise: bool) -> Result<Router, Error> {
        const GATING: &str = "expert_gating_func";
        // Zero means "not set", and 3 a softmax over the chosen experts alone, which equals the normalised one.
        let is_softmax = |gating: &u32| *gating <= 1 || normalise && *gating == 3;
        if let Some(gating) = keys.u32(GATING)?.filter(|gating| !is_softmax(gating)) {
            return Err(keys.unsupported(GATING, gating, "it can only be 1 (softmax)"));
        }
        Router::plain(keys, Gating::Softmax, normalise)
    }

    /// A router of a family that reads no keys for it but that of the gating: without groups, bias and scale, normalised over the
    /// chosen experts or not.
    ///
    /// # Errors
    ///
    /// If the file asks for another.
    pub(crate) fn plain(keys: &Keys<'_>, gating: Gating, normalise: bool) -> Result<Router, Error> {
        Router::refuse_groups(keys)?;
        const NORM: &str = "expert_weights_norm";
        if keys.metadata.bool(&keys.name(NORM))? == Some(!normalise) {
            return Err(keys.unsupported(NORM, !normalise, format!("it can only be {normalise}")));
        }
        keys.refuse_factor("expert_weights_scale")?;
        Ok(Router { gating, groups: None, bias: false, normalise, scale: 1.0 })
    }

    /// The chosen experts of each token, `i32[T, used]`, and their weights, `f32[T, used]`.
    fn build(
        &self,
        s: &mut SegmentBuilder<'_>,
        x: NodeId,
        count: Count,
        hidden: usize,
    ) -> Result<(NodeId, NodeId), Error> {
        let router = s.matrix("ffn_gate_inp.weight", &[count.experts, hidden])?;
        let logits = s.g.dot(x, router);
        let logits = s.add_bias(logits, "ffn_gate_inp.bias", count.experts)?;
        let probs = match self.gating {
            Gating::Sigmoid => s.g.sigmoid(logits),
            Gating::Softmax => softmax(s, logits),
        };
        let scores = match self.bias {
            true => s.add_bias(probs, "exp_probs_b.bias", count.experts)?,
            false => probs,
        };
        let scores = match self.groups {
            Some(groups) => groups.limit(s, scores, count.experts),
            None => scores,
        };
        let g = &mut s.g;
        let ids = g.topk(scores, count.used);
        let mut weights = g.take(probs, ids);
        if self.normalise {
            let sum = g.reduce_sum(weights, 1);
            let least = g.scalar(MIN_SUM);
            let sum = g.max(sum, least);
            weights = g.div(weights, sum);
        }
        if self.scale != 1.0 {
            let scale = g.scalar(self.scale);
            weights = g.mul(weights, scale);
        }
        Ok((ids, weights))
    }
}

/// Softmax of each row of `[T, N]`.
fn softmax(s: &mut SegmentBuilder<'_>, x: NodeId) -> NodeId {
    let g = &mut s.g;
    let top = g.reduce_max(x, 1);
    let below = g.sub(x, top);
    let powers = g.exp(below);
    let sum = g.reduce_sum(powers, 1);
    g.div(powers, sum)
}
