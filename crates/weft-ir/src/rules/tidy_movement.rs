//! Merges consecutive movements: a reshape of a reshape, a slice of a slice along the same axis, and a slice within one part of a
//! join become one movement of the original value.
//!
//! Legal: values are only read from elsewhere. Terminates: fewer movements between a value and its users.

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rule::{Built, Keeps, Rewriter, Rule};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "tidy.movement",
        about: "Lets reshapes of reshapes, slices of slices and slices of one part of a join read the original value.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let node = r.node(id);
    let moved = r.node(*node.inputs.first()?);
    match (&node.op, &moved.op) {
        (Op::Reshape, Op::Reshape) => {
            let x = r.get(moved.inputs[0]);
            r.reshape(x, node.ty.shape.clone())
        }
        (Op::Slice { axis, start, len }, Op::Slice { axis: inner, start: first, .. }) if axis == inner => {
            let x = r.get(moved.inputs[0]);
            r.slice(x, *axis, first + start, *len)
        }
        (Op::Slice { axis, start, len }, Op::Concat { axis: joined }) if axis == joined => {
            let mut from = *start;
            for part in &moved.inputs {
                let size = r.dims(*part)[*axis].known()?;
                if from < size {
                    let x = r.get(*part);
                    return r.slice(x, *axis, from, *len);
                }
                from -= size;
            }
            None
        }
        _ => None,
    }
}
