//! `fold.query` and `fold.output`: two consecutive products with weights are one with the product of the weights, and the
//! other way round.

use egg::Id;
use weft_ir::{Dim, Op, Shape, Type};
use weft_quant::GgmlType;

use crate::law::{Law, Terms};
use crate::term::{Rows, Term};

pub(super) const QUERY: Law = Law { name: "fold.query", about: |op| *op == HEAD_DOT, apply: query };
pub(super) const OUTPUT: Law = Law { name: "fold.output", about: |op| *op == Op::Dot, apply: output };

const HEAD_DOT: Op = Op::HeadDot { transposed: false };

/// `head_dot(head_dot(x, w1), w2)` is `head_dot(x, product(w2, w1))`.
fn query(f: &mut Terms<'_>, class: Id, term: &Term) {
    let &[x, w] = &term.operands[..] else { return };
    for [before, w1] in f.with(x, &HEAD_DOT) {
        let folded = product(f, w, w1, false).and_then(|w| f.add(HEAD_DOT, &[before, w], None));
        f.same(class, folded);
    }
    for [w2, w1] in f.with(w, &Op::Product { joined: false }) {
        let inner = f.add(HEAD_DOT, &[x, w1], None);
        let apart = inner.and_then(|inner| f.add(HEAD_DOT, &[inner, w2], None));
        f.same(class, apart);
    }
}

/// `dot(reshape(head_dot(x [T, H, K], w1 [H, M, K]), [T, H·M]), w2 [N, H·M])` is `dot(reshape(x, [T, H·K]), product(w2, w1))`.
fn output(f: &mut Terms<'_>, class: Id, term: &Term) {
    let &[joined, w] = &term.operands[..] else { return };
    for [heads] in f.with(joined, &Op::Reshape) {
        for [x, w1] in f.with(heads, &HEAD_DOT) {
            let folded = fold_output(f, joined, x, w1, w);
            f.same(class, folded);
        }
    }
    for [w2, w1] in f.with(w, &Op::Product { joined: true }) {
        let apart = unfold_output(f, joined, w1, w2);
        f.same(class, apart);
    }
}

fn fold_output(f: &mut Terms<'_>, joined: Id, x: Id, w1: Id, w2: Id) -> Option<Id> {
    let &[_, Dim::Const(h), Dim::Const(k)] = &f.dims(x)[..] else { return None };
    let w = product(f, w2, w1, true)?;
    let rows = with_last(f, joined, h.checked_mul(k)?)?;
    let x = f.reshape(x, rows)?;
    f.add(Op::Dot, &[x, w], None)
}

fn unfold_output(f: &mut Terms<'_>, joined: Id, w1: Id, w2: Id) -> Option<Id> {
    let &[Dim::Const(h), Dim::Const(m), k] = &f.dims(w1)[..] else { return None };
    let t = *f.dims(joined).first()?;
    let x = f.reshape(joined, [t, Dim::Const(h), k])?;
    let heads = f.add(HEAD_DOT, &[x, w1], None)?;
    let rows = with_last(f, joined, h.checked_mul(m)?)?;
    let heads = f.reshape(heads, rows)?;
    f.add(Op::Dot, &[heads, w2], None)
}

/// The shape of a value with another last axis.
fn with_last(f: &Terms<'_>, x: Id, last: usize) -> Option<Shape> {
    let shape = &f.ty(x).shape;
    Some(shape.with(shape.rank().checked_sub(1)?, last))
}

/// The product of two weights, stored as the rules store it: in 8 bits if the right one is quantised, otherwise as `f16`.
fn product(f: &mut Terms<'_>, left: Id, right: Id, joined: bool) -> Option<Id> {
    let whole = |id: Id| f.facts(id).parameter.filter(|p| !p.product && p.rows != Rows::Cut);
    whole(left).and(whole(right))?;
    let stored = if f.ty(right).dtype.is_quantised() { GgmlType::Q8_0 } else { GgmlType::F16 };
    f.add(Op::Product { joined }, &[left, right], Some(Type::new(stored, Shape::default())))
}
