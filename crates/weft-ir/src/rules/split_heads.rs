//! A product whose result is only read head by head is written head by head.
//!
//! `reshape(dot(x [T, K], w [H·D, K]), [T, H, D])` becomes `head_dot(x [T, 1, K], w [H, D, K])`, if all that reads it are slices within
//! a head and rotations, and nothing else needs the dot. The heads' matrices are the rows that were there, and [`split.columns`] can
//! then cut them.
//!
//! Legal: every output is the same row of `w` times the same row of `x`. Never worse: the same rows are read, and reshapes move
//! nothing. Ends: there are fewer reshapes of a `dot`.
//!
//! [`split.columns`]: super::split_columns

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rewrite::{Built, Keeps, Rewriter, Rule};
use crate::rules::operands;
use crate::shape::Dim;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "split.heads",
        about: "A product that is only read head by head is made head by head: a query's parts can then be made apart.",
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
