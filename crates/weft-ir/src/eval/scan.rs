//! The definition of scans.

use super::tensor::{Tensor, floats, index, ints};
use crate::op::Recurrence;

/// Walks the rows of each sequence. Returns the result and the state afterwards.
///
/// # Errors
/// A sentence, if a list holds an index out of range, or the rows of two sequences overlap.
pub(super) fn scan(
    rule: Recurrence,
    [x, a, ends, from, to]: &[Tensor; 5],
    state: Tensor,
    sequences: usize,
    shape: Vec<usize>,
) -> Result<(Tensor, Tensor), String> {
    let Recurrence::Decay = rule;
    let (tokens, heads, cols) = (shape[0], shape[1], shape[2]);
    let (x, a, width) = (floats(x)?, floats(a)?, heads * cols);
    let places = state.shape().to_vec();
    let before = state.into_f32()?;
    let (mut after, mut out) = (before.clone(), vec![0.0; tokens * width]);
    let (ends, from, to) = (ints(ends)?, ints(from)?, ints(to)?);
    let mut begin = 0;
    for q in 0..sequences {
        let end = index(ends[q], tokens + 1, "end of a sequence")?;
        let mut carried = match from[q] {
            ..0 => vec![0.0; width],
            row => before[index(row, places[0], "state")? * width..][..width].to_vec(),
        };
        let own = index(to[q], places[0], "state")?;
        let taken = |other: usize| other != q && (to[other] == to[q] || from[other] == to[q]);
        if end < begin || (0..sequences).any(taken) {
            return Err(format!("sequence {q} shares rows or a state with another one"));
        }
        for t in begin..end {
            for (i, carried) in carried.iter_mut().enumerate() {
                *carried = a[t * heads + i / cols] * *carried + x[t * width + i];
            }
            out[t * width..][..width].copy_from_slice(&carried);
        }
        after[own * width..][..width].copy_from_slice(&carried);
        begin = end;
    }
    if begin != tokens {
        return Err(format!("the sequences have {begin} rows, and the step {tokens}"));
    }
    Ok((Tensor::f32(shape, out), Tensor::f32(places, after)))
}
