//! Takes the weighted sum over a token's experts inside their last product.
//!
//! `reduce_sum(mul(select_dot(x [T, U, K], w, ids), weights [T, U, 1]), axis=1)` becomes `select_sum(x, w, ids, weights [T, U])`,
//! if nothing else uses the products.
//!
//! Legal: this is the definition of `select_sum`, in the same order. Terminates: fewer reductions.
//!
//! By cost: it reads the same rows and does not write `U` outputs per token, but leaves less to distribute, since a sum is one
//! piece of work `U` products long. On a machine with hundreds of workers that costs more than it saves (docs/egraph.md).

use super::premise::operands;
use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::{Binary, Op, Reduce};
use crate::rule::{Built, Keeps, Rewriter, Rule};
use crate::shape::Dim;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "moe.sum_in_down",
        about: "Sums over the chosen experts within their last product.",
        default: Mode::ByCost,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let [weighted] = operands(r, id, &Op::Reduce { op: Reduce::Sum, axis: 1 })?;
    let [a, b] = operands(r, weighted, &Op::Binary(Binary::Mul))?;
    if !r.is_only_for(weighted, id) {
        return None;
    }
    let (each, weights) = if r.node(a).op == Op::SelectDot { (a, b) } else { (b, a) };
    let [x, w, ids] = operands(r, each, &Op::SelectDot)?;
    let &[t, u] = r.dims(ids) else { return None };
    if r.dims(weights) != [t, u, Dim::Const(1)] || !r.is_only_for(each, weighted) {
        return None;
    }
    let [x, w, ids, weights] = [x, w, ids, weights].map(|input| r.get(input));
    let weights = r.reshape(weights, [t, u])?;
    let sum = r.push(Op::SelectSum, &[x, w, ids, weights])?;
    r.reshape(sum, r.node(id).ty.shape.clone())
}
