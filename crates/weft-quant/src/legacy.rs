//! The formats with 32 values per block, read as integers: `block_q4_0` … `block_q8_0` of GGML's
//! `ggml-common.h`.

use crate::floats::read_f16;
use crate::ints::{int_format, part};

/// The 32 nibbles of 16 bytes, the low ones first.
#[inline(always)]
pub(crate) fn nibbles(bytes: &[u8; 16]) -> [u8; 32] {
    let mut out = [0; 32];
    for i in 0..16 {
        out[i] = bytes[i] & 0x0f;
        out[i + 16] = bytes[i] >> 4;
    }
    out
}

/// The 5-bit numbers of a block: bit `i` of `high` is the fifth bit of number `i`.
#[inline(always)]
fn five_bits(low: &[u8; 16], high: &[u8; 4]) -> [u8; 32] {
    let mut out = nibbles(low);
    for i in 0..32 {
        out[i] |= if high[i / 8] & (1 << (i % 8)) != 0 { 0x10 } else { 0 };
    }
    out
}

/// Stores numbers minus an offset.
#[inline(always)]
fn store(numbers: &[u8; 32], offset: i8, q: &mut [i8; 32]) {
    for i in 0..32 {
        q[i] = numbers[i] as i8 - offset;
    }
}

int_format! {
    /// 4 bits and a scale: `d: f16, qs: [u8; 16]`, value = d · (q − 8).
    Q4_0, group 32, min false, |block, q, scales, _mins| {
        store(&nibbles(part::<2, 16, _>(block)), 8, q);
        scales[0] = read_f16(part::<0, 2, _>(block));
    }
}

int_format! {
    /// 4 bits, a scale and a minimum: `d: f16, m: f16, qs: [u8; 16]`, value = d · q + m.
    Q4_1, group 32, min true, |block, q, scales, mins| {
        store(&nibbles(part::<4, 16, _>(block)), 0, q);
        scales[0] = read_f16(part::<0, 2, _>(block));
        mins[0] = read_f16(part::<2, 2, _>(block));
    }
}

int_format! {
    /// 5 bits and a scale: `d: f16, qh: [u8; 4], qs: [u8; 16]`, value = d · (q − 16).
    Q5_0, group 32, min false, |block, q, scales, _mins| {
        store(&five_bits(part::<6, 16, _>(block), part::<2, 4, _>(block)), 16, q);
        scales[0] = read_f16(part::<0, 2, _>(block));
    }
}

int_format! {
    /// 5 bits, a scale and a minimum: `d: f16, m: f16, qh: [u8; 4], qs: [u8; 16]`, value = d · q + m.
    Q5_1, group 32, min true, |block, q, scales, mins| {
        store(&five_bits(part::<8, 16, _>(block), part::<4, 4, _>(block)), 0, q);
        scales[0] = read_f16(part::<0, 2, _>(block));
        mins[0] = read_f16(part::<2, 2, _>(block));
    }
}

int_format! {
    /// 8 bits and a scale: `d: f16, qs: [i8; 32]`, value = d · q.
    Q8_0, group 32, min false, |block, q, scales, _mins| {
        let bytes: &[u8; 32] = part::<2, 32, _>(block);
        for i in 0..32 {
            q[i] = bytes[i] as i8;
        }
        scales[0] = read_f16(part::<0, 2, _>(block));
    }
}
