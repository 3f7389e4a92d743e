//! Encoders for the formats with 32 values per block, which match GGML's `quantize_row_*_ref` bit for bit.

use crate::encoding::{F16_NAN, ROUNDER, range, reciprocal, write};
use crate::floats::f16_bytes;

/// The value of the largest magnitude, the first among equals, and +0 if all are zero; `None` as in
/// [`range`].
#[inline(always)]
fn farthest_from_zero(values: &[f32; 32]) -> Option<f32> {
    let (min, max) = range(values)?;
    if max == -min { first_of_magnitude(values, max) } else { Some(if max > -min { max } else { min }) }
}

/// The first value of a magnitude, or +0 if that is zero.
#[cold]
fn first_of_magnitude(values: &[f32; 32], magnitude: f32) -> Option<f32> {
    if magnitude == 0.0 { Some(0.0) } else { values.iter().copied().find(|v| v.abs() == magnitude) }
}

/// The smallest and the largest value. A smallest value of zero has the sign of the first zero; `None` as in
/// [`range`].
#[inline(always)]
fn min_and_max(values: &[f32; 32]) -> Option<(f32, f32)> {
    let (min, max) = range(values)?;
    Some((if min == 0.0 { first_zero(values)? } else { min }, max))
}

/// The first value that is zero, with its sign.
#[cold]
fn first_zero(values: &[f32; 32]) -> Option<f32> {
    values.iter().copied().find(|v| *v == 0.0)
}

/// `x` without its fraction, for 0 ≤ x < 256.
#[inline(always)]
fn floor(x: f32) -> u8 {
    let nearest = x + ROUNDER;
    nearest.to_bits().wrapping_sub(u32::from(nearest - ROUNDER > x)) as u8
}

/// `scale · (value − origin) + offset`, truncated to a whole number in `0..=max`.
#[inline(always)]
fn quants(values: &[f32; 32], origin: f32, scale: f32, offset: f32, max: f32) -> [u8; 32] {
    let mut out = [0; 32];
    for (q, value) in out.iter_mut().zip(values) {
        *q = floor(((value - origin) * scale + offset).max(0.0).min(max));
    }
    out
}

/// Packs the low nibbles of 32 numbers as [`crate::legacy::nibbles`] reads them.
#[inline(always)]
pub(crate) fn pack_nibbles(q: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|i| (q[i] & 0x0f) | (q[i + 16] << 4))
}

/// Packs the fifth bits of 32 numbers, number `i` in bit `i`.
#[inline(always)]
pub(crate) fn pack_fifth_bits(q: &[u8; 32]) -> [u8; 4] {
    let mut bits = 0u32;
    for (i, q) in q.iter().enumerate() {
        bits |= u32::from(q >> 4) << i;
    }
    bits.to_le_bytes()
}

pub(crate) fn q4_0(values: &[f32; 32], block: &mut [u8; 18]) {
    let Some(extreme) = farthest_from_zero(values) else { return poison(block) };
    let d = extreme / -8.0;
    let q = quants(values, 0.0, reciprocal(d), 8.5, 15.0);
    write(block, &[&f16_bytes(d), &pack_nibbles(&q)]);
}

pub(crate) fn q4_1(values: &[f32; 32], block: &mut [u8; 20]) {
    let Some((min, max)) = min_and_max(values) else { return poison(block) };
    let d = (max - min) / 15.0;
    let q = quants(values, min, reciprocal(d), 0.5, 15.0);
    write(block, &[&f16_bytes(d), &f16_bytes(min), &pack_nibbles(&q)]);
}

pub(crate) fn q5_0(values: &[f32; 32], block: &mut [u8; 22]) {
    let Some(extreme) = farthest_from_zero(values) else { return poison(block) };
    let d = extreme / -16.0;
    let q = quants(values, 0.0, reciprocal(d), 16.5, 31.0);
    write(block, &[&f16_bytes(d), &pack_fifth_bits(&q), &pack_nibbles(&q)]);
}

pub(crate) fn q5_1(values: &[f32; 32], block: &mut [u8; 24]) {
    let Some((min, max)) = min_and_max(values) else { return poison(block) };
    let d = (max - min) / 31.0;
    let q = quants(values, min, reciprocal(d), 0.5, 31.0);
    write(block, &[&f16_bytes(d), &f16_bytes(min), &pack_fifth_bits(&q), &pack_nibbles(&q)]);
}

pub(crate) fn q8_0(values: &[f32; 32], block: &mut [u8; 34]) {
    let Some(extreme) = farthest_from_zero(values) else { return poison(block) };
    let d = extreme.abs() / 127.0;
    let scale = reciprocal(d);
    let mut q = [0; 32];
    for (q, value) in q.iter_mut().zip(values) {
        // Half away from zero, as C's `roundf`: the largest number below ½ is added to the magnitude.
        let magnitude = floor(((value * scale).abs() + 0.499_999_97).min(127.0));
        *q = if *value < 0.0 { magnitude.wrapping_neg() } else { magnitude };
    }
    write(block, &[&f16_bytes(d), &q]);
}

/// Makes a block decode to NaN. Its scale comes first.
pub(crate) fn poison(block: &mut [u8]) {
    block.fill(0);
    block[..2].copy_from_slice(&F16_NAN);
}
