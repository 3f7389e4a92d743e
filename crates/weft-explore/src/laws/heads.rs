//! `split.heads`: a product split into heads is a product of each head, with the same rows of the weight.

use egg::Id;
use weft_ir::{Dim, Op};

use crate::law::{Law, Terms};
use crate::term::{Rows, Term};

pub(super) const LAW: Law = Law {
    name: "split.heads",
    about: |op| matches!(op, Op::Reshape | Op::HeadDot { transposed: false }),
    apply,
};

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    match (&term.head.op, &term.operands[..]) {
        (Op::Reshape, [dot]) => {
            for [x, w] in f.with(*dot, &Op::Dot) {
                let heads = by_head(f, class, x, w);
                f.same(class, heads);
            }
        }
        (Op::HeadDot { transposed: false }, [x, w]) => {
            let at_once = at_once(f, class, *x, *w);
            f.same(class, at_once);
        }
        _ => {}
    }
}

/// `reshape(dot(x [T, K], w [H·D, K]), [T, H, D])` as `head_dot(x [T, 1, K], w [H, D, K])`.
fn by_head(f: &mut Terms<'_>, class: Id, x: Id, w: Id) -> Option<Id> {
    let (&[t, k], &[_, heads, width]) = (&f.dims(x)[..], &f.dims(class)[..]) else { return None };
    f.facts(w).parameter.filter(|p| p.rows == Rows::Together)?;
    let x = f.reshape(x, [t, Dim::Const(1), k])?;
    let w = f.reshape(w, [heads, width, k])?;
    f.add(Op::HeadDot { transposed: false }, &[x, w], None)
}

/// The other direction, if one row of `x` serves all heads and their matrices are contiguous.
fn at_once(f: &mut Terms<'_>, class: Id, x: Id, w: Id) -> Option<Id> {
    let &[t, Dim::Const(1), k] = &f.dims(x)[..] else { return None };
    let &[Dim::Const(heads), Dim::Const(width), _] = &f.dims(w)[..] else { return None };
    f.facts(w).parameter.filter(|p| p.rows == Rows::Together)?;
    let x = f.reshape(x, [t, k])?;
    let w = f.reshape(w, [Dim::Const(heads.checked_mul(width)?), k])?;
    let dot = f.add(Op::Dot, &[x, w], None)?;
    f.reshape(dot, f.ty(class).shape.clone())
}
