//! The definition of a scan.

use std::ops::Range;

use weft_ir::{Binary, KEPT, ScanState};

use super::{DeltaRule, Scan, ScanRule};
use crate::interp::{Buffer, Number, Stored, base, binary, load};
use crate::program::View;

/// The result of head `row[1]` for row `row[0]`.
///
/// # Errors
/// A sentence, if the lists of sequences are not sound.
pub(in crate::anchor) fn compute<N: Number>(
    scan: &Scan,
    cols: usize,
    args: &[Buffer<'_>],
    row: &[usize],
) -> Result<Vec<N>, String> {
    let [token, head] = row[..] else { return Err("rows must be tokens × heads".into()) };
    let walk = Walk { scan, cols, layout: layout(scan, cols)?, args };
    let mut begin = 0;
    for q in 0..args[scan.ends].len() {
        let rows = walk.rows(q, begin)?;
        if rows.end > token {
            let mut last = Vec::new();
            walk.head_of((q, head), rows.start..token + 1, &mut |_, result| last = result)?;
            return Ok(last);
        }
        begin = rows.end;
    }
    Err(format!("row {token} is in no sequence"))
}

/// Walks all rows of a step of `sequences` sequences. Calls `result` with each row and its result; returns what is written to
/// the states.
///
/// # Errors
/// A sentence, if the lists of sequences are not sound, or do not have all `tokens` rows.
pub(in crate::anchor) fn walk<N: Number>(
    scan: &Scan,
    cols: usize,
    args: &[Buffer<'_>],
    (tokens, sequences): (usize, usize),
    result: &mut dyn FnMut([usize; 2], Vec<N>),
) -> Result<Vec<Stored<N>>, String> {
    let int = |list: usize, q: usize| args[list].int(q);
    let walk = Walk { scan, cols, layout: layout(scan, cols)?, args };
    let mut stored = Vec::with_capacity(2 * sequences * scan.heads);
    let mut begin = 0;
    for q in 0..sequences {
        let rows = walk.rows(q, begin)?;
        let own = int(scan.to, q);
        if (0..sequences)
            .any(|other| other != q && [scan.to, scan.from].iter().any(|list| int(*list, other) == own))
        {
            return Err(format!("sequence {q} shares state {own} with another one"));
        }
        let own = walk.place(own)?;
        for head in 0..scan.heads {
            let mut each = |token, values| result([token, head], values);
            let [state, kept] = walk.head_of((q, head), rows.clone(), &mut each)?;
            let store = |at, values| Stored { param: scan.state, at, step: 1, values };
            stored.push(store(own + head * walk.layout.width, state));
            if !kept.is_empty() {
                stored.push(store(own + walk.kept_at(head, 0), kept));
            }
        }
        begin = rows.end;
    }
    if begin == tokens {
        Ok(stored)
    } else {
        Err(format!("the sequences have {begin} rows, and the step {tokens}"))
    }
}

/// The layout of a sequence's state.
fn layout(scan: &Scan, cols: usize) -> Result<ScanState, String> {
    scan.layout(cols).ok_or_else(|| "the states are too long".into())
}

/// A scan and its arguments.
struct Walk<'a> {
    scan: &'a Scan,
    cols: usize,
    layout: ScanState,
    args: &'a [Buffer<'a>],
}

/// The operands of a head of a row: the queries, and the others one after another, as a state keeps them.
struct Row<N> {
    q: Vec<N>,
    rest: Vec<N>,
}

