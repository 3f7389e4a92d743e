//! A product that is only read in parts is made in parts.
//!
//! A slice of the last axis of a `dot`, `head_dot` or `select_dot` becomes the same product with those rows of the weight, if all that
//! reads the product are such slices and no two of them overlap. Each part can then have an epilogue of its own. (They still share
//! `x`, and nothing keeps a compiler from making them in one kernel.)
//!
//! Legal: an output depends on one row of the weight. Only rows are cut and never blocks. Never worse: no row of the weight is read
//! twice, and those that nobody needs are not read at all. Ends: there are fewer slices of products.

use crate::decision::{Decision, Mode};
use crate::graph::NodeId;
use crate::op::Op;
use crate::rewrite::{Built, Keeps, Rewriter, Rule};

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "split.columns",
        about: "A product that is only read in parts is made in parts, each by its own rows of the weight.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let (start, len) = columns(r, id)?;
    let whole = r.node(id).inputs[0];
    let product = r.node(whole);
    // The axis of the weight that makes columns.
    let rows = match product.op {
        Op::Dot => 0,
        Op::HeadDot { transposed: false } | Op::SelectDot => 1,
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

/// Where a node begins and how long it is, if it is a slice of a last axis.
fn columns(r: &Rewriter<'_>, id: NodeId) -> Option<(usize, usize)> {
    match r.node(id).op {
        Op::Slice { axis, start, len } if axis + 1 == r.dims(id).len() => Some((start, len)),
        _ => None,
    }
}
