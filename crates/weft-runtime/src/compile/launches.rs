//! The kernel launches of a step: their roles, and the bytes and operations of each.
//!
//! Both come from the plans that run: [`Plan::traffic`] counts, and roles follow from the names of the weights that a
//! launch is bound to.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fuse::Fusion;
use weft_ir::{Op, Sizes};
use weft_kern::{Amounts, Call, Counted, Format, Instr, Kernel, Operation, Plan, Seen, Source};
use weft_models::Segment;
use weft_quant::GgmlType;

/// The role of work in a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The embeddings of tokens.
    Embedding,
    /// Rotary tables, which are computed once for all layers.
    Tables,
    /// Attention, from the normed hidden state to its output, including the KV cache.
    Attention,
    /// The scores and choice of experts.
    Router,
    /// The experts chosen for each token.
    RoutedExperts,
    /// The experts that every token uses.
    SharedExpert,
    /// The feed-forward network of a layer without experts.
    DenseFeedForward,
    /// A norm that is not fused into a product.
    Norm,
    /// The logits.
    Head,
    /// The choice of candidates for the next token.
    Candidates,
    /// Anything else: elementwise operations, movement, rounding.
    Other,
}

impl Role {
    /// The name of the role, for display and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Embedding => "embedding",
            Role::Tables => "tables",
            Role::Attention => "attention",
            Role::Router => "router",
            Role::RoutedExperts => "routed experts",
            Role::SharedExpert => "shared expert",
            Role::DenseFeedForward => "dense feed-forward",
            Role::Norm => "norm",
            Role::Head => "head",
            Role::Candidates => "candidates",
            Role::Other => "other",
        }
    }
}

/// A kernel launch of a step.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The plan, and the index of the call in it.
    plan: Arc<Plan>,
    call: usize,
    /// The segment of the model: `embed`, `layer 3`, `head`.
    pub segment: String,
    /// The index of the layer, if the segment is one.
    pub layer: Option<usize>,
    /// The products, attentions and row programs that it computes.
    pub pieces: Vec<LaunchPiece>,
}

/// One operation of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchPiece {
    /// Its role.
    pub role: Role,
    /// `dot`, `head_dot`, `select_dot`, `select_sum`, `attend`, `reduce` or `map`.
    pub anchor: &'static str,
    /// Whether it reads a state, as attention does.
    pub reads_state: bool,
    /// The type of the weight that it multiplies by.
    pub ty: Option<GgmlType>,
    /// Its bytes and operations. Data that several pieces of a launch read count for the first.
    pub amounts: Amounts,
}

impl Launch {
    /// The kernel, and the largest step that it is compiled for.
    pub fn work(&self) -> (&Kernel, &Sizes) {
        (self.definition(), &self.plan.max)
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.definition().name
    }

    /// The kernel's text form.
    pub fn source(&self) -> String {
        self.definition().to_string()
    }

    /// The buffers that the kernel's parameters are bound to: `weight attn_q_a`, `state kv`, `arena 4096`.
    pub fn arguments(&self) -> Vec<String> {
        let args = &self.plan.calls[self.call].args;
        args.iter().map(|buffer| self.plan.buffers[*buffer].source.to_string()).collect()
    }

    /// The bytes and operations of all pieces.
    pub fn amounts(&self) -> Amounts {
        self.pieces.iter().map(|piece| piece.amounts).sum()
    }

    /// The distinct roles of its pieces, in order.
    pub fn roles(&self) -> Vec<Role> {
        let mut roles: Vec<Role> = Vec::new();
        for piece in &self.pieces {
            if !roles.contains(&piece.role) {
                roles.push(piece.role);
            }
        }
        roles
    }

    /// Returns whether two launches do the same work in the same roles, as in layers of one shape.
    pub fn is_like(&self, other: &Launch) -> bool {
        let same = Arc::ptr_eq(&self.plan, &other.plan) && self.call == other.call;
        same || self.definition().same_work(other.definition()) && self.roles() == other.roles()
    }

    fn definition(&self) -> &Kernel {
        &self.plan.kernels[self.plan.calls[self.call].kernel]
    }
}

/// The names of a compiled segment: its own, and for the weights of its plan those of the file's tensors.
#[derive(Clone, Debug)]
pub(crate) struct SegmentNames {
    name: String,
    layer: Option<usize>,
    weights: BTreeMap<String, String>,
}

