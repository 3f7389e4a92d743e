//! Rounding to `q8` ([`weft_kern::q8`]): by the whole workgroup, into its memory.

use weft_kern::q8;

use crate::render::Why;
use crate::render::expr::{Expr, Fun};
use crate::render::writer::Writer;

/// Values of a block.
const BLOCK: u32 = q8::BLOCK as u32;

/// The exponent of what is no finite number.
const INFINITE: u32 = 0x7f80_0000;

/// Below this the inverse of a scale is no number, and a block is rounded to 0.
const TINY: f32 = 3.74e-37;

/// Rounded values kept for the workgroup: where the planes begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    /// Four quants a word.
    pub(crate) quants: u32,
    /// One for each block.
    pub(crate) scales: u32,
    /// Two for each block.
    pub(crate) sums: u32,
}

/// Room for `n` rounded values.
pub(crate) fn room(w: &mut Writer<'_>, n: u32) -> Rounded {
    let [quants, scales, sums] = [4, BLOCK, BLOCK / 2].map(|per| w.pool.room(n / per));
    Rounded { quants, scales, sums }
}

/// Rounds `n` values, a multiple of 32, as row `row` of as long ones. `value` writes one down; it is asked for all of them twice, which costs less than to keep them.
/// Lanes see each other's work in four steps; what comes after a barrier can read all planes.
pub(crate) fn round(
    w: &mut Writer<'_>,
    n: u32,
    row: &Expr,
    to: Rounded,
    value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
) -> Result<(), Why> {
    let [quants, scales, sums] =
        [(to.quants, 4), (to.scales, BLOCK), (to.sums, BLOCK / 2)].map(|(at, per)| row * (n / per) + at);
    // The largest magnitude of four values; as bits, where what is no number is larger than all that are.
    w.share(n / 4, |w, word| {
        let top = w.code.var("top", 0u32);
        w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
            let value = value(w, &(&word * 4u32 + j))?;
            let magnitude = value.bits() & 0x7fff_ffffu32;
            w.code.assign(&top, top.clone().max(magnitude));
            Ok(())
        })?;
        w.code.keep(word + &quants, top);
        Ok(())
    })?;
    w.code.barrier();
    // A block's scale, and for now in place of its sums the inverse.
    w.share(n / BLOCK, |w, block| {
        let top = w.code.var("top", 0u32);
        w.count("j", (0u32.into(), (BLOCK / 4).into(), 1), |w, j| {
            let other = Expr::Shared((&block * (BLOCK / 4) + j + &quants).into());
            w.code.assign(&top, top.clone().max(other));
            Ok(())
        })?;
        let largest = w.code.set("largest", top.clone().float());
        let scale = (&largest / 127.0f32).bits();
        let finite = top.less(INFINITE);
        w.code.keep(&block + &scales, Expr::U32(0x7fc0_0000).unless(&finite, scale));
        let inverse =
            Expr::F32(0.0).unless(&largest.greater(TINY).both(&finite), Expr::F32(127.0) / &largest);
        w.code.keep(block * 2u32 + &sums, inverse.bits());
        Ok(())
    })?;
    w.code.barrier();
    w.share(n / 4, |w, word| {
        let inverse = w.kept(&word / (BLOCK / 4) * 2u32 + &sums);
        let inverse = w.code.set("inverse", inverse);
        let packed = w.code.var("packed", 0u32);
        w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
            let value = value(w, &(&word * 4u32 + &j))?;
            let near = Expr::call(Fun::Round, [value * &inverse]);
            let near = Expr::call(Fun::Min, [near.max(-127.0f32), 127.0f32.into()]);
            let byte = Expr::call(Fun::Unsigned, [Expr::call(Fun::IntOfFloat, [near])]) & 0xffu32;
            w.code.assign(&packed, &packed | (byte << (j * 8u32)));
            Ok(())
        })?;
        w.code.keep(word + &quants, packed);
        Ok(())
    })?;
    w.code.barrier();
    w.share(n / (BLOCK / 2), |w, half| {
        let of_word = |i: u32| {
            let word = Expr::Shared((&half * 4u32 + &quants + i).into());
            Expr::call(Fun::Dot4, [word, 0x0101_0101u32.into()])
        };
        let sum = (1..4).fold(of_word(0), |sum, i| sum + of_word(i));
        let scale = w.kept(&half / 2u32 + &scales);
        let sum = Expr::call(Fun::FloatOfI32, [sum]) * scale;
        w.code.keep(half + &sums, sum.bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(())
}
