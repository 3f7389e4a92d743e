//! The definition of scans.

use super::tensor::{Tensor, floats, index, ints};
use crate::op::{KEPT, Recurrence, ScanState};

/// Walks the rows of each sequence. Returns the result and the states afterwards.
///
/// # Errors
/// A sentence, if a list holds an index out of range, a sequence has no row, two share rows or a state, or a sequence begins with
/// kept rows that it has not, or that it overwrites.
pub(super) fn scan(
    (rule, layout): (Recurrence, ScanState),
    operands: &[Tensor],
    lists: &[Tensor],
    state: Tensor,
    sequences: usize,
    shape: Vec<usize>,
) -> Result<(Tensor, Tensor), String> {
    let tokens = shape[0];
    let places = state.shape().to_vec();
    let (width, proper) = (places[1], layout.heads * layout.width);
    let before = state.into_f32()?;
    let (mut after, mut out) = (before.clone(), Vec::with_capacity(shape.iter().product()));
    let [ends, from, to, certain, kept] = lists else { return Err("a scan takes 5 lists".into()) };
    let (ends, from, to) = (ints(ends)?, ints(from)?, ints(to)?);
    let (certain, kept) = (ints(certain)?, ints(kept)?);
    let step = Step { rule, operands, layout };
    let mut begin = 0;
    for q in 0..sequences {
        let end = index(ends[q], tokens + 1, "end of a sequence")?;
        let taken = index(kept[q], KEPT + 1, "number of kept rows")?;
        if taken > 0 && (from[q] < 0 || from[q] == to[q]) {
            return Err(format!("sequence {q} begins with kept rows that it has not, or overwrites"));
        }
        let mut carried = match from[q] {
            ..0 => vec![0.0; proper],
            row => {
                let (state, rows) =
                    before[index(row, places[0], "state")? * width..][..width].split_at(proper);
                let mut state = state.to_vec();
                (0..taken).try_for_each(|row| step.row(&step.kept(rows, row), &mut state).map(|_| ()))?;
                state
            }
        };
        let own = index(to[q], places[0], "state")?;
        let taken = |other: usize| other != q && (to[other] == to[q] || from[other] == to[q]);
        if end <= begin || (0..sequences).any(taken) {
            return Err(format!("sequence {q} has no row, or shares rows or a state with another one"));
        }
        let certain = index(certain[q], end - begin + 1, "number of certain rows")?;
        if certain == 0 {
            return Err(format!("sequence {q} has no certain row"));
        }
        let (state, rows) = after[own * width..][..width].split_at_mut(proper);
        for (t, passed) in (begin..end).zip(1..) {
            let row = step.given(t)?;
            out.extend(step.row(&row, &mut carried)?);
            if passed == certain {
                state.copy_from_slice(&carried);
            } else if passed > certain && passed - certain <= KEPT {
                step.keep(&row, passed - certain - 1, rows);
            }
        }
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
    layout: ScanState,
}

/// The operands of a row. Those of kept rows have keys for each value head, and no queries.
struct Row {
    /// x, v, or the inputs of the convolution.
    x: Vec<f32>,
    q: Option<Vec<f32>>,
    k: Vec<f32>,
    decay: Vec<f32>,
    beta: Vec<f32>,
}

impl Step<'_> {
    /// The values of an operand for token `t`.
    fn operand(&self, operand: usize, t: usize) -> Result<Vec<f32>, String> {
        let tensor = &self.operands[operand];
        let width: usize = tensor.shape()[1..].iter().product();
        Ok(floats(tensor)?[t * width..][..width].to_vec())
    }

    /// Keys or queries of token `t`, for each value head.
    fn of_heads(&self, operand: usize, t: usize) -> Result<Vec<f32>, String> {
        let shape = self.operands[operand].shape();
        let (keys, inner, heads) = (shape[1], shape[2], self.layout.heads);
        let all = self.operand(operand, t)?;
        let of_head = |head| &all[self.rule.key_head(head, heads, keys) * inner..][..inner];
        Ok((0..heads).flat_map(of_head).copied().collect())
    }

    /// The operands of token `t`.
    fn given(&self, t: usize) -> Result<Row, String> {
        let none = Vec::new;
        Ok(match self.rule {
            Recurrence::Decay => {
                Row { x: self.operand(0, t)?, q: None, k: none(), decay: self.operand(1, t)?, beta: none() }
            }
            Recurrence::Convolution => {
                Row { x: self.operand(0, t)?, q: None, k: none(), decay: none(), beta: none() }
            }
            Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => Row {
                x: self.operand(2, t)?,
                q: Some(self.of_heads(0, t)?),
                k: self.of_heads(1, t)?,
                decay: self.operand(3, t)?,
                beta: self.operand(4, t)?,
            },
        })
    }

    /// The number of values that a head has of keys, x, decays and β.
    fn of_head(&self, row: &Row) -> [usize; 4] {
        [&row.k, &row.x, &row.decay, &row.beta].map(|values| values.len() / self.layout.heads)
    }

    /// The place of a head's kept row among those of all heads.
    fn place(&self, head: usize, row: usize) -> usize {
        (head * KEPT + row) * self.layout.kept
    }

    /// Makes a row the kept one of this number.
    fn keep(&self, row: &Row, number: usize, rows: &mut [f32]) {
        let sizes = self.of_head(row);
        for head in 0..self.layout.heads {
            let mut at = self.place(head, number);
            for (values, n) in [&row.k, &row.x, &row.decay, &row.beta].into_iter().zip(sizes) {
                rows[at..][..n].copy_from_slice(&values[head * n..][..n]);
                at += n;
            }
        }
    }

    /// The kept row of this number.
    fn kept(&self, rows: &[f32], number: usize) -> Row {
        let ScanState { heads, kept, .. } = self.layout;
        let (inner, decays, betas) = match self.rule {
            Recurrence::Decay => (0, 1, 0),
            Recurrence::Convolution => (0, 0, 0),
            Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => {
                let decays = self.operands[3].shape().get(2).copied().unwrap_or(1);
                (self.operands[1].shape()[2], decays, 1)
            }
        };
        let x = kept - inner - decays - betas;
        let part = |at: usize, n: usize| -> Vec<f32> {
            (0..heads).flat_map(|head| &rows[self.place(head, number) + at..][..n]).copied().collect()
        };
        Row {
            k: part(0, inner),
            x: part(inner, x),
            decay: part(inner + x, decays),
            beta: part(inner + x + decays, betas),
            q: None,
        }
    }

    /// Updates the state of a sequence with a row. Returns all heads of the result's row; a kept row has none.
    fn row(&self, row: &Row, state: &mut [f32]) -> Result<Vec<f32>, String> {
        match self.rule {
            Recurrence::Decay => Ok(self.decay(row, state)),
            Recurrence::Convolution => self.convolution(row, state),
            Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => Ok(self.delta(row, state)),
        }
    }

    fn decay(&self, Row { x, decay, .. }: &Row, state: &mut [f32]) -> Vec<f32> {
        for (i, state) in state.iter_mut().enumerate() {
            *state = decay[i / self.layout.width] * *state + x[i];
        }
        state.to_vec()
    }

    fn convolution(&self, Row { x, .. }: &Row, state: &mut [f32]) -> Result<Vec<f32>, String> {
        let w = floats(&self.operands[1])?;
        let (cols, taps) = (self.layout.kept, self.operands[1].shape()[1]);
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

    fn delta(&self, row: &Row, state: &mut [f32]) -> Vec<f32> {
        let [inner, cols, decays, _] = self.of_head(row);
        let dot = |a: &[f32], b: &[f32]| -> f32 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
        };
        let mut out = Vec::with_capacity(row.x.len());
        for (head, state) in state.chunks_exact_mut(cols * inner).enumerate() {
            let k = &row.k[head * inner..][..inner];
            let a = &row.decay[head * decays..][..decays];
            for (state, v) in state.chunks_exact_mut(inner).zip(&row.x[head * cols..]) {
                state.iter_mut().enumerate().for_each(|(i, s)| *s *= a[i % decays]);
                let known = if self.rule == Recurrence::Linear { 0.0 } else { dot(state, k) };
                let update = row.beta[head] * (v - known);
                state.iter_mut().zip(k).for_each(|(s, k)| *s += update * k);
                out.extend(row.q.as_ref().map(|q| dot(state, &q[head * inner..][..inner])));
            }
        }
        out
    }
}
