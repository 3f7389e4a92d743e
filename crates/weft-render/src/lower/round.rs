//! Rounding to `q8` ([`weft_kern::q8`]) by the whole workgroup, into workgroup memory.

use weft_kern::q8;
use weft_shader::expr::{Expr, Fun};

use crate::lower::functions::RECIPROCAL;
use crate::lower::quads::Four;
use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Values of a block.
const BLOCK: u32 = q8::BLOCK as u32;

/// The exponent of infinities and NaNs.
const INFINITE: u32 = 0x7f80_0000;

/// A block's scale and its inverse, from the bits of the largest magnitude ([`q8::scales`]).
pub(crate) fn scale(w: &mut Writer<'_>, top: &Expr) -> (Expr, Expr) {
    let largest = w.code.set("largest", top.clone().float());
    let factor = w.code.set("factor", &largest * (1.0f32 / 127.0));
    let finite = top.less(INFINITE);
    let scale = w.code.set("scale", Expr::U32(0x7fc0_0000).unless(&finite, factor.clone().bits()));
    let usual = largest.greater(q8::TINY).both(&finite);
    let inverse = Expr::Own(RECIPROCAL, vec![factor]);
    (scale, Expr::F32(0.0).unless(&usual, inverse))
}

/// A value as a signed byte, in the lowest byte of a word.
pub(crate) fn byte(value: Expr, inverse: &Expr) -> Expr {
    let near = Expr::call(Fun::Round, [value * inverse]);
    let near = Expr::call(Fun::Min, [near.max(-127.0f32), 127.0f32.into()]);
    Expr::call(Fun::Unsigned, [Expr::call(Fun::IntOfFloat, [near])]) & 0xffu32
}

/// Words that a lane of a long row or of many rows rounds together.
const TOGETHER: u32 = 4;

/// Rounds words of four values. Eight neighbouring lanes share a block.
fn in_subgroups(
    w: &mut Writer<'_>,
    n: u32,
    [quants, scales, sums]: [Expr; 3],
    value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
) -> Result<(), Why> {
    let (words, lanes) = (n / 4, w.code.lanes);
    let whole = words.is_multiple_of(lanes * TOGETHER) && words > lanes * TOGETHER;
    let together = if whole { TOGETHER } else { 1 };
    w.count_or_once("time", (0u32.into(), words.div_ceil(lanes).into(), together), |w, time| {
        let mut items = Vec::new();
        for i in 0..together {
            let word = w.code.set("word", (&time + i) * lanes + Expr::Lane);
            let exists = if words.is_multiple_of(lanes) { Expr::True } else { word.less(words) };
            // All lanes must take part in exchanges. A lane without a word repeats the last one, and stores nothing.
            let read = if exists == Expr::True { word.clone() } else { word.clone().min(words - 1) };
            let read = w.code.set("word", read);
            let mut values = Vec::new();
            for j in 0..4u32 {
                let value = value(w, &(&read * 4u32 + j))?;
                values.push(w.code.set("value", value));
            }
            items.push((word, exists, values));
        }
        fours(w, &items, ([&quants, &scales], Some(&sums)))
    })?;
    w.code.barrier();
    Ok(())
}

/// Four values of a lane: their word, whether it exists, and the values.
type Item = (Expr, Expr, Vec<Expr>);

/// Rounds four values of a lane, or several fours. Eight neighbouring lanes share a block. Stores them if they exist.
fn fours(
    w: &mut Writer<'_>,
    items: &[Item],
    ([quants, scales], sums): ([&Expr; 2], Option<&Expr>),
) -> Result<(), Why> {
    let magnitudes = |(_, _, values): &Item| {
        let all = values.iter().map(|value| value.clone().bits() & 0x7fff_ffffu32);
        all.reduce(Expr::max).unwrap_or(Expr::U32(0))
    };
    let tops: Vec<Expr> = items.iter().map(magnitudes).collect();
    // Compared as bits, where infinities and NaNs are above all numbers.
    let tops = reduce::subgroups_of(w, Fold::Max, tops, BLOCK / 4);
    let mut rounded = Vec::new();
    for ((_, _, values), top) in items.iter().zip(&tops) {
        let (scale, inverse) = scale(w, top);
        let inverse = w.code.set("inverse", inverse);
        let bytes = values.iter().cloned().zip([0u32, 8, 16, 24]);
        let bytes = bytes.map(|(value, at)| byte(value, &inverse) << at);
        let packed = bytes.reduce(|a, b| a | b).unwrap_or(Expr::U32(0));
        rounded.push((w.code.set("packed", packed), scale));
    }
    let totals = sums.map(|_| {
        let sum = |(packed, _): &(Expr, Expr)| Expr::call(Fun::Dot4, [packed.clone(), 0x0101_0101u32.into()]);
        let own: Vec<Expr> = rounded.iter().map(sum).collect();
        reduce::subgroups_of(w, Fold::Sum, own, BLOCK / 8)
    });
    for (i, ((word, exists, _), (packed, scale))) in items.iter().zip(rounded).enumerate() {
        let sum = sums
            .zip(totals.as_ref())
            .map(|(sums, totals)| (sums, w.float_of_dots(totals[i].clone()) * scale.clone().float()));
        w.when(exists.clone(), |w| {
            w.code.store_shared(word + quants, packed);
            if let Some((sums, sum)) = sum {
                w.when((word % (BLOCK / 8)).equal(0u32), |w| {
                    w.code.store_shared(word / (BLOCK / 8) + sums, sum.bits());
                    Ok(())
                })?;
            }
            w.when((word % (BLOCK / 4)).equal(0u32), |w| {
                w.code.store_shared(word / (BLOCK / 4) + scales, scale);
                Ok(())
            })
        })?;
    }
    Ok(())
}

