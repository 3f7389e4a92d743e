//! One value of all lanes: the same order whatever the lanes do otherwise.

use crate::render::expr::{Expr, Fun};
use crate::render::writer::Writer;

/// What two values become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fold {
    Sum,
    Max,
}

impl Fold {
    pub(crate) fn of(self, a: Expr, b: Expr) -> Expr {
        match self {
            Fold::Sum => a + b,
            Fold::Max => Expr::call(Fun::Max, [a, b]),
        }
    }
}

/// Folds a value of each lane; all lanes have the result. Two steps of about the same length: two barriers, where halving would take one each time.
///
/// All lanes must come here. What was kept before can be read afterwards.
pub(crate) fn lanes(w: &mut Writer<'_>, fold: Fold, value: Expr) -> Expr {
    let lanes = w.code.lanes;
    let many = 1u32 << (lanes.ilog2() / 2);
    let each = lanes / many;
    let (first, second) = (w.pool.room(lanes), w.pool.room(many));
    w.code.keep(Expr::Lane + first, value.bits());
    w.code.barrier();
    w.code.open();
    // Lane `l` folds `l`, `l + many` and so on: side by side in memory at each step.
    let partial = folded(w, fold, &(Expr::Lane + first), each, many);
    w.code.keep(Expr::Lane + second, partial.bits());
    w.code.close_if(Expr::Lane.less(many));
    w.code.barrier();
    folded(w, fold, &Expr::U32(second), many, 1)
}

/// Folds `n` kept values, `apart` from each other.
pub(crate) fn folded(w: &mut Writer<'_>, fold: Fold, from: &Expr, n: u32, apart: u32) -> Expr {
    let first = w.kept(from.clone());
    let total = w.code.var("total", first);
    if n > 1 {
        let name = w.code.fresh("l");
        w.code.open();
        let next = w.kept(from + Expr::name(name.clone()) * apart);
        w.code.assign(&total, fold.of(total.clone(), next));
        w.code.close_for(name, 1u32.into(), n.into(), 1);
    }
    total
}
