//! Error bars: how far a device's values may be from the interpreter's.
//!
//! The interpreter ([`crate::interp`]) computes the values, and a [`Bar`] travels with each. This is forward error analysis
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
//!
//! The errors of the scalars of a row travel as sums of the roundings that cause them ([`scalars`]), because some cancel.

mod blocks;
mod number;
mod scalars;

use weft_quant::{GgmlType, f16_to_f32};

use crate::program::Format;
use crate::q8;

/// The unit roundoff of `f32`.
pub(crate) const U: f64 = 1.0 / 16_777_216.0;

/// The largest ulp, relative to its number.
pub(crate) const ULP: f64 = 2.0 * U;

/// The smallest normal number; devices may flush smaller ones to 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// The λ of the probabilistic bound.
const LAMBDA: f64 = 9.0;

/// A value of the interpreter, and the largest error that a device's value may have. Infinity means that nothing is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bar {
    /// The interpreter's value.
    pub value: f32,
    /// The largest error.
    pub error: f64,
}

/// The largest error of a sum of `n` terms, relative to the sum of their magnitudes.
pub(crate) fn sum_error(n: usize) -> f64 {
    let n = n as f64;
    n.min(LAMBDA * n.sqrt()) * U
}

/// The largest sum of independent errors of these magnitudes (Hoeffding, 1963, with the same λ).
pub(crate) fn independent(errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = errors.fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
    // The root of an infinite sum of squares would bound nothing.
    if squares.is_finite() { f64::min(sum, LAMBDA * f64::sqrt(squares)) } else { sum }
}

impl Bar {
    /// The range that a device may store in a format: the smallest value, the interpreter's, and the largest. Rounding keeps order.
    pub fn stored(&self, format: Format) -> [f64; 3] {
        let value = f64::from(self.value);
        let all = [value - self.error, value, value + self.error];
        match format {
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                let mut bytes = [0; 6];
                let mut read = [0.0; 3];
                let rounded = weft_quant::encode(ty, &all.map(|v| v as f32), &mut bytes)
                    .and_then(|()| weft_quant::decode(ty, &bytes, &mut read));
                if rounded.is_ok() { read.map(f64::from) } else { all }
            }
            Format::Ggml(GgmlType::I32) => all.map(|v| f64::from(v as i32)),
            _ => all,
        }
    }

    /// A result with a propagated error of `error`, rounded by both.
    pub(crate) fn rounded(value: f32, error: f64) -> Bar {
        Bar::within(value, error, 0.0)
    }

    /// The same, for a function that the device computes to within `ulps` units in the last place.
    fn within(value: f32, error: f64, ulps: f64) -> Bar {
        Bar { value, error: error + rounding(value, error, ulps) }
    }

    /// A value about which nothing is known any more.
    fn unknown(value: f32) -> Bar {
        Bar { value, error: f64::INFINITY }
    }

    fn size(self) -> f64 {
        f64::from(self.value).abs()
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

/// The error of rounding a result with a propagated error of `error`, by both, if the device computes it to within so many ulps.
fn rounding(value: f32, error: f64, ulps: f64) -> f64 {
    (ulps * ULP + 2.0 * U) * (f64::from(value).abs() + error) + TINY
}

fn largest<const N: usize>(values: [f64; N]) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}
