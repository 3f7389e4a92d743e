//! Attention with error bars.
//!
//! A device computes `softmax(q·k · scale)·v` in blocks of positions, joined by rescaling what it has so far. Beside the rounding of sums and
//! exponentials it may round queries, keys and values to whole numbers of `1/Q` of the largest magnitude of their row,
//! `Q = min(4095, ⌊√((2³¹ − 1) / Dk)⌋)`, and the weights of 128 positions to whole numbers of 1/32767 of the largest, or coarser where their
//! sum with `Q` would not fit 32 bits: then sums of products are exact. That is the law of the CPU (`weft-cpu/src/attend.rs`), and the coarsest that is allowed.

use weft_kern::{Attend, Cached};

use super::bar::{Bar, U, ULP, independent, sum_error};
use super::row::{Arg, base};

/// How far off a value may be that is rounded to whole numbers, in these: a half, and a quarter where a block's scale is rounded first.
const STEP: f64 = 0.75;

/// Positions whose weights are rounded together.
const BLOCK: usize = 128;

/// What sums of products have to stay below.
const MOST: f64 = i32::MAX as f64;

/// The parts of the cached rows that a head sees.
struct Seen<'a> {
    arg: &'a Arg<'a>,
    cached: &'a Cached,
    group: usize,
    len: usize,
}

impl Seen<'_> {
    fn value(&self, row: usize, i: usize) -> f64 {
        let c = self.cached;
        f64::from(self.arg.buffer.float(row * c.row_stride + c.offset + self.group * c.head_stride + i))
    }

    /// The largest magnitude of a row's part.
    fn top(&self, row: usize) -> f64 {
        (0..self.len).map(|i| self.value(row, i).abs()).fold(0.0, f64::max)
    }
}

/// The result of a row. Nothing if an index is none.
pub(super) fn attention(cols: usize, args: &[Arg<'_>], row: &[usize], a: &Attend) -> Option<Vec<Bar>> {
    let &[t, h] = row else { return None };
    let group = h / (a.heads / a.kv_heads);
    let rows = rows(args, t, a)?;
    let [keys, values] = [(&a.k, a.k_len), (&a.v, cols)].map(|(cached, len)| Seen {
        arg: &args[cached.param],
        cached,
        group,
        len,
    });
    let at = base(&a.q, row);
    let query: Vec<f64> =
        (0..a.k_len).map(|i| f64::from(args[a.q.param].buffer.float(at + i * a.q.step))).collect();
    let numbers = (MOST / a.k_len as f64).sqrt().floor().min(4095.0);
    let query_step = STEP * query.iter().fold(0.0, |top: f64, q| top.max(q.abs())) / numbers;

    let scale = f64::from(a.scale.0);
    let mut scores = Vec::with_capacity(rows.len());
    // The largest error of a score.
    let mut score_error = 0.0f64;
    let key_tops: Vec<f64> = rows.iter().map(|r| keys.top(*r)).collect();
    for (r, top) in rows.iter().zip(&key_tops) {
        let pairs = || query.iter().enumerate().map(|(i, q)| (*q, keys.value(*r, i)));
        let sum: f64 = pairs().map(|(q, k)| q * k).sum();
        let key_step = STEP * top / numbers;
        let rounding =
            independent(pairs().flat_map(|(q, k)| [q.abs() * key_step, (k.abs() + key_step) * query_step]));
        let sizes: f64 = pairs().map(|(q, k)| (q * k).abs()).sum();
        let score = sum * scale;
        score_error = score_error
            .max(scale.abs() * (rounding + sum_error(a.k_len) * (sizes + rounding)) + 4.0 * U * score.abs());
        scores.push(score);
    }

    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    // A weight is rescaled whenever the maximum changes, by exponentials whose arguments add up to no more than the range of the scores:
    // in order wherever a score exceeds all before it, in a tree on each of its levels.
    let mut most = f64::NEG_INFINITY;
    let mut records = 0.0;
    for score in &scores {
        if *score > most {
            (most, records) = (*score, records + 1.0);
        }
    }
    let rescaled = records + 2.0 + (rows.len() as f64).log2();
    let range = (top - lowest).min(104.0) + score_error;
    // Relative, of a weight and of their sum: scores are off, exponentials and products are rounded.
    let weight_error = (2.0 * score_error).exp_m1() + ULP * (4.0 * rescaled + 2.0 * range);
    let sums = 2.0 * sum_error(rows.len() + rescaled as usize);

    // Values that are a part of the keys are rounded with them.
    let value_top = |i: usize| match a.k.param == a.v.param {
        true => key_tops[i].max(values.top(rows[i])),
        false => values.top(rows[i]),
    };
    let tops: Vec<f64> = (0..rows.len()).map(value_top).collect();
    let heavy: Vec<f64> = weights.iter().zip(&tops).map(|(w, top)| w * top).collect();
    // Half a step of the weights, times the largest number they are multiplied with.
    let weight_step = heavy.chunks(BLOCK).map(|block| {
        let most = block.iter().copied().fold(0.0, f64::max) / 32767.0;
        most.max(block.iter().sum::<f64>() / (MOST / numbers - BLOCK as f64)) / 2.0
    });
    let weight_step = weight_step.fold(0.0, f64::max);
    let value_rounding = independent(heavy.iter().flat_map(|heavy| [STEP * heavy / numbers, weight_step]));
    let bar = |i: usize| {
        let terms = || rows.iter().zip(&weights).map(|(r, w)| w * values.value(*r, i));
        let value = (terms().sum::<f64>() / total) as f32;
        let sizes: f64 = terms().map(f64::abs).sum();
        let error = (value_rounding + (weight_error + sums) * (sizes + value_rounding)) / total
            + f64::from(value).abs() * (weight_error + sums);
        Bar::rounded(value, error)
    };
    Some((0..cols).map(bar).collect())
}

/// The state rows that a token sees.
fn rows(args: &[Arg<'_>], t: usize, a: &Attend) -> Option<Vec<usize>> {
    let seen = usize::try_from(args[a.pos].buffer.int(t)).ok()? + 1;
    let first = usize::try_from(args[a.first].buffer.int(t)).ok()?;
    let pages = &args[a.pages].buffer;
    let row = |p: usize| {
        let at = first.checked_add(p / a.page).filter(|at| *at < pages.len())?;
        usize::try_from(pages.int(at)).ok()?.checked_mul(a.page)?.checked_add(p % a.page)
    };
    (0..seen).map(row).collect()
}
