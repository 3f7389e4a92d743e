//! The definition of the indexer for one token, and how far a device's scores may be from it.

use weft_ir::{highest, with_tail};

use super::Indexer;
use crate::anchor::attend::Pages;
use crate::bar::{U, independent, sum_error};
use crate::interp::{Buffer, base};
use crate::program::ParamId;

/// The largest error of a value that is rounded to whole steps, in steps, as in attention.
const STEP: f64 = 0.75;

/// The choice of one token, with all operands and scores.
pub struct Indexing {
    heads: Vec<Head>,
    /// The key of each position that the token sees, or of each complete pool.
    keys: Vec<Vec<f64>>,
    scores: Vec<f32>,
    /// The positions that it sees, and those of a pool.
    seen: usize,
    pool: usize,
}

/// A head's query, and its weight.
struct Head {
    query: Vec<f64>,
    weight: f64,
}

impl Head {
    /// The weighted score of a key.
    fn score(&self, key: &[f64]) -> f64 {
        let product: f64 = self.query.iter().zip(key).map(|(q, k)| q * k).sum();
        self.weight * f64::from((product as f32).max(0.0))
    }

    /// The largest error of that score.
    fn error(&self, key: &[f64]) -> f64 {
        let Head { query, weight } = self;
        let numbers = (f64::from(i32::MAX) / key.len() as f64).sqrt().floor().min(4095.0);
        let [query_step, key_step] = [&query[..], key].map(|row| STEP * largest(row) / numbers);
        let pairs = || query.iter().zip(key);
        let steps =
            independent(pairs().flat_map(|(q, k)| [q.abs() * key_step, (k.abs() + key_step) * query_step]));
        let sizes: f64 = pairs().map(|(q, k)| (q * k).abs()).sum();
        let error = steps + sum_error(key.len()) * (sizes + steps) + 4.0 * U * sizes;
        let product: f64 = pairs().map(|(q, k)| q * k).sum();
        // Below zero, a device cuts off the same.
        if product < -error { 0.0 } else { weight.abs() * error }
    }
}

impl Indexing {
    /// Scores all positions that a token sees.
    pub(in crate::anchor) fn new(
        args: &[Buffer<'_>],
        row: &[usize],
        of: &Indexer,
    ) -> Result<Indexing, String> {
        let &[token] = row else { return Err("rows must be tokens".into()) };
        let pages = Pages { token, pos: of.pos, first: of.first, pages: of.pages, page: of.page };
        let rows = pages.rows(args, args[of.k.param].len() / of.k.row_stride)?;
        let value = |param: ParamId, at: usize| f64::from(args[param].float(at));
        let (q, w) = (base(&of.q, row), base(&of.w, row));
        let head = |h: usize| Head {
            query: (0..of.k_len).map(|i| value(of.q.param, q + h * of.q_stride + i)).collect(),
            weight: value(of.w.param, w + h * of.w.step),
        };
        let key = |row: usize| {
            let at = row * of.k.row_stride + of.k.offset;
            (at..at + of.k_len).map(|at| value(of.k.param, at)).collect()
        };
        let heads: Vec<Head> = (0..of.heads).map(head).collect();
        let seen = rows.len();
        let keys: Vec<Vec<f64>> = rows.into_iter().skip(of.pool - 1).step_by(of.pool).map(key).collect();
        let score = |key: &Vec<f64>| heads.iter().map(|head| head.score(key)).sum::<f64>() as f32;
        let scores = keys.iter().map(score).collect();
        Ok(Indexing { heads, keys, scores, seen, pool: of.pool })
    }

    /// The list of `most` entries: the chosen positions in ascending order, then −1.
    pub(in crate::anchor) fn list(&self, most: usize) -> Vec<f32> {
        let chosen = highest(&self.scores, self.chosen(most));
        let positions = with_tail(&chosen, self.seen, self.pool).map(|position| position as f32);
        positions.chain(std::iter::repeat(-1.0)).take(most).collect()
    }

    /// The most pools, or positions, that are chosen for a list of `most` entries.
    fn chosen(&self, most: usize) -> usize {
        (most + 1 - self.pool) / self.pool
    }

    /// The score of each position, or of each complete pool.
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// The largest error of each score, if a device rounds queries and keys as attention does.
    pub fn errors(&self) -> Vec<f64> {
        let of = |key: &Vec<f64>| {
            let errors: f64 = self.heads.iter().map(|head| head.error(key)).sum();
            let sizes: f64 = self.heads.iter().map(|head| head.score(key).abs()).sum();
            errors + 2.0 * sum_error(self.heads.len()) * (sizes + errors)
        };
        self.keys.iter().map(of).collect()
    }

    /// Returns whether every device within these errors makes the same list of `most` entries.
    pub fn is_certain(&self, most: usize) -> bool {
        let most = self.chosen(most);
        let (scores, errors) = (&self.scores, self.errors());
        if scores.len() <= most {
            return true;
        }
        if scores.iter().any(|score| !score.is_finite()) {
            return false;
        }
        let mut chosen = vec![false; scores.len()];
        highest(scores, most).into_iter().for_each(|position| chosen[position] = true);
        let (taken, left): (Vec<usize>, Vec<usize>) = (0..scores.len()).partition(|p| chosen[*p]);
        // Exact equals are ordered by position.
        let before = |a: usize, b: usize| {
            errors[a] + errors[b] == 0.0
                || f64::from(scores[a]) - f64::from(scores[b]) > errors[a] + errors[b]
        };
        taken.iter().all(|a| left.iter().all(|b| before(*a, *b)))
    }
}

/// The largest magnitude.
fn largest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).fold(0.0, f64::max)
}
