//! Selects the largest values of a row. A lane counts the values that come before each of its own, which gives that value's place: one pass
//! without sorting, in the exact order.

use weft_shader::expr::{Expr, Fun};

use crate::lower::writer::Writer;

/// A key whose order is that of the operation's definition: −0 below +0, NaN above everything. No key is 0.
pub(crate) fn key(w: &mut Writer<'_>, value: Expr) -> Expr {
    let bits = w.code.set("bits", value.bits());
    let no_number = (&bits & 0x7fff_ffffu32).greater(0x7f80_0000u32);
    // The NaN whose key is the largest.
    let bits = w.code.set("bits", bits.unless(&no_number, Expr::U32(0x7fff_ffff)));
    // The bits of negative floats grow downwards.
    let negative = bits.greater(0x7fff_ffffu32);
    (&bits | 0x8000_0000u32).unless(&negative, &bits ^ 0xffff_ffffu32)
}

/// Finds the indices of the `k` largest of `n` keys in workgroup memory, as floats. Returns their offset. Has barriers on both sides.
pub(crate) fn largest(w: &mut Writer<'_>, keys: u32, n: u32, k: u32) -> u32 {
    let found = w.pool.alloc(k);
    w.code.barrier();
    let lanes = w.code.lanes;
    let c = w.code.fresh("c");
    w.code.open();
    let at = Expr::name(c.clone());
    let own = w.code.set("own", Expr::Shared((&at + keys).into()));
    let place = w.code.var("place", 0u32);
    let other = w.code.fresh("other");
    w.code.open();
    let o = Expr::name(other.clone());
    let per = if w.quads && n.is_multiple_of(4) { 4 } else { 1 };
    for (j, key) in w.shared_words("key", &(&o + keys), per).into_iter().enumerate() {
        let before = key.greater(&own).either(&key.equal(&own).both(&(&o + j as u32).less(&at)));
        let next = place.clone().unless(&before, &place + 1u32);
        w.code.assign(&place, next);
    }
    w.code.close_for(other, 0u32.into(), n.into(), per);
    w.code.open();
    w.code.store_shared(&place + found, Expr::call(Fun::FloatOfU32, [at]).bits());
    w.code.close_if(place.less(k));
    w.code.close_for(c, Expr::Lane, n.into(), lanes);
    w.code.barrier();
    found
}
