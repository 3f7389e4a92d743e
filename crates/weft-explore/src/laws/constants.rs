//! `tidy.constants`: arithmetic on constant scalars is a constant scalar.

use egg::Id;
use weft_ir::{F32, Op, Shape, Type};
use weft_quant::GgmlType;

use crate::law::{Law, Terms};
use crate::term::Term;

pub(super) const LAW: Law =
    Law { name: "tidy.constants", about: |op| matches!(op, Op::Unary(_) | Op::Binary(_)), apply };

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    let values: Option<Vec<f32>> = term.operands.iter().map(|id| f.facts(*id).scalar).collect();
    let value = match (&term.head.op, values.as_deref()) {
        (Op::Unary(op), Some([x])) => op.apply(*x),
        (Op::Binary(op), Some([a, b])) => op.apply(*a, *b),
        _ => return,
    };
    // A value that is not finite cannot be a constant, and does not fit.
    let ty = Type::new(GgmlType::F32, Shape::default());
    let folded = f.add(Op::Const { values: vec![F32(value)] }, &[], Some(ty));
    f.same(class, folded);
}
