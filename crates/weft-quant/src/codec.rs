//! Encodes and decodes blocks of any type, with lengths checked.

use crate::ints::{IntFormat, Part};
use crate::{
    GgmlType, floats, iquants_encode, kquants_encode, kquants_low, legacy_encode, legacy_weighted, ternary,
    with_int_format,
};

/// Why bytes could not be decoded, or values not be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// This crate cannot decode the type.
    #[error("cannot decode {0}; see `GgmlType::can_decode` for the supported types")]
    NoDecoder(GgmlType),

    /// This crate cannot encode the type.
    #[error("cannot encode {0}; see `GgmlType::can_encode` for the supported types")]
    NoEncoder(GgmlType),

    /// Values and bytes are not the same number of whole blocks.
    #[error(
        "{ty} stores {} value(s) in {} byte(s), so {values} value(s) and {bytes} byte(s) do not match",
        ty.block_len(), ty.block_bytes()
    )]
    Length {
        /// The type.
        ty: GgmlType,
        /// The number of values given, or of their places.
        values: usize,
        /// The number of bytes given, or of their places.
        bytes: usize,
    },

    /// There is not one importance for each value.
    #[error("{importance} importances for {values} values; expected one for each")]
    Importance {
        /// The number of values given.
        values: usize,
        /// The number of importances given.
        importance: usize,
    },
}

