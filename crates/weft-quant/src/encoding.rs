//! Shared parts of the encoders: the range of a block's values, guarded reciprocals, and writing a block's parts.

/// A half that is NaN: the scale of a block that holds an infinity or a NaN, so that all of it decodes to NaN.
pub(crate) const F16_NAN: [u8; 2] = 0x7e00_u16.to_le_bytes();

/// The smallest and the largest value, with −0 below +0; `None` if a value is infinite or NaN.
#[inline(always)]
pub(crate) fn range<const N: usize>(values: &[f32; N]) -> Option<(f32, f32)> {
    // Compare as integers of the same order, where NaNs are the extremes, because minima of f32 do not vectorise.
    // Flipping all bits of a negative number but its sign is its own inverse.
    let flip = |bits: i32| bits ^ ((bits >> 31) & i32::MAX);
    let (mut min, mut max) = (i32::MAX, i32::MIN);
    for value in values {
        let key = flip(value.to_bits() as i32);
        min = min.min(key);
        max = max.max(key);
    }
    let (min, max) = (f32::from_bits(flip(min) as u32), f32::from_bits(flip(max) as u32));
    (min.is_finite() && max.is_finite()).then_some((min, max))
}

/// Adding this to a number below 2²² leaves the nearest whole number (ties to even) in the last bits of the mantissa.
///
/// Rust's own roundings and casts to integers are calls, or handle numbers that do not occur here, and are several
/// times slower.
pub(crate) const ROUNDER: f32 = 12_582_912.0; // 1.5 · 2²³, where the last bit counts 1

/// `1 / x`, or 0 for 0.
#[inline(always)]
pub(crate) fn reciprocal(x: f32) -> f32 {
    if x == 0.0 { 0.0 } else { 1.0 / x }
}

/// Writes the parts of a block one after the other.
#[inline(always)]
pub(crate) fn write(mut block: &mut [u8], parts: &[&[u8]]) {
    for part in parts {
        let (to, rest) = block.split_at_mut(part.len());
        to.copy_from_slice(part);
        block = rest;
    }
}
