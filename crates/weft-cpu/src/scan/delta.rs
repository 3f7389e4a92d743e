//! The gated delta rule, and linear attention.
//!
//! The rows of a head's state, one for each value channel, do not depend on each other. So a row passes all tokens of a batch
//! before the next one: it stays in the first cache or in registers, while the batch's keys and queries stay in the first cache.

use weft_kern::{DeltaRule, Recurrence};

use super::batch::{BATCH, Begin, End, Rows};
use crate::isa::{Simd, Work};
use crate::math::{LANES, folds};
use crate::memory::Arg;
use crate::rows::{Fault, RowView};

/// Rows of the state that a token updates together, so that their sums do not wait for each other.
const TOGETHER: usize = 4;

/// `S ← a ∘ S`, then `S ← S + u kᵀ` with `u = β · (v − S k)`, or `u = β · v`; the result is `S q`.
#[derive(Debug)]
pub(super) struct Delta {
    q: RowView,
    k: RowView,
    v: RowView,
    decay: RowView,
    beta: RowView,
    rule: Recurrence,
    heads: usize,
    keys: usize,
    inner: usize,
    cols: usize,
    /// The decays of a head: 1, or one for each key channel.
    decays: usize,
    /// Whether the value's error is added, and not the value.
    corrects: bool,
}

impl Delta {
    pub(super) fn new(delta: &DeltaRule, rule: Recurrence, heads: usize, cols: usize) -> Delta {
        let DeltaRule { q, k, v, decay, beta, keys, inner, .. } = delta;
        let decays = delta.decays();
        let [q, k, v, decay, beta] = [q, k, v, decay, beta].map(RowView::new);
        let (keys, inner, corrects) = (*keys, *inner, delta.corrects);
        Delta { q, k, v, decay, beta, rule, heads, keys, inner, cols, decays, corrects }
    }

    /// The operands of a token.
    fn operands(&self) -> usize {
        [self.inner, self.inner, self.cols, self.decays, 1].into_iter().fold(0, usize::saturating_add)
    }

    pub(super) fn staged(&self) -> usize {
        self.operands().saturating_mul(BATCH)
    }

    /// The cost of a row: three or four multiplications for each value of the state.
    pub(super) fn cost(&self) -> u64 {
        (self.inner as u64).saturating_mul(self.cols as u64).saturating_mul(3 + u64::from(self.corrects))
    }

    /// Updates the state with each row, and writes the rows' results.
    pub(super) fn run(
        &self,
        rows: &Rows<'_>,
        state: &mut [f32],
        staged: &mut [f32],
        results: &mut [f32],
    ) -> Result<(), Fault> {
        let Delta { inner, cols, decays, .. } = *self;
        let key_head = self.rule.key_head(rows.head, self.heads, self.keys);
        for (token, staged) in rows.tokens.clone().zip(staged.chunks_exact_mut(self.operands())) {
            let (q, kept) = staged.split_at_mut(inner);
            let (k, rest) = kept.split_at_mut(inner);
            let (v, rest) = rest.split_at_mut(cols);
            let (decay, beta) = rest.split_at_mut(decays);
            rows.read(&self.q, token, key_head, q)?;
            rows.read(&self.k, token, key_head, k)?;
            rows.read(&self.v, token, rows.head, v)?;
            rows.read(&self.decay, token, rows.head, decay)?;
            rows.read(&self.beta, token, rows.head, beta)?;
            rows.keep(token, kept)?;
        }
        let staged = &staged[..rows.tokens.len() * self.operands()];
        let Rows { begin, end, states, .. } = *rows;
        rows.cx.arch.dispatch(Walk { rule: self, states, begin, end, staged, state, results })
    }
}

/// Updates all rows of a head's state with the tokens of a batch.
struct Walk<'a> {
    rule: &'a Delta,
    states: &'a Arg,
    begin: Option<(Begin, &'a [f32])>,
    end: Option<End>,
    staged: &'a [f32],
    state: &'a mut [f32],
    results: &'a mut [f32],
}

impl Work for Walk<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) -> Result<(), Fault> {
        let cols = self.rule.cols;
        let whole = cols - cols % TOGETHER;
        for first in (0..whole).step_by(TOGETHER) {
            self.rows::<TOGETHER>(first)?;
        }
        (whole..cols).try_for_each(|first| self.rows::<1>(first))
    }
}

