//! The definition of attention for one token and one head: `softmax(q·k · scale)·v` over the positions that the token
//! sees.

use super::{Attend, Cached, List};
use crate::interp::{Buffer, base};
use crate::program::ParamId;

/// Attention of one token and one head, with all operands and intermediate values.
pub struct Attention<'a> {
    args: &'a [Buffer<'a>],
    attend: &'a Attend,
    /// The head's group of keys and values.
    group: usize,
    /// The cache row of each position.
    rows: Vec<usize>,
    query: Vec<f64>,
    scores: Vec<f64>,
    weights: Vec<f64>,
    total: f64,
    sink: Option<f64>,
    begin: usize,
}

impl<'a> Attention<'a> {
    /// Scores all positions that row `[token, head]` sees.
    pub(in crate::anchor) fn new(
        args: &'a [Buffer<'a>],
        row: &[usize],
        attend: &'a Attend,
    ) -> Result<Attention<'a>, String> {
        let [token, head] = row[..] else { return Err("rows must be tokens × heads".into()) };
        let group = head / (attend.heads / attend.kv_heads);
        let (begin, rows) = cache_rows(args, token, attend)?;
        let (q, start) = (&attend.q, base(&attend.q, row));
        let query = (0..attend.k_len).map(|i| f64::from(args[q.param].float(start + i * q.step))).collect();
        let sink = attend.sinks.map(|sinks| f64::from(args[sinks].float(head)));
        let (scores, weights) = (Vec::new(), Vec::new());
        let mut attention =
            Attention { args, attend, group, rows, query, scores, weights, total: 0.0, sink, begin };
        attention.scores = (0..attention.positions()).map(|p| attention.score(p)).collect();
        let top = attention.scores.iter().copied().chain(sink).fold(f64::NEG_INFINITY, f64::max);
        attention.weights = attention.scores.iter().map(|score| (score - top).exp()).collect();
        let sink = sink.map_or(0.0, |sink| (sink - top).exp());
        attention.total = attention.weights.iter().sum::<f64>() + sink;
        Ok(attention)
    }

    /// The first `cols` values of the result.
    pub(in crate::anchor) fn result(&self, cols: usize) -> Vec<f32> {
        let value = |i: usize| {
            let terms = (0..self.positions()).map(|p| self.weights[p] * self.value(p, i));
            (terms.sum::<f64>() / self.total) as f32
        };
        (0..cols).map(value).collect()
    }

    fn score(&self, position: usize) -> f64 {
        let products = self.query.iter().enumerate().map(|(i, q)| q * self.key(position, i));
        products.sum::<f64>() * f64::from(self.attend.scale.0)
    }

    /// The anchor.
    pub fn attend(&self) -> &Attend {
        self.attend
    }

    /// The number of positions that are attended to.
    pub fn positions(&self) -> usize {
        self.rows.len()
    }

    /// The first position that is attended to, 0 with a list; `key(0, ..)` is its key.
    pub fn begin(&self) -> usize {
        self.begin
    }

    /// The query, `[k_len]`.
    pub fn query(&self) -> &[f64] {
        &self.query
    }

    /// Element `i` of a position's key.
    pub fn key(&self, position: usize, i: usize) -> f64 {
        self.cached(&self.attend.k, position, i)
    }

    /// Element `i` of a position's value.
    pub fn value(&self, position: usize, i: usize) -> f64 {
        self.cached(&self.attend.v, position, i)
    }

    /// The scaled product of the query and each key, `[positions]`.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The further score of the head's softmax, if it has one.
    pub fn sink(&self) -> Option<f64> {
        self.sink
    }

    /// `exp(score - largest score)`, `[positions]`; the head's further score may be the largest.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The sum of the weights and that of the head's further score, which the result is divided by.
    pub fn total(&self) -> f64 {
        self.total
    }

    fn cached(&self, cached: &Cached, position: usize, i: usize) -> f64 {
        let at =
            self.rows[position] * cached.row_stride + cached.offset + self.group * cached.head_stride + i;
        f64::from(self.args[cached.param].float(at))
    }
}

/// The first position that a token sees, and the cache rows of all that it sees. Those of a list count as positions from 0 on.
fn cache_rows(args: &[Buffer<'_>], token: usize, a: &Attend) -> Result<(usize, Vec<usize>), String> {
    let count = |c: &Cached| args[c.param].len() / c.row_stride;
    let pages = Pages { token, pos: a.pos, first: a.first, pages: a.pages, page: a.page };
    let rows = pages.rows(args, count(&a.k).min(count(&a.v)))?;
    let Some(List { param, most, pool }) = a.list else {
        let begin = a.window.map_or(0, |window| rows.len().saturating_sub(window));
        return Ok((begin, rows[begin..].to_vec()));
    };
    let listed = |i: usize| {
        let position = args[param].int(token * most + i);
        let row = usize::try_from(position).ok().and_then(|position| rows.get(position));
        row.copied().ok_or_else(|| {
            format!("position {position} of a list is out of range: the token sees {}", rows.len())
        })
    };
    Ok((0, (0..weft_ir::listed(rows.len(), most, pool)).map(listed).collect::<Result<_, _>>()?))
}

/// Where the rows of a token's sequence are.
pub(in crate::anchor) struct Pages {
    pub(in crate::anchor) token: usize,
    pub(in crate::anchor) pos: ParamId,
    pub(in crate::anchor) first: ParamId,
    pub(in crate::anchor) pages: ParamId,
    /// The rows of a page.
    pub(in crate::anchor) page: usize,
}

impl Pages {
    /// The row of each position up to the token's own, in a state of `bound` rows.
    pub(in crate::anchor) fn rows(&self, args: &[Buffer<'_>], bound: usize) -> Result<Vec<usize>, String> {
        let pos = args[self.pos].int(self.token);
        let seen = usize::try_from(pos).map_err(|_| format!("position {pos} is negative"))? + 1;
        let first = args[self.first].int(self.token);
        let row = |p: usize| {
            let at = usize::try_from(first).ok().and_then(|first| first.checked_add(p / self.page));
            let at = at
                .filter(|at| *at < args[self.pages].len())
                .ok_or_else(|| format!("position {p} has no page"))?;
            let row = i64::from(args[self.pages].int(at)) * self.page as i64 + (p % self.page) as i64;
            let found = usize::try_from(row).ok().filter(|row| *row < bound);
            found.ok_or_else(|| format!("state row {row} is out of range: there are {bound}"))
        };
        (0..seen).map(row).collect()
    }
}
