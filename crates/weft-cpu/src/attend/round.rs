//! Rows as 16-bit numbers, so small that no sum of their products leaves 32 bits.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use weft_kern::exact::ROUND;
use weft_quant::f16_to_f32;

use crate::isa::{Line, Numbers, Simd};

use super::plan::BLOCK;

mod blocks;

pub(super) use blocks::{BYTES_4, BYTES_8, Bits4, Bits8, with_minimum, with_scale};

/// Longest keys whose numbers have 8 bits or more.
pub(super) const LONGEST: usize = 1 << 16;

/// Limits of the numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// The largest magnitude of a value's number.
    number: f32,
    /// The largest sum of a block's weights, before they are rounded.
    pub(super) weights: f32,
}

impl Limits {
    /// For keys of no more than [`LONGEST`] values, and at least one.
    ///
    /// Exactness: a score is the sum of `k_len` products of magnitude `number²` or less, and `k_len · number² < 2³¹`. A weighted value is
    /// the sum of 128 products of a weight and a number, so no more than `number · Σ weights`; rounding to integers adds at most 64 to that
    /// sum, rounding of floats less than 64 (a relative 2⁻¹⁹ of at most 2³¹ / 181), and `number · (weights + 128) < 2³¹`. This holds for
    /// every part of a sum as well, so the order of addition does not matter.
    pub(super) fn of(k_len: usize) -> Limits {
        const MOST: u32 = i32::MAX as u32;
        let number = (MOST / k_len as u32).isqrt().min(4095);
        Limits { number: number as f32, weights: (MOST / number - BLOCK as u32) as f32 }
    }
}

/// The factors from values to numbers and back, for values up to this magnitude; `None` if it is not finite.
#[inline(always)]
pub(super) fn scales(top: f32, number: f32) -> Option<(f32, f32)> {
    let inverse = number / top;
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    top.is_finite().then_some((inverse, top / number))
}

/// Rounds a row that is not finite: its numbers are 0, and its scale is NaN.
#[inline(always)]
fn nothing(out: &mut [Numbers]) -> f32 {
    out.fill(Numbers::default());
    f32::NAN
}

/// Rounds floats, two lines for each line of `out`. Returns the row's scale.
#[inline(always)]
pub(super) fn floats<S: Simd>(simd: S, values: &[Line], limits: Limits, out: &mut [Numbers]) -> f32 {
    let mut tops = [0; 16];
    for line in values {
        for j in 0..16 {
            tops[j] = tops[j].max(line.0[j].to_bits() & 0x7fff_ffff);
        }
    }
    let top = f32::from_bits(tops.into_iter().max().unwrap_or(0));
    let Some((inverse, scale)) = scales(top, limits.number) else { return nothing(out) };
    let (inverse, round) = (simd.float(inverse), simd.float(ROUND));
    for (two, out) in values.as_chunks::<2>().0.iter().zip(out) {
        let a = simd.mul_add(simd.load(&two[0]), inverse, round);
        let b = simd.mul_add(simd.load(&two[1]), inverse, round);
        simd.store_numbers(simd.lower_halves(a, b), out);
    }
    scale
}

/// The same for 16-bit floats: `bf16` if `UPPER`, otherwise `f16`.
#[inline(always)]
pub(super) fn halves<S: Simd, const UPPER: bool>(
    simd: S,
    row: &[u8],
    limits: Limits,
    out: &mut [Numbers],
) -> f32 {
    // Magnitudes are ordered like their bits; those that are not finite come last.
    let (whole, tail) = row.as_chunks::<64>();
    let mut last = [0; 64];
    if !tail.is_empty() {
        last[..tail.len()].copy_from_slice(tail);
    }
    let mut tops = [0; 32];
    for from in whole {
        raise(&mut tops, from);
    }
    if !tail.is_empty() {
        raise(&mut tops, &last);
    }
    let top = tops.into_iter().max().unwrap_or(0);
    let top = if UPPER { f32::from_bits(u32::from(top) << 16) } else { f16_to_f32(top) };
    let Some((inverse, scale)) = scales(top, limits.number) else { return nothing(out) };
    let (inverse, round) = (simd.float(inverse), simd.float(ROUND));
    for (from, out) in whole.iter().zip(&mut *out) {
        simd.store_numbers(numbers::<S, UPPER>(simd, from, inverse, round), out);
    }
    if let Some(out) = out.get_mut(whole.len()) {
        simd.store_numbers(numbers::<S, UPPER>(simd, &last, inverse, round), out);
    }
    scale
}

/// Takes the larger of magnitudes' bits and those of 16-bit floats.
#[inline(always)]
fn raise(tops: &mut [u16; 32], from: &[u8; 64]) {
    let halves = from.as_chunks::<2>().0;
    for j in 0..32 {
        tops[j] = tops[j].max(u16::from_le_bytes(halves[j]) & 0x7fff);
    }
}

/// The numbers of 32 16-bit floats.
#[inline(always)]
fn numbers<S: Simd, const UPPER: bool>(
    simd: S,
    from: &[u8; 64],
    inverse: S::Floats,
    round: S::Floats,
) -> S::Bytes {
    let [a, b] = *from.as_chunks::<32>().0 else { return simd.bytes(from) };
    let (a, b) = match UPPER {
        true => (simd.upper_halves(&a), simd.upper_halves(&b)),
        false => (simd.halves(&a), simd.halves(&b)),
    };
    simd.lower_halves(simd.mul_add(a, inverse, round), simd.mul_add(b, inverse, round))
}
