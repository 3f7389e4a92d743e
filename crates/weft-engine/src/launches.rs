//! The launches of a step: what each is for, and the bytes and operations it takes.
//!
//! Both come from the plans that the engine runs: [`Plan::traffic`] counts, and the weights a launch is bound to tell what it is for, by their
//! names in the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fuse::Fusion;
use weft_ir::{Op, Sizes};
use weft_kern::{Amounts, Call, Counted, Format, Instr, Kernel, Operation, Plan, Seen, Source};
use weft_models::Segment;
use weft_quant::GgmlType;

/// What a piece of a step is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// The rows of tokens.
    Embedding,
    /// What depends on the step alone and is computed once: rotary angles.
    Tables,
    /// All between the normed hidden state and the output of attention, its cache included.
    Attention,
    /// Scores of experts, and which of them are taken.
    Router,
    /// The experts that a token takes.
    RoutedExperts,
    /// The experts that every token takes.
    SharedExpert,
    /// The feed-forward network of a layer without experts.
    DenseFeedForward,
    /// A norm that is no part of a product.
    Norm,
    /// The logits.
    Head,
    /// Anything else that is a launch of its own: elementwise operations, movement, rounding.
    Other,
}

impl Role {
    /// For people and programs.
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
            Role::Other => "other",
        }
    }
}

/// A launch of a step.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The plan that its kernel is of, and which call.
    plan: Arc<Plan>,
    call: usize,
    /// The part of the model it is in: `embed`, `layer 3`, `head`.
    pub segment: String,
    /// Which layer that is, if it is one.
    pub layer: Option<usize>,
    /// What it does: a product, an attention or a row program each.
    pub pieces: Vec<LaunchPiece>,
}

/// A piece of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchPiece {
    /// What it is for.
    pub role: Role,
    /// `dot`, `head_dot`, `select_dot`, `select_sum`, `attend`, `reduce` or `map`.
    pub anchor: &'static str,
    /// How the weight is stored that is multiplied by.
    pub ty: Option<GgmlType>,
    /// What it takes. What several pieces read counts for the first.
    pub amounts: Amounts,
}

impl Launch {
    /// The kernel itself, and the largest step that it is compiled for.
    pub fn work(&self) -> (&Kernel, &Sizes) {
        (self.it(), &self.plan.max)
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.it().name
    }

    /// The kernel's text form.
    pub fn source(&self) -> String {
        self.it().to_string()
    }

    /// What each parameter of the kernel is bound to: `weight attn_q_a`, `state kv`, `arena 4096`.
    pub fn arguments(&self) -> Vec<String> {
        let args = &self.plan.calls[self.call].args;
        args.iter().map(|buffer| self.plan.buffers[*buffer].source.to_string()).collect()
    }

    /// What all of it takes.
    pub fn amounts(&self) -> Amounts {
        self.pieces.iter().map(|piece| piece.amounts).sum()
    }

    /// What it is for; several things, if it has several pieces. Each once, in their order.
    pub fn roles(&self) -> Vec<Role> {
        let mut roles: Vec<Role> = Vec::new();
        for piece in &self.pieces {
            if !roles.contains(&piece.role) {
                roles.push(piece.role);
            }
        }
        roles
    }

    /// Whether two launches do the same work for the same purpose: as the layers of one shape do.
    pub fn is_like(&self, other: &Launch) -> bool {
        let same = Arc::ptr_eq(&self.plan, &other.plan) && self.call == other.call;
        same || self.it().same_work(other.it()) && self.roles() == other.roles()
    }

    fn it(&self) -> &Kernel {
        &self.plan.kernels[self.plan.calls[self.call].kernel]
    }
}

/// A part of a model as it is compiled, with the names its plan has for tensors of the file.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    name: String,
    layer: Option<usize>,
    weights: BTreeMap<String, String>,
}

impl Named {
    /// A weight that is computed when the model is loaded goes by the first tensor it is made of.
    pub(crate) fn new(segment: &Segment, fusion: &Fusion) -> Named {
        let mut weights: BTreeMap<String, String> = segment.weights.iter().cloned().collect();
        for (name, id) in &fusion.products {
            let mut node = fusion.graph.node(*id);
            while let Some(first) = node.inputs.first() {
                node = fusion.graph.node(*first);
            }
            let Op::Weight { name: own } = &node.op else { continue };
            if let Some(tensor) = weights.get(own).cloned() {
                weights.insert(name.clone(), tensor);
            }
        }
        Named { name: segment.name.clone(), layer: segment.layer, weights }
    }

    /// Appends the launches of this segment's plan in a step of these sizes.
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
                LaunchPiece { role, anchor: operation.anchor, ty, amounts: more }
            });
            let pieces = pieces.collect();
            let (segment, layer) = (self.name.clone(), self.layer);
            launches.push(Launch { plan: Arc::clone(plan), call, segment, layer, pieces });
        }
    }

    /// What a piece is for: told by the weight it multiplies by, then by what it does, then by the other weights it reads.
    fn role(&self, plan: &Plan, args: &[usize], kernel: &Kernel, operation: &Operation) -> Role {
        let source = |param: usize| &plan.buffers[args[param]].source;
        let tensor = |param: usize| match source(param) {
            Source::Weight(own) => Some(self.weights.get(own).unwrap_or(own).as_str()),
            _ => None,
        };
        if let Some(tensor) = operation.weight.and_then(tensor) {
            // Tied embeddings are the head where they are multiplied by.
            return role_of_tensor(tensor, Role::Head);
        }
        if operation.anchor == "attend" {
            return Role::Attention;
        }
        let touched = || operation.touches.iter().map(|touch| touch.param);
        if let Some(tensor) = touched().find_map(tensor) {
            return role_of_tensor(tensor, Role::Embedding);
        }
        let body = &kernel.parts[operation.part].body;
        if body.iter().any(|instr| matches!(instr, Instr::TopK { .. })) {
            Role::Router
        } else if touched().any(|param| matches!(source(param), Source::State(_))) {
            Role::Attention
        } else if self.layer.is_none() && self.weights.is_empty() {
            Role::Tables
        } else {
            Role::Other
        }
    }
}

/// What a tensor is for, by the names GGUF files give them; `outside` is what those are for that are in no layer and no norm.
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
    fn tensors_have_the_roles_their_names_tell() {
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
