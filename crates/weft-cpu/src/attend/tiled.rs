//! Products by a tile unit, as bytes.
//!
//! A number is 128 times an upper byte, and a lower one: of those of rows, whose magnitudes are at most 4095, both are signed and
//! so is their sum, which fits a byte, too; of weights, which are not negative, both are unsigned. Three products of bytes make a
//! score,
//!
//! ```text
//! (128 u + l) · (128 v + m) = 128² u·v + 128 ((u + l)·(v + m) − u·v − l·m) + l·m
//! ```
//!
//! and four a weighted value, whose middle two have one sum. Their sums are exact, and the same as those of [`vectors`](super::vectors).
//!
//! The unit and vectors hardly work at once. A CPU looks about 500 instructions ahead, and products and stores of their sums wait
//! for each other in so small a window; vectors cost no time only in small pieces between two products
//! (`bench/runs/2026-11-27-cpu-amx-attention.md`).
//!
//! Scores are computed with positions as rows and queries as columns, so that keys stay as they are rounded. For values the four bytes of a
//! column at four positions are adjacent.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use super::ahead::Ahead;
use super::plan::{BLOCK, Unit};
use super::prepared::Attend;
use super::products::Products;
use super::room::{Room, Values};
use super::weights::{Scores, Weights};
use crate::isa::{Line, Numbers, Simd, Sums, TILE, Tiles, WHOLE, Whole};

/// Bits of a lower byte, as [`Pairs::append`](crate::isa) has them.
const BITS: u32 = 7;

/// Bytes that stand for a number in scores: upper, lower, and sum.
const BYTES: usize = 3;

/// Rows, and positions, that are multiplied at once.
const ROWS: usize = 2 * TILE;

/// Lines from a tile of values to the next: those of its upper and lower bytes, and one more, so that the same line of many tiles
/// does not map to few sets of a cache.
const VALUES: usize = 2 * BLOCK / 4 + 1;

/// Lines of sixteen rows' weights: their upper bytes, then the lower ones.
pub(super) const WEIGHT_LINES: usize = 2 * TILE * BLOCK / 64;

/// Products by a unit.
pub(super) struct Tiled<U>(pub(super) U);

/// Lines of bytes that a rounded row has, of each kind.
fn steps(attend: &Attend) -> usize {
    attend.k.len.div_ceil(64)
}

/// The stride of rows in lines: the number of lines, or one more to make it odd, because then the same line of many rows does not map to
/// few sets of a cache.
fn stride(attend: &Attend) -> usize {
    steps(attend) | 1
}

/// The lines that the queries of `rows` rows take.
pub(super) fn query_lines(attend: &Attend, rows: usize) -> usize {
    (BYTES * WHOLE * steps(attend)).saturating_mul(padded(rows) / TILE)
}

/// `rows`, rounded up to a multiple of [`ROWS`].
pub(super) fn padded(rows: usize) -> usize {
    rows.div_ceil(ROWS).saturating_mul(ROWS)
}

/// The lines that a block's keys take.
pub(super) fn key_lines(attend: &Attend) -> usize {
    BYTES * BLOCK * stride(attend)
}

/// The number of squares of a block's positions and `rows` rows.
pub(super) fn squares(rows: usize) -> usize {
    (BLOCK / ROWS).saturating_mul(padded(rows) / ROWS)
}

/// The lines that a block's values take.
pub(super) fn value_lines(attend: &Attend) -> usize {
    VALUES.saturating_mul(2 * attend.v.len.div_ceil(32))
}

/// The upper and the lower byte of a number.
#[inline(always)]
fn split(number: i16) -> (i16, i16) {
    let upper = (number + (1 << (BITS - 1))) >> BITS;
    (upper, number - (upper << BITS))
}

impl<U: Tiles> Products for Tiled<U> {
    const KEPT: usize = 4;

    #[inline(always)]
    fn clear(&self, attend: &Attend, rows: usize, room: &mut Room) {
        room.query_bytes[..query_lines(attend, rows)].fill(Numbers::default());
    }

    #[inline(always)]
    fn place<S: Simd>(&self, attend: &Attend, (_, row): (usize, usize), room: &mut Room) {
        let lines = WHOLE * steps(attend);
        let own = &mut room.query_bytes[row / TILE * BYTES * lines..][..BYTES * lines];
        let (upper, rest) = own.split_at_mut(lines);
        let (lower, both) = rest.split_at_mut(lines);
        let upper = Numbers::bytes_mut(upper).as_chunks_mut::<{ 8 * 64 }>().0;
        let lower = Numbers::bytes_mut(lower).as_chunks_mut::<{ 8 * 64 }>().0;
        let both = Numbers::bytes_mut(both).as_chunks_mut::<{ 8 * 64 }>().0;
        let numbers = &room.row_numbers[..attend.k.len.div_ceil(32)];
        for (((from, upper), lower), both) in numbers.iter().zip(upper).zip(lower).zip(both) {
            let mut bytes = [[0; 32]; BYTES];
            for j in 0..32 {
                let (u, l) = split(from.0[j]);
                (bytes[0][j], bytes[1][j], bytes[2][j]) = (u as i8, l as i8, (u + l) as i8);
            }
            for i in 0..8 {
                let at = 64 * i + row % TILE * 4;
                upper[at..][..4].copy_from_slice(&bytes[0][4 * i..][..4]);
                lower[at..][..4].copy_from_slice(&bytes[1][4 * i..][..4]);
                both[at..][..4].copy_from_slice(&bytes[2][4 * i..][..4]);
            }
        }
    }

