//! The K formats, with 256 values per super-block, read as integers: `block_q2_K` … `block_q6_K` of GGML's `ggml-common.h`.
//!
//! A super-block has one half-precision scale (and minimum), and for each group a 4-, 6- or 8-bit factor of it.

use crate::floats::read_f16;
use crate::ints::{int_format, part};

/// The 6-bit scales and minima of the eight groups of a Q4_K or Q5_K super-block.
///
/// Bytes 0–3 and 4–7 hold the scales and the minima of groups 0–3 in their low six bits. Bytes 8–11 hold the low nibbles of the
/// scales (low) and minima (high) of groups 4–7, whose upper two bits are the top bits of bytes 0–3 and 4–7.
#[inline(always)]
pub(crate) fn scales_and_mins(packed: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut mins) = ([0; 8], [0; 8]);
    for i in 0..4 {
        let (a, b, c) = (packed[i], packed[i + 4], packed[i + 8]);
        scales[i] = a & 0x3f;
        mins[i] = b & 0x3f;
        scales[i + 4] = (c & 0x0f) | ((a >> 6) << 4);
        mins[i + 4] = (c >> 4) | ((b >> 6) << 4);
    }
    (scales, mins)
}

/// The 4-bit scales and minima of the sixteen groups of a Q2_K super-block, one pair per byte.
#[inline(always)]
pub(crate) fn q2_scales_and_mins(packed: &[u8; 16]) -> ([u8; 16], [u8; 16]) {
    (packed.map(|p| p & 0x0f), packed.map(|p| p >> 4))
}

/// The scales of the sixteen groups of a Q3_K super-block, 6 bits each minus 32: the low nibbles are in bytes 0–7, two per byte;
/// the upper two bits in bytes 8–11, four per byte.
#[inline(always)]
pub(crate) fn q3_scales(packed: &[u8; 12]) -> [i8; 16] {
    let mut scales = [0; 16];
    for i in 0..16 {
        let low = (packed[i % 8] >> (4 * (i / 8))) & 0x0f;
        let high = (packed[8 + i % 4] >> (2 * (i / 4))) & 3;
        scales[i] = (low | (high << 4)) as i8 - 32;
    }
    scales
}

/// Scales and minima of a Q4_K or Q5_K super-block, whose first 16 bytes are `d: f16, dmin: f16, scales: [u8; 12]`.
#[inline(always)]
fn unpack_scales(head: &[u8; 16], scales: &mut [f32; 8], mins: &mut [f32; 8]) {
    let d = read_f16(part::<0, 2, _>(head));
    let dmin = read_f16(part::<2, 2, _>(head));
    let (sc, m) = scales_and_mins(part::<4, 12, _>(head));
    for i in 0..8 {
        scales[i] = d * f32::from(sc[i]);
        mins[i] = -(dmin * f32::from(m[i]));
    }
}

int_format! {
    /// 2 bits, with 4-bit scales and minima: `scales: [u8; 16], qs: [u8; 64], d: f16, dmin: f16`, value = d · sc · q − dmin · m.
    Q2_K, group 16, min true, |block, q, scales, mins| {
        let packed: &[u8; 16] = part::<0, 16, _>(block);
        let qs: &[u8; 64] = part::<16, 64, _>(block);
        let d = read_f16(part::<80, 2, _>(block));
        let dmin = read_f16(part::<82, 2, _>(block));
        let (sc, m) = q2_scales_and_mins(packed);
        for i in 0..16 {
            scales[i] = d * f32::from(sc[i]);
            mins[i] = -(dmin * f32::from(m[i]));
        }
        for (q, qs) in q.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0) {
            for (j, q) in q.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                for i in 0..32 {
                    q[i] = ((qs[i] >> (2 * j)) & 3) as i8;
                }
            }
        }
    }
}

