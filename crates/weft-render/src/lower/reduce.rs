//! Reductions over the lanes of a workgroup, in a fixed order.

use weft_shader::expr::{Expr, Fun};

use crate::lower::writer::Writer;

/// The operation that combines two values.
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

/// Reduces a value of each lane; all lanes get the result. Lanes of a subgroup exchange values in a butterfly, and the subgroups' results
/// go through workgroup memory. Without subgroups there are two steps of about equal length, which need two barriers; halving would need
/// one per step.
///
/// All lanes must get here. Earlier stores to workgroup memory are visible afterwards.
pub(crate) fn lanes(w: &mut Writer<'_>, fold: Fold, value: Expr) -> Expr {
    let (lanes, subgroup) = (w.code.lanes, w.subgroup);
    if subgroup > 1 {
        let value = subgroups(w, fold, value, subgroup);
        let groups = lanes / subgroup;
        let kept = w.pool.alloc(groups);
        w.code.open();
        w.code.store_shared(Expr::Lane / subgroup + kept, value.bits());
        w.code.close_if((Expr::Lane % subgroup).equal(0u32));
        w.code.barrier();
        return folded(w, fold, &Expr::U32(kept), groups, 1);
    }
    let many = 1u32 << (lanes.ilog2() / 2);
    let each = lanes / many;
    let (first, second) = (w.pool.alloc(lanes), w.pool.alloc(many));
    w.code.store_shared(Expr::Lane + first, value.bits());
    w.code.barrier();
    w.code.open();
    // Lane `l` combines `l`, `l + many` and so on: neighbours in memory at each step.
    let partial = folded(w, fold, &(Expr::Lane + first), each, many);
    w.code.store_shared(Expr::Lane + second, partial.bits());
    w.code.close_if(Expr::Lane.less(many));
    w.code.barrier();
    folded(w, fold, &Expr::U32(second), many, 1)
}

/// Reduces a value of each of `n` neighbouring lanes; all of them get the result. `n` is a power of
/// two, and at most the subgroup size.
pub(crate) fn subgroups(w: &mut Writer<'_>, fold: Fold, value: Expr, n: u32) -> Expr {
    let [value] = subgroups_of(w, fold, [value], n);
    value
}

/// Reduces several values of each of `n` neighbouring lanes. Their exchanges do not wait for each other.
pub(crate) fn subgroups_of<V: AsMut<[Expr]>>(w: &mut Writer<'_>, fold: Fold, mut values: V, n: u32) -> V {
    for value in values.as_mut() {
        *value = w.code.set("mine", value.clone());
    }
    let mut mask = 1;
    while mask < n {
        let others: Vec<Expr> = values.as_mut().iter().map(|value| w.shuffled(value, mask)).collect();
        for (value, other) in values.as_mut().iter_mut().zip(others) {
            *value = w.code.set("both", fold.of(value.clone(), other));
        }
        mask *= 2;
    }
    values
}

/// Reduces `n` values in workgroup memory, `apart` words from each other.
pub(crate) fn folded(w: &mut Writer<'_>, fold: Fold, from: &Expr, n: u32, apart: u32) -> Expr {
    let first = w.load_shared(from.clone());
    let total = w.code.var("total", first);
    if n > 1 {
        let name = w.code.fresh("l");
        w.code.open();
        let next = w.load_shared(from + Expr::name(name.clone()) * apart);
        w.code.assign(&total, fold.of(total.clone(), next));
        w.code.close_for(name, 1u32.into(), n.into(), 1);
    }
    total
}
