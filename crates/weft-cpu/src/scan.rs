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

use weft_kern::{KEPT, ScanRule, ScanState};

use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::scratch::{Needs, Scratch};
use crate::thread::Thread;
use batch::{BATCH, Begin, End, Rows};
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
    certain: usize,
    kept: usize,
    cols: usize,
    layout: ScanState,
    /// The values of a sequence in the states.
    values: usize,
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
    certain: &'a [i32],
    kept: &'a [i32],
}

impl Scan {
    /// Prepares the anchor of a verified part with `cols` columns.
    pub(crate) fn new(scan: &weft_kern::Scan, cols: usize) -> Scan {
        let weft_kern::Scan { rule, state, ends, from, to, certain, kept, heads } = scan;
        // The values of a verified part do not overflow.
        let layout = scan.layout(cols).unwrap_or(ScanState { heads: *heads, width: 0, kept: 0 });
        let values = layout.values().unwrap_or(0);
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
        let [state, ends, from, to, certain, kept] = [*state, *ends, *from, *to, *certain, *kept];
        Scan { rule, state, ends, from, to, certain, kept, cols, layout, values }
    }

    /// Scratch memory for steps of up to `sequences` sequences.
    pub(crate) fn needs(&self, sequences: usize) -> Needs {
        // The state, kept rows, the operands of a batch, and its results.
        let kept = self.layout.kept.saturating_mul(KEPT);
        let all = [self.layout.width, kept, self.rule.staged(), self.cols.saturating_mul(BATCH)];
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
        let heads = self.layout.heads;
        let share = cx.share(pieces().map(|(_, cost)| cost * heads as u64).sum());
        let mut before = 0;
        for (q, cost) in pieces() {
            for head in share.of(before, cost, heads) {
                self.walk(cx, &sequences, q, head, scratch)?;
            }
            before += cost * heads as u64;
        }
        Ok(())
    }

    /// The lists of the step.
    fn sequences<'a>(&self, args: &'a [Arg], space: &Space) -> Result<Sequences<'a>, Fault> {
        let list = |param: usize| args[param].i32s(0, space.sequences()).ok_or(Fault);
        let [ends, from, to, certain, kept] =
            [self.ends, self.from, self.to, self.certain, self.kept].map(list);
        Ok(Sequences { ends: ends?, from: from?, to: to?, certain: certain?, kept: kept? })
    }

    /// Checks that the sequences have all rows in order, that none writes a state of another one, and that each has a certain row and
    /// begins with rows that were kept elsewhere.
    fn check(&self, own: &Sequences<'_>, cx: &Thread<'_>, room: &mut [usize]) -> Result<(), Fault> {
        let states = cx.args[self.state].values() / self.values.max(1);
        let in_range = |row: i32| usize::try_from(row).ok().filter(|row| *row < states).ok_or(Fault);
        let mut begin = 0;
        for (q, end) in own.ends.iter().enumerate() {
            let (certain, kept) = (own.certain[q], own.kept[q]);
            let most = if own.from[q] < 0 || own.from[q] == own.to[q] { 0 } else { KEPT as i32 };
            if *end <= begin || !(1..=*end - begin).contains(&certain) || !(0..=most).contains(&kept) {
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
        let ScanState { heads, width, kept: len } = self.layout;
        // Where the head's state is, and its kept rows.
        let place = |row: i32| {
            let row = usize::try_from(row).map(|row| row * self.values).map_err(|_| Fault)?;
            Ok((row + head * width, row + heads * width + head * KEPT * len))
        };
        let (state, rest) = scratch.acc.split_at_mut(width);
        let (kept, rest) = rest.split_at_mut(KEPT * len);
        let (staged, results) = rest.split_at_mut(self.rule.staged());
        let taken = usize::try_from(sequences.kept[q]).map_err(|_| Fault)?;
        let kept = kept.get_mut(..taken * len).ok_or(Fault)?;
        let begin = match sequences.from[q] {
            ..0 => Begin::Zero,
            row => {
                let (at, rows) = place(row)?;
                states.read_state(rows, kept).ok_or(Fault)?;
                Begin::At(at)
            }
        };
        let (at, kept_at) = place(sequences.to[q])?;
        let rows = sequences.rows(q);
        let certain = rows.start + usize::try_from(sequences.certain[q]).map_err(|_| Fault)?;
        for batch in rows.clone().step_by(BATCH) {
            let tokens = batch..rows.end.min(batch + BATCH);
            let rows = Rows {
                cx,
                head,
                tokens: tokens.clone(),
                begin: (batch == rows.start).then_some((begin, &*kept)),
                end: tokens.contains(&(certain - 1)).then(|| End {
                    after: certain - tokens.start,
                    at,
                    is_last: tokens.end == rows.end,
                }),
                kept: (certain..rows.end.min(certain + KEPT), kept_at, len),
                states,
            };
            self.rule.run(&rows, state, staged, results)?;
            let acc = Acc { values: results, stride: self.cols, apart: 0 };
            let flat = tokens.map(|token| token * heads + head);
            cx.finish(flat, 0..self.cols, acc, &mut scratch.registers)?;
        }
        Ok(())
    }
}

impl Rule {
    /// The values of memory for the operands of a batch.
    fn staged(&self) -> usize {
        match self {
            Rule::Decay(decay) => decay.cols.saturating_add(1),
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

    /// Updates a head's state with each row, and writes the rows' results.
    fn run(
        &self,
        rows: &Rows<'_>,
        state: &mut [f32],
        staged: &mut [f32],
        results: &mut [f32],
    ) -> Result<(), Fault> {
        match self {
            Rule::Decay(decay) => decay.run(rows, state, staged, results),
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