    #[inline(always)]
    fn rounded<S: Simd>(&self, simd: S, attend: &Attend, i: usize, last: usize, room: &mut Room) {
        let Room { keys, values, key_bytes, laid_out, .. } = room;
        let stride = stride(attend);
        let numbers = &keys[i % Self::KEPT * attend.k.stride..][..attend.k.len.div_ceil(32)];
        let (upper, rest) = key_bytes.split_at_mut(BLOCK * stride);
        let (lower, both) = rest.split_at_mut(BLOCK * stride);
        let upper = Numbers::bytes_mut(&mut upper[i * stride..]).as_chunks_mut::<32>().0;
        let lower = Numbers::bytes_mut(&mut lower[i * stride..]).as_chunks_mut::<32>().0;
        let both = Numbers::bytes_mut(&mut both[i * stride..]).as_chunks_mut::<32>().0;
        for (((from, upper), lower), both) in numbers.iter().zip(upper).zip(lower).zip(both) {
            for j in 0..32 {
                let (u, l) = split(from.0[j]);
                (upper[j], lower[j], both[j]) = (u as i8, l as i8, (u + l) as i8);
            }
        }
        if i % 4 == 3 || i + 1 == last {
            let (rows, stride, start) = match attend.v_in_k {
                Some(start) => (&*keys, attend.k.stride, start),
                None => (&*values, attend.v.stride, 0),
            };
            let numbers = attend.v.len.next_multiple_of(32);
            let mut four: [&[[i16; 32]]; 4] = [&[]; 4];
            for (j, row) in four.iter_mut().enumerate() {
                *row = Numbers::flat(&rows[j * stride..])[start..][..numbers].as_chunks().0;
            }
            let to = laid_out.bytes.chunks_mut(2 * VALUES);
            for (at, to) in (0..numbers / 32).zip(to) {
                let [a, b, c, d] = [&four[0][at], &four[1][at], &four[2][at], &four[3][at]];
                let (mut ab, mut cd) = ([[0; 32]; 2], [[0; 32]; 2]);
                for j in 0..32 {
                    let (a, b, c, d) = (split(a[j]), split(b[j]), split(c[j]), split(d[j]));
                    (ab[0][j], ab[1][j]) = (a.0 & 0xff | b.0 << 8, a.1 & 0xff | b.1 << 8);
                    (cd[0][j], cd[1][j]) = (c.0 & 0xff | d.0 << 8, c.1 & 0xff | d.1 << 8);
                }
                for lower in 0..2 {
                    let line = lower * (BLOCK / 4) + i / 4;
                    let [first, second] = simd.interleave(simd.numbers(&ab[lower]), simd.numbers(&cd[lower]));
                    simd.store_numbers(first, &mut to[line]);
                    simd.store_numbers(second, &mut to[VALUES + line]);
                }
            }
        }
    }

