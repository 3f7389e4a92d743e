//! The formats of weights −1, 0 and 1 with one scale for 256 values: TQ1_0 and TQ2_0.

use crate::encoding::{F16_NAN, range, reciprocal, write};
use crate::floats::{f16_bytes, read_f16};
use crate::ints::{int_format, part};

/// Powers of three.
const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

/// Digit `n` of five in base 3, the most significant first. A byte is the number's fraction of 243, in 256ths and rounded up, so that
/// multiplications by 3 yield the digits one after another.
#[inline(always)]
fn trit(byte: u8, n: usize) -> u8 {
    ((u16::from(byte.wrapping_mul(POWERS[n])) * 3) >> 8) as u8
}

int_format! {
    /// Five digits of base 3 in a byte: `qs: [u8; 48], qh: [u8; 4], d: f16`, value = d · (digit − 1). A byte of `qh` has four digits.
    TQ1_0, group 32, min false, |block, q, scales, _mins| {
        let qs: &[u8; 48] = part::<0, 48, _>(block);
        let qh: &[u8; 4] = part::<48, 4, _>(block);
        for n in 0..5 {
            for i in 0..32 {
                q[32 * n + i] = trit(qs[i], n) as i8 - 1;
            }
            for i in 0..16 {
                q[160 + 16 * n + i] = trit(qs[32 + i], n) as i8 - 1;
            }
        }
        for n in 0..4 {
            for i in 0..4 {
                q[240 + 4 * n + i] = trit(qh[i], n) as i8 - 1;
            }
        }
        *scales = [read_f16(part::<52, 2, _>(block)); 8];
    }
}

int_format! {
    /// Two bits for each value: `qs: [u8; 64], d: f16`, value = d · (q − 1).
    TQ2_0, group 32, min false, |block, q, scales, _mins| {
        let qs: &[u8; 64] = part::<0, 64, _>(block);
        for (q, qs) in q.as_chunks_mut::<128>().0.iter_mut().zip(qs.as_chunks::<32>().0) {
            for (j, q) in q.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                for i in 0..32 {
                    q[i] = ((qs[i] >> (2 * j)) & 3) as i8 - 1;
                }
            }
        }
        *scales = [read_f16(part::<64, 2, _>(block)); 8];
    }
}

/// The bytes of a block of TQ1_0 before its scale, for digits 0, 1 and 2.
pub(crate) fn pack_trits(u: &[u8; 256]) -> [u8; 52] {
    let number = |digits: [u8; 5]| {
        let number = digits.iter().fold(0, |number, digit| 3 * number + u16::from(*digit % 3));
        (number * 256).div_ceil(243) as u8
    };
    std::array::from_fn(|i| match i {
        0..32 => number(std::array::from_fn(|n| u[32 * n + i])),
        32..48 => number(std::array::from_fn(|n| u[160 + 16 * n + i - 32])),
        _ => number(std::array::from_fn(|n| if n < 4 { u[240 + 4 * n + i - 48] } else { 0 })),
    })
}

/// The low two bits of each number, four to a byte, in halves of 128.
pub(crate) fn pack_two_bits(u: &[u8; 256]) -> [u8; 64] {
    let mut qs = [0; 64];
    for (qs, u) in qs.as_chunks_mut::<32>().0.iter_mut().zip(u.as_chunks::<128>().0) {
        for (j, u) in u.as_chunks::<32>().0.iter().enumerate() {
            qs.iter_mut().zip(u).for_each(|(qs, u)| *qs |= (u & 3) << (2 * j));
        }
    }
    qs
}

/// The scale and the digits of a block, as GGML's `quantize_row_tq*_0_ref` has them: the largest magnitude is the scale.
fn digits(values: &[f32; 256]) -> Option<([u8; 2], [u8; 256])> {
    let (min, max) = range(values)?;
    let d = max.max(-min);
    let per_d = reciprocal(d);
    let mut u = [1; 256];
    for (u, x) in u.iter_mut().zip(values) {
        // Half away from zero.
        let x = x * per_d;
        *u = if x >= 0.5 { 2 } else { u8::from(x > -0.5) };
    }
    Some((f16_bytes(d), u))
}

pub(crate) fn encode_tq1_0(values: &[f32; 256], block: &mut [u8; 54]) {
    let (d, u) = digits(values).unwrap_or((F16_NAN, [1; 256]));
    write(block, &[&pack_trits(&u), &d]);
}

pub(crate) fn encode_tq2_0(values: &[f32; 256], block: &mut [u8; 66]) {
    let (d, u) = digits(values).unwrap_or((F16_NAN, [1; 256]));
    write(block, &[&pack_two_bits(&u), &d]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back() {
        for byte in 0..=255 {
            let digits: [u8; 5] = std::array::from_fn(|n| trit(byte, n));
            let mut u = [0; 256];
            (0..5).for_each(|n| u[32 * n] = digits[n]);
            let packed = pack_trits(&u)[0];
            // Thirteen bytes decode to the same digits as the byte before them; no encoder writes them.
            assert!(packed == byte || packed + 1 == byte, "{byte}: {packed}");
            assert_eq!(std::array::from_fn(|n| trit(packed, n)), digits, "{byte}");
        }
    }
}
