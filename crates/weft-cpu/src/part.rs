//! A prepared part of a kernel: its anchor, its row program, and its needs.

use weft_kern::{Anchor, Dim, Kernel, Part, Sizes};

use crate::attend::{Attend, Indexer};
use crate::dot::Dot;
use crate::isa::Arch;
use crate::memory::Arg;
use crate::rowprog::{Acc, RowProgram};
use crate::rows::{Fault, MAX_AXES, Space};
use crate::scan::Scan;
use crate::scratch::{Needs, Scratch};
use crate::stores::{self, Numbers};
use crate::thread::Thread;

/// A part, prepared once for all launches of its kernel.
#[derive(Debug)]
pub(crate) struct Prepared {
    rows: Vec<Dim>,
    pub(crate) cols: usize,
    pub(crate) program: RowProgram,
    /// Whether the part before it has the same prologue.
    pub(crate) prologue_is_known: bool,
    anchor: PreparedAnchor,
    numbers: Vec<Numbers>,
    pub(crate) needs: Needs,
}

#[derive(Debug)]
enum PreparedAnchor {
    /// [`Anchor::Map`] and [`Anchor::Reduce`].
    Rows,
    Dot(Dot),
    Attend(Attend),
    Indexer(Indexer),
    Scan(Scan),
}

impl Prepared {
    /// Prepares a part of a verified kernel, for arguments of up to `values` values each and this many threads; `None` if it has
    /// no rows even at the largest sizes.
    ///
    /// # Errors
    /// A sentence, if the device cannot run it, or two threads could write to the same place.
    pub(crate) fn new(
        kernel: &Kernel,
        part: &Part,
        max: &Sizes,
        values: &[usize],
        (arch, threads): (Arch, usize),
    ) -> Result<Option<Prepared>, String> {
        if part.rows.len() > MAX_AXES {
            return Err(format!("{} axes of rows; this device supports {MAX_AXES}", part.rows.len()));
        }
        let space = Space::new(&part.rows, max);
        if space.count() == 0 {
            // The verifier does not check this.
            return Ok(None);
        }
        let params = &kernel.params;
        let apart = stores::check(part, space.axes())?;
        let program = RowProgram::new(params, part, apart)?;
        let (anchor, anchor_needs) = match &part.anchor {
            Anchor::Map | Anchor::Reduce => (PreparedAnchor::Rows, Needs::default()),
            Anchor::Dot(products) => {
                let dot = Dot::new(kernel, part, &program, products)?;
                let needs = dot.needs(&space, arch.has_tiles());
                (PreparedAnchor::Dot(dot), needs)
            }
            Anchor::Attend(attend) => {
                let attend = Attend::new(params, part.cols, attend, &space, values, (arch, threads))?;
                let needs = attend.needs(&space);
                (PreparedAnchor::Attend(attend), needs)
            }
            Anchor::Indexer(indexer) => {
                let indexer = Indexer::new(params, part.cols, indexer, &space, values, (arch, threads))?;
                let needs = indexer.needs(&space);
                (PreparedAnchor::Indexer(indexer), needs)
            }
            Anchor::Scan(scan) => {
                let scan = Scan::new(scan, part.cols);
                let needs = scan.needs(max.sequences);
                (PreparedAnchor::Scan(scan), needs)
            }
        };
        let numbers = Numbers::of(part);
        let rows = if numbers.is_empty() { 0 } else { space.count() };
        let needs = anchor_needs.max(Needs { slots: program.slots, rows, ..Needs::default() });
        let (rows, cols) = (part.rows.clone(), part.cols);
        Ok(Some(Prepared { rows, cols, program, prologue_is_known: false, anchor, numbers, needs }))
    }

    /// The rows of a step.
    pub(crate) fn space(&self, sizes: &Sizes) -> Space {
        Space::new(&self.rows, sizes)
    }

