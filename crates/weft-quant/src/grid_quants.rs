//! The formats IQ1 to IQ3, with 256 values per super-block, read as integers: `block_iq1_s` … `block_iq3_s` of GGML's `ggml-common.h`.
//!
//! Eight values are one or two points of a [grid](crate::grids), with a sign for each value in IQ2 and IQ3, and one offset for all of them
//! in IQ1. GGML's scales have halves and quarters in them; here the integers are small and odd instead, and scales are divided by a
//! power of two. Every product is exact in `f32`, so both give the same bits.
//!
//! In tiles, a number is a digit of a point and above it the sign ([`Tables`]), from which [`restore`] finds the point again.

use crate::GgmlType;
use crate::floats::{f16_to_f32, read_f16};
use crate::grids;
use crate::ints::{int_format, part};

/// The values of the numbers of tiles, with 128 added.
pub(crate) struct Tables;

impl Tables {
    pub(crate) const IQ1: [u8; 16] = table(2, [-7, 1, 9], [-9, -1, 7]);
    pub(crate) const IQ2: [u8; 16] = table(2, [8, 25, 43], [-8, -25, -43]);
    pub(crate) const IQ3_XXS: [u8; 16] =
        table(3, [4, 12, 20, 28, 36, 44, 52, 62], [-4, -12, -20, -28, -36, -44, -52, -62]);
    pub(crate) const IQ3_S: [u8; 16] =
        table(3, [1, 3, 5, 7, 9, 11, 13, 15], [-1, -3, -5, -7, -9, -11, -13, -15]);
}

/// The table of numbers whose digits have these `bits`, and above them a bit that chooses between two values.
const fn table<const N: usize>(bits: usize, clear: [i16; N], set: [i16; N]) -> [u8; 16] {
    let mut table = [128; 16];
    let mut digit = 0;
    while digit < N {
        table[digit] = (clear[digit] + 128) as u8;
        table[digit + (1 << bits)] = (set[digit] + 128) as u8;
        digit += 1;
    }
    table
}

/// The eighth sign makes the number of negative values even.
#[inline(always)]
fn even(seven: u32) -> u8 {
    let seven = (seven & 0x7f) as u8;
    seven | ((seven.count_ones() as u8 & 1) << 7)
}

/// Eight values of IQ1, in eighths.
#[inline(always)]
fn iq1(point: u16, down: bool, q: &mut [i8; 8]) {
    for (i, q) in q.iter_mut().enumerate() {
        *q = 8 * ((point >> (2 * i)) & 3) as i8 - if down { 9 } else { 7 };
    }
}

/// Eight values of IQ2.
#[inline(always)]
fn iq2(point: u16, signs: u8, q: &mut [i8; 8]) {
    for (i, q) in q.iter_mut().enumerate() {
        let digit = ((point >> (2 * i)) & 3) as i8;
        let magnitude = 8 + 17 * digit + (digit >> 1);
        *q = if signs >> i & 1 == 0 { magnitude } else { -magnitude };
    }
}

/// Eight values of IQ3_XXS, or of IQ3_S.
#[inline(always)]
fn iq3<const XXS: bool>(points: [u16; 2], signs: u8, q: &mut [i8; 8]) {
    let digits = u32::from(points[0]) | u32::from(points[1]) << 12;
    for (i, q) in q.iter_mut().enumerate() {
        let digit = ((digits >> (3 * i)) & 7) as i8;
        let magnitude = if XXS { 4 + 8 * digit + 2 * (digit / 7) } else { 1 + 2 * digit };
        *q = if signs >> i & 1 == 0 { magnitude } else { -magnitude };
    }
}

/// A half times odd numbers from 1 on, by their index, and a power of two.
#[inline(always)]
fn odd_scales<const N: usize>(d: f32, steps: [u8; N], power: f32, scales: &mut [f32; N]) {
    for (scale, step) in scales.iter_mut().zip(steps) {
        *scale = d * f32::from(2 * step + 1) * power;
    }
}

/// The four bits of each of `N` groups, two groups in a byte.
#[inline(always)]
fn nibble_steps<const N: usize>(packed: &[u8]) -> [u8; N] {
    std::array::from_fn(|g| (packed[g / 2] >> (4 * (g % 2))) & 0x0f)
}

/// The words of eight groups of 32 values, a word every `apart` bytes.
#[inline(always)]
fn words(bytes: &[u8], apart: usize) -> [u32; 8] {
    std::array::from_fn(|g| {
        let at = g * apart;
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    })
}

/// The half of an IQ1_M super-block, four bits in each of its last four words.
#[inline(always)]
fn iq1_m_half(scales: &[u8; 8]) -> u16 {
    let nibble = |word: usize| u16::from(scales[2 * word + 1] >> 4) << (4 * word);
    nibble(0) | nibble(1) | nibble(2) | nibble(3)
}

