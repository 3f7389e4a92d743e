//! Rounding to blocks of `q5_1` and `q4_0` by the whole workgroup, into workgroup memory: a byte a number, and a word a block with the
//! scale and the least value as halves. See `legacy_encode.rs` of `weft-quant` for what is computed.

use weft_kern::q8;
use weft_shader::expr::{Expr, Fun};

use super::{BLOCK, Blocks, QUADS};
use crate::lower::functions::RECIPROCAL;
use crate::lower::reduce::{self, Fold};
use crate::lower::round::Rounded;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The sign bit, and the bits of an exponent, all of which are set in what is no number.
const SIGN: u32 = 0x8000_0000;
const INFINITE: u32 = 0x7f80_0000;

/// A half that is NaN.
const NAN: u32 = 0x7e00;

/// What a block's values are rounded by.
struct Scale {
    /// The scale and the least value, as halves.
    header: Expr,
    /// What is subtracted from values, and what they are multiplied by then.
    origin: Expr,
    inverse: Expr,
}

/// Bits that are ordered as unsigned numbers as floats are, from −∞ to +∞, with NaNs outside.
fn ordered(w: &mut Writer<'_>, value: &Expr) -> Expr {
    let bits = w.code.set("bits", value.clone().bits());
    let negative = bits.less(SIGN);
    (&bits ^ u32::MAX).unless(&negative, &bits ^ SIGN)
}

/// The float of such bits.
fn disordered(key: &Expr) -> Expr {
    (key ^ SIGN).unless(&key.less(SIGN), key ^ u32::MAX)
}

impl Blocks {
    /// The largest number, and what is added before it is rounded down.
    const fn numbers(self) -> (f32, f32) {
        match self {
            Blocks::Q5 => (31.0, 0.5),
            _ => (15.0, 8.5),
        }
    }

    /// From the largest value and the least one.
    fn scale(self, w: &mut Writer<'_>, max: Expr, min: Expr) -> Scale {
        let [max, min] = [max, min].map(|bits| w.code.set("end", bits));
        let number = |bits: &Expr| (bits & INFINITE).less(INFINITE);
        let finite = number(&max).both(&number(&min));
        let (max, min) = (w.code.set("largest", max.float()), w.code.set("smallest", min.float()));
        let (step, origin, size) = match self {
            Blocks::Q5 => {
                let range = w.code.set("range", &max - &min);
                (&range * (1.0f32 / 31.0), min.clone(), range)
            }
            _ => {
                let least = Expr::call(Fun::Negate, [min.clone()]);
                let farthest = min.clone().unless(&max.greater(least.clone()), max.clone());
                (farthest * (-1.0f32 / 8.0), Expr::F32(0.0), max.clone().max(least))
            }
        };
        let step = w.code.set("step", step);
        let usual = size.greater(q8::TINY).both(&finite);
        let inverse = Expr::F32(0.0).unless(&usual, Expr::Own(RECIPROCAL, vec![step.clone()]));
        let least = if self == Blocks::Q5 { min } else { 0.0f32.into() };
        let header = Expr::U32(NAN).unless(&finite, Expr::call(Fun::PackHalves, [step, least]));
        Scale { header, origin: Expr::F32(0.0).unless(&finite, origin), inverse }
    }

    /// A value's number, in the lowest byte of a word.
    fn byte(self, value: Expr, origin: &Expr, inverse: &Expr) -> Expr {
        let (most, offset) = self.numbers();
        let above = if self == Blocks::Q5 { value - origin } else { value };
        // Fused with the sum in some texts only, it would have other bits in these.
        let at = Expr::call(Fun::Rounded, [above * inverse]) + offset;
        let at = Expr::call(Fun::Min, [at.max(0.0f32), most.into()]);
        Expr::call(Fun::U32OfFloat, [at]) & 31u32
    }

    /// Rounds `n` values, a multiple of 32. `value` writes one value. All are visible afterwards.
    pub(crate) fn round(
        self,
        w: &mut Writer<'_>,
        n: u32,
        to: Rounded,
        value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
    ) -> Result<(), Why> {
        if w.subgroup >= QUADS { self.in_subgroups(w, n, to, value) } else { self.in_steps(w, n, to, value) }
    }

