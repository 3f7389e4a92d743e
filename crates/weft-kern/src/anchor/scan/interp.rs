//! The definition of a scan.

use std::ops::Range;

use weft_ir::{Binary, Recurrence};

use super::Scan;
use crate::interp::{Buffer, Number, Stored, base, binary, load};

/// The state of head `row[1]` after row `row[0]`.
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
            return walk(scan, cols, args, q, head, rows.start..token + 1);
        }
        begin = rows.end;
    }
    Err(format!("row {token} is in no sequence"))
}

/// What a step of `sequences` sequences writes to their states.
///
/// # Errors
/// A sentence, if the lists of sequences are not sound, or do not have all `tokens` rows.
pub(in crate::anchor) fn updates<N: Number>(
    scan: &Scan,
    cols: usize,
    args: &[Buffer<'_>],
    (tokens, sequences): (usize, usize),
) -> Result<Vec<Stored<N>>, String> {
    let int = |list: usize, q: usize| args[list].int(q);
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
        let own = place(scan, cols, args, own)?;
        for head in 0..scan.heads {
            let values = walk(scan, cols, args, q, head, rows.clone())?;
            stored.push(Stored { param: scan.state, at: own + head * cols, step: 1, values });
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
    let sound = usize::try_from(end).ok().filter(|end| *end >= begin);
    sound
        .map(|end| begin..end)
        .ok_or_else(|| format!("sequence {q} ends at row {end}, before it begins at {begin}"))
}

/// The first value of a row of the states.
fn place(scan: &Scan, cols: usize, args: &[Buffer<'_>], row: i32) -> Result<usize, String> {
    let (width, all) = (scan.heads * cols, args[scan.state].len());
    let found = usize::try_from(row).ok().filter(|row| *row < all / width);
    found
        .map(|row| row * width)
        .ok_or_else(|| format!("state {row} is out of range: there are {}", all / width))
}

/// A head's state after some rows of sequence `q`, the first of which is its first in the step.
fn walk<N: Number>(
    scan: &Scan,
    cols: usize,
    args: &[Buffer<'_>],
    q: usize,
    head: usize,
    rows: Range<usize>,
) -> Result<Vec<N>, String> {
    let mut state: Vec<N> = match args[scan.from].int(q) {
        ..0 => vec![N::exact(0.0); cols],
        row => {
            let at = place(scan, cols, args, row)? + head * cols;
            (0..cols).map(|i| N::exact(args[scan.state].float(at + i))).collect()
        }
    };
    for token in rows {
        let last = |view| base(view, &[token, head]);
        if last(&scan.x) + cols.saturating_sub(1) * scan.x.step >= args[scan.x.param].len() {
            return Err(format!("sequence {q} has row {token}, beyond the step's"));
        }
        let x: Vec<N> = load(args, &scan.x, last(&scan.x), cols);
        let decay = N::exact(args[scan.decay.param].float(last(&scan.decay)));
        let Recurrence::Decay = scan.rule;
        for (state, x) in state.iter_mut().zip(x) {
            *state = binary(Binary::Add, binary(Binary::Mul, decay, *state), x);
        }
    }
    Ok(state)
}