/// The scales of the sixteen groups of IQ1_M, three bits each.
#[inline(always)]
fn iq1_m_steps(scales: &[u8; 8]) -> [u8; 16] {
    std::array::from_fn(|g| {
        let word = u16::from_le_bytes([scales[g / 4 * 2], scales[g / 4 * 2 + 1]]);
        ((word >> (3 * (g % 4))) & 7) as u8
    })
}

/// The half of a super-block, and for each group, of 16 or 32 values, the odd factor of it, as a byte.
pub(crate) fn factors(ty: GgmlType, block: &[u8]) -> ([u8; 2], [i8; 16]) {
    let odd = |steps: &[u8]| std::array::from_fn(|g| steps.get(g).map_or(0, |step| 2 * step + 1) as i8);
    let half = [block[0], block[1]];
    let high = |words: [u32; 8]| words.map(|word| (word >> 28) as u8);
    match ty {
        GgmlType::IQ1_S => (half, odd(&iq1_s_words(&block[34..]).map(|word| (word >> 12) as u8 & 7))),
        GgmlType::IQ1_M => {
            let scales = block[48..].first_chunk().copied().unwrap_or_default();
            (iq1_m_half(&scales).to_le_bytes(), odd(&iq1_m_steps(&scales)))
        }
        GgmlType::IQ2_XXS => (half, odd(&high(words(&block[6..], 8)))),
        GgmlType::IQ2_XS => (half, odd(&nibble_steps::<16>(&block[66..]))),
        GgmlType::IQ2_S => (half, odd(&nibble_steps::<16>(&block[74..]))),
        GgmlType::IQ3_XXS => (half, odd(&high(words(&block[66..], 4)))),
        _ => (half, odd(&nibble_steps::<8>(&block[106..]))),
    }
}

/// The words of the eight groups of IQ1_S: three high bits for each point, a scale, and the offset's sign.
#[inline(always)]
fn iq1_s_words(qh: &[u8]) -> [u16; 8] {
    std::array::from_fn(|g| u16::from_le_bytes([qh[2 * g], qh[2 * g + 1]]))
}

int_format! {
    /// Points of eight digits −1, 0 or 1, moved by ⅛ up or down: `d: f16, qs: [u8; 32], qh: [u16; 8]`, value =
    /// d · (2 sc + 1) · (digit ± ⅛).
    IQ1_S, group 32, min false, |block, q, scales, _mins| {
        let qs: &[u8; 32] = part::<2, 32, _>(block);
        let qh = iq1_s_words(part::<34, 16, _>(block));
        odd_scales(read_f16(part::<0, 2, _>(block)), qh.map(|word| (word >> 12) as u8 & 7), 0.125, scales);
        for (i, q) in q.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let word = qh[i / 4];
            let code = usize::from(qs[i]) | usize::from((word >> (3 * (i % 4))) & 7) << 8;
            iq1(grids::IQ1[code], word >> 15 == 1, q);
        }
    }
}

int_format! {
    /// IQ1_S with a scale for 16 values and an offset for 8: `qs: [u8; 32], qh: [u8; 16], scales: [u16; 4]`, whose upper four bits are
    /// together the half `d`.
    IQ1_M, group 16, min false, |block, q, scales, _mins| {
        let qs: &[u8; 32] = part::<0, 32, _>(block);
        let qh: &[u8; 16] = part::<32, 16, _>(block);
        let packed: &[u8; 8] = part::<48, 8, _>(block);
        odd_scales(f16_to_f32(iq1_m_half(packed)), iq1_m_steps(packed), 0.125, scales);
        for (i, q) in q.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let high = qh[i / 2] >> (4 * (i % 2));
            iq1(grids::IQ1[usize::from(qs[i]) | usize::from(high & 7) << 8], high & 8 != 0, q);
        }
    }
}

int_format! {
    /// Points of eight digits, each 8, 25 or 43: `d: f16`, then for each group four codes and a word of four times seven signs and
    /// a scale, value = ± d · (2 sc + 1) · digit / 8.
    IQ2_XXS, group 32, min false, |block, q, scales, _mins| {
        let groups: &[u8; 64] = part::<2, 64, _>(block);
        let signs = words(&groups[4..], 8);
        odd_scales(read_f16(part::<0, 2, _>(block)), signs.map(|word| (word >> 28) as u8), 0.125, scales);
        for (i, q) in q.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let (g, i) = (i / 4, i % 4);
            iq2(grids::IQ2_XXS[usize::from(groups[8 * g + i])], even(signs[g] >> (7 * i)), q);
        }
    }
}

