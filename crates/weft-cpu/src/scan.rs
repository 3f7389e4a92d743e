//! `Scan`: walks the rows of each sequence in order, and carries a state from row to row.
//!
//! One piece of work is a head of a sequence: its state stays in the thread's memory while the rows pass. Pieces write different
//! states, because no sequence writes the state that another one reads or writes; every thread checks that before it starts.
//! The order of operations is that of the rows, so bits do not depend on threads, or on where a prompt is cut into steps.

use weft_kern::Recurrence;

use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::scratch::{Needs, Scratch};
use crate::thread::Thread;

/// Rows whose results are kept for the row program.
const BATCH: usize = 16;

/// The cost of a value of a row, see [`crate::cost`].
const VALUE: u64 = 1;

/// A prepared `Scan`.
#[derive(Debug)]
pub(crate) struct Scan {
    rule: Recurrence,
    x: RowView,
    decay: RowView,
    state: usize,
    ends: usize,
    from: usize,
    to: usize,
    heads: usize,
    cols: usize,
}

/// The lists of a step's sequences.
struct Sequences<'a> {
    ends: &'a [i32],
    from: &'a [i32],
    to: &'a [i32],
}

impl Scan {
    /// Prepares the anchor of a verified part with `cols` columns.
    pub(crate) fn new(scan: &weft_kern::Scan, cols: usize) -> Scan {
        let weft_kern::Scan { rule, x, decay, state, ends, from, to, heads } = scan;
        let (x, decay) = (RowView::new(x), RowView::new(decay));
        let (rule, state, heads) = (*rule, *state, *heads);
        Scan { rule, x, decay, state, ends: *ends, from: *from, to: *to, heads, cols }
    }

    /// Scratch memory for steps of up to `sequences` sequences.
    pub(crate) fn needs(&self, sequences: usize) -> Needs {
        // The state, and the results of a batch.
        Needs { acc: self.cols.saturating_mul(BATCH + 1), rows: sequences, ..Needs::default() }
    }

    /// The cost of all heads of all rows.
    pub(crate) fn cost(&self, space: &Space) -> u64 {
        (space.count() as u64).saturating_mul(self.cols as u64 * VALUE).max(1)
    }

    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let sequences = self.sequences(cx.args, &cx.space)?;
        if !cx.again {
            self.check(&sequences, cx, &mut scratch.numbers)?;
        }
        // A sequence without rows copies its state.
        let pieces = || (0..sequences.ends.len()).map(|q| (q, sequences.rows(q).len().max(1) as u64));
        let share = cx.share(pieces().map(|(_, cost)| cost * self.heads as u64).sum());
        let mut before = 0;
        for (q, cost) in pieces() {
            for head in share.of(before, cost, self.heads) {
                self.walk(cx, &sequences, q, head, scratch)?;
            }
            before += cost * self.heads as u64;
        }
        Ok(())
    }

    /// The lists of the step.
    fn sequences<'a>(&self, args: &'a [Arg], space: &Space) -> Result<Sequences<'a>, Fault> {
        let list = |param: usize| args[param].i32s(0, space.sequences()).ok_or(Fault);
        Ok(Sequences { ends: list(self.ends)?, from: list(self.from)?, to: list(self.to)? })
    }

    /// Checks that the sequences have all rows in order, and that none writes a state of another one.
    fn check(&self, own: &Sequences<'_>, cx: &Thread<'_>, room: &mut [usize]) -> Result<(), Fault> {
        let states = cx.args[self.state].values() / (self.heads * self.cols);
        let in_range = |row: i32| usize::try_from(row).ok().filter(|row| *row < states).ok_or(Fault);
        let mut begin = 0;
        for end in own.ends {
            if *end < begin {
                return Err(Fault);
            }
            begin = *end;
        }
        if usize::try_from(begin).ok() != Some(cx.space.axes()[0]) {
            return Err(Fault);
        }
        let written = room.get_mut(..own.to.len()).ok_or(Fault)?;
        for (written, to) in written.iter_mut().zip(own.to) {
            *written = in_range(*to)?;
        }
        written.sort_unstable();
        let distinct = written.windows(2).all(|pair| pair[0] < pair[1]);
        for (from, to) in own.from.iter().zip(own.to) {
            if *from >= 0 && written.binary_search(&in_range(*from)?).is_ok() && from != to {
                return Err(Fault);
            }
        }
        if distinct { Ok(()) } else { Err(Fault) }
    }

    /// Walks a head of a sequence.
    fn walk(
        &self,
        cx: &Thread<'_>,
        sequences: &Sequences<'_>,
        q: usize,
        head: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let (cols, states) = (self.cols, &cx.args[self.state]);
        let place =
            |row: i32| usize::try_from(row).map(|row| (row * self.heads + head) * cols).map_err(|_| Fault);
        let (state, results) = scratch.acc.split_at_mut(cols);
        match sequences.from[q] {
            ..0 => state.fill(0.0),
            row => states.read_state(place(row)?, state).ok_or(Fault)?,
        }
        let rows = sequences.rows(q);
        for batch in rows.clone().step_by(BATCH) {
            let tokens = batch..rows.end.min(batch + BATCH);
            for (token, result) in tokens.clone().zip(results.chunks_exact_mut(cols)) {
                self.step(cx.args, [token, head, 0, 0], state)?;
                result.copy_from_slice(state);
            }
            let acc = Acc { values: results, stride: cols, apart: 0 };
            let flat = tokens.map(|token| token * self.heads + head);
            cx.finish(flat, 0..cols, acc, &mut scratch.registers)?;
        }
        states.write_state(place(sequences.to[q])?, state).ok_or(Fault)
    }

    /// Takes the state over a row.
    fn step(&self, args: &[Arg], coords: [usize; 4], state: &mut [f32]) -> Result<(), Fault> {
        let Recurrence::Decay = self.rule;
        let decay = args[self.decay.param].f32s(self.decay.at(&coords), 1).ok_or(Fault)?[0];
        let (x, at) = (&args[self.x.param], self.x.at(&coords));
        if self.x.step == 1 {
            let x = x.f32s(at, self.cols).ok_or(Fault)?;
            state.iter_mut().zip(x).for_each(|(state, x)| *state = decay * *state + x);
        } else {
            for (i, state) in state.iter_mut().enumerate() {
                *state = decay * *state + x.f32s(at + i * self.x.step, 1).ok_or(Fault)?[0];
            }
        }
        Ok(())
    }
}

impl Sequences<'_> {
    /// The rows of a sequence, whose ends are checked.
    fn rows(&self, q: usize) -> std::ops::Range<usize> {
        let end = |q: usize| usize::try_from(self.ends[q]).unwrap_or(0);
        if q == 0 { 0..end(0) } else { end(q - 1)..end(q) }
    }
}
