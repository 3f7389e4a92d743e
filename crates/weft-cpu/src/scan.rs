//! `Scan`: walks the rows of each sequence in order, and carries a state from row to row.
//!
//! One piece of work is a head of a sequence: its state stays in the thread's memory while the rows pass. Pieces write different
//! states, because no sequence writes the state that another one reads or writes; every thread checks that before it starts.
//! The order of operations is that of the rows, so bits do not depend on threads, or on where a prompt is cut into steps.

mod batch;
mod convolution;
mod decay;
mod delta;

use std::ops::Range;

use weft_kern::ScanRule;

use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::scratch::{Needs, Scratch};
use crate::thread::Thread;
use batch::{BATCH, Begin, Rows};
use convolution::Convolution;
use decay::Decay;
use delta::Delta;

/// A prepared `Scan`.
#[derive(Debug)]
pub(crate) struct Scan {
    rule: Rule,
    state: usize,
    ends: usize,
    from: usize,
    to: usize,
    heads: usize,
    cols: usize,
    /// The values of a head's state.
    width: usize,
}

/// The recurrence, and its operands.
#[derive(Debug)]
enum Rule {
    Decay(Decay),
    Convolution(Convolution),
    Delta(Box<Delta>),
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
        let weft_kern::Scan { rule, state, ends, from, to, heads } = scan;
        let width = rule.width(cols).unwrap_or(0);
        let rule = match rule {
            ScanRule::Decay { x, decay } => {
                Rule::Decay(Decay { x: RowView::new(x), decay: RowView::new(decay), cols })
            }
            ScanRule::Convolution { x, w, taps } => {
                Rule::Convolution(Convolution { x: RowView::new(x), w: *w, taps: *taps, cols })
            }
            ScanRule::Delta(delta) => {
                Rule::Delta(Box::new(Delta::new(delta, rule.recurrence(), *heads, cols)))
            }
        };
        let (state, heads) = (*state, *heads);
        Scan { rule, state, ends: *ends, from: *from, to: *to, heads, cols, width }
    }

    /// Scratch memory for steps of up to `sequences` sequences.
    pub(crate) fn needs(&self, sequences: usize) -> Needs {
        // The state, the operands of a batch, and its results.
        let all = [self.width, self.rule.staged(), self.cols.saturating_mul(BATCH)];
        let acc = all.into_iter().fold(0, usize::saturating_add);
        Needs { acc, rows: sequences, ..Needs::default() }
    }

    /// The cost of all heads of all rows.
    pub(crate) fn cost(&self, space: &Space) -> u64 {
        (space.count() as u64).saturating_mul(self.rule.cost()).max(1)
    }

    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let sequences = self.sequences(cx.args, &cx.space)?;
        if !cx.again {
            self.check(&sequences, cx, &mut scratch.numbers)?;
        }
        let pieces = || (0..sequences.ends.len()).map(|q| (q, sequences.rows(q).len() as u64));
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
        let states = cx.args[self.state].values() / (self.heads * self.width);
        let in_range = |row: i32| usize::try_from(row).ok().filter(|row| *row < states).ok_or(Fault);
        let mut begin = 0;
        for end in own.ends {
            if *end <= begin {
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
        let states = &cx.args[self.state];
        let place = |row: i32| {
            usize::try_from(row).map(|row| (row * self.heads + head) * self.width).map_err(|_| Fault)
        };
        let begin = match sequences.from[q] {
            ..0 => Begin::Zero,
            row => Begin::At(place(row)?),
        };
        let end = place(sequences.to[q])?;
        let (state, rest) = scratch.acc.split_at_mut(self.width);
        let (staged, results) = rest.split_at_mut(self.rule.staged());
        let rows = sequences.rows(q);
        for batch in rows.clone().step_by(BATCH) {
            let tokens = batch..rows.end.min(batch + BATCH);
            let rows = Rows {
                cx,
                head,
                tokens: tokens.clone(),
                begin: (batch == rows.start).then_some(begin),
                end: (tokens.end == rows.end).then_some(end),
                states,
            };
            self.rule.run(&rows, state, staged, results)?;
            let acc = Acc { values: results, stride: self.cols, apart: 0 };
            let flat = tokens.map(|token| token * self.heads + head);
            cx.finish(flat, 0..self.cols, acc, &mut scratch.registers)?;
        }
        Ok(())
    }
}

impl Rule {
    /// The values of memory for the operands of a batch.
    fn staged(&self) -> usize {
        match self {
            Rule::Decay(_) => 0,
            Rule::Convolution(convolution) => convolution.staged(),
            Rule::Delta(delta) => delta.staged(),
        }
    }

    /// The cost of a head of a row, see [`crate::cost`].
    fn cost(&self) -> u64 {
        match self {
            Rule::Decay(decay) => decay.cols as u64,
            Rule::Convolution(convolution) => (convolution.cols * convolution.taps) as u64,
            Rule::Delta(delta) => delta.cost(),
        }
    }

    /// Takes a head's state over rows, and writes their results.
    fn run(
        &self,
        rows: &Rows<'_>,
        state: &mut [f32],
        staged: &mut [f32],
        results: &mut [f32],
    ) -> Result<(), Fault> {
        match self {
            Rule::Decay(decay) => decay.run(rows, state, results),
            Rule::Convolution(convolution) => convolution.run(rows, state, staged, results),
            Rule::Delta(delta) => delta.run(rows, state, staged, results),
        }
    }
}

impl Sequences<'_> {
    /// The rows of a sequence, whose ends are checked.
    fn rows(&self, q: usize) -> Range<usize> {
        let end = |q: usize| usize::try_from(self.ends[q]).unwrap_or(0);
        if q == 0 { 0..end(0) } else { end(q - 1)..end(q) }
    }
}
