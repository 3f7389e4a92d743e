//! Splits a product that is only read in parts.
//!
//! A slice of the last axis of a `dot`, `head_dot` or `select_dot` becomes the same product with those rows of the weight, if all
//! users of the product are such slices and no two of them overlap. Each part can then have its own epilogue. (They still share
//! `x`, and a compiler may well compute them in one kernel.)
//!
//! Legal: an output depends on one row of the weight, and only whole rows are taken. Never worse: no row of the weight is read
//! twice, and unused ones are not read at all. Terminates: fewer slices of products.

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rule::{Built, Keeps, Rewriter, Rule};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "split.columns",
        about: "Splits a product that is only read in parts, each with its own rows of the weight.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let (start, len) = columns(r, id)?;
    let whole = r.node(id).inputs[0];
    let product = r.node(whole);
    // The axis of the weight that becomes the columns.
    let rows = match product.op {
        Op::Dot => 0,
        Op::HeadDot { transposed: false } | Op::SelectDot | Op::SelectRange { .. } => 1,
        _ => return None,
    };
    if !r.graph().is_parameter(product.inputs[1]) {
        return None;
    }
    let mut parts =
        r.users(whole)?.iter().map(|user| columns(r, *user)).collect::<Option<Vec<(usize, usize)>>>()?;
    parts.sort_unstable();
    if parts.windows(2).any(|two| two[0].0 + two[0].1 > two[1].0) {
        return None;
    }
    let mut inputs: Vec<Built> = product.inputs.iter().map(|input| r.get(*input)).collect();
    inputs[1] = r.slice(inputs[1], rows, start, len)?;
    r.push(product.op.clone(), &inputs)
}

/// Where a node begins and its length, if it is a slice of the last axis.
fn columns(r: &Rewriter<'_>, id: NodeId) -> Option<(usize, usize)> {
    match r.node(id).op {
        Op::Slice { axis, start, len } if axis + 1 == r.dims(id).len() => Some((start, len)),
        _ => None,
    }
}