/// Rounds a row of `n` values that lanes hold. All planes are visible afterwards, the sums only if they were asked for.
pub(crate) fn held(
    w: &mut Writer<'_>,
    n: u32,
    row: &Expr,
    to: Rounded,
    (held, values): (&[Four], &[Vec<Expr>]),
    summed: bool,
) -> Result<(), Why> {
    let planes = [(to.quants, 4), (to.scales, BLOCK), (to.sums, BLOCK / 2)];
    let [quants, scales, sums] = planes.map(|(at, per)| row * (n / per) + at);
    // Fours are rounded one after another: kernels that hold values also hold weights, and have no registers to spare.
    for (of, values) in held.iter().zip(values) {
        let item = (of.word.clone(), of.exists.clone(), values.clone());
        fours(w, &[item], ([&quants, &scales], summed.then_some(&sums)))?;
    }
    w.code.barrier();
    Ok(())
}

/// Offsets of rounded values in workgroup memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    /// Four quants per word.
    pub(crate) quants: u32,
    /// One scale per block.
    pub(crate) scales: u32,
    /// Two sums per block.
    pub(crate) sums: u32,
}

/// The planes of a parameter of `values` rounded values: quants, scales and sums, each with the values of a word and its first word.
pub(crate) fn planes(values: &Expr) -> [(u32, Expr); 3] {
    let [scales, sums] = [BLOCK, BLOCK / 2];
    [(4, Expr::U32(0)), (scales, values / 4u32), (sums, values / 4u32 + values / BLOCK)]
}

/// Room for `n` rounded values.
pub(crate) fn alloc(w: &mut Writer<'_>, n: u32) -> Rounded {
    let [quants, scales, sums] = [4, BLOCK, BLOCK / 2].map(|per| w.pool.alloc(n / per));
    Rounded { quants, scales, sums }
}

/// Rounds `n` values, a multiple of 32, as row `row` among rows of that length. `value` writes one value. Lanes exchange values within
/// subgroups if they can. Otherwise each value is computed twice, which costs less than storing it, and the lanes take four steps with
/// barriers. All planes are visible afterwards.
pub(crate) fn round(
    w: &mut Writer<'_>,
    n: u32,
    row: &Expr,
    to: Rounded,
    value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
) -> Result<(), Why> {
    let planes = [(to.quants, 4), (to.scales, BLOCK), (to.sums, BLOCK / 2)];
    let planes = planes.map(|(at, per)| row * (n / per) + at);
    if w.subgroup >= BLOCK / 4 {
        return in_subgroups(w, n, planes, value);
    }
    let [quants, scales, sums] = planes;
    // The largest magnitude of four values, compared as bits, so that infinities and NaNs are above all numbers.
    w.share(n / 4, |w, word| {
        let top = w.code.var("top", 0u32);
        w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
            let value = value(w, &(&word * 4u32 + j))?;
            let magnitude = value.bits() & 0x7fff_ffffu32;
            w.code.assign(&top, top.clone().max(magnitude));
            Ok(())
        })?;
        w.code.store_shared(word + &quants, top);
        Ok(())
    })?;
    w.code.barrier();
    // A block's scale. Its inverse is stored temporarily in the place of the sums.
    w.share(n / BLOCK, |w, block| {
        let top = w.code.var("top", 0u32);
        w.count("j", (0u32.into(), (BLOCK / 4).into(), 1), |w, j| {
            let other = Expr::Shared((&block * (BLOCK / 4) + j + &quants).into());
            w.code.assign(&top, top.clone().max(other));
            Ok(())
        })?;
        let (scale, inverse) = scale(w, &top);
        w.code.store_shared(&block + &scales, scale);
        w.code.store_shared(block * 2u32 + &sums, inverse.bits());
        Ok(())
    })?;
    w.code.barrier();
    w.share(n / 4, |w, word| {
        let inverse = w.load_shared(&word / (BLOCK / 4) * 2u32 + &sums);
        let inverse = w.code.set("inverse", inverse);
        let packed = w.code.var("packed", 0u32);
        w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
            let value = value(w, &(&word * 4u32 + &j))?;
            w.code.assign(&packed, &packed | (byte(value, &inverse) << (j * 8u32)));
            Ok(())
        })?;
        w.code.store_shared(word + &quants, packed);
        Ok(())
    })?;
    w.code.barrier();
    w.share(n / (BLOCK / 2), |w, half| {
        let of_word = |i: u32| {
            let word = Expr::Shared((&half * 4u32 + &quants + i).into());
            Expr::call(Fun::Dot4, [word, 0x0101_0101u32.into()])
        };
        let sum = (1..4).fold(of_word(0), |sum, i| sum + of_word(i));
        let scale = w.load_shared(&half / 2u32 + &scales);
        let sum = w.float_of_dots(sum) * scale;
        w.code.store_shared(half + &sums, sum.bits());
        Ok(())
    })?;
    w.code.barrier();
    Ok(())
}