int_format! {
    /// 3 bits, with 6-bit scales: `hmask: [u8; 32], qs: [u8; 64], scales: [u8; 12], d: f16`, value = d · (sc − 32) · (q − 4); the
    /// third bits are in `hmask`.
    Q3_K, group 16, min false, |block, q, scales, _mins| {
        let hmask: &[u8; 32] = part::<0, 32, _>(block);
        let qs: &[u8; 64] = part::<32, 64, _>(block);
        let packed: &[u8; 12] = part::<96, 12, _>(block);
        let d = read_f16(part::<108, 2, _>(block));
        for (scale, sc) in scales.iter_mut().zip(q3_scales(packed)) {
            *scale = d * f32::from(sc);
        }
        for (n, (q, qs)) in q.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0).enumerate() {
            for (j, q) in q.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                for i in 0..32 {
                    let high = (hmask[i] >> (4 * n + j)) & 1;
                    q[i] = (((qs[i] >> (2 * j)) & 3) | (high << 2)) as i8 - 4;
                }
            }
        }
    }
}

int_format! {
    /// 4 bits, with 6-bit scales and minima: `d: f16, dmin: f16, scales: [u8; 12], qs: [u8; 128]`, value = d · sc · q − dmin · m.
    Q4_K, group 32, min true, |block, q, scales, mins| {
        unpack_scales(part::<0, 16, _>(block), scales, mins);
        let qs: &[u8; 128] = part::<16, 128, _>(block);
        for (q, qs) in q.as_chunks_mut::<64>().0.iter_mut().zip(qs.as_chunks::<32>().0) {
            for i in 0..32 {
                q[i] = (qs[i] & 0x0f) as i8;
                q[i + 32] = (qs[i] >> 4) as i8;
            }
        }
    }
}

int_format! {
    /// 5 bits, with 6-bit scales and minima: `d: f16, dmin: f16, scales: [u8; 12], qh: [u8; 32], qs: [u8; 128]`, value = d · sc ·
    /// q − dmin · m; bit `g` of `qh[i]` is the fifth bit of value `i` of group `g`.
    Q5_K, group 32, min true, |block, q, scales, mins| {
        unpack_scales(part::<0, 16, _>(block), scales, mins);
        let qh: &[u8; 32] = part::<16, 32, _>(block);
        let qs: &[u8; 128] = part::<48, 128, _>(block);
        for (n, (q, qs)) in q.as_chunks_mut::<64>().0.iter_mut().zip(qs.as_chunks::<32>().0).enumerate() {
            for i in 0..32 {
                let high = qh[i] >> (2 * n);
                q[i] = ((qs[i] & 0x0f) | ((high & 1) << 4)) as i8;
                q[i + 32] = ((qs[i] >> 4) | (((high >> 1) & 1) << 4)) as i8;
            }
        }
    }
}

int_format! {
    /// 6 bits, with 8-bit signed scales: `ql: [u8; 128], qh: [u8; 64], scales: [i8; 16], d: f16`, value = d · sc · (q − 32).
    Q6_K, group 16, min false, |block, q, scales, _mins| {
        let ql: &[u8; 128] = part::<0, 128, _>(block);
        let qh: &[u8; 64] = part::<128, 64, _>(block);
        let packed: &[u8; 16] = part::<192, 16, _>(block);
        let d = read_f16(part::<208, 2, _>(block));
        for i in 0..16 {
            scales[i] = d * f32::from(packed[i] as i8);
        }
        let halves = ql.as_chunks::<64>().0.iter().zip(qh.as_chunks::<32>().0);
        for (q, (ql, qh)) in q.as_chunks_mut::<128>().0.iter_mut().zip(halves) {
            for i in 0..32 {
                q[i] = ((ql[i] & 0x0f) | ((qh[i] & 3) << 4)) as i8 - 32;
                q[i + 32] = ((ql[i + 32] & 0x0f) | (((qh[i] >> 2) & 3) << 4)) as i8 - 32;
                q[i + 64] = ((ql[i] >> 4) | (((qh[i] >> 4) & 3) << 4)) as i8 - 32;
                q[i + 96] = ((ql[i + 32] >> 4) | ((qh[i] >> 6) << 4)) as i8 - 32;
            }
        }
    }
}
