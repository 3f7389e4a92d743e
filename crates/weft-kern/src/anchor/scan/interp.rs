//! The definition of a scan.

use std::ops::Range;

use weft_ir::Binary;

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
    let mut begin = 0;
    for q in 0..args[scan.ends].len() {
        let rows = rows(scan, args, q, begin)?;
        if rows.end > token {
            let mut last = Vec::new();
            head_of(scan, cols, args, (q, head), rows.start..token + 1, &mut |_, result| last = result)?;
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
    let width = scan.rule.width(cols).unwrap_or(0);
    let mut stored = Vec::with_capacity(sequences * scan.heads);
    let mut begin = 0;
    for q in 0..sequences {
        let rows = rows(scan, args, q, begin)?;
        let own = int(scan.to, q);
        if (0..sequences)
            .any(|other| other != q && [scan.to, scan.from].iter().any(|list| int(*list, other) == own))
        {
            return Err(format!("sequence {q} shares state {own} with another one"));
        }
        let own = place(scan, width, args, own)?;
        for head in 0..scan.heads {
            let mut each = |token, values| result([token, head], values);
            let values = head_of(scan, cols, args, (q, head), rows.clone(), &mut each)?;
            stored.push(Stored { param: scan.state, at: own + head * width, step: 1, values });
        }
        begin = rows.end;
    }
    if begin == tokens {
        Ok(stored)
    } else {
        Err(format!("the sequences have {begin} rows, and the step {tokens}"))
    }
}

/// The rows of sequence `q`, which begin at `begin`.
fn rows(scan: &Scan, args: &[Buffer<'_>], q: usize, begin: usize) -> Result<Range<usize>, String> {
    let end = args[scan.ends].int(q);
    let sound = usize::try_from(end).ok().filter(|end| *end > begin);
    sound.map(|end| begin..end).ok_or_else(|| {
        format!("sequence {q} ends before row {end}: expected a row behind its first one, {begin}")
    })
}

/// The index of the first value of a row of the states, in which each head has `width` values.
fn place(scan: &Scan, width: usize, args: &[Buffer<'_>], row: i32) -> Result<usize, String> {
    let (width, all) = (scan.heads * width, args[scan.state].len());
    let found = usize::try_from(row).ok().filter(|row| *row < all / width);
    found
        .map(|row| row * width)
        .ok_or_else(|| format!("state {row} is out of range: there are {}", all / width))
}

/// Advances a head's state of sequence `q` over `rows`, which begin with the sequence's first row in the step. Calls `result`
/// with each row and its result.
fn head_of<N: Number>(
    scan: &Scan,
    cols: usize,
    args: &[Buffer<'_>],
    (q, head): (usize, usize),
    rows: Range<usize>,
    result: &mut dyn FnMut(usize, Vec<N>),
) -> Result<Vec<N>, String> {
    let width = scan.rule.width(cols).unwrap_or(0);
    let mut state: Vec<N> = match args[scan.from].int(q) {
        ..0 => vec![N::exact(0.0); width],
        row => {
            let at = place(scan, width, args, row)? + head * width;
            (0..width).map(|i| N::exact(args[scan.state].float(at + i))).collect()
        }
    };
    for token in rows {
        let row = |view: &View, head: usize, len: usize| -> Result<Vec<N>, String> {
            let at = base(view, &[token, head]);
            if at + len.saturating_sub(1) * view.step >= args[view.param].len() {
                return Err(format!("sequence {q} has row {token}, beyond the step's"));
            }
            Ok(load(args, view, at, len))
        };
        let out = match &scan.rule {
            ScanRule::Decay { x, decay } => {
                let (x, decay) = (row(x, head, cols)?, row(decay, head, 1)?[0]);
                for (state, x) in state.iter_mut().zip(x) {
                    *state = binary(Binary::Add, binary(Binary::Mul, decay, *state), x);
                }
                state.clone()
            }
            ScanRule::Convolution { x, w, taps } => {
                let x = row(x, head, cols)?;
                let weight = |i: usize, j: usize| N::exact(args[*w].float((head * cols + i) * taps + j));
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
                let DeltaRule { q, k, v, decay, beta, keys, inner, channels, .. } = &**delta;
                let of = scan.rule.recurrence().key_head(head, scan.heads, *keys);
                let (q, k) = (row(q, of, *inner)?, row(k, of, *inner)?);
                let (v, beta) = (row(v, head, cols)?, row(beta, head, 1)?[0]);
                let decay = row(decay, head, if *channels { *inner } else { 1 })?;
                state
                    .chunks_exact_mut(*inner)
                    .zip(v)
                    .map(|(s, v)| step(s, (&q, &k, v), &decay, beta))
                    .collect()
            }
        };
        result(token, out);
    }
    Ok(state)
}

/// Takes the state of a value channel over a row by the gated delta rule. Returns its result.
fn step<N: Number>(state: &mut [N], (q, k, v): (&[N], &[N], N), decay: &[N], beta: N) -> N {
    let dot = |a: &[N], b: &[N]| {
        let terms: Vec<N> = a.iter().zip(b).map(|(a, b)| binary(Binary::Mul, *a, *b)).collect();
        let exact = a.iter().zip(b).map(|(a, b)| f64::from(a.value()) * f64::from(b.value()));
        N::sum(exact.sum::<f64>() as f32, &terms)
    };
    for (i, s) in state.iter_mut().enumerate() {
        *s = binary(Binary::Mul, *s, decay[i % decay.len()]);
    }
    let update = binary(Binary::Mul, beta, binary(Binary::Sub, v, dot(state, k)));
    for (s, k) in state.iter_mut().zip(k) {
        *s = binary(Binary::Add, *s, binary(Binary::Mul, update, *k));
    }
    dot(state, q)
}