    /// The cost of all of it in a step, see [`crate::cost`]; 0 if there is nothing to do.
    pub(crate) fn cost(&self, args: &[Arg], space: &Space) -> Result<u64, Fault> {
        if space.count() == 0 {
            return Ok(0);
        }
        let cost = match &self.anchor {
            PreparedAnchor::Rows => self.program.cost.saturating_mul(space.count() as u64),
            PreparedAnchor::Dot(dot) => dot.cost(space, self.cols),
            PreparedAnchor::Attend(attend) => attend.cost(args, space)?,
            PreparedAnchor::Indexer(indexer) => indexer.cost(args, space)?,
            PreparedAnchor::Scan(scan) => scan.cost(space),
        };
        // Bounded, so that the costs of all parts can be added up.
        Ok(cost.clamp(1, u64::MAX >> 16))
    }

    /// Whether a thread may do several stretches of it in a step.
    pub(crate) fn is_fine(&self, args: &[Arg], space: &Space, threads: usize) -> Result<bool, Fault> {
        match &self.anchor {
            PreparedAnchor::Attend(attend) if space.count() > 0 => attend.is_fine(args, space, threads),
            PreparedAnchor::Indexer(indexer) if space.count() > 0 => indexer.is_fine(args, space, threads),
            _ => Ok(true),
        }
    }

    /// The cost of the smallest piece of it that a thread can take. Parts with large pieces come first, so that a thread
    /// that has one does less of the other parts.
    pub(crate) fn least_cost(&self) -> u64 {
        match &self.anchor {
            PreparedAnchor::Rows => self.program.cost / (self.cols as u64).div_ceil(self.program.unit as u64),
            PreparedAnchor::Dot(dot) => dot.least_cost(),
            // Some heads at a long context, or a head of a whole prompt.
            PreparedAnchor::Attend(_) | PreparedAnchor::Indexer(_) | PreparedAnchor::Scan(_) => u64::MAX,
        }
    }

    /// Clears what an unfinished step left behind.
    pub(crate) fn sweep(&self) {
        match &self.anchor {
            PreparedAnchor::Attend(attend) => attend.sweep(),
            PreparedAnchor::Indexer(indexer) => indexer.sweep(),
            PreparedAnchor::Rows | PreparedAnchor::Dot(_) | PreparedAnchor::Scan(_) => {}
        }
    }

    /// Runs one thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        if cx.space.count() == 0 {
            return Ok(());
        }
        if !cx.again {
            for numbers in &self.numbers {
                // Every thread of the part checks all of them: if one is bad, no thread writes anything.
                numbers.distinct(cx.args, &cx.space, &mut scratch.numbers)?;
            }
        }
        match &self.anchor {
            PreparedAnchor::Rows => rows(cx, scratch),
            PreparedAnchor::Dot(dot) => dot.run(cx, scratch),
            PreparedAnchor::Attend(attend) => attend.run(cx, scratch),
            PreparedAnchor::Indexer(indexer) => indexer.run(cx, scratch),
            PreparedAnchor::Scan(scan) => scan.run(cx, scratch),
        }
    }
}

/// Runs one thread's share of a part that only has a row program.
fn rows(cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
    let registers = &mut scratch.registers;
    let (rows, unit) = (cx.space.count(), cx.program.unit);
    // Units of columns, row after row.
    let per_row = cx.cols.div_ceil(unit);
    let mut own = cx.share((rows * per_row) as u64).of(0, 1, rows * per_row);
    while !own.is_empty() {
        let (row, from) = (own.start / per_row, own.start % per_row);
        let whole = if from == 0 { own.len() / per_row } else { 0 };
        let units = if whole > 0 { per_row } else { own.len().min(per_row - from) };
        let cols = from * unit..cx.cols.min((from + units) * unit);
        cx.finish(row..row + whole.max(1), cols, Acc::default(), registers)?;
        own.start += whole.max(1) * units;
    }
    Ok(())
}
