//! From a program to steps.
//!
//! A side that has [staged memory](crate::Staging) begins to fetch what the other side waits for, and has the launches that nobody waits
//! for before the other side computes.

use std::ops::Range;

use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::placement::Side;
use crate::program::Program;
use crate::split::SplitDevice;
use crate::split::cuts::{Cut, Part, Written};
use crate::split::order;
use crate::split::steps::{Copy, Step, Steps};
use crate::split::streams::Turn;

/// A program that becomes steps.
struct Cutting<'a> {
    program: &'a Program,
    cuts: Vec<Cut>,
    /// What is copied before each cut, unless that is nothing.
    copies: Vec<Option<Copy>>,
    turns: Vec<(usize, Turn)>,
    steps: Vec<Step>,
}

impl SplitDevice {
    /// The steps of a program.
    pub(super) fn steps(&mut self, program: &Program) -> Result<Steps, DeviceError> {
        let program = &order::waited_first(program, &self.cuts(program)?.0);
        let (cuts, written) = self.cuts(program)?;
        let buffers = &self.buffers;
        let streamed = |id: BufferId| buffers.get(id.0 as usize).and_then(|held| held.streamed);
        let turns = self.streams.turns(program, streamed)?;
        let mut copies = Vec::with_capacity(cuts.len());
        for cut in &cuts {
            copies.push(self.copy_before(cut)?);
        }
        let steps = self.found(&cuts)?;
        let mut cutting = Cutting { program, cuts, copies, turns, steps };
        (0..cutting.cuts.len()).try_for_each(|at| self.cut(&mut cutting, at))?;
        let mut changed: Vec<(BufferId, [bool; 2])> = Vec::new();
        for Written { part, on, .. } in written {
            match changed.iter_mut().find(|(buffer, _)| *buffer == part.buffer) {
                Some((_, all)) => all.iter_mut().zip(on).for_each(|(all, on)| *all &= on),
                None => changed.push((part.buffer, on)),
            }
        }
        Ok(Steps { steps: cutting.steps, changed })
    }

    /// The steps that copy what was there before the program. Nothing changes it before it is read.
    fn found(&self, cuts: &[Cut]) -> Result<Vec<Step>, DeviceError> {
        let mut known: Vec<(Side, &Part)> = Vec::new();
        let mut steps = Vec::new();
        for (side, part) in cuts.iter().flat_map(|cut| cut.found.iter().map(|part| (cut.side, part))) {
            if !known.contains(&(side, part)) {
                known.push((side, part));
                steps.push(Step::Find(part.buffer, self.copy(std::slice::from_ref(part), side)?));
            }
        }
        Ok(steps)
    }

    /// What is copied before a cut, unless that is nothing.
    fn copy_before(&mut self, cut: &Cut) -> Result<Option<Copy>, DeviceError> {
        if cut.copied.is_empty() {
            return Ok(None);
        }
        let parts: Vec<Part> = cut.copied.iter().map(|(part, _)| part.clone()).collect();
        let mut copy = self.copy(&parts, cut.side)?;
        if let Some(staging) = self.sides[copy.to.other() as usize].staging() {
            staging.reserve(copy.bytes())?;
            copy.fetched = true;
        }
        Ok(Some(copy))
    }

    /// How parts that exist on both sides are copied to one.
    fn copy(&self, parts: &[Part], to: Side) -> Result<Copy, DeviceError> {
        let room = || Vec::with_capacity(parts.len());
        let mut copy = Copy { to, from: room(), to_ranges: room(), fetched: false };
        for Part { buffer, bytes } in parts {
            let ids = self.held(*buffer)?.ids;
            if let [Some(from), Some(to)] = [to.other(), to].map(|side| ids[side as usize]) {
                add(&mut copy.from, from, bytes);
                add(&mut copy.to_ranges, to, bytes);
            }
        }
        Ok(copy)
    }

    /// Adds the steps that run the launches of a cut, and bring to the next one what it waits for.
    fn cut(&mut self, cutting: &mut Cutting<'_>, at: usize) -> Result<(), DeviceError> {
        let Cut { side, launches: Range { start, end }, .. } = cutting.cuts[at];
        let next = cutting.cuts.get(at + 1);
        let middle = next.map_or(end, |next| next.waits_for(&(start..end)));
        let copy = cutting.copies.get_mut(at + 1).and_then(Option::take);
        let fetched = copy.as_ref().is_some_and(|copy| copy.fetched);
        self.run(cutting, start..middle, side)?;
        match copy {
            Some(copy) if fetched => {
                cutting.steps.push(Step::Fetch(side, copy.from.clone()));
                self.run(cutting, middle..end, side)?;
                cutting.steps.push(Step::Copy(copy));
                Ok(())
            }
            copy => {
                cutting.steps.extend(copy.map(Step::Copy));
                self.run(cutting, middle..end, side)
            }
        }
    }

    /// Compiles some launches for a side, and adds steps that run them.
    fn run(
        &mut self,
        cutting: &mut Cutting<'_>,
        launches: Range<usize>,
        side: Side,
    ) -> Result<(), DeviceError> {
        let Cutting { program, turns, steps, .. } = cutting;
        let mut start = launches.start;
        for (launch, turn) in turns.iter().filter(|(launch, _)| launches.contains(launch)) {
            steps.extend(self.run_some(program, start..*launch, side)?);
            steps.push(Step::Turn(*turn));
            start = *launch;
        }
        steps.extend(self.run_some(program, start..launches.end, side)?);
        Ok(())
    }

    /// Compiles some launches of a program for a side.
    fn run_some(
        &mut self,
        program: &Program,
        launches: Range<usize>,
        side: Side,
    ) -> Result<Option<Step>, DeviceError> {
        if launches.is_empty() {
            return Ok(None);
        }
        let (max, kernels) = (program.max, program.kernels.clone());
        let mut part = Program { max, kernels, launches: program.launches[launches].to_vec() };
        for region in part.launches.iter_mut().flat_map(|launch| &mut launch.args) {
            let id = self.held(region.buffer)?.ids[side as usize];
            region.buffer = id.ok_or_else(|| DeviceError::Usage("a launch is on the wrong side".into()))?;
        }
        Ok(Some(Step::Run(side, self.sides[side as usize].compile(&part)?)))
    }
}

/// Adds a range of a buffer. If it follows the last one, they are one.
fn add(ranges: &mut Vec<(BufferId, Range<usize>)>, buffer: BufferId, bytes: &Range<usize>) {
    match ranges.last_mut() {
        Some((last, before)) if *last == buffer && before.end == bytes.start => before.end = bytes.end,
        _ => ranges.push((buffer, bytes.clone())),
    }
}
