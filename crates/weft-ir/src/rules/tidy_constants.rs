//! Folds arithmetic on constant scalars.
//!
//! Legal: the value is the operation's definition; a value that is not finite cannot be a constant and stays. Terminates:
//! fewer elementwise operations.

use crate::decision::{Decision, Mode};
use crate::graph::{NodeId, Type};
use crate::op::{F32, Op};
use crate::rule::{Built, Keeps, Rewriter, Rule};
use crate::shape::Shape;

pub(super) static RULE: Rule = Rule {
    decision: Decision {
        name: "tidy.constants",
        about: "Computes elementwise operations on constant scalars in the compiler.",
        default: Mode::On,
    },
    keeps: Keeps::Bits,
    apply,
};

fn apply(r: &mut Rewriter<'_>, id: NodeId) -> Option<Built> {
    let node = r.node(id);
    let values = node.inputs.iter().map(|i| scalar(r, *i)).collect::<Option<Vec<f32>>>()?;
    let value = match (&node.op, &values[..]) {
        (Op::Unary(op), [x]) => op.apply(*x),
        (Op::Binary(op), [a, b]) => op.apply(*a, *b),
        _ => return None,
    };
    let ty = Type { shape: Shape::default(), ..node.ty };
    r.push_as(Op::Const { values: vec![F32(value)] }, &[], Some(ty))
}

fn scalar(r: &Rewriter<'_>, id: NodeId) -> Option<f32> {
    match &r.node(id).op {
        Op::Const { values } if r.dims(id).is_empty() => values.first().map(|v| v.0),
        _ => None,
    }
}