/// Decodes whole blocks, bit for bit as GGML's reference `dequantize_row_*`.
///
/// Any bytes decode. A block whose half-precision scale is infinite or NaN decodes to values that are infinite or
/// NaN.
///
/// # Errors
///
/// If the type has no decoder, or `bytes` and `out` are not the same number of whole blocks.
pub fn decode(ty: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<(), CodecError> {
    if !ty.can_decode() {
        return Err(CodecError::NoDecoder(ty));
    }
    check_length(ty, out.len(), bytes.len())?;
    match ty {
        GgmlType::F32 => floats::decode_f32(bytes, out),
        GgmlType::F16 => floats::decode_f16(bytes, out),
        GgmlType::BF16 => floats::decode_bf16(bytes, out),
        _ => {
            with_int_format!(ty, F => decode_blocks::<F>(bytes, out), else return Err(CodecError::NoDecoder(ty)))
        }
    }
    Ok(())
}

/// Encodes values as whole blocks.
///
/// F16 and BF16 round to nearest, ties to even. Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, TQ1_0, TQ2_0 and MXFP4 match
/// GGML's reference `quantize_row_*_ref` bit for bit; Q2_K to Q6_K, IQ4_NL and IQ4_XS search for the scales
/// with the smallest error, with results close to GGML's or better.
///
/// If a block of a quantised type holds a NaN or an infinity, its scale is NaN, so that all of it decodes to NaN; to infinities in
/// MXFP4, whose scale is never NaN.
/// Finite values so large that a scale or minimum exceeds the range of a half (65504) make it infinite.
///
/// # Errors
///
/// If the type has no encoder, or `values` and `out` are not the same number of whole blocks.
pub fn encode(ty: GgmlType, values: &[f32], out: &mut [u8]) -> Result<(), CodecError> {
    if !ty.can_encode() {
        return Err(CodecError::NoEncoder(ty));
    }
    check_length(ty, values.len(), out.len())?;
    match ty {
        GgmlType::F32 => floats::encode_f32(values, out),
        GgmlType::F16 => floats::encode_f16(values, out),
        GgmlType::BF16 => floats::encode_bf16(values, out),
        GgmlType::Q4_0 => encode_blocks(values, out, legacy_encode::q4_0),
        GgmlType::Q4_1 => encode_blocks(values, out, legacy_encode::q4_1),
        GgmlType::Q5_0 => encode_blocks(values, out, legacy_encode::q5_0),
        GgmlType::Q5_1 => encode_blocks(values, out, legacy_encode::q5_1),
        GgmlType::Q8_0 => encode_blocks(values, out, legacy_encode::q8_0),
        GgmlType::Q2_K => encode_blocks(values, out, |x, block| kquants_low::q2_k(x, None, block)),
        GgmlType::Q3_K => encode_blocks(values, out, |x, block| kquants_low::q3_k(x, None, block)),
        GgmlType::Q4_K => encode_blocks(values, out, |x, block| kquants_encode::q4_k(x, None, block)),
        GgmlType::Q5_K => encode_blocks(values, out, |x, block| kquants_encode::q5_k(x, None, block)),
        GgmlType::Q6_K => encode_blocks(values, out, |x, block| kquants_encode::q6_k(x, None, block)),
        GgmlType::IQ4_NL => encode_blocks(values, out, |x, block| iquants_encode::iq4_nl(x, None, block)),
        GgmlType::IQ4_XS => encode_blocks(values, out, |x, block| iquants_encode::iq4_xs(x, None, block)),
        GgmlType::TQ1_0 => encode_blocks(values, out, ternary::encode_tq1_0),
        GgmlType::TQ2_0 => encode_blocks(values, out, ternary::encode_tq2_0),
        GgmlType::MXFP4 => encode_blocks(values, out, iquants_encode::mxfp4),
        _ => return Err(CodecError::NoEncoder(ty)),
    }
    Ok(())
}

/// Encodes values as whole blocks like [`encode`], with the importance of each value: what an error in it weighs, such as the
/// mean square of the activations that it is multiplied by.
///
/// Only ratios within a block matter. A block whose importances are all zero or not finite is encoded as if all were
/// equal. Floats, Q8_0, TQ1_0, TQ2_0 and MXFP4 do not depend on importances.
///
/// # Errors
///
/// Those of [`encode`], or if `values` and `importance` differ in length.
pub fn encode_weighted(
    ty: GgmlType,
    values: &[f32],
    importance: &[f32],
    out: &mut [u8],
) -> Result<(), CodecError> {
    if values.len() != importance.len() {
        return Err(CodecError::Importance { values: values.len(), importance: importance.len() });
    }
    check_length(ty, values.len(), out.len())?;
    match ty {
        GgmlType::Q4_0 => encode_important(values, importance, out, legacy_weighted::q4_0),
        GgmlType::Q4_1 => encode_important(values, importance, out, legacy_weighted::q4_1),
        GgmlType::Q5_0 => encode_important(values, importance, out, legacy_weighted::q5_0),
        GgmlType::Q5_1 => encode_important(values, importance, out, legacy_weighted::q5_1),
        GgmlType::Q2_K => {
            encode_important(values, importance, out, |x, w, block| kquants_low::q2_k(x, Some(w), block));
        }
        GgmlType::Q3_K => {
            encode_important(values, importance, out, |x, w, block| kquants_low::q3_k(x, Some(w), block));
        }
        GgmlType::Q4_K => {
            encode_important(values, importance, out, |x, w, block| kquants_encode::q4_k(x, Some(w), block));
        }
        GgmlType::Q5_K => {
            encode_important(values, importance, out, |x, w, block| kquants_encode::q5_k(x, Some(w), block));
        }
        GgmlType::Q6_K => {
            encode_important(values, importance, out, |x, w, block| kquants_encode::q6_k(x, Some(w), block));
        }
        GgmlType::IQ4_NL => {
            encode_important(values, importance, out, |x, w, block| {
                iquants_encode::iq4_nl(x, Some(w), block)
            });
        }
        GgmlType::IQ4_XS => {
            encode_important(values, importance, out, |x, w, block| {
                iquants_encode::iq4_xs(x, Some(w), block)
            });
        }
        _ => return encode(ty, values, out),
    }
    Ok(())
}

fn encode_important<const LEN: usize, const BYTES: usize>(
    values: &[f32],
    importance: &[f32],
    out: &mut [u8],
    encode: impl Fn(&[f32; LEN], &[f32; LEN], &mut [u8; BYTES]),
) {
    let blocks = values.as_chunks().0.iter().zip(importance.as_chunks().0);
    for ((values, importance), block) in blocks.zip(out.as_chunks_mut().0) {
        encode(values, importance, block);
    }
}

fn check_length(ty: GgmlType, values: usize, bytes: usize) -> Result<(), CodecError> {
    if ty.row_bytes(values as u64) == Some(bytes as u64) {
        Ok(())
    } else {
        Err(CodecError::Length { ty, values, bytes })
    }
}

fn decode_blocks<F: IntFormat>(mut bytes: &[u8], mut out: &mut [f32]) {
    let (mut q, mut scales, mut mins) = (F::Quants::ZERO, F::Scales::ZERO, F::Mins::ZERO);
    while let Some((block, rest)) = F::Block::split(bytes) {
        bytes = rest;
        F::unpack_block(block, &mut q, &mut scales, &mut mins);
        let (values, rest) = out.split_at_mut(F::TYPE.block_len());
        out = rest;
        let groups = values.chunks_exact_mut(F::LAYOUT.group).zip(q.as_ref().chunks_exact(F::LAYOUT.group));
        for (i, (values, q)) in groups.enumerate() {
            let scale = scales.as_ref()[i];
            if F::LAYOUT.has_min {
                let min = mins.as_ref()[i];
                for (value, q) in values.iter_mut().zip(q) {
                    *value = scale * f32::from(*q) + min;
                }
            } else {
                for (value, q) in values.iter_mut().zip(q) {
                    *value = scale * f32::from(*q);
                }
            }
        }
    }
}

fn encode_blocks<const LEN: usize, const BYTES: usize>(
    values: &[f32],
    out: &mut [u8],
    encode: impl Fn(&[f32; LEN], &mut [u8; BYTES]),
) {
    for (values, block) in values.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        encode(values, block);
    }
}