impl SegmentNames {
    /// Collects the names. A weight computed at load time is named by the first tensor that it is made of.
    pub(crate) fn new(segment: &Segment, fusion: &Fusion) -> SegmentNames {
        let mut weights: BTreeMap<String, String> = segment.weights.iter().cloned().collect();
        for (name, id) in &fusion.parameters {
            let mut node = fusion.graph.node(*id);
            while let Some(first) = node.inputs.first() {
                node = fusion.graph.node(*first);
            }
            let Op::Weight { name: own } = &node.op else { continue };
            if let Some(tensor) = weights.get(own).cloned() {
                weights.insert(name.clone(), tensor);
            }
        }
        SegmentNames { name: segment.name.clone(), layer: segment.layer, weights }
    }

    /// Appends the launches of the segment's plan in a step of these sizes.
    pub(crate) fn launches(&self, plan: &Arc<Plan>, sizes: &Sizes, seen: &Seen, launches: &mut Vec<Launch>) {
        let traffic = plan.traffic(sizes, seen);
        for ((call, Call { kernel, args }), operations) in plan.calls.iter().enumerate().zip(traffic) {
            let kernel = &plan.kernels[*kernel];
            let pieces = operations.into_iter().map(|Counted { operation, more, .. }| {
                let ty = operation.weight.and_then(|param| match kernel.params[param].format {
                    Format::Ggml(ty) => Some(ty),
                    Format::Q8 => None,
                });
                let role = self.role(plan, args, kernel, &operation);
                let Operation { anchor, reads_state, .. } = operation;
                LaunchPiece { role, anchor, reads_state, ty, amounts: more }
            });
            let pieces = pieces.collect();
            let (segment, layer) = (self.name.clone(), self.layer);
            launches.push(Launch { plan: Arc::clone(plan), call, segment, layer, pieces });
        }
    }

    /// The role of an operation, which follows from the weight that it multiplies by, from what it does, or from the
    /// other weights that it reads.
    fn role(&self, plan: &Plan, args: &[usize], kernel: &Kernel, operation: &Operation) -> Role {
        let source = |param: usize| &plan.buffers[args[param]].source;
        let tensor = |param: usize| match source(param) {
            Source::Weight(own) => Some(self.weights.get(own).unwrap_or(own).as_str()),
            _ => None,
        };
        if let Some(tensor) = operation.weight.and_then(tensor) {
            // A product with tied embeddings is the head.
            return role_of_tensor(tensor, Role::Head);
        }
        if operation.reads_state {
            return Role::Attention;
        }
        let touched = || operation.touches.iter().map(|touch| touch.param);
        if let Some(tensor) = touched().find_map(tensor) {
            return role_of_tensor(tensor, Role::Embedding);
        }
        let body = &kernel.parts[operation.part].body;
        if body.iter().any(|instr| matches!(instr, Instr::TopK { .. })) {
            // Outside layers, tokens are chosen.
            if self.layer.is_some() { Role::Router } else { Role::Candidates }
        } else if touched().any(|param| matches!(source(param), Source::State { .. })) {
            Role::Attention
        } else if self.layer.is_none() && self.weights.is_empty() {
            Role::Tables
        } else {
            Role::Other
        }
    }
}

/// The role of a tensor by its name in GGUF files. `outside` is the role of tensors outside layers, other than norms.
fn role_of_tensor(name: &str, outside: Role) -> Role {
    let in_layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    match in_layer.map(|(_, part)| part) {
        _ if name.contains("_norm.") => Role::Norm,
        None => outside,
        Some(part) if part.starts_with("attn_") => Role::Attention,
        Some(part) if part.contains("_exps.") => Role::RoutedExperts,
        Some(part) if part.contains("_shexp.") => Role::SharedExpert,
        Some(part) if part.starts_with("ffn_gate_inp.") || part.starts_with("exp_probs_b.") => Role::Router,
        Some(part) if part.starts_with("ffn_") => Role::DenseFeedForward,
        Some(_) => Role::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_the_names_of_tensors() {
        for (name, expected) in [
            ("token_embd.weight", Role::Embedding),
            ("output_norm.weight", Role::Norm),
            ("blk.0.attn_q_a_norm.weight", Role::Norm),
            ("blk.10.attn_kv_a_mqa.weight", Role::Attention),
            ("blk.0.attn_q.bias", Role::Attention),
            ("blk.0.ffn_gate.weight", Role::DenseFeedForward),
            ("blk.1.ffn_gate_exps.weight", Role::RoutedExperts),
            ("blk.1.ffn_down_shexp.weight", Role::SharedExpert),
            ("blk.1.ffn_gate_inp.weight", Role::Router),
            ("blk.1.exp_probs_b.bias", Role::Router),
            ("blk.1.something_new.weight", Role::Other),
        ] {
            assert_eq!(role_of_tensor(name, Role::Embedding), expected, "{name}");
        }
        assert_eq!(role_of_tensor("token_embd.weight", Role::Head), Role::Head, "tied");
    }
}
