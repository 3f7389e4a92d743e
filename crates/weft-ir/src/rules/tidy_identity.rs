//! Replaces `x·1`, `x/1`, and movement that leaves every value in place, by `x`.
//!
//! Legal: multiplying and dividing by one are exact. Adding zero is not among them: −0 + 0 is 0. Terminates: fewer nodes.

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::{Binary, Op};
use crate::rule::{Built, Keeps, Rewriter, Rule};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "tidy.identity",
        about: "Removes what changes nothing: times one, divided by one, reshapes to the same shape, slices of a whole axis, joins of one part.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let node = r.node(id);
    let same = match (&node.op, &node.inputs[..]) {
        // With the same type as its operand, each of these has the same values.
        (Op::Reshape | Op::Slice { .. } | Op::Concat { .. }, [x]) => *x,
        (Op::Binary(Binary::Mul | Binary::Div), [x, one]) if is_one(r, *one) => *x,
        (Op::Binary(Binary::Mul), [one, x]) if is_one(r, *one) => *x,
        _ => return None,
    };
    // Multiplying by a vector of ones may broadcast an axis.
    (r.node(same).ty == node.ty).then(|| r.get(same))
}

fn is_one(r: &Rewriter<'_>, id: NodeId) -> bool {
    matches!(&r.node(id).op, Op::Const { values } if values.iter().all(|v| v.0 == 1.0))
}
