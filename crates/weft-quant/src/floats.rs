//! The plain number types f32, f16 and bf16, little-endian.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// Converts a half-precision number exactly; a NaN keeps its bits.
///
/// `half`'s own conversion asks the processor for F16C on every call and cannot be inlined into code that enables
/// it; this one has no branch, and vectorises as part of its caller.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // Exponents are biased by 15 in a half and by 127 here. This product is exact, and correct for subnormals as
    // well.
    let finite = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = if magnitude >= 0x1f << 23 { 0xff << 23 } else { 0 };
    f32::from_bits(sign | finite | special)
}

/// Reads a half-precision number.
#[inline(always)]
pub(crate) fn read_f16(bytes: &[u8; 2]) -> f32 {
    f16_to_f32(u16::from_le_bytes(*bytes))
}

/// Rounds `value` to the nearest half-precision number (ties to even, overflow to infinity).
#[inline]
pub(crate) fn f16_bytes(value: f32) -> [u8; 2] {
    f16::from_f32(value).to_le_bytes()
}

/// Calls `convert` on the bytes of every number. Both slices hold the same number of values.
#[inline(always)]
fn decode_each<const N: usize>(bytes: &[u8], out: &mut [f32], convert: impl Fn([u8; N]) -> f32) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *value = convert(*bytes);
    }
}

pub(crate) fn decode_f32(bytes: &[u8], out: &mut [f32]) {
    decode_each(bytes, out, f32::from_le_bytes);
}

pub(crate) fn decode_f16(bytes: &[u8], out: &mut [f32]) {
    decode_each(bytes, out, |b| read_f16(&b));
}

pub(crate) fn decode_bf16(bytes: &[u8], out: &mut [f32]) {
    decode_each(bytes, out, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16));
}

pub(crate) fn encode_f32(values: &[f32], out: &mut [u8]) {
    for (value, bytes) in values.iter().zip(out.as_chunks_mut().0) {
        *bytes = value.to_le_bytes();
    }
}

pub(crate) fn encode_f16(values: &[f32], out: &mut [u8]) {
    // In runs, so that `half` can use the processor's own conversion.
    let mut run = [f16::ZERO; 64];
    for (values, out) in values.chunks(run.len()).zip(out.chunks_mut(2 * run.len())) {
        let run = &mut run[..values.len()];
        run.convert_from_f32_slice(values);
        for (half, bytes) in run.iter().zip(out.as_chunks_mut().0) {
            *bytes = half.to_le_bytes();
        }
    }
}

pub(crate) fn encode_bf16(values: &[f32], out: &mut [u8]) {
    for (value, bytes) in values.iter().zip(out.as_chunks_mut().0) {
        *bytes = bf16::from_f32(*value).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_converts_exactly() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            if theirs.is_nan() {
                assert!(ours.is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{bits:#06x}");
            }
        }
    }
}