impl Walk<'_> {
    /// Updates `N` rows of the state with the tokens of the batch.
    #[inline(always)]
    fn rows<const N: usize>(&mut self, first: usize) -> Result<(), Fault> {
        let Delta { inner, cols, .. } = *self.rule;
        // Rows that are written at once need no place of their own.
        let at =
            if self.begin.is_some() && self.end.is_some_and(|end| end.is_last) { 0 } else { first * inner };
        let state = &mut self.state[at..][..N * inner];
        if let Some((begin, kept)) = self.begin {
            match begin {
                Begin::Zero => state.fill(0.0),
                Begin::At(at) => self.states.read_state(at + first * inner, state).ok_or(Fault)?,
            }
            for kept in kept.chunks_exact(self.rule.operands() - inner) {
                self.rule.passed::<N>(state, first, kept);
            }
        }
        // The certain rows, after which the state is written, and then the guesses.
        let certain = self.end.map_or(0, |end| end.after);
        let mut tokens =
            self.staged.chunks_exact(self.rule.operands()).zip(self.results.chunks_exact_mut(cols));
        for part in [certain, usize::MAX] {
            for (staged, result) in tokens.by_ref().take(part) {
                let (q, kept) = staged.split_at(inner);
                let found = self.rule.step::<N>(state, first, q, kept);
                result[first..][..N].copy_from_slice(&found);
            }
            if let Some(end) = self.end.filter(|_| part == certain) {
                self.states.write_state(end.at + first * inner, state).ok_or(Fault)?;
            }
        }
        Ok(())
    }
}

impl Delta {
    /// Updates `N` rows of the state, from `first` on, with a token's operands: `q`, and `kept` for the others. Returns their results.
    #[inline(always)]
    fn step<const N: usize>(&self, state: &mut [f32], first: usize, q: &[f32], kept: &[f32]) -> [f32; N] {
        let updates = self.updates::<N>(state, first, kept);
        results::<N>(state, q, &kept[..self.inner], updates)
    }

    /// Takes `N` rows of the state, from `first` on, over a kept row.
    #[inline(always)]
    fn passed<const N: usize>(&self, state: &mut [f32], first: usize, kept: &[f32]) {
        let updates = self.updates::<N>(state, first, kept);
        for (state, update) in state.chunks_exact_mut(self.inner).zip(updates) {
            state.iter_mut().zip(kept).for_each(|(state, k)| *state += update * k);
        }
    }

    /// Lets `N` rows of the state decay. Returns the factors of the keys that are to be added to each.
    #[inline(always)]
    fn updates<const N: usize>(&self, state: &mut [f32], first: usize, kept: &[f32]) -> [f32; N] {
        let (k, rest) = kept.split_at(self.inner);
        let (v, rest) = rest.split_at(self.cols);
        let (decay, beta) = rest.split_at(self.decays);
        if !self.corrects {
            for state in state.chunks_exact_mut(self.inner) {
                match decay {
                    [decay] => state.iter_mut().for_each(|state| *state *= decay),
                    _ => state.iter_mut().zip(decay).for_each(|(state, decay)| *state *= decay),
                }
            }
            return std::array::from_fn(|n| beta[0] * v[first + n]);
        }
        if self.decays == 1 {
            let decay = decay[0];
            updates(state, k, &v[first..], beta[0], |_| decay)
        } else {
            updates(state, k, &v[first..], beta[0], |i| decay[i])
        }
    }
}

/// Lets `N` rows decay. Returns the factors of the keys that are to be added to each.
#[inline(always)]
fn updates<const N: usize>(
    state: &mut [f32],
    k: &[f32],
    v: &[f32],
    beta: f32,
    decay: impl Fn(usize) -> f32,
) -> [f32; N] {
    let inner = k.len();
    let whole = inner - inner % LANES;
    let mut sums = [[0.0f32; LANES]; N];
    for at in (0..whole).step_by(LANES) {
        let k = &k[at..][..LANES];
        for (n, sums) in sums.iter_mut().enumerate() {
            let state = &mut state[n * inner + at..][..LANES];
            for j in 0..LANES {
                state[j] *= decay(at + j);
                sums[j] += state[j] * k[j];
            }
        }
    }
    for i in whole..inner {
        for (n, sums) in sums.iter_mut().enumerate() {
            let state = &mut state[n * inner + i];
            *state *= decay(i);
            sums[i % LANES] += *state * k[i];
        }
    }
    let products = folds(&sums);
    let mut updates = [0.0f32; N];
    for n in 0..N {
        updates[n] = beta * (v[n] - products[n]);
    }
    updates
}

/// Adds the keys to `N` rows. Returns their results.
#[inline(always)]
fn results<const N: usize>(state: &mut [f32], q: &[f32], k: &[f32], updates: [f32; N]) -> [f32; N] {
    let inner = k.len();
    let whole = inner - inner % LANES;
    let mut sums = [[0.0f32; LANES]; N];
    for at in (0..whole).step_by(LANES) {
        let (k, q) = (&k[at..][..LANES], &q[at..][..LANES]);
        for (n, sums) in sums.iter_mut().enumerate() {
            let state = &mut state[n * inner + at..][..LANES];
            for j in 0..LANES {
                state[j] += updates[n] * k[j];
                sums[j] += state[j] * q[j];
            }
        }
    }
    for i in whole..inner {
        for (n, sums) in sums.iter_mut().enumerate() {
            let state = &mut state[n * inner + i];
            *state += updates[n] * k[i];
            sums[i % LANES] += *state * q[i];
        }
    }
    folds(&sums)
}