int_format! {
    /// As IQ2_XXS with twice the points: `d: f16, qs: [u16; 32], scales: [u8; 8]`; nine bits of `qs` are a code, seven are signs.
    IQ2_XS, group 16, min false, |block, q, scales, _mins| {
        let qs: &[u8; 64] = part::<2, 64, _>(block);
        odd_scales(read_f16(part::<0, 2, _>(block)), nibble_steps(part::<66, 8, _>(block)), 0.125, scales);
        for (q, qs) in q.as_chunks_mut::<8>().0.iter_mut().zip(qs.as_chunks().0) {
            let word = u16::from_le_bytes(*qs);
            iq2(grids::IQ2_XS[usize::from(word & 511)], even(u32::from(word >> 9)), q);
        }
    }
}

int_format! {
    /// As IQ2_XXS with four times the points and all signs: `d: f16, qs: [u8; 32], signs: [u8; 32], qh: [u8; 8], scales: [u8; 8]`.
    IQ2_S, group 16, min false, |block, q, scales, _mins| {
        let qs: &[u8; 32] = part::<2, 32, _>(block);
        let signs: &[u8; 32] = part::<34, 32, _>(block);
        let qh: &[u8; 8] = part::<66, 8, _>(block);
        odd_scales(read_f16(part::<0, 2, _>(block)), nibble_steps(part::<74, 8, _>(block)), 0.125, scales);
        for (i, q) in q.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let high = (qh[i / 4] >> (2 * (i % 4))) & 3;
            iq2(grids::IQ2_S[usize::from(qs[i]) | usize::from(high) << 8], signs[i], q);
        }
    }
}

int_format! {
    /// Points of four digits 4, 12, … 52 or 62: `d: f16, qs: [u8; 64]`, then for each group a word with four times seven signs and a
    /// scale, value = ± d · (2 sc + 1) · digit / 4.
    IQ3_XXS, group 32, min false, |block, q, scales, _mins| {
        let qs: &[u8; 64] = part::<2, 64, _>(block);
        let signs = words(part::<66, 32, _>(block), 4);
        odd_scales(read_f16(part::<0, 2, _>(block)), signs.map(|word| (word >> 28) as u8), 0.25, scales);
        for (i, (q, qs)) in q.as_chunks_mut::<8>().0.iter_mut().zip(qs.as_chunks::<2>().0).enumerate() {
            let points = qs.map(|code| grids::IQ3_XXS[usize::from(code)]);
            iq3::<true>(points, even(signs[i / 4] >> (7 * (i % 4))), q);
        }
    }
}

int_format! {
    /// Points of four odd digits up to 15, twice as many, and all signs: `d: f16, qs: [u8; 64], qh: [u8; 8], signs: [u8; 32],
    /// scales: [u8; 4]`, value = ± d · (2 sc + 1) · digit.
    IQ3_S, group 32, min false, |block, q, scales, _mins| {
        let qs: &[u8; 64] = part::<2, 64, _>(block);
        let qh: &[u8; 8] = part::<66, 8, _>(block);
        let signs: &[u8; 32] = part::<74, 32, _>(block);
        odd_scales(read_f16(part::<0, 2, _>(block)), nibble_steps(part::<106, 4, _>(block)), 1.0, scales);
        for (i, (q, qs)) in q.as_chunks_mut::<8>().0.iter_mut().zip(qs.as_chunks::<2>().0).enumerate() {
            let high = [0, 1].map(|n| usize::from(qh[i / 4] >> (2 * (i % 4) + n) & 1) << 8);
            let points = [0, 1].map(|n| grids::IQ3_S[usize::from(qs[n]) | high[n]]);
            iq3::<false>(points, signs[i], q);
        }
    }
}

