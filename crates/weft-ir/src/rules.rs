//! The rewrite rules: one file a rule, one line in [`RULES`].
//!
//! A rule looks at a node and what it is computed from, and may build another form of the same value. What it must hold to:
//!
//! 1. **It has a direction.** No rule undoes another; which of two forms is better is said once.
//! 2. **Its premise proves it legal**, for every input, NaN and infinities included. If it says [`Keeps::Bits`](crate::Keeps::Bits),
//!    [`eval`](crate::eval()) gives the same bits before and after; else the same value up to rounding, and its file says whose.
//! 3. **It is never worse**: it reads no more memory and multiplies no more. A rule for which that depends has the default
//!    [`Mode::ByCost`](crate::Mode::ByCost) or [`Mode::Off`](crate::Mode::Off).
//! 4. **It is local**: it follows operands from the node and asks for their users, and nothing else.
//! 5. **It ends**: its file names a measure that each replacement makes smaller and that no other rule makes larger for ever.
//! 6. **Nothing repairs it.** A replacement has the type of what it replaces and is right as it stands; other rules may tidy it, none
//!    has to.
//!
//! The engine holds rules to the types, to building from earlier nodes only, and to the verifier; `tests/it` to the rest.

mod fold_output;
mod fold_query;
mod split_columns;
mod split_heads;
mod sum_in_down;
mod tidy_constants;
mod tidy_identity;
mod tidy_movement;

use weft_quant::GgmlType;

use crate::decision::Decision;
use crate::graph::NodeId;
use crate::hoist;
use crate::op::Op;
use crate::rewrite::{Rewriter, Rule};
use crate::weights::WeightView;

/// Every rule, in the order they are tried.
pub static RULES: [&Rule; 8] = [
    &tidy_identity::RULE,
    &tidy_movement::RULE,
    &tidy_constants::RULE,
    &split_heads::RULE,
    &split_columns::RULE,
    &sum_in_down::RULE,
    &fold_query::RULE,
    &fold_output::RULE,
];

/// Every decision of this crate: the rules', then those about more than one graph.
pub fn decisions() -> impl Iterator<Item = &'static Decision> {
    RULES.into_iter().map(|rule| &rule.decision).chain([&hoist::STEPS])
}

/// The operands of a node that is this operation.
fn operands<'a, const N: usize>(rewriter: &Rewriter<'a>, id: NodeId, op: &Op) -> Option<[NodeId; N]> {
    let node = rewriter.node(id);
    if node.op == *op { node.inputs[..].try_into().ok() } else { None }
}

/// Whether a node is rows of a weight, as both factors of a product must be.
fn is_whole_rows(rewriter: &Rewriter<'_>, id: NodeId) -> bool {
    WeightView::of(rewriter.graph(), id).is_some()
}

/// The type of a product whose right factor has this one. If that is quantised (and so has rows of whole blocks of 32), 8 bits, which
/// lose next to nothing beside rounding activations to as many; else halves. (Rounded a second time to a file's 4 bits, products cost
/// a small model more than five times the divergence.)
fn product_type(right: GgmlType) -> GgmlType {
    if right.is_quantised() { GgmlType::Q8_0 } else { GgmlType::F16 }
}
