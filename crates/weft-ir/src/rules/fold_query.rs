//! Merges two consecutive products with weights into one, with the product of the weights.
//!
//! `head_dot(head_dot(x, w1 [H, M, K]), w2 [H, N, M])` becomes `head_dot(x, product(w2, w1) [H, N, K])`, if nothing else uses the
//! inner one. In absorbed attention (the `Latent` block of `weft-models`) this takes a query from its own latent space to the
//! keys' in one step. It reads N·K values per head instead of (N + K)·M, which is more on all known models (by 60 % on
//! GLM-4.7-Flash), but saves a kernel: cost decides.
//!
//! Legal up to rounding: `w2·(w1·x) = (w2·w1)·x`; the product of the weights is rounded to its stored type, the vector in between
//! is not rounded at all. An infinity or NaN in a weight reaches more outputs than before. Terminates: fewer `head_dot`s.
//!
//! Files that store keys and values in one tensor multiply keys transposed (`head_dot transposed=true`). That is not matched: a
//! product has no transposed form.
//!
//! Off by default, because weights keep the precision of the file unless a named option says otherwise; `by-cost` leaves it to
//! the cost model.

use super::premise::{is_whole_rows, operands, product_type};
use crate::decision::{Decision, Mode};
use crate::graph::{NodeId, Type};
use crate::op::Op;
use crate::rule::{Built, Keeps, Rewriter, Rule};
use crate::shape::Shape;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "fold.query",
        about: "Multiplies the matrices that take a query to the keys' latent space when the model is loaded.",
        default: Mode::Off,
    },
    keeps: Keeps::Value,
    apply,
};

const HEAD_DOT: Op = Op::HeadDot { transposed: false };

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let [inner, w2] = operands(r, id, &HEAD_DOT)?;
    let [x, w1] = operands(r, inner, &HEAD_DOT)?;
    if !r.is_only_for(inner, id) || !is_whole_rows(r, w1) || !is_whole_rows(r, w2) {
        return None;
    }
    let stored = product_type(r.node(w1).ty.dtype);
    let [x, w1, w2] = [x, w1, w2].map(|input| r.get(input));
    let ty = Type::new(stored, Shape::default());
    let w = r.push_as(Op::Product { joined: false }, &[w2, w1], Some(ty))?;
    r.push(HEAD_DOT, &[x, w])
}
