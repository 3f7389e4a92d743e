//! Error bars of attention.
//!
//! A device computes `softmax(q·k · scale)·v` in blocks of positions, and rescales its running sums to join them. Besides rounding
//! sums and exponentials it may round queries, keys and values to whole multiples of `1/Q` of the largest magnitude of their row,
//! `Q = min(4095, ⌊√((2³¹ − 1) / Dk)⌋)`, and the weights of 128 positions to whole multiples of 1/32767 of the largest, or coarser
//! if their sum times `Q` would overflow 32 bits: sums of products are then exact. The CPU rounds so (`weft-cpu/src/attend.rs`). Or it
//! may round queries and weights, and nothing else, to 11 bits each, as matrix units for halves do
//! (`weft-render/src/lower/attend/matrix.rs`). No device may round more coarsely than one of these.

use super::Attention;
use crate::bar::{Bar, U, ULP, independent, sum_error};

/// The largest error of a value that is rounded to whole steps, in steps: a half, and a quarter for a block's scale that is itself
/// rounded.
const STEP: f64 = 0.75;

/// The largest error of a number that is rounded to a half: relative to it, and relative to the largest of its row, which is scaled
/// to 1 or more.
const HALF: f64 = 1.0 / 2048.0;
const SMALLEST_HALF: f64 = 1.0 / (1u64 << 25) as f64;

/// Positions whose weights are rounded together.
const BLOCK: usize = 128;

/// The bound of sums of products.
const MOST: f64 = i32::MAX as f64;

/// Returns the bars of `values`, a row of results.
pub(crate) fn bars(values: &[f32], attention: &Attention<'_>) -> Vec<Bar> {
    let (a, query, positions) = (attention.attend(), attention.query(), attention.positions());
    let numbers = (MOST / a.k_len as f64).sqrt().floor().min(4095.0);
    let query_top = largest(query.iter().copied());
    let query_step = STEP * query_top / numbers;

    // The largest error of a score.
    let scale = f64::from(a.scale.0);
    let mut score_error = 0.0f64;
    let key_tops: Vec<f64> =
        (0..positions).map(|p| largest((0..a.k_len).map(|i| attention.key(p, i)))).collect();
    for (p, score) in attention.scores().iter().enumerate() {
        let pairs = || query.iter().enumerate().map(|(i, q)| (*q, attention.key(p, i)));
        let key_step = STEP * key_tops[p] / numbers;
        let steps =
            independent(pairs().flat_map(|(q, k)| [q.abs() * key_step, (k.abs() + key_step) * query_step]));
        let half = |q: f64| HALF * q.abs() + SMALLEST_HALF * query_top;
        let rounding = steps.max(independent(pairs().map(|(q, k)| half(q) * k.abs())));
        let sizes: f64 = pairs().map(|(q, k)| (q * k).abs()).sum();
        score_error = score_error
            .max(scale.abs() * (rounding + sum_error(a.k_len) * (sizes + rounding)) + 4.0 * U * score.abs());
    }
    // A further score of the softmax is joined last or first.
    let scores: Vec<f64> = attention.sink().into_iter().chain(attention.scores().iter().copied()).collect();
    let rescaled = rescalings(&scores) + if attention.sink().is_some() { 1.0 } else { 0.0 };
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let range = (top - lowest).min(104.0) + score_error;
    // The relative error of a weight and of the sum of weights: from scores, and from rounding exponentials and products.
    let weight_error = (2.0 * score_error).exp_m1() + ULP * (4.0 * rescaled + 2.0 * range);
    let sums = 2.0 * sum_error(positions + rescaled as usize);

    // Values that are part of the keys are rounded with them.
    let value_top = |p: usize| {
        let own = largest((0..values.len()).map(|i| attention.value(p, i)));
        if a.k.param == a.v.param { key_tops[p].max(own) } else { own }
    };
    let heavy: Vec<f64> = attention.weights().iter().enumerate().map(|(p, w)| w * value_top(p)).collect();
    // Half a step of the weights, times the largest number they are multiplied with. Blocks begin at fixed positions.
    let (first, others) = heavy.split_at((BLOCK - attention.begin() % BLOCK).min(positions));
    let weight_step = std::iter::once(first).chain(others.chunks(BLOCK)).map(|block| {
        let most = block.iter().copied().fold(0.0, f64::max) / 32767.0;
        most.max(block.iter().sum::<f64>() / (MOST / numbers - BLOCK as f64)) / 2.0
    });
    let weight_step = weight_step.fold(0.0, f64::max);
    let steps = independent(heavy.iter().flat_map(|heavy| [STEP * heavy / numbers, weight_step]));
    let half = |(p, heavy): (usize, &f64)| HALF * heavy + SMALLEST_HALF * value_top(p);
    let value_rounding = steps.max(independent(heavy.iter().enumerate().map(half)));
    let bar = |(i, value): (usize, &f32)| {
        let terms = attention.weights().iter().enumerate().map(|(p, w)| w * attention.value(p, i));
        let sizes: f64 = terms.map(f64::abs).sum();
        let error = (value_rounding + (weight_error + sums) * (sizes + value_rounding)) / attention.total()
            + f64::from(*value).abs() * (weight_error + sums);
        Bar::rounded(*value, error)
    };
    values.iter().enumerate().map(bar).collect()
}

/// How often a weight is rescaled at most. That happens when the maximum changes: in sequence, where a score exceeds all before it;
/// in a tree, at each level. The arguments of the exponentials add up to at most the range of the scores.
fn rescalings(scores: &[f64]) -> f64 {
    let mut most = f64::NEG_INFINITY;
    let mut records = 0.0;
    for score in scores {
        if *score > most {
            (most, records) = (*score, records + 1.0);
        }
    }
    records + 2.0 + (scores.len() as f64).log2()
}

/// The largest magnitude.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}
