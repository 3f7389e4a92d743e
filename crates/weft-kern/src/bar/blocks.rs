//! Blocks of 4 and 5 bits: how far the values that a device reads back may be from the interpreter's.

use weft_quant::GgmlType;
use weft_quant::ints::unpack_row;

use super::{Bar, U, largest};
use crate::program::Format;
use crate::q8;

/// The whole numbers of a block, and where the exact values are among them.
struct Steps {
    /// The size of a step before it is rounded to a half, and its error.
    exact: f64,
    error: f64,
    /// The least and the largest number.
    limits: [f64; 2],
    /// Whether the largest magnitude may have either sign, which decides on which side the numbers end.
    either_sign: bool,
}

impl Bar {
    /// Rounds 32 values to a type of few bits, as [`weft_quant::encode`] does, and reads them back.
    pub(super) fn rounded_to_few_bits(ty: GgmlType, block: &[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
        let unknown = block.map(|bar| Bar::unknown(bar.value));
        let (mut bytes, mut read) = ([0; 2 * q8::BLOCK], [0.0; q8::BLOCK]);
        let Some(bytes) = bytes.get_mut(..ty.block_bytes()) else { return unknown };
        let encoded = weft_quant::encode(ty, &block.map(|bar| bar.value), bytes)
            .and_then(|()| weft_quant::decode(ty, bytes, &mut read));
        if encoded.is_err() || !read.iter().all(|value| value.is_finite()) {
            return unknown;
        }
        let (mut quants, mut scale, mut min) = ([0; q8::BLOCK], [0.0], [0.0]);
        match ty {
            GgmlType::Q4_0 => {
                unpack_row(ty, bytes, &mut quants, &mut scale, &mut []);
                around_zero(block, (quants, scale[0]), read)
            }
            GgmlType::Q5_1 => {
                unpack_row(ty, bytes, &mut quants, &mut scale, &mut min);
                above_a_minimum(block, (quants, scale[0]), read)
            }
            _ => unknown,
        }
    }
}

/// `q4_0`: multiples of the value of the largest magnitude, divided by −8.
fn around_zero(
    block: &[Bar; q8::BLOCK],
    (quants, scale): ([i8; q8::BLOCK], f32),
    read: [f32; q8::BLOCK],
) -> [Bar; q8::BLOCK] {
    const STEPS: f64 = 8.0;
    let (top, top_error) = (largest(block.map(Bar::size)), largest(block.map(|bar| bar.error)));
    if top <= top_error {
        // The values of the device's block may be anything as small as these.
        return read.map(|read| Bar::rounded(read, top + 2.0 * top_error + 2.0 * STEPS * U));
    }
    let reaches =
        |sign: f64| block.iter().any(|bar| sign * f64::from(bar.value) + bar.error >= top - top_error);
    let steps = Steps {
        exact: (top / STEPS).copysign(f64::from(scale)),
        error: top_error / STEPS + 4.0 * U * top / STEPS,
        limits: [-STEPS, STEPS - 1.0],
        either_sign: reaches(1.0) && reaches(-1.0),
    };
    std::array::from_fn(|i| {
        let Bar { value, error } = block[i];
        let at = f64::from(value) / steps.exact;
        // The step's inverse, the product and its sum with the least number are rounded too.
        let off = STEPS * (error + f64::from(value).abs() * top_error / top) / (top - top_error)
            + 4.0 * U * (at.abs() + STEPS + 1.0);
        Bar::rounded(read[i], steps.apart(at, off, (quants[i], scale)))
    })
}

/// `q5_1`: multiples of a step above the least value.
fn above_a_minimum(
    block: &[Bar; q8::BLOCK],
    (quants, scale): ([i8; q8::BLOCK], f32),
    read: [f32; q8::BLOCK],
) -> [Bar; q8::BLOCK] {
    const STEPS: f64 = 31.0;
    let values = block.map(|bar| f64::from(bar.value));
    let [min, max] = [f64::min, f64::max].map(|of| values.into_iter().reduce(of).unwrap_or(0.0));
    let top_error = largest(block.map(|bar| bar.error));
    let range = max - min;
    let range_error = 2.0 * top_error + 4.0 * U * range;
    let min_error = half_error(min, top_error);
    if range <= range_error {
        return read.map(|read| Bar::rounded(read, 2.0 * (range + range_error + STEPS * U) + min_error));
    }
    let (exact, error) = (range / STEPS, range_error / STEPS + 4.0 * U * range / STEPS);
    let steps = Steps { exact, error, limits: [0.0, STEPS], either_sign: false };
    std::array::from_fn(|i| {
        let Bar { value, error } = block[i];
        let above = f64::from(value) - min;
        let at = above / exact;
        let off = STEPS * (error + top_error + above * range_error / range) / (range - range_error)
            + 4.0 * U * (at + 1.0);
        Bar::rounded(read[i], min_error + steps.apart(at, off, (quants[i], scale)))
    })
}

impl Steps {
    /// How far a device's value may be from a number times the scale, if the exact value is within `off` steps of `at`.
    fn apart(&self, at: f64, off: f64, (quant, scale): (i8, f32)) -> f64 {
        let [least, most] = self.limits;
        let quant = f64::from(quant);
        let nearest = |at: f64| (at + 0.5).floor().clamp(least, most);
        let mut steps = largest([at - off, at + off].map(|at| (nearest(at) - quant).abs()));
        if self.either_sign && at.abs() + off >= most + 0.5 {
            steps = steps.max(1.0);
        }
        let scale_error = half_error(self.exact, self.error);
        quant.abs() * scale_error + steps * (f64::from(scale).abs() + scale_error)
    }
}

/// How far a value within this error may be from `value` after both are rounded to halves.
fn half_error(value: f64, error: f64) -> f64 {
    let bar = Bar { value: value as f32, error: error + U * value.abs() };
    let [low, middle, high] = bar.stored(Format::Ggml(GgmlType::F16));
    (middle - low).max(high - middle)
}

#[cfg(test)]
mod tests;
