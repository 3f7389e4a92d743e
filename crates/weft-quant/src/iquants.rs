//! The formats whose 4-bit codes have uneven steps: IQ4_NL, IQ4_XS, MXFP4 and NVFP4.

use crate::encoding::write;
use crate::floats::read_f16;
use crate::ints::{int_format, part};
use crate::legacy::nibbles;
use crate::legacy_encode::pack_nibbles;

/// The values of the 4-bit codes of IQ4_NL and IQ4_XS, `kvalues_iq4nl` in GGML's `ggml-common.h`.
pub(crate) const IQ4_VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Looks up 32 codes of IQ4.
#[inline(always)]
fn look_up(codes: &[u8; 32], q: &mut [i8; 32]) {
    for (q, code) in q.iter_mut().zip(codes) {
        *q = IQ4_VALUES[usize::from(code & 0x0f)];
    }
}

/// Twice the value of a 4-bit float with sign, two bits of exponent and one of mantissa (E2M1 in the OCP Microscaling
/// Formats v1.0, 5.3.3): 0, 1, 2, 3, 4, 6, 8 or 12 of either sign.
///
/// Arithmetic vectorises, a table does not: the step is 1, from 4 on one more, from 6 on two more.
#[inline(always)]
pub(crate) const fn doubled_e2m1(code: u8) -> i8 {
    let m = code & 7;
    let magnitude = (m + m.saturating_sub(4) + 2 * m.saturating_sub(6)) as i8;
    if code & 8 != 0 { -magnitude } else { magnitude }
}

/// Half the value of an E8M0 scale, 2^(e − 128); half, because the codes' values are doubled.
///
/// The scale 255, which the format defines as NaN, reads as 2¹²⁷, as in GGML.
#[inline(always)]
pub(crate) fn half_e8m0(e: u8) -> f32 {
    // The first two are subnormal in f32.
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { u32::from(e - 1) << 23 })
}

/// Half the value of a scale of NVFP4, an unsigned float with four bits of exponent and three of mantissa (E4M3); half, because the codes'
/// values are doubled.
///
/// As in GGML, the NaN is 0, and a top bit, which no encoder sets, does not count (but with it the NaN would be a number).
#[inline(always)]
pub(crate) fn half_e4m3(byte: u8) -> f32 {
    if byte == 0x7f {
        return 0.0;
    }
    // As an f32 with the exponent's bias of 127, for which a subnormal is also a subnormal.
    f32::from_bits(u32::from(byte & 0x7f) << 20) * f32::from_bits((127 + 119) << 23)
}

/// The scales of the eight groups of an IQ4_XS super-block, 6 bits each minus 32: `scales_h: u16, scales_l: [u8; 4]`.
#[inline(always)]
pub(crate) fn iq4_xs_scales(packed: &[u8; 6]) -> [i8; 8] {
    let high = u16::from_le_bytes(*part::<0, 2, _>(packed));
    let low: &[u8; 4] = part::<2, 4, _>(packed);
    let mut scales = [0; 8];
    for i in 0..8 {
        let low = (low[i / 2] >> (4 * (i % 2))) & 0x0f;
        let high = ((high >> (2 * i)) & 3) as u8;
        scales[i] = (low | (high << 4)) as i8 - 32;
    }
    scales
}

/// Writes a super-block of IQ4_XS: its half, the scales of its groups from −32 to 31, and its codes.
pub(crate) fn pack_iq4_xs(d: [u8; 2], scales: &[i8; 8], u: &[u8; 256], out: &mut [u8]) {
    let (mut high, mut low, mut qs) = (0u16, [0u8; 4], [0u8; 128]);
    for (i, scale) in scales.iter().enumerate() {
        let six = scale.wrapping_add(32) as u8;
        low[i / 2] |= (six & 0x0f) << (4 * (i % 2));
        high |= u16::from((six >> 4) & 3) << (2 * i);
    }
    for (qs, u) in qs.as_chunks_mut::<16>().0.iter_mut().zip(u.as_chunks::<32>().0) {
        *qs = pack_nibbles(u);
    }
    write(out, &[&d, &high.to_le_bytes(), &low, &qs]);
}

int_format! {
    /// 4-bit codes with uneven steps, and a scale: `d: f16, qs: [u8; 16]`, value = d · table\[q\].
    IQ4_NL, group 32, min false, |block, q, scales, _mins| {
        look_up(&nibbles(part::<2, 16, _>(block)), q);
        scales[0] = read_f16(part::<0, 2, _>(block));
    }
}

int_format! {
    /// IQ4_NL's codes with 6-bit scales: `d: f16, scales_h: u16, scales_l: [u8; 4], qs: [u8; 128]`,
    /// value = d · (sc − 32) · table\[q\].
    IQ4_XS, group 32, min false, |block, q, scales, _mins| {
        let d = read_f16(part::<0, 2, _>(block));
        let qs: &[u8; 128] = part::<8, 128, _>(block);
        for (scale, sc) in scales.iter_mut().zip(iq4_xs_scales(part::<2, 6, _>(block))) {
            *scale = d * f32::from(sc);
        }
        for (q, qs) in q.as_chunks_mut::<32>().0.iter_mut().zip(qs.as_chunks::<16>().0) {
            look_up(&nibbles(qs), q);
        }
    }
}

int_format! {
    /// 4-bit floats and a power of two (OCP MXFP4): `e: u8, qs: [u8; 16]`, value = 2^(e − 128) · 2 E2M1(q).
    MXFP4, group 32, min false, |block, q, scales, _mins| {
        for (q, code) in q.iter_mut().zip(nibbles(part::<1, 16, _>(block))) {
            *q = doubled_e2m1(code);
        }
        scales[0] = half_e8m0(block[0]);
    }
}

int_format! {
    /// 4-bit floats and an 8-bit one for each 16 of them: `d: [u8; 4], qs: [u8; 32]`, value = E4M3(d) / 2 · 2 E2M1(q). Low nibbles are the
    /// first 8 values of 16.
    NVFP4, group 16, min false, |block, q, scales, _mins| {
        let d: &[u8; 4] = part::<0, 4, _>(block);
        for (q, code) in q.iter_mut().zip(nvfp4_codes(part::<4, 32, _>(block))) {
            *q = doubled_e2m1(code);
        }
        *scales = d.map(half_e4m3);
    }
}

/// The codes of a block of NVFP4.
#[inline(always)]
pub(crate) fn nvfp4_codes(qs: &[u8; 32]) -> [u8; 64] {
    std::array::from_fn(|i| (qs[i / 16 * 8 + i % 8] >> (i % 16 / 8 * 4)) & 0x0f)
}
