//! `split.columns`: a part of a product is the product with those rows of the weight.
//!
//! The other direction is twofold: a product with a part of a weight is a part of the product with the whole; and two products
//! with adjacent parts of one weight are one. (Separate weights are not adjacent: a single product would have to copy them.)

use egg::Id;
use weft_ir::Op;

use crate::law::{Law, Terms};
use crate::term::Term;

pub(super) const LAW: Law = Law {
    name: "split.columns",
    about: |op| matches!(op, Op::Slice { .. }) || row_axis(op).is_some(),
    apply,
};

/// The axis of the weight that becomes the columns.
fn row_axis(op: &Op) -> Option<usize> {
    match op {
        Op::Dot => Some(0),
        Op::HeadDot { transposed: false } | Op::SelectDot => Some(1),
        _ => None,
    }
}

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    match term.head.op {
        Op::Slice { axis, start, len } if axis + 1 == term.head.ty.shape.rank() => {
            for product in f.of(term.operands[0]) {
                let part = part(f, &product, start, len);
                f.same(class, part);
            }
        }
        _ => join(f, class, term),
    }
}

/// A product with rows `start..start + len` of its weight.
fn part(f: &mut Terms<'_>, product: &Term, start: usize, len: usize) -> Option<Id> {
    let axis = row_axis(&product.head.op)?;
    let w = product.operands[1];
    f.facts(w).parameter?;
    let rows = f.slice(w, axis, start, len)?;
    with_weight(f, product, rows)
}

/// The same product with another weight.
fn with_weight(f: &mut Terms<'_>, product: &Term, w: Id) -> Option<Id> {
    let mut operands = product.operands.clone();
    operands[1] = w;
    f.add(product.head.op.clone(), &operands, None)
}

fn join(f: &mut Terms<'_>, class: Id, product: &Term) {
    let Some(axis) = row_axis(&product.head.op) else { return };
    let w = product.operands[1];
    for term in f.of(w) {
        let (Op::Slice { axis: cut, start, len }, [whole]) = (&term.head.op, &term.operands[..]) else {
            continue;
        };
        if *cut != axis || f.facts(*whole).parameter.is_none() {
            continue;
        }
        let all = with_weight(f, product, *whole);
        let own = all.and_then(|all| columns(f, all, *start, *len));
        f.same(class, own);
        // Adjacent parts of the weight are a part as well. The rest follows from this and from movement: each of them is a part
        // of their union, and so are their products.
        for (_, next) in f.users(*whole) {
            if let Op::Slice { axis: other, start: second, len: more } = next.head.op
                && (other, second) == (axis, start + len)
            {
                f.slice(*whole, axis, *start, len + more);
            }
        }
    }
}

/// A part of the last axis.
fn columns(f: &mut Terms<'_>, x: Id, start: usize, len: usize) -> Option<Id> {
    let axis = f.dims(x).len().checked_sub(1)?;
    f.slice(x, axis, start, len)
}
