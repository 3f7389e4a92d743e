//! The definition of scans.

use super::tensor::{Tensor, floats, index, ints};
use crate::op::Recurrence;

/// Walks the rows of each sequence. Returns the result and the states afterwards.
///
/// # Errors
/// A sentence, if a list holds an index out of range, a sequence has no row, or two share rows or a state.
pub(super) fn scan(
    rule: Recurrence,
    operands: &[Tensor],
    [ends, from, to]: &[Tensor; 3],
    state: Tensor,
    sequences: usize,
    shape: Vec<usize>,
) -> Result<(Tensor, Tensor), String> {
    let tokens = shape[0];
    let places = state.shape().to_vec();
    let width = places[1];
    let before = state.into_f32()?;
    let (mut after, mut out) = (before.clone(), Vec::with_capacity(shape.iter().product()));
    let (ends, from, to) = (ints(ends)?, ints(from)?, ints(to)?);
    let step = Step { rule, operands, heads: shape[1], cols: shape[2] };
    let mut begin = 0;
    for q in 0..sequences {
        let end = index(ends[q], tokens + 1, "end of a sequence")?;
        let mut carried = match from[q] {
            ..0 => vec![0.0; width],
            row => before[index(row, places[0], "state")? * width..][..width].to_vec(),
        };
        let own = index(to[q], places[0], "state")?;
        let taken = |other: usize| other != q && (to[other] == to[q] || from[other] == to[q]);
        if end <= begin || (0..sequences).any(taken) {
            return Err(format!("sequence {q} has no row, or shares rows or a state with another one"));
        }
        for t in begin..end {
            out.extend(step.row(t, &mut carried)?);
        }
        after[own * width..][..width].copy_from_slice(&carried);
        begin = end;
    }
    if begin != tokens {
        return Err(format!("the sequences have {begin} rows, and the step {tokens}"));
    }
    Ok((Tensor::f32(shape, out), Tensor::f32(places, after)))
}

/// Advances a state by one row.
struct Step<'a> {
    rule: Recurrence,
    operands: &'a [Tensor],
    heads: usize,
    cols: usize,
}

impl Step<'_> {
    /// Advances the state of a sequence by row `t`. Returns the result's row, of all heads.
    fn row(&self, t: usize, state: &mut [f32]) -> Result<Vec<f32>, String> {
        match self.rule {
            Recurrence::Decay => self.decay(t, state),
            Recurrence::Convolution => self.convolution(t, state),
            Recurrence::Delta | Recurrence::DeltaTiled => self.delta(t, state),
        }
    }

    /// The values of an operand for token `t`.
    fn operand(&self, operand: usize, t: usize) -> Result<&[f32], String> {
        let tensor = &self.operands[operand];
        let width: usize = tensor.shape()[1..].iter().product();
        Ok(&floats(tensor)?[t * width..][..width])
    }

    fn decay(&self, t: usize, state: &mut [f32]) -> Result<Vec<f32>, String> {
        let (x, a) = (self.operand(0, t)?, self.operand(1, t)?);
        for (i, state) in state.iter_mut().enumerate() {
            *state = a[i / self.cols] * *state + x[i];
        }
        Ok(state.to_vec())
    }

    fn convolution(&self, t: usize, state: &mut [f32]) -> Result<Vec<f32>, String> {
        let (x, w) = (self.operand(0, t)?, floats(&self.operands[1])?);
        let (cols, taps) = (self.cols, self.operands[1].shape()[1]);
        let mut out = Vec::with_capacity(x.len());
        for (head, state) in state.chunks_exact_mut((taps - 1) * cols).enumerate() {
            let x = &x[head * cols..][..cols];
            for (i, newest) in x.iter().enumerate() {
                let w = &w[(head * cols + i) * taps..][..taps];
                let inputs = (0..taps - 1).map(|j| state[j * cols + i]).chain([*newest]);
                let sum: f64 = inputs.zip(w).map(|(x, w)| f64::from(x) * f64::from(*w)).sum();
                out.push(sum as f32);
            }
            state.copy_within(cols.., 0);
            state[(taps - 2) * cols..].copy_from_slice(x);
        }
        Ok(out)
    }

    fn delta(&self, t: usize, state: &mut [f32]) -> Result<Vec<f32>, String> {
        let [q, k, v, a, beta] = [0, 1, 2, 3, 4].map(|operand| self.operand(operand, t));
        let (q, k, v, a, beta) = (q?, k?, v?, a?, beta?);
        let shape = self.operands[0].shape();
        let (keys, inner, heads, cols) = (shape[1], shape[2], self.heads, self.cols);
        let dot = |a: &[f32], b: &[f32]| -> f32 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
        };
        let mut out = Vec::with_capacity(heads * cols);
        for (head, state) in state.chunks_exact_mut(cols * inner).enumerate() {
            let at = self.rule.key_head(head, heads, keys) * inner;
            let (q, k) = (&q[at..][..inner], &k[at..][..inner]);
            let a = &a[head * (a.len() / heads)..][..a.len() / heads];
            for (state, v) in state.chunks_exact_mut(inner).zip(&v[head * cols..]) {
                state.iter_mut().enumerate().for_each(|(i, s)| *s *= a[i % a.len()]);
                let error = beta[head] * (v - dot(state, k));
                state.iter_mut().zip(k).for_each(|(s, k)| *s += error * k);
                out.push(dot(state, q));
            }
        }
        Ok(out)
    }
}
