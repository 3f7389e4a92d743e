//! Splits a product by heads where its result is only read head by head.
//!
//! `reshape(dot(x [T, K], w [H·D, K]), [T, H, D])` becomes `head_dot(x [T, 1, K], w [H, D, K])`, if its only users are slices
//! within a head and rotations, and nothing else uses the dot. The heads' matrices are the same rows as before, and
//! [`split.columns`] can then split them further.
//!
//! Legal: every output is the same row of `w` times the same row of `x`. Never worse: the same rows are read, and reshapes move
//! nothing. Terminates: fewer reshapes of a `dot`.
//!
//! [`split.columns`]: super::split_columns

use super::premise::operands;
use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rule::{Built, Keeps, Rewriter, Rule};
use crate::shape::Dim;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "split.heads",
        about: "Splits a product that is only read head by head by its heads, so that a query's parts can be split as well.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let [dot] = operands(r, id, &Op::Reshape)?;
    let [x, w] = operands(r, dot, &Op::Dot)?;
    let (&[t, k], &[_, heads, width]) = (r.dims(x), r.dims(id)) else { return None };
    let per_head = |user: &NodeId| match r.node(*user).op {
        Op::Slice { axis, .. } => axis == 2,
        Op::Rope { .. } => true,
        _ => false,
    };
    if !r.graph().is_parameter(w) || !r.is_only_for(dot, id) || !r.users(id)?.iter().all(per_head) {
        return None;
    }
    let (x, w) = (r.get(x), r.get(w));
    let x = r.reshape(x, [t, Dim::Const(1), k])?;
    let w = r.reshape(w, [heads, width, k])?;
    r.push(Op::HeadDot { transposed: false }, &[x, w])
}
