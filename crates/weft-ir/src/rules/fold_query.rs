//! Two products of weights in a row become one, by the product of the weights.
//!
//! `head_dot(head_dot(x, w1 [H, M, K]), w2 [H, N, M])` becomes `head_dot(x, product(w2, w1) [H, N, K])`, if nothing else needs the inner
//! one. In absorbed attention (see `mla.rs` of `weft-models`) that takes a query from its own latent space to the keys' in one
//! step. It reads N·K values for each head and not (N + K)·M, which is more on the models known (by 60 % on GLM-4.7-Flash), and
//! saves a kernel: cost decides.
//!
//! Legal up to rounding: `w2·(w1·x) = (w2·w1)·x`; the product of the weights is rounded to the type it is stored in, the vector
//! between is not rounded at all. An infinite or missing number in a weight spoils more outputs than before. Ends: there are fewer
//! `head_dot`s.
//!
//! Keys of files that hold keys and values joined are multiplied transposed (`head_dot transposed=true`). That is not matched: a
//! product has no transposed form.
//!
//! Off by default, because weights stay in the precision of the file unless a named option says otherwise; `by-cost` leaves it to the
//! cost model.

use crate::decision::{Decision, Mode};
use crate::graph::{NodeId, Type};
use crate::op::Op;
use crate::rewrite::{Built, Keeps, Rewriter, Rule};
use crate::rules::{is_whole_rows, operands, product_type};
use crate::shape::Shape;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "fold.query",
        about: "The matrices that take a query to the keys' latent space are multiplied when the model is loaded.",
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