impl Walk<'_> {
    /// The rows of sequence `q`, which begin at `begin`.
    fn rows(&self, q: usize, begin: usize) -> Result<Range<usize>, String> {
        let end = self.args[self.scan.ends].int(q);
        let sound = usize::try_from(end).ok().filter(|end| *end > begin);
        sound.map(|end| begin..end).ok_or_else(|| {
            format!("sequence {q} ends before row {end}: expected a row behind its first one, {begin}")
        })
    }

    /// The first value of a row of the states.
    fn place(&self, row: i32) -> Result<usize, String> {
        let (width, all) = (self.layout.values().unwrap_or(1), self.args[self.scan.state].len());
        let found = usize::try_from(row).ok().filter(|row| *row < all / width);
        found
            .map(|row| row * width)
            .ok_or_else(|| format!("state {row} is out of range: there are {}", all / width))
    }

    /// Where in a row of the states a head's kept row of this number begins.
    fn kept_at(&self, head: usize, number: usize) -> usize {
        let ScanState { heads, width, kept } = self.layout;
        heads * width + (head * KEPT + number) * kept
    }

    /// The number of rows of sequence `q`, of which there are `rows`, after which its state is written.
    fn certain(&self, q: usize, rows: usize) -> Result<usize, String> {
        let certain = self.args[self.scan.certain].int(q);
        let sound = usize::try_from(certain).ok().filter(|certain| (1..=rows).contains(certain));
        sound.ok_or_else(|| {
            format!("sequence {q} has {certain} certain rows: expected 1 at least, and {rows} at most")
        })
    }

    /// The number of kept rows that sequence `q` begins with.
    fn kept(&self, q: usize) -> Result<usize, String> {
        let Scan { from, to, kept, .. } = self.scan;
        let [from, to, kept] = [*from, *to, *kept].map(|list| self.args[list].int(q));
        let most = if from < 0 || from == to { 0 } else { KEPT };
        let sound = usize::try_from(kept).ok().filter(|kept| *kept <= most);
        sound.ok_or_else(|| format!("sequence {q} begins with {kept} kept rows: expected {most} at most"))
    }

    /// Updates a head's state of sequence `q` with rows, the first of which is its first in the step. Calls `result` with each row and its
    /// result. Returns the state after the certain rows, and the rows that are kept.
    fn head_of<N: Number>(
        &self,
        (q, head): (usize, usize),
        rows: Range<usize>,
        result: &mut dyn FnMut(usize, Vec<N>),
    ) -> Result<[Vec<N>; 2], String> {
        let ScanState { width, kept: len, .. } = self.layout;
        let taken = self.kept(q)?;
        let mut state: Vec<N> = match self.args[self.scan.from].int(q) {
            ..0 => vec![N::exact(0.0); width],
            row => {
                let begin = self.place(row)?;
                let values = |at: usize, n: usize| -> Vec<N> {
                    (at..at + n).map(|i| N::exact(self.args[self.scan.state].float(begin + i))).collect()
                };
                let mut state = values(head * width, width);
                for number in 0..taken {
                    let rest = values(self.kept_at(head, number), len);
                    self.step(head, &Row { q: Vec::new(), rest }, &mut state);
                }
                state
            }
        };
        let all = self.rows(q, rows.start)?.len();
        let (certain, mut written, mut kept) = (self.certain(q, all)?, Vec::new(), Vec::new());
        for (token, passed) in rows.zip(1..) {
            let row = self.row(q, token, head)?;
            result(token, self.step(head, &row, &mut state));
            if passed == certain {
                written.clone_from(&state);
            } else if passed > certain && passed - certain <= KEPT {
                kept.extend(row.rest);
            }
        }
        Ok([written, kept])
    }

    /// The operands of a head of row `token`.
    fn row<N: Number>(&self, q: usize, token: usize, head: usize) -> Result<Row<N>, String> {
        let (args, cols) = (self.args, self.cols);
        let load_row = |view: &View, head: usize, len: usize| -> Result<Vec<N>, String> {
            let at = base(view, &[token, head]);
            if at + len.saturating_sub(1) * view.step >= args[view.param].len() {
                return Err(format!("sequence {q} has row {token}, beyond the step's"));
            }
            Ok(load(args, view, at, len))
        };
        match &self.scan.rule {
            ScanRule::Decay { x, decay } => {
                let rest = [load_row(x, head, cols)?, load_row(decay, head, 1)?].concat();
                Ok(Row { q: Vec::new(), rest })
            }
            ScanRule::Convolution { x, .. } => Ok(Row { q: Vec::new(), rest: load_row(x, head, cols)? }),
            ScanRule::Delta(delta) => {
                let DeltaRule { q, k, v, decay, beta, keys, inner, .. } = &**delta;
                let of = self.scan.rule.recurrence().key_head(head, self.scan.heads, *keys);
                let rest = [
                    load_row(k, of, *inner)?,
                    load_row(v, head, cols)?,
                    load_row(decay, head, delta.decays())?,
                    load_row(beta, head, 1)?,
                ];
                Ok(Row { q: load_row(q, of, *inner)?, rest: rest.concat() })
            }
        }
    }

    /// Updates a head's state with a row. Returns the row's result, if it has queries or needs none.
    fn step<N: Number>(&self, head: usize, row: &Row<N>, state: &mut Vec<N>) -> Vec<N> {
        let cols = self.cols;
        match &self.scan.rule {
            ScanRule::Decay { .. } => {
                let (x, decay) = row.rest.split_at(cols);
                for (state, x) in state.iter_mut().zip(x) {
                    *state = binary(Binary::Add, binary(Binary::Mul, decay[0], *state), *x);
                }
                state.clone()
            }
            ScanRule::Convolution { w, taps, .. } => {
                let x = &row.rest;
                let weight = |i: usize, j: usize| N::exact(self.args[*w].float((head * cols + i) * taps + j));
                let out = (0..cols).map(|i| {
                    let inputs = (0..taps - 1).map(|j| state[j * cols + i]).chain([x[i]]);
                    inputs
                        .enumerate()
                        .map(|(j, x)| binary(Binary::Mul, weight(i, j), x))
                        .reduce(|sum, term| binary(Binary::Add, sum, term))
                });
                let out = out.flatten().collect();
                state.drain(..cols);
                state.extend(x);
                out
            }
            ScanRule::Delta(delta) => {
                let (k, rest) = row.rest.split_at(delta.inner);
                let (v, rest) = rest.split_at(cols);
                let (decay, beta) = rest.split_at(delta.decays());
                let rows = state.chunks_exact_mut(delta.inner).zip(v);
                rows.filter_map(|(s, v)| step(s, (&row.q, k, *v), decay, (beta[0], delta.corrects))).collect()
            }
        }
    }
}

/// Updates the state of a value channel with a row, by the gated delta rule if it `corrects`. Returns its result, if there are queries.
fn step<N: Number>(
    state: &mut [N],
    (q, k, v): (&[N], &[N], N),
    decay: &[N],
    (beta, corrects): (N, bool),
) -> Option<N> {
    let dot = |a: &[N], b: &[N]| {
        let terms: Vec<N> = a.iter().zip(b).map(|(a, b)| binary(Binary::Mul, *a, *b)).collect();
        let exact = a.iter().zip(b).map(|(a, b)| f64::from(a.value()) * f64::from(b.value()));
        N::sum(exact.sum::<f64>() as f32, &terms)
    };
    for (i, s) in state.iter_mut().enumerate() {
        *s = binary(Binary::Mul, *s, decay[i % decay.len()]);
    }
    let v = if corrects { binary(Binary::Sub, v, dot(state, k)) } else { v };
    let update = binary(Binary::Mul, beta, v);
    for (s, k) in state.iter_mut().zip(k) {
        *s = binary(Binary::Add, *s, binary(Binary::Mul, update, *k));
    }
    (!q.is_empty()).then(|| dot(state, q))
}
