//! Movement of moved values: a reshape of a reshape, a slice of a slice along the same axis, and a slice that lies within one part of
//! a join, are one movement of what was there first.
//!
//! Legal: values are only read from elsewhere. Ends: fewer movements lie between a value and what is computed from it.

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rewrite::{Built, Keeps, Rewriter, Rule};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "tidy.movement",
        about: "Reshapes of reshapes, slices of slices and slices of one part of a join read the first value at once.",
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
