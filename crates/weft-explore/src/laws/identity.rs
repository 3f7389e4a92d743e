//! `tidy.identity`: `x·1`, `x/1`, and movement that leaves everything in its place, are `x`.

use egg::Id;
use weft_ir::{Binary, Op};

use super::{Law, Terms};
use crate::term::Term;

pub(super) const LAW: Law = Law {
    name: "tidy.identity",
    about: |op| {
        use Op::{Concat, Reshape, Slice};
        matches!(op, Reshape | Slice { .. } | Concat { .. } | Op::Binary(Binary::Mul | Binary::Div))
    },
    apply,
};

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    // Ones can stretch an axis, and movement may move: what has another type is not made the same.
    match (&term.head.op, &term.operands[..]) {
        (Op::Reshape | Op::Slice { .. } | Op::Concat { .. }, [x]) => f.same(class, Some(*x)),
        (Op::Binary(Binary::Mul | Binary::Div), [x, one]) if is_one(f, *one) => f.same(class, Some(*x)),
        (Op::Binary(Binary::Mul), [one, x]) if is_one(f, *one) => f.same(class, Some(*x)),
        _ => {}
    }
}

fn is_one(f: &Terms<'_>, class: Id) -> bool {
    let ones =
        |term: &Term| matches!(&term.head.op, Op::Const { values } if values.iter().all(|v| v.0 == 1.0));
    f.of(class).iter().any(ones)
}
