//! Products in tiles that stay in registers.
//!
//! A vector of unfinished scores has the four chains of four rows at one position: queries are laid out for that, and a key is read four
//! values at a time, repeated. A vector of weighted values has sixteen columns of one row: a weight is repeated.

use std::ops::Range;

use super::BLOCK;
use super::room::Weights;
use crate::isa::{Line, Simd};

/// Lines of queries that are multiplied with all positions before the next: they stay in the first-level cache.
const LINES: usize = 12;

/// Columns, in lines, that are computed for all rows before the next: their values of a block stay in the first-level cache.
const COLUMNS: usize = 4;

/// Converted rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) lines: &'a [Line],
    /// Lines between two.
    pub(super) stride: usize,
}

/// Most times four rows whose scores are computed together.
pub(super) const fn quads<S: Simd>() -> usize {
    if S::WIDE { 5 } else { 1 }
}

/// The size of parts, no larger than `most`, into which `n` is cut most evenly.
pub(super) fn even(n: usize, most: usize) -> usize {
    n.div_ceil(n.div_ceil(most).max(1)).max(1)
}

/// The scores of `4 · quads` rows for the first `seen` positions of a block, and perhaps a few more.
#[inline(always)]
pub(super) fn scores<S: Simd>(
    simd: S,
    (queries, quads): (&[[Line; 4]], usize),
    keys: Rows<'_>,
    seen: usize,
    partial: &mut [Line],
    scores: &mut [Weights],
) {
    match quads {
        1 if !S::WIDE => score_quads::<S, 1, 4>(simd, queries, keys, seen, partial, scores),
        1 => score_quads::<S, 1, 8>(simd, queries, keys, seen, partial, scores),
        2 => score_quads::<S, 2, 8>(simd, queries, keys, seen, partial, scores),
        3 => score_quads::<S, 3, 4>(simd, queries, keys, seen, partial, scores),
        4 => score_quads::<S, 4, 4>(simd, queries, keys, seen, partial, scores),
        _ => score_quads::<S, 5, 4>(simd, queries, keys, seen, partial, scores),
    }
}

/// In tiles of `M` times four rows and `N` positions.
#[inline(always)]
fn score_quads<S: Simd, const M: usize, const N: usize>(
    simd: S,
    queries: &[[Line; 4]],
    keys: Rows<'_>,
    seen: usize,
    partial: &mut [Line],
    scores: &mut [Weights],
) {
    let lines = queries.len() / M;
    for from in (0..lines).step_by(LINES) {
        let n = LINES.min(lines - from);
        let mut q: [&[Line]; M] = [&[]; M];
        for (m, q) in q.iter_mut().enumerate() {
            *q = &queries[m * lines + from..][..n].as_flattened()[..4 * n];
        }
        let partial = partial.as_chunks_mut::<N>().0.as_chunks_mut::<M>().0;
        for (p, partial) in (0..seen).step_by(N).zip(partial) {
            let mut k: [&[[f32; 4]]; N] = [&[]; N];
            for (i, k) in k.iter_mut().enumerate() {
                *k = &Line::flat(&keys.lines[(p + i) * keys.stride + from..][..n]).as_chunks().0[..4 * n];
            }
            let mut acc = [[simd.float(0.0); N]; M];
            if from > 0 {
                for m in 0..M {
                    for i in 0..N {
                        acc[m][i] = simd.load(&partial[m][i]);
                    }
                }
            }
            for at in 0..4 * n {
                let mut key = [simd.float(0.0); N];
                for i in 0..N {
                    key[i] = simd.repeat(&k[i][at]);
                }
                for m in 0..M {
                    let q = simd.load(&q[m][at]);
                    for i in 0..N {
                        acc[m][i] = simd.mul_add(q, key[i], acc[m][i]);
                    }
                }
            }
            if from + n < lines {
                for m in 0..M {
                    for i in 0..N {
                        simd.store(acc[m][i], &mut partial[m][i].0);
                    }
                }
                continue;
            }
            for m in 0..M {
                for i in (0..N).step_by(4) {
                    let mut sums = Line::default();
                    simd.store(
                        simd.sum_quarters([acc[m][i], acc[m][i + 1], acc[m][i + 2], acc[m][i + 3]]),
                        &mut sums.0,
                    );
                    for (row, scores) in scores[4 * m..4 * m + 4].iter_mut().enumerate() {
                        scores.0[p + i..][..4].copy_from_slice(sums.four(row));
                    }
                }
            }
        }
    }
}

