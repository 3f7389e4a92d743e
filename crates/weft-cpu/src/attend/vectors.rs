//! Products by vectors, in tiles that stay in registers.
//!
//! A vector of partial scores has, for each of four rows, four sums at one position: queries are laid out for this, and a key is read eight
//! numbers at a time, repeated. A vector of weighted values has sixteen columns of one row: the values of two positions are adjacent, and
//! their two weights are repeated.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use std::ops::Range;

use super::ahead::Ahead;
use super::cached;
use super::plan::{BLOCK, Unit, runs};
use super::prepared::Attend;
use super::products::Products;
use super::room::{Room, Values};
use super::weights::{Scores, Weights};
use crate::isa::{Line, Numbers, Simd};

/// Products by vectors.
pub(super) struct Vectors;

impl Products for Vectors {
    const KEPT: usize = BLOCK;

    #[inline(always)]
    fn clear(&self, attend: &Attend, rows: usize, room: &mut Room) {
        room.queries[..rows.div_ceil(4) * attend.q_lines].fill(Numbers::default());
    }

    #[inline(always)]
    fn place<S: Simd>(&self, attend: &Attend, (rows, row): (usize, usize), room: &mut Room) {
        let (quads, lines) = (rows.div_ceil(4), attend.q_lines);
        let step = even(quads, most::<S>());
        let eights = Numbers::flat(&room.row_numbers).as_chunks::<8>().0;
        // Lines of rows that are multiplied together are adjacent.
        let (first, own) = (row / 4 / step * step, row / 4 % step);
        let beside = step.min(quads - first);
        let to = room.queries[first * lines + own..].iter_mut().step_by(beside);
        for (eight, line) in eights.iter().zip(to.take(lines)) {
            line.0[row % 4 * 8..][..8].copy_from_slice(eight);
        }
    }

