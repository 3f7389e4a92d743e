//! `moe.sum_in_down`: the weighted sum over a token's experts is taken inside their last product, or after it.

use egg::Id;
use weft_ir::{Binary, Dim, Op, Reduce};

use crate::law::{Law, Terms};
use crate::term::Term;

pub(super) const LAW: Law =
    Law { name: "moe.sum_in_down", about: |op| matches!(op, &SUM | Op::SelectSum), apply };

const SUM: Op = Op::Reduce { op: Reduce::Sum, axis: 1 };
const MUL: Op = Op::Binary(Binary::Mul);

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    match (&term.head.op, &term.operands[..]) {
        (&SUM, [weighted]) => {
            for [a, b] in f.with(*weighted, &MUL) {
                for (each, weights) in [(a, b), (b, a)] {
                    for [x, w, ids] in f.with(each, &Op::SelectDot) {
                        let inside = inside(f, class, [x, w, ids, weights]);
                        f.same(class, inside);
                    }
                }
            }
        }
        (Op::SelectSum, &[x, w, ids, weights]) => {
            let after = after(f, class, [x, w, ids, weights]);
            f.same(class, after);
        }
        _ => {}
    }
}

/// `reduce_sum(mul(select_dot(x [T, U, K], w, ids), weights [T, U, 1]), axis=1)` as `select_sum(x, w, ids, weights [T, U])`.
fn inside(f: &mut Terms<'_>, class: Id, [x, w, ids, weights]: [Id; 4]) -> Option<Id> {
    let &[t, u] = &f.dims(ids)[..] else { return None };
    if f.dims(weights) != [t, u, Dim::Const(1)] {
        return None;
    }
    let weights = f.reshape(weights, [t, u])?;
    let sum = f.add(Op::SelectSum, &[x, w, ids, weights], None)?;
    f.reshape(sum, f.ty(class).shape.clone())
}

/// The other direction.
fn after(f: &mut Terms<'_>, class: Id, [x, w, ids, weights]: [Id; 4]) -> Option<Id> {
    let &[t, u] = &f.dims(ids)[..] else { return None };
    let each = f.add(Op::SelectDot, &[x, w, ids], None)?;
    let weights = f.reshape(weights, [t, u, Dim::Const(1)])?;
    let weighted = f.add(MUL, &[each, weights], None)?;
    let sum = f.add(SUM, &[weighted], None)?;
    f.reshape(sum, f.ty(class).shape.clone())
}