/// `y = p₀·v₀ + p₁·v₁ + …` for each row of weights, over the first `seen` positions of a block; a row has `lines` lines.
#[inline(always)]
pub(super) fn join<S: Simd>(
    simd: S,
    weights: &[Weights],
    values: Rows<'_>,
    seen: usize,
    lines: usize,
    y: &mut [Line],
) {
    let step = even(weights.len(), if S::WIDE { 10 } else { 2 });
    for from in (0..lines).step_by(COLUMNS) {
        let columns = from..lines.min(from + COLUMNS);
        for (weights, y) in weights.chunks(step).zip(y.chunks_mut(step * lines)) {
            join_rows(simd, weights, values, seen, (columns.clone(), lines), y);
        }
    }
}

/// The same for some columns, and as many rows as there is a tile for.
#[inline(always)]
fn join_rows<S: Simd>(
    simd: S,
    weights: &[Weights],
    values: Rows<'_>,
    seen: usize,
    columns: (Range<usize>, usize),
    y: &mut [Line],
) {
    macro_rules! tiles {
        ($($m:literal $n:literal),*) => {
            match weights.len() {
                1 if !S::WIDE => join_tiles::<S, 1, 2>(simd, weights, values, seen, columns, y),
                2 if !S::WIDE => join_tiles::<S, 2, 2>(simd, weights, values, seen, columns, y),
                $($m => join_tiles::<S, $m, $n>(simd, weights, values, seen, columns, y),)*
                _ => {}
            }
        };
    }
    tiles!(1 4, 2 4, 3 4, 4 4, 5 4, 6 2, 7 2, 8 2, 9 2, 10 2);
}

/// The same in tiles of all `M` rows and `N` lines.
#[inline(always)]
fn join_tiles<S: Simd, const M: usize, const N: usize>(
    simd: S,
    weights: &[Weights],
    values: Rows<'_>,
    seen: usize,
    (columns, lines): (Range<usize>, usize),
    y: &mut [Line],
) {
    let Some(weights) = weights.first_chunk::<M>() else { return };
    let mut at = columns.start;
    while at + N <= columns.end {
        join_tile::<S, M, N>(simd, weights, values, seen, (at, lines), y);
        at += N;
    }
    for at in at..columns.end {
        join_tile::<S, M, 1>(simd, weights, values, seen, (at, lines), y);
    }
}

/// A tile, from line `at` of `lines` on.
#[inline(always)]
fn join_tile<S: Simd, const M: usize, const N: usize>(
    simd: S,
    weights: &[Weights; M],
    values: Rows<'_>,
    seen: usize,
    (at, lines): (usize, usize),
    y: &mut [Line],
) {
    let mut acc = [[simd.float(0.0); N]; M];
    let rows = values.lines[at..].chunks_exact(values.stride);
    for (p, row) in (0..seen.min(BLOCK)).zip(rows) {
        let mut v = [simd.float(0.0); N];
        for i in 0..N {
            v[i] = simd.load(&row[i]);
        }
        for m in 0..M {
            let weight = simd.float(weights[m].0[p]);
            for i in 0..N {
                acc[m][i] = simd.mul_add(weight, v[i], acc[m][i]);
            }
        }
    }
    for m in 0..M {
        for i in 0..N {
            simd.store(acc[m][i], &mut y[m * lines + at + i].0);
        }
    }
}