    /// Eight neighbouring lanes share a block.
    fn in_subgroups(
        self,
        w: &mut Writer<'_>,
        n: u32,
        to: Rounded,
        value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
    ) -> Result<(), Why> {
        let (words, lanes) = (n / 4, w.code.lanes);
        w.count_or_once("time", (0u32.into(), words.div_ceil(lanes).into(), 1), |w, time| {
            let word = w.code.set("word", time * lanes + Expr::Lane);
            let exists = if words.is_multiple_of(lanes) { Expr::True } else { word.less(words) };
            // All lanes must take part in exchanges. A lane without a word repeats the last one, and stores nothing.
            let read = if exists == Expr::True { word.clone() } else { word.clone().min(words - 1) };
            let read = w.code.set("word", read);
            let (mut values, mut keys) = (Vec::new(), Vec::new());
            for j in 0..4u32 {
                let value = value(w, &(&read * 4u32 + j))?;
                let value = w.code.set("value", value);
                let key = ordered(w, &value);
                keys.push(w.code.set("key", key));
                values.push(value);
            }
            let max = keys.iter().cloned().reduce(Expr::max).unwrap_or(Expr::U32(0));
            let min = keys.into_iter().reduce(Expr::min).unwrap_or(Expr::U32(0)) ^ u32::MAX;
            let [max, min] = reduce::subgroups_of(w, Fold::Max, [max, min], QUADS);
            let min = w.code.set("key", min ^ u32::MAX);
            let Scale { header, origin, inverse } = self.scale(w, disordered(&max), disordered(&min));
            let (origin, inverse) = (w.code.set("origin", origin), w.code.set("inverse", inverse));
            let bytes = values.into_iter().zip([0u32, 8, 16, 24]);
            let bytes = bytes.map(|(value, at)| self.byte(value, &origin, &inverse) << at);
            let packed = bytes.reduce(|a, b| a | b).unwrap_or(Expr::U32(0));
            w.when(exists, |w| {
                w.code.store_shared(&word + to.quants, packed);
                w.when((&word % QUADS).equal(0u32), |w| {
                    w.code.store_shared(word / QUADS + to.scales, header);
                    Ok(())
                })
            })
        })?;
        w.code.barrier();
        Ok(())
    }

    /// In steps with barriers. Each value is computed twice, which costs less than storing it.
    fn in_steps(
        self,
        w: &mut Writer<'_>,
        n: u32,
        to: Rounded,
        value: &mut dyn FnMut(&mut Writer<'_>, &Expr) -> Result<Expr, Why>,
    ) -> Result<(), Why> {
        let least = w.pool.alloc(n / 4);
        w.share(n / 4, |w, word| {
            let (max, min) = (w.code.var("largest", 0u32), w.code.var("smallest", u32::MAX));
            w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
                let value = value(w, &(&word * 4u32 + j))?;
                let key = ordered(w, &value);
                let key = w.code.set("key", key);
                w.code.assign(&max, max.clone().max(key.clone()));
                w.code.assign(&min, min.clone().min(key));
                Ok(())
            })?;
            w.code.store_shared(&word + to.quants, max);
            w.code.store_shared(word + least, min);
            Ok(())
        })?;
        w.code.barrier();
        // The inverse of a block's scale and its origin are stored temporarily in the place of the sums.
        w.share(n / BLOCK, |w, block| {
            let (max, min) = (w.code.var("largest", 0u32), w.code.var("smallest", u32::MAX));
            w.count("j", (0u32.into(), QUADS.into(), 1), |w, j| {
                let at = w.code.set("at", &block * QUADS + j);
                w.code.assign(&max, max.clone().max(Expr::Shared((&at + to.quants).into())));
                w.code.assign(&min, min.clone().min(Expr::Shared((at + least).into())));
                Ok(())
            })?;
            let Scale { header, origin, inverse } = self.scale(w, disordered(&max), disordered(&min));
            w.code.store_shared(&block + to.scales, header);
            w.code.store_shared(&block * 2u32 + to.sums, inverse.bits());
            w.code.store_shared(block * 2u32 + (to.sums + 1), origin.bits());
            Ok(())
        })?;
        w.code.barrier();
        w.share(n / 4, |w, word| {
            let block = w.code.set("block", &word / QUADS * 2u32 + to.sums);
            let (inverse, origin) = (w.load_shared(block.clone()), w.load_shared(block + 1u32));
            let (inverse, origin) = (w.code.set("inverse", inverse), w.code.set("origin", origin));
            let packed = w.code.var("packed", 0u32);
            w.count("j", (0u32.into(), 4u32.into(), 1), |w, j| {
                let value = value(w, &(&word * 4u32 + &j))?;
                let byte = self.byte(value, &origin, &inverse);
                w.code.assign(&packed, &packed | (byte << (j * 8u32)));
                Ok(())
            })?;
            w.code.store_shared(word + to.quants, packed);
            Ok(())
        })?;
        w.code.barrier();
        Ok(())
    }
}