/// Writes a super-block of one of these formats from the numbers, the half and the odd factors of a tile. Numbers that are no point of the
/// grid, which only a damaged tile has, become its first.
pub(crate) fn restore(ty: GgmlType, u: &[u8; 256], d: [u8; 2], factors: &[u8; 16], out: &mut [u8]) {
    out.fill(0);
    let steps = factors.map(|factor| factor >> 1);
    let eights = u.as_chunks::<8>().0;
    let find = |grid: &[u16], digits: &[u8], bits: usize| {
        let place = |(i, u): (usize, &u8)| u16::from(*u & ((1 << bits) - 1)) << (bits * i);
        let point: u16 = digits.iter().enumerate().map(place).sum();
        grid.binary_search(&point).unwrap_or(0)
    };
    // The bit above the digits.
    let signs = |eight: &[u8; 8], bits: usize| -> u8 {
        eight.iter().enumerate().map(|(i, u)| (u >> bits & 1) << i).sum()
    };
    let nibbles = |out: &mut [u8]| {
        for (out, [low, high]) in out.iter_mut().zip(steps.as_chunks().0) {
            *out = (low & 0x0f) | high << 4;
        }
    };
    let d_word = u16::from_le_bytes(d);
    if ty != GgmlType::IQ1_M {
        out[..2].copy_from_slice(&d);
    }
    for (i, eight) in eights.iter().enumerate() {
        // Its group of 32, and its place in it.
        let (g, at) = (i / 4, i % 4);
        match ty {
            GgmlType::IQ1_S => {
                let code = find(&grids::IQ1, eight, 2);
                out[2 + i] = code as u8;
                let mut word = ((code >> 8) as u16) << (3 * at);
                if at == 0 {
                    word |= u16::from(steps[g] & 7) << 12 | u16::from(eight[0] >> 2 & 1) << 15;
                }
                or(&mut out[34 + 2 * g..], &word.to_le_bytes());
            }
            GgmlType::IQ1_M => {
                let code = find(&grids::IQ1, eight, 2);
                out[i] = code as u8;
                let high = (code >> 8) as u8 | (eight[0] >> 2 & 1) << 3;
                out[32 + i / 2] |= high << (4 * (i % 2));
            }
            GgmlType::IQ2_XXS => {
                out[2 + 8 * g + at] = find(&grids::IQ2_XXS, eight, 2) as u8;
                let mut word = u32::from(signs(eight, 2) & 0x7f) << (7 * at);
                if at == 0 {
                    word |= u32::from(steps[g] & 0x0f) << 28;
                }
                or(&mut out[6 + 8 * g..], &word.to_le_bytes());
            }
            GgmlType::IQ2_XS => {
                let word = find(&grids::IQ2_XS, eight, 2) as u16 | u16::from(signs(eight, 2)) << 9;
                or(&mut out[2 + 2 * i..], &word.to_le_bytes());
            }
            GgmlType::IQ2_S => {
                let code = find(&grids::IQ2_S, eight, 2);
                out[2 + i] = code as u8;
                out[34 + i] = signs(eight, 2);
                out[66 + i / 4] |= ((code >> 8) as u8) << (2 * at);
            }
            GgmlType::IQ3_XXS => {
                for (n, four) in eight.as_chunks::<4>().0.iter().enumerate() {
                    out[2 + 2 * i + n] = find(&grids::IQ3_XXS, four, 3) as u8;
                }
                let mut word = u32::from(signs(eight, 3) & 0x7f) << (7 * at);
                if at == 0 {
                    word |= u32::from(steps[g] & 0x0f) << 28;
                }
                or(&mut out[66 + 4 * g..], &word.to_le_bytes());
            }
            _ => {
                for (n, four) in eight.as_chunks::<4>().0.iter().enumerate() {
                    let code = find(&grids::IQ3_S, four, 3);
                    out[2 + 2 * i + n] = code as u8;
                    out[66 + g] |= ((code >> 8) as u8) << (2 * at + n);
                }
                out[74 + i] = signs(eight, 3);
            }
        }
    }
    match ty {
        GgmlType::IQ1_M => {
            for (word, (out, steps)) in
                out[48..].as_chunks_mut().0.iter_mut().zip(steps.as_chunks::<4>().0).enumerate()
            {
                let scales = (0..4).fold(0, |word, j| word | u16::from(steps[j] & 7) << (3 * j));
                *out = (scales | (d_word >> (4 * word)) << 12).to_le_bytes();
            }
        }
        GgmlType::IQ2_XS => nibbles(&mut out[66..]),
        GgmlType::IQ2_S => nibbles(&mut out[74..]),
        GgmlType::IQ3_S => nibbles(&mut out[106..]),
        _ => {}
    }
}

/// Sets the bits of `bits` in the first bytes of `out`.
fn or(out: &mut [u8], bits: &[u8]) {
    out.iter_mut().zip(bits).for_each(|(out, bits)| *out |= bits);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bisection finds them, and no two codes are the same values.
    #[test]
    fn grids_are_sorted() {
        let grids: [&[u16]; 6] =
            [&grids::IQ1, &grids::IQ2_XXS, &grids::IQ2_XS, &grids::IQ2_S, &grids::IQ3_XXS, &grids::IQ3_S];
        assert!(grids.iter().all(|grid| grid.is_sorted_by(|a, b| a < b)));
        // The same as GGML's: `tests/vectors.py` notes their hashes.
        let hash = |grid: &[u16]| {
            let bytes = grid.iter().flat_map(|point| point.to_le_bytes());
            bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            })
        };
        let lines = include_str!("../tests/vectors/grids.txt").lines();
        assert_eq!(lines.clone().count(), grids.len());
        for (line, grid) in lines.zip(grids) {
            assert!(line.ends_with(&format!(" {} {:016x}", grid.len(), hash(grid))), "{line}");
        }
    }
}
