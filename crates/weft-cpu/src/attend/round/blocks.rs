//! Rows of blocks of 32 values with few bits: they are rounded without a conversion to floats.

use weft_kern::exact::ROUND;
use weft_quant::GgmlType;

use super::{Limits, nothing, scales};
use crate::isa::{Line, Numbers, Simd};

/// A type whose values are multiples of a block's scale, a half in its first two bytes.
pub(in crate::attend) trait Scaled<const BYTES: usize> {
    /// The values that a scale of 1 gives, divided by those of [`Scaled::numbers`], times 128.
    const UNIT: f32;

    /// The numbers of a block, as signed bytes as large as possible, times `m`: see `widen` of [`crate::isa::Pairs`].
    fn numbers<S: Simd>(simd: S, block: &[u8; BYTES], m: S::Bytes) -> S::Bytes;
}

/// `q8_0`: 32 signed bytes.
pub(in crate::attend) struct Bits8;

/// `q4_0`: 16 bytes of two numbers each, above −8.
pub(in crate::attend) struct Bits4;

/// Bytes of a block of each type.
pub(in crate::attend) const BYTES_8: usize = GgmlType::Q8_0.block_bytes();
pub(in crate::attend) const BYTES_4: usize = GgmlType::Q4_0.block_bytes();
const BYTES_5: usize = GgmlType::Q5_1.block_bytes();

impl Scaled<BYTES_8> for Bits8 {
    const UNIT: f32 = 128.0;

    #[inline(always)]
    fn numbers<S: Simd>(simd: S, block: &[u8; BYTES_8], m: S::Bytes) -> S::Bytes {
        let Some(quants) = block[2..].first_chunk() else { return m };
        simd.widen(quants, m)
    }
}

impl Scaled<BYTES_4> for Bits4 {
    const UNIT: f32 = 8.0;

    #[inline(always)]
    fn numbers<S: Simd>(simd: S, block: &[u8; BYTES_4], m: S::Bytes) -> S::Bytes {
        let Some(packed) = block[2..].first_chunk::<16>() else { return m };
        // Sixteen times the numbers: flipping the highest bit subtracts 8.
        let mut quants = [0; 32];
        for j in 0..16 {
            quants[j] = (packed[j] << 4) ^ 0x80;
            quants[j + 16] = (packed[j] & 0xf0) ^ 0x80;
        }
        simd.widen(&quants, m)
    }
}

/// Halves at byte `AT` of up to sixteen blocks, as floats.
#[inline(always)]
fn halves<S: Simd, const BYTES: usize, const AT: usize>(simd: S, blocks: &[[u8; BYTES]], out: &mut Line) {
    let mut halves = [[0; 2]; 16];
    for (half, block) in halves.iter_mut().zip(blocks) {
        // (Two bytes as one number, or the compiler would move them one by one.)
        *half = u16::from_le_bytes([block[AT], block[AT + 1]]).to_le_bytes();
    }
    let Some(halves) = halves.as_flattened().first_chunk() else { return };
    simd.store(simd.halves(halves), &mut out.0);
}

/// Rounds a row of blocks with a scale. `room` has a value for each block. Returns the row's scale.
#[inline(always)]
pub(in crate::attend) fn with_scale<S: Simd, B: Scaled<BYTES>, const BYTES: usize>(
    simd: S,
    row: &[u8],
    limits: Limits,
    room: &mut [Line],
    out: &mut [Numbers],
) -> f32 {
    let blocks = row.as_chunks::<BYTES>().0;
    let room = &mut room[..blocks.len().div_ceil(16)];
    let mut tops = [0; 16];
    for (blocks, line) in blocks.chunks(16).zip(&mut *room) {
        halves::<S, BYTES, 0>(simd, blocks, line);
        for j in 0..16 {
            tops[j] = tops[j].max(line.0[j].to_bits() & 0x7fff_ffff);
        }
    }
    let top = f32::from_bits(tops.into_iter().max().unwrap_or(0));
    let Some((inverse, _)) = scales(top, 4.0 * limits.number) else { return nothing(out) };
    for (line, (blocks, out)) in room.iter_mut().zip(blocks.chunks(16).zip(out.chunks_mut(16))) {
        let factors = simd.mul_add(simd.load(line), simd.float(inverse), simd.float(ROUND));
        simd.store(factors, &mut line.0);
        for i in 0..blocks.len() {
            let m = line.0[i].to_bits() as i16;
            simd.store_numbers(B::numbers(simd, &blocks[i], simd.pair(&[m; 2])), &mut out[i]);
        }
    }
    top * (B::UNIT / limits.number)
}

/// Rounds a row of `q5_1`. `room` has two values for each block. Returns the row's scale.
#[inline(always)]
pub(in crate::attend) fn with_minimum<S: Simd>(
    simd: S,
    row: &[u8],
    limits: Limits,
    room: &mut [Line],
    out: &mut [Numbers],
) -> f32 {
    let blocks = row.as_chunks::<BYTES_5>().0;
    let lines = blocks.len().div_ceil(16);
    let (steps, centres) = room[..2 * lines].split_at_mut(lines);
    let mut tops = [0; 16];
    for ((blocks, step), centre) in blocks.chunks(16).zip(&mut *steps).zip(&mut *centres) {
        halves::<S, BYTES_5, 0>(simd, blocks, step);
        halves::<S, BYTES_5, 2>(simd, blocks, centre);
        for j in 0..16 {
            let half = 16.0 * step.0[j];
            centre.0[j] += half;
            let top = centre.0[j].abs() + half.abs();
            tops[j] = tops[j].max(top.to_bits());
        }
    }
    let top = f32::from_bits(tops.into_iter().max().unwrap_or(0));
    // Two roundings, and that of a step, can add a little more than 1.
    let Some((inverse, scale)) = scales(top, limits.number - 2.0) else { return nothing(out) };
    let (inverse, round) = (simd.float(inverse), simd.float(ROUND));
    let of_steps = simd.mul(inverse, simd.float(64.0));
    for ((step, centre), (blocks, out)) in
        steps.iter_mut().zip(centres).zip(blocks.chunks(16).zip(out.chunks_mut(16)))
    {
        simd.store(simd.mul_add(simd.load(step), of_steps, round), &mut step.0);
        simd.store(simd.mul_add(simd.load(centre), inverse, round), &mut centre.0);
        for i in 0..blocks.len() {
            let [m, middle] = [step.0[i].to_bits() as i16, centre.0[i].to_bits() as i16];
            let (Some(high), Some(low)) = (blocks[i][4..].first_chunk(), blocks[i].last_chunk()) else {
                continue;
            };
            let numbers = simd.widen_fives(low, high, simd.pair(&[m; 2]), simd.pair(&[middle; 2]));
            simd.store_numbers(numbers, &mut out[i]);
        }
    }
    scale
}
