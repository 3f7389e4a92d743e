//! Merges the heads' value matrices and the output projection into one matrix.
//!
//! `dot(reshape(head_dot(x [T, H, K], w1 [H, M, K]), [T, H·M]), w2 [N, H·M])` becomes
//! `dot(reshape(x, [T, H·K]), product(w2, w1) [N, H·K])`, if nothing else uses the values in between. It reads N·H·K values
//! instead of (N + K)·H·M, which is more where the latent space is wider than a head, but saves a kernel: cost decides.
//!
//! Legal up to rounding: both are the sum over heads of `w2_h·(w1_h·x_h) = (w2_h·w1_h)·x_h`; the product of the weights is
//! rounded to its stored type, the vector in between is not rounded at all. An infinity or NaN in a weight reaches more outputs
//! than before. Terminates: fewer `head_dot`s.
//!
//! Off by default, because weights keep the precision of the file unless a named option says otherwise; `by-cost` leaves it to
//! the cost model.

use super::premise::{is_whole_rows, operands, product_type};
use crate::decision::{Decision, Mode};
use crate::graph::{NodeId, Type};
use crate::op::Op;
use crate::rule::{Built, Keeps, Rewriter, Rule};
use crate::shape::{Dim, Shape};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "fold.output",
        about: "Multiplies the matrices from the latent space to values and from values to the hidden state when the model is loaded.",
        default: Mode::Off,
    },
    keeps: Keeps::Value,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let [joined, w2] = operands(r, id, &Op::Dot)?;
    let [heads] = operands(r, joined, &Op::Reshape)?;
    let [x, w1] = operands(r, heads, &Op::HeadDot { transposed: false })?;
    let &[_, Dim::Const(h), Dim::Const(k)] = r.dims(x) else { return None };
    let only = r.is_only_for(joined, id) && r.is_only_for(heads, joined);
    if !only || !is_whole_rows(r, w1) || !is_whole_rows(r, w2) {
        return None;
    }
    let stored = product_type(r.node(w1).ty.dtype);
    let [x, w1, w2] = [x, w1, w2].map(|input| r.get(input));
    let ty = Type::new(stored, Shape::default());
    let w = r.push_as(Op::Product { joined: true }, &[w2, w1], Some(ty))?;
    // A single row of `x` for all heads does not fit: it would have to be repeated.
    let rows = &r.node(joined).ty.shape;
    let x = r.reshape(x, rows.with(rows.rank() - 1, h.checked_mul(k)?))?;
    r.push(Op::Dot, &[x, w])
}
