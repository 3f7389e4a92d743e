//! Error bars: how far a device's values may be from the interpreter's.
//!
//! The interpreter ([`weft_kern::interp`]) computes the values, and a [`Bar`] travels with each. This is forward error analysis
//! (Higham, *Accuracy and Stability of Numerical Algorithms*, chapters 2 and 3) on the actual numbers. A device and the
//! interpreter get the same bits, and each rounds every operation: `fl(x op y) = (x op y)(1 + δ)` with |δ| ≤ u = 2⁻²⁴. So results
//! differ by the propagated errors of the operands and by two roundings. For sums the worst case, n roundings all in one
//! direction, is far too pessimistic. Rounding errors of different terms behave like independent ones, of which n add up to at
//! most λ√n u with a probability of at least 1 − 2n·exp(−λ²/2), whatever the order of the terms (Higham and Mary, *A new approach
//! to probabilistic rounding error analysis*, 2019). With λ = 9 that fails less than once in 10¹³ sums of ten thousand terms.
//!
//! Functions may be as inaccurate as WebGPU allows (WGSL, "Accuracy of concrete floating point expressions"), in units in the last
//! place (ulp): 2.5 for a division, 2 for 1/√x, 3 + 2|x| for eˣ. Sine and cosine, which make the tables of rotary embeddings, must
//! be more accurate than the 2⁻¹¹ it allows.

use weft_kern::interp::{Attention, Number};
use weft_kern::{Binary, Format, Unary, q8};
use weft_quant::{GgmlType, f16_to_f32};

use super::attend;

/// The unit roundoff of `f32`.
pub(super) const U: f64 = 1.0 / 16_777_216.0;

/// The largest ulp, relative to its number.
pub(super) const ULP: f64 = 2.0 * U;

/// The smallest normal number; devices may flush smaller ones to 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// The λ of the probabilistic bound.
const LAMBDA: f64 = 9.0;

/// Relative error of a product besides its sum's: from rounding a block's scale, its minimum, and the sums these multiply.
const SCALES: f64 = 8.0 * U;

/// A value of the interpreter, and the largest error that a device's value may have. Infinity means that nothing is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bar {
    pub(super) value: f32,
    pub(super) error: f64,
}

/// The largest error of a sum of `n` terms, relative to the sum of their magnitudes.
pub(super) fn sum_error(n: usize) -> f64 {
    let n = n as f64;
    n.min(LAMBDA * n.sqrt()) * U
}

/// The largest sum of independent errors of these magnitudes (Hoeffding, 1963, with the same λ).
pub(super) fn independent(errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = errors.fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
    // The root of an infinite sum of squares would bound nothing.
    if squares.is_finite() { f64::min(sum, LAMBDA * f64::sqrt(squares)) } else { sum }
}

/// What the error of a product depends on.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    /// The sum of the magnitudes of its terms.
    sizes: f64,
    /// The sum of their errors caused by errors of x.
    errors: f64,
}

impl Bar {
    /// A result with a propagated error of `error`, rounded by both.
    pub(super) fn rounded(value: f32, error: f64) -> Bar {
        Bar::within(value, error, 0.0)
    }

    /// The same, for a function that the device computes to within `ulps` units in the last place.
    fn within(value: f32, error: f64, ulps: f64) -> Bar {
        let size = f64::from(value).abs() + error;
        Bar { value, error: error + (ulps * ULP + 2.0 * U) * size + TINY }
    }

    /// A value about which nothing is known any more.
    fn unknown(value: f32) -> Bar {
        Bar { value, error: f64::INFINITY }
    }

    fn size(self) -> f64 {
        f64::from(self.value).abs()
    }

    /// Turns bars that are stored in a format into those of the values read back, if the format rounds in blocks. (Rounding single
    /// values is monotonic: `Compare` applies it to the ends of the bars.)
    pub(super) fn round_stored(format: Format, bars: &mut [Bar]) {
        let blocks = bars.as_chunks_mut().0.iter_mut();
        match format {
            Format::Q8 => blocks
                .for_each(|block| *block = Bar::rounded_q8(block, &q8::quantise(&block.map(Bar::value)))),
            Format::Ggml(GgmlType::Q8_0) => blocks.for_each(|block| *block = Bar::rounded_q8_0(block)),
            Format::Ggml(_) => {}
        }
    }

    /// Rounds 32 values to the type `q8_0`, whose scales are halves, and reads them back.
    fn rounded_q8_0(block: &[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
        let mut bytes = [0; 2 + q8::BLOCK];
        let encoded = weft_quant::encode(GgmlType::Q8_0, &block.map(|bar| bar.value), &mut bytes);
        let (&[low, high, ref quants @ ..], true) = (&bytes, encoded.is_ok()) else {
            return block.map(|bar| Bar::unknown(bar.value));
        };
        let scale = f16_to_f32(u16::from_le_bytes([low, high]));
        let exact = largest(block.map(Bar::size)) / 127.0;
        let error = largest(block.map(|bar| bar.error)) / 127.0 + 2.0 * U * exact;
        // Neighbouring halves are at most this far apart; the smallest is 2⁻²⁴.
        let apart = f64::from(scale) / 1024.0 + U;
        // Both round to the same scale unless the exact one is near the midpoint of two.
        let middle = (exact - f64::from(scale)).abs() + error >= apart / 4.0;
        let scale_error = if middle { apart + error } else { 0.0 };
        Bar::stepped(block, quants.map(|q| q as i8), scale, scale_error)
    }

    /// Values that were rounded to whole multiples of a scale. One near the midpoint of two may be rounded to either.
    fn stepped(
        block: &[Bar; q8::BLOCK],
        quants: [i8; q8::BLOCK],
        scale: f32,
        scale_error: f64,
    ) -> [Bar; q8::BLOCK] {
        let (top, top_error) = (largest(block.map(Bar::size)), largest(block.map(|bar| bar.error)));
        std::array::from_fn(|i| {
            let Bar { value, error } = block[i];
            let read = f32::from(quants[i]) * scale;
            if top <= top_error {
                // The values of the device's block may be anything as small as these.
                return Bar::rounded(read, top + 2.0 * top_error);
            }
            // The value and its error in steps; the scale's inverse and the product are rounded too.
            let (quant, at) = (f64::from(quants[i]), f64::from(value) * 127.0 / top);
            let off = 127.0 * (error + f64::from(value).abs() * top_error / top) / (top - top_error)
                + 4.0 * U * at.abs();
            let steps = [at - off, at + off].map(|at| (at.round_ties_even() - quant).abs());
            // Quants are between −127 and 127.
            let steps = largest(steps).min(254.0);
            Bar::rounded(read, quant.abs() * scale_error + steps * (f64::from(scale) + scale_error))
        })
    }
}

impl Number for Bar {
    type Sum = Terms;

