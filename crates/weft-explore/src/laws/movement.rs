//! `tidy.movement`: a movement of a moved value is one movement, and one movement is two where the e-graph has the value in
//! between.

use egg::Id;
use weft_ir::{Dim, Op};

use crate::law::{Law, Terms};
use crate::term::Term;

pub(super) const LAW: Law = Law {
    name: "tidy.movement",
    about: |op| matches!(op, Op::Reshape | Op::Slice { .. } | Op::Concat { .. }),
    apply,
};

fn apply(f: &mut Terms<'_>, class: Id, term: &Term) {
    match (&term.head.op, &term.operands[..]) {
        (Op::Reshape, [x]) => reshape(f, class, *x),
        (&Op::Slice { axis, start, len }, [x]) => slice(f, class, *x, (axis, start, len)),
        (Op::Concat { axis }, parts) => join(f, class, *axis, parts),
        _ => {}
    }
}

fn reshape(f: &mut Terms<'_>, class: Id, x: Id) {
    let shape = f.ty(class).shape.clone();
    for [first] in f.with(x, &Op::Reshape) {
        let at_once = f.reshape(first, shape.clone());
        f.same(class, at_once);
    }
    // Back again. By the direction above, every other reshape of `x` is then one of this class.
    let back = f.reshape(class, f.ty(x).shape.clone());
    f.same(x, back);
}

fn slice(f: &mut Terms<'_>, class: Id, x: Id, (axis, start, len): (usize, usize, usize)) {
    for term in f.of(x) {
        match (&term.head.op, &term.operands[..]) {
            (Op::Slice { axis: inner, start: first, .. }, [from]) if *inner == axis => {
                let at_once = f.slice(*from, axis, first + start, len);
                f.same(class, at_once);
            }
            (Op::Concat { axis: joined }, parts) if *joined == axis => {
                let mut from = start;
                for part in parts {
                    let Some(size) = f.dims(*part)[axis].known() else { break };
                    if from < size {
                        let of_part = f.slice(*part, axis, from, len);
                        f.same(class, of_part);
                        break;
                    }
                    from -= size;
                }
            }
            _ => {}
        }
    }
    // A part of a wider part that has another user.
    for (wider, term) in f.users(x) {
        if let Op::Slice { axis: other, start: first, len: wide } = term.head.op
            && other == axis
            && wide > len
            && first <= start
            && start + len <= first + wide
        {
            let of_wider = f.slice(wider, axis, start - first, len);
            f.same(class, of_wider);
        }
    }
}

/// A part is a slice of the value it is joined into.
fn join(f: &mut Terms<'_>, class: Id, axis: usize, parts: &[Id]) {
    let mut start = 0;
    for part in parts {
        let Some(&Dim::Const(len)) = f.dims(*part).get(axis) else { return };
        let slice = f.slice(class, axis, start, len);
        f.same(*part, slice);
        start += len;
    }
}
