//! `tidy.identity`: `x·1`, `x/1`, and movement that leaves every value in place, are `x`.

use egg::Id;
use weft_ir::{Binary, Op};

use crate::law::{Law, Terms};
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
    // Ones may broadcast an axis, and movement may move: a value of another type is not united.
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