    const MAGNITUDES: bool = true;

    /// Both get the same bits.
    fn exact(value: f32) -> Bar {
        Bar { value, error: 0.0 }
    }

    fn value(self) -> f32 {
        self.value
    }

    fn unary(value: f32, op: Unary, x: Bar) -> Bar {
        let (x, e) = (f64::from(x.value), x.error);
        let y = f64::from(value);
        // How much the function's value changes with an argument error of e, and the ulps of the function itself.
        let exp_ulps = 3.0 + 2.0 * x.abs();
        let (error, ulps) = match op {
            Unary::Neg => return Bar { value, error: e },
            Unary::Exp => (y * e.exp_m1(), exp_ulps),
            // s' = s·(1 − s), at most 1/4, and at most s.
            Unary::Sigmoid => ((e / 4.0).min(y * e.exp_m1()), exp_ulps + 2.5),
            // |f'| < 1.1.
            Unary::Silu => (1.1 * e, exp_ulps + 2.5),
            Unary::Rsqrt if x > e => ((x - e).sqrt().recip() - x.sqrt().recip(), 2.0),
            Unary::Rsqrt => return Bar::unknown(value),
            // Slopes and values are at most 1: a few ulps of 1.
            Unary::Cos | Unary::Sin => (e + 4.0 * ULP, 0.0),
        };
        // An exact argument causes no error, even if the value is infinite.
        Bar::within(value, if e == 0.0 && !matches!(op, Unary::Cos | Unary::Sin) { 0.0 } else { error }, ulps)
    }

    fn binary(value: f32, op: Binary, a: Bar, b: Bar) -> Bar {
        match op {
            Binary::Add | Binary::Sub => Bar::rounded(value, a.error + b.error),
            Binary::Mul => Bar::rounded(value, a.size() * b.error + b.size() * a.error + a.error * b.error),
            Binary::Div if b.size() > b.error => {
                let y = f64::from(value).abs();
                Bar::within(value, (a.error + y * b.error) / (b.size() - b.error), 2.5)
            }
            Binary::Div => Bar::unknown(value),
            Binary::Max | Binary::Min => Bar { value, error: a.error.max(b.error) },
        }
    }

    /// In any order.
    fn sum(value: f32, terms: &[Bar]) -> Bar {
        let errors: f64 = terms.iter().map(|t| t.error).sum();
        let sizes: f64 = terms.iter().map(|t| t.size()).sum();
        Bar::rounded(value, errors + sum_error(terms.len()) * (sizes + errors))
    }

    fn max(value: f32, terms: &[Bar]) -> Bar {
        Bar { value, error: terms.iter().map(|v| v.error).fold(0.0, f64::max) }
    }

    fn add(sum: &mut Terms, x: Bar, _: f32, magnitude: f64) {
        sum.sizes += x.size() * magnitude;
        sum.errors += x.error * magnitude;
    }

    fn product(value: f32, Terms { sizes, errors }: Terms, terms: usize) -> Bar {
        let relative = sum_error(terms) + SCALES;
        Bar::rounded(value, errors + relative * (sizes + errors))
    }

    /// Unknown if another order is possible within the bars.
    fn top_k(x: &[Bar], order: &[usize], k: usize) -> Vec<Bar> {
        let key = |i: usize| if x[i].value.is_nan() { f32::NEG_INFINITY } else { x[i].value };
        let before = |a: usize, b: usize| {
            // Exact equal values are ordered by index.
            let gap = f64::from(key(a)) - f64::from(key(b));
            x[a].error + x[b].error == 0.0 || gap > x[a].error + x[b].error
        };
        let certain = (0..k).all(|i| order[i + 1..].iter().all(|other| before(order[i], *other)));
        let id = |i: &usize| if certain { Bar::exact(*i as f32) } else { Bar::unknown(*i as f32) };
        order[..k].iter().map(id).collect()
    }

    fn picked(self, id: Bar) -> Bar {
        if id.error > 0.0 { Bar::unknown(self.value) } else { self }
    }

    fn rounded_q8(block: &[Bar; q8::BLOCK], rounded: &q8::Block) -> [Bar; q8::BLOCK] {
        let error = largest(block.map(|bar| bar.error)) / 127.0 + 2.0 * U * f64::from(rounded.scale) + TINY;
        Bar::stepped(block, rounded.quants, rounded.scale, error)
    }

    fn attended(values: &[f32], attention: &Attention<'_>) -> Vec<Bar> {
        attend::bars(values, attention)
    }
}

fn largest<const N: usize>(values: [f64; N]) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