    #[inline(always)]
    fn rounded<S: Simd>(&self, simd: S, attend: &Attend, i: usize, last: usize, room: &mut Room) {
        // The last position may be half of a pair: the other half has weight 0.
        if i % 2 == 1 || i + 1 == last {
            let Room { keys, values, laid_out: Values { pairs, .. }, .. } = room;
            let (rows, stride, start) = match attend.v_in_k {
                Some(start) => (keys, attend.k.stride, start),
                None => (values, attend.v.stride, 0),
            };
            let even = &Numbers::flat(&rows[i / 2 * 2 * stride..])[start..];
            // Numbers after the end of a row are multiplied, but the results are discarded.
            let numbers = attend.v.len.next_multiple_of(32);
            let odd = &even[32 * stride..][..numbers];
            cached::interleave(simd, &even[..numbers], odd, &mut pairs[i / 2 * attend.pairs_stride..]);
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
        let (heads, lines) = (unit.heads.len(), attend.q_lines);
        let quads = unit.rows().div_ceil(4);
        let step = even(quads, most::<S>());
        for from in (0..quads).step_by(step) {
            let n = step.min(quads - from);
            let last_row = (4 * (from + n)).min(unit.rows()) - 1;
            let tokens = 4 * from / heads..=last_row / heads;
            let seen = tokens.map(|token| unit.seen(token, start)).max().unwrap_or(0);
            let queries = &room.queries[from * lines..][..n * lines];
            let keys = Rows { lines: &room.keys, stride: attend.k.stride };
            scores(simd, (queries, n), keys, seen, ahead, &mut room.scores[4 * from..][..4 * n]);
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
        let (heads, lines) = (unit.heads.len(), attend.v_lines);
        for tokens in runs(unit.tokens.len(), |token| unit.seen(token, start)) {
            let seen = unit.seen(tokens.start, start);
            let rows = tokens.start * heads..tokens.end * heads;
            if seen > 0 {
                let y = &mut y[rows.start * lines..rows.end * lines];
                let values = Rows { lines: &values.pairs, stride: attend.pairs_stride };
                join(simd, &weights[rows], values, seen, lines, ahead, y);
            }
        }
    }
}

/// Columns, in lines of pairs, that are computed for all rows before the next ones: their values of a block stay in the first-level cache.
const COLUMNS: usize = 4;

/// Rounded rows, or the rows of every two positions in pairs.
#[derive(Clone, Copy)]
struct Rows<'a> {
    lines: &'a [Numbers],
    /// Lines between two rows.
    stride: usize,
}

/// The most groups of four rows whose scores are computed together, and the most rows whose weighted values are.
const fn most<S: Simd>() -> usize {
    if S::WIDE { 5 } else { 1 }
}

/// The size of the most even parts of `n` that are no larger than `most`.
fn even(n: usize, most: usize) -> usize {
    n.div_ceil(n.div_ceil(most).max(1)).max(1)
}

/// Computes the scores of `4 · quads` rows for the first `seen` positions of a block, and perhaps a few more. `quads` lines of the queries
/// are adjacent.
#[inline(always)]
fn scores<S: Simd>(
    simd: S,
    (queries, quads): (&[Numbers], usize),
    keys: Rows<'_>,
    seen: usize,
    ahead: &mut Ahead<'_>,
    scores: &mut [Scores],
) {
    match quads {
        1 if !S::WIDE => score_quads::<S, 1, 4>(simd, queries, keys, seen, ahead, scores),
        1 => score_quads::<S, 1, 8>(simd, queries, keys, seen, ahead, scores),
        2 => score_quads::<S, 2, 8>(simd, queries, keys, seen, ahead, scores),
        3 => score_quads::<S, 3, 4>(simd, queries, keys, seen, ahead, scores),
        4 => score_quads::<S, 4, 4>(simd, queries, keys, seen, ahead, scores),
        _ => score_quads::<S, 5, 4>(simd, queries, keys, seen, ahead, scores),
    }
}

/// In tiles of `M` times four rows and `N` positions.
#[inline(always)]
fn score_quads<S: Simd, const M: usize, const N: usize>(
    simd: S,
    queries: &[Numbers],
    keys: Rows<'_>,
    seen: usize,
    ahead: &mut Ahead<'_>,
    scores: &mut [Scores],
) {
    let queries = queries.as_chunks::<M>().0;
    for p in (0..seen).step_by(N) {
        let mut k: [&[[i16; 8]]; N] = [&[]; N];
        for i in 0..N {
            k[i] = &Numbers::flat(&keys.lines[(p + i) * keys.stride..]).as_chunks().0[..queries.len()];
        }
        let mut acc = [[simd.int(0); N]; M];
        for at in 0..queries.len() {
            if at % 2 == 0 {
                ahead.line(simd);
            }
            let mut key = [simd.bytes(&[0; 64]); N];
            for i in 0..N {
                key[i] = simd.repeat(&k[i][at]);
            }
            for m in 0..M {
                let q = simd.numbers(&queries[at][m].0);
                for i in 0..N {
                    acc[m][i] = simd.dot_pairs(acc[m][i], q, key[i]);
                }
            }
        }
        for m in 0..M {
            for i in (0..N).step_by(4) {
                let mut sums = [0; 16];
                let four = [acc[m][i], acc[m][i + 1], acc[m][i + 2], acc[m][i + 3]];
                simd.store_ints(simd.sum_quarters(four), &mut sums);
                for row in 0..4 {
                    scores[4 * m + row].0[p + i..][..4].copy_from_slice(&sums[4 * row..][..4]);
                }
            }
        }
    }
}

/// Sums the weighted values for each row of weights, over the first `seen` positions of a block; a row has `lines` lines.
#[inline(always)]
fn join<S: Simd>(
    simd: S,
    weights: &[Weights],
    values: Rows<'_>,
    seen: usize,
    lines: usize,
    ahead: &mut Ahead<'_>,
    y: &mut [Line],
) {
    let step = even(weights.len(), if S::WIDE { 5 } else { 2 });
    for from in (0..lines).step_by(COLUMNS) {
        let columns = from..lines.min(from + COLUMNS);
        for (weights, y) in weights.chunks(step).zip(y.chunks_mut(step * lines)) {
            let columns = (columns.clone(), lines);
            match weights.len() {
                1 if !S::WIDE => join_tiles::<S, 1, 2>(simd, weights, values, seen, columns, ahead, y),
                2 if !S::WIDE => join_tiles::<S, 2, 2>(simd, weights, values, seen, columns, ahead, y),
                1 => join_tiles::<S, 1, 4>(simd, weights, values, seen, columns, ahead, y),
                2 => join_tiles::<S, 2, 4>(simd, weights, values, seen, columns, ahead, y),
                3 => join_tiles::<S, 3, 4>(simd, weights, values, seen, columns, ahead, y),
                4 => join_tiles::<S, 4, 4>(simd, weights, values, seen, columns, ahead, y),
                _ => join_tiles::<S, 5, 4>(simd, weights, values, seen, columns, ahead, y),
            }
        }
    }
}

/// Adds weighted values in tiles of all `M` rows and `N` lines.
#[inline(always)]
fn join_tiles<S: Simd, const M: usize, const N: usize>(
    simd: S,
    weights: &[Weights],
    values: Rows<'_>,
    seen: usize,
    (columns, lines): (Range<usize>, usize),
    ahead: &mut Ahead<'_>,
    y: &mut [Line],
) {
    let Some(weights) = weights.first_chunk::<M>() else { return };
    let mut at = columns.start;
    while at + N <= columns.end {
        join_tile::<S, M, N>(simd, weights, values, seen, (at, lines), ahead, y);
        at += N;
    }
    for at in at..columns.end {
        join_tile::<S, M, 1>(simd, weights, values, seen, (at, lines), ahead, y);
    }
}

/// Computes a tile, from line `at` of `lines` on.
#[inline(always)]
fn join_tile<S: Simd, const M: usize, const N: usize>(
    simd: S,
    weights: &[Weights; M],
    values: Rows<'_>,
    seen: usize,
    (at, lines): (usize, usize),
    ahead: &mut Ahead<'_>,
    y: &mut [Line],
) {
    let mut acc = [[simd.int(0); N]; M];
    let rows = values.lines[at..].chunks(values.stride);
    for (two, row) in (0..seen.div_ceil(2).min(BLOCK / 2)).zip(rows) {
        ahead.line(simd);
        let mut v = [simd.bytes(&[0; 64]); N];
        for i in 0..N {
            v[i] = simd.numbers(&row[i].0);
        }
        for m in 0..M {
            let weight = simd.pair(&weights[m].pairs[two]);
            for i in 0..N {
                acc[m][i] = simd.dot_pairs(acc[m][i], weight, v[i]);
            }
        }
    }
    for m in 0..M {
        let unit = simd.float(weights[m].unit);
        for i in 0..N {
            simd.store(simd.mul(simd.to_floats(acc[m][i]), unit), &mut y[m * lines + at + i].0);
        }
    }
}