    #[inline(always)]
    fn scores<S: Simd>(
        &mut self,
        simd: S,
        (attend, unit, start): (&Attend, &Unit<'_>, usize),
        ahead: &mut Ahead<'_>,
        room: &mut Room,
    ) {
        let (steps, stride) = (steps(attend), stride(attend));
        let lines = WHOLE * steps;
        let rows = unit.rows().div_ceil(ROWS);
        let (first, seen) = (unit.least_unseen(start) / ROWS, unit.most_seen(start).div_ceil(ROWS));
        let Room { query_bytes, key_bytes, scores, squares, .. } = room;
        let mut sums = [[[Sums::default(); 2]; 2]; 2];
        // Bytes of one kind after the other, so that those of positions stay in the first-level cache for all rows.
        let count = seen.saturating_sub(first) * rows;
        // Half of the lines, the others with values.
        let fetched = ahead.each(2 * BYTES * count);
        for number in 0..=BYTES * count {
            if number < BYTES * count {
                let (byte, p, row) = (number / count, first + number % count / rows, number % rows);
                let keys = &key_bytes[(byte * BLOCK + p * ROWS) * stride..];
                let queries = &query_bytes[(2 * row * BYTES + byte) * lines..];
                let x = [keys, &keys[TILE * stride..]];
                let w = [queries, &queries[BYTES * lines..]];
                self.0.multiply_rows(Whole { x, stride, w, steps }, &mut sums[number % 2]);
                for _ in 0..fetched {
                    ahead.line(simd);
                }
            }
            // Sums of the products before, whose store is done.
            if number > 0 {
                let number = number - 1;
                let (byte, p, row) = (number / count, first + number % count / rows, number % rows);
                let square = &mut squares[number % count];
                put(simd, byte, &sums[number % 2], square, p * ROWS, &mut scores[row * ROWS..][..ROWS]);
            }
        }
    }

    #[inline(always)]
    fn join<S: Simd>(
        &mut self,
        simd: S,
        (attend, unit, start): (&Attend, &Unit<'_>, usize),
        (weights, values): (&[Weights], &mut Values),
        ahead: &mut Ahead<'_>,
        y: &mut [Line],
    ) {
        let Values { bytes: values, weight_bytes, .. } = values;
        let (lines, steps) = (attend.v_lines, unit.most_seen(start).div_ceil(64));
        let tiles = weights.len().div_ceil(TILE);
        let fetched = ahead.each(tiles * lines);
        let mut sums = [[Sums::default(); 3]; 2];
        for number in 0..=tiles * lines {
            if number < tiles * lines {
                let (tile, line) = (number / lines, number % lines);
                if line == 0 {
                    spread(&weights[tile * TILE..], weight_bytes);
                }
                let (upper, lower) = weight_bytes.split_at(TILE * BLOCK / 64);
                let own = &values[line * VALUES..][..VALUES];
                let (x, w) = ([upper, lower], [own, &own[BLOCK / 4..]]);
                self.0.multiply_parts(Whole { x, stride: BLOCK / 64, w, steps }, &mut sums[number % 2]);
                for _ in 0..fetched {
                    ahead.line(simd);
                }
            }
            // Sums of the products before, whose store is done.
            if let Some(number) = number.checked_sub(1) {
                let (tile, line) = (number / lines, number % lines);
                let y = &mut y[tile * TILE * lines + line..];
                keep(simd, &sums[number % 2], &weights[tile * TILE..], lines, y);
            }
        }
    }
}

/// Adds what the sums of one kind of byte contribute to the scores of a square of positions and rows. The last kind completes them.
#[inline(always)]
fn put<S: Simd>(
    simd: S,
    byte: usize,
    sums: &[[Sums; 2]; 2],
    square: &mut [[Sums; 2]; 2],
    p: usize,
    scores: &mut [Scores],
) {
    let zero = simd.int(0);
    for half in 0..2 {
        for rows in 0..2 {
            let (sums, square) = (&sums[half][rows], &mut square[half][rows]);
            if byte < 2 {
                for i in 0..TILE {
                    let sum = simd.ints(&sums.0[i]);
                    // The upper bytes' sum times 128² − 128, plus the lower bytes' sum times 1 − 128.
                    let part = match byte {
                        0 => simd.append(simd.sub_ints(simd.append(sum, zero), sum), zero),
                        _ => {
                            let before = simd.ints(&square.0[i]);
                            simd.add_ints(before, simd.sub_ints(sum, simd.append(sum, zero)))
                        }
                    };
                    simd.store_ints(part, &mut square.0[i]);
                }
            } else {
                let (mut whole, mut turned) = ([[0; TILE]; TILE], [[0; TILE]; TILE]);
                for i in 0..TILE {
                    let sum = simd.append(simd.ints(&sums.0[i]), simd.ints(&square.0[i]));
                    simd.store_ints(sum, &mut whole[i]);
                }
                simd.transpose(&whole, &mut turned);
                for (to, from) in scores[rows * TILE..][..TILE].iter_mut().zip(&turned) {
                    to.0[p + half * TILE..][..TILE].copy_from_slice(from);
                }
            }
        }
    }
}

/// Spreads up to sixteen rows of weights into upper bytes, and the lower ones after them.
#[inline(always)]
fn spread(weights: &[Weights], bytes: &mut [Numbers]) {
    let (upper, lower) = bytes.split_at_mut(TILE * BLOCK / 64);
    let upper = Numbers::bytes_mut(upper).as_chunks_mut::<BLOCK>().0;
    let lower = Numbers::bytes_mut(lower).as_chunks_mut::<BLOCK>().0;
    for ((weights, upper), lower) in weights.iter().zip(upper).zip(lower) {
        let numbers = weights.pairs.as_flattened();
        for i in 0..BLOCK {
            (upper[i], lower[i]) = ((numbers[i] >> BITS) as i8, (numbers[i] & 0x7f) as i8);
        }
    }
}

/// Puts the sums of weighted values of up to sixteen rows together, whose lines are `lines` apart.
#[inline(always)]
fn keep<S: Simd>(simd: S, sums: &[Sums; 3], weights: &[Weights], lines: usize, y: &mut [Line]) {
    for (i, (y, weights)) in y.iter_mut().step_by(lines).zip(weights).enumerate().take(TILE) {
        let sum = simd.append(simd.ints(&sums[0].0[i]), simd.ints(&sums[1].0[i]));
        let sum = simd.append(sum, simd.ints(&sums[2].0[i]));
        simd.store(simd.mul(simd.to_floats(sum), simd.float(weights.unit)), &mut y.0);
    }
}
