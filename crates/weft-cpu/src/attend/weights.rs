//! Turns a row's scores in a block into weights.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use std::ops::Range;

use weft_kern::exact::ROUND;

use super::plan::BLOCK;
use super::round::{self, Limits};
use crate::isa::{Line, Simd};
use crate::math;

/// The weights of a block's positions, in pairs, and their scale.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Weights {
    pub(super) pairs: [[i16; 2]; BLOCK / 2],
    pub(super) unit: f32,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { pairs: [[0; 2]; BLOCK / 2], unit: 0.0 }
    }
}

/// The scores of a row in a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Scores(pub(super) [i32; BLOCK]);

impl Default for Scores {
    fn default() -> Scores {
        Scores([0; BLOCK])
    }
}

/// A block's scales, for each position's key and value.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Scales {
    pub(super) keys: [f32; BLOCK],
    pub(super) values: [f32; BLOCK],
}

impl Default for Scales {
    fn default() -> Scales {
        Scales { keys: [0.0; BLOCK], values: [0.0; BLOCK] }
    }
}

/// Turns the scores of `seen` positions into weights, and the others into 0. Returns the largest score and the sum of the weights.
#[inline(always)]
pub(super) fn weigh<S: Simd>(
    simd: S,
    scores: &Scores,
    scales: &Scales,
    seen: Range<usize>,
    (query_scale, limits): (f32, Limits),
    weights: &mut Weights,
) -> (f32, f32) {
    let mut p = [0.0; BLOCK];
    for i in 0..BLOCK {
        p[i] = scores.0[i] as f32 * (scales.keys[i] * query_scale);
    }
    if seen.len() < BLOCK {
        p[..seen.start].fill(f32::NEG_INFINITY);
        p[seen.end..].fill(f32::NEG_INFINITY);
    }
    let top = largest(simd, &p);
    for p in &mut p {
        *p = math::exp(*p - top);
    }
    let sum = math::sum(&p);
    for i in 0..BLOCK {
        p[i] *= scales.values[i];
    }
    if seen.len() < BLOCK {
        p[..seen.start].fill(0.0);
        p[seen.end..].fill(0.0);
    }
    let (of_one, of_all) = (largest(simd, &p) / 32767.0, math::sum(&p) / limits.weights);
    // The second is NaN if any weight is NaN.
    let unit = larger(of_one, of_all);
    let Some((inverse, unit)) = round::scales(unit, 1.0) else {
        *weights = Weights { unit: f32::NAN, ..Weights::default() };
        return (top, sum);
    };
    for (pair, p) in weights.pairs.iter_mut().zip(p.as_chunks::<2>().0) {
        *pair = p.map(|p| p.mul_add(inverse, ROUND).to_bits() as i16);
    }
    weights.unit = unit;
    (top, sum)
}

/// The largest value, ignoring NaN.
#[inline(always)]
fn largest<S: Simd>(simd: S, x: &[f32; BLOCK]) -> f32 {
    let mut lanes = simd.float(f32::NEG_INFINITY);
    for x in x.as_chunks::<16>().0 {
        lanes = simd.larger(simd.load(&Line(*x)), lanes);
    }
    let mut all = [0.0; 16];
    simd.store(lanes, &mut all);
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for j in 0..8 {
        eight[j] = larger(all[j], all[j + 8]);
    }
    for j in 0..4 {
        four[j] = larger(eight[j], eight[j + 4]);
    }
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

/// The larger of two values; the second if one is NaN.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
