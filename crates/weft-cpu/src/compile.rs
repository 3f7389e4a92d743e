//! From a program to a list that is ready to run: kernels prepared, arguments resolved to memory.

use std::sync::Arc;

use weft_device::{DeviceError, Program, Region, Step};
use weft_kern::{Access, Anchor, Dim, Kernel, Sizes};

use crate::attend::Attend;
use crate::buffer::Buffer;
use crate::dot::Dot;
use crate::memory::Arg;
use crate::rowprog::RowProgram;
use crate::rows::{Fault, MAX_AXES, Space};
use crate::stores::{self, Numbers};
use crate::thread::{Needs, Scratch, Thread};
use crate::topk::TopK;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) max: Sizes,
    pub(crate) launches: Vec<Launch>,
    /// Scratch memory that every thread needs.
    pub(crate) needs: Needs,
}

/// A kernel with its arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: Arc<Prepared>,
    pub(crate) args: Box<[Arg]>,
}

/// A kernel, prepared once for all its launches.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) rows: Vec<Dim>,
    pub(crate) cols: usize,
    pub(crate) program: RowProgram,
    anchor: PreparedAnchor,
    numbers: Vec<Numbers>,
    needs: Needs,
}

#[derive(Debug)]
enum PreparedAnchor {
    /// [`Anchor::Map`] and [`Anchor::Reduce`].
    Rows,
    Dot(Dot),
    Attend(Attend),
    TopK(TopK),
}

/// Checks a program and prepares it.
pub(crate) fn compile(program: &Program, buffers: &[Buffer]) -> Result<Compiled, DeviceError> {
    program.verify(|b| buffers.get(b.0 as usize).map(|buffer| buffer.raw().1))?;
    let mut prepared: Vec<Option<Arc<Prepared>>> = vec![None; program.kernels.len()];
    let mut launches = Vec::with_capacity(program.steps.len());
    let mut needs = Needs::default();
    for (i, step) in program.steps.iter().enumerate() {
        let kernel = &program.kernels[step.kernel];
        let fail = |why| DeviceError::Program { step: i, kernel: kernel.name.clone(), why };
        if kernel.rows.iter().any(|dim| dim.eval(&program.max) == 0) {
            // Never has a row, and so was not checked either.
            continue;
        }
        let slot = &mut prepared[step.kernel];
        let ready = match slot {
            Some(ready) => Arc::clone(ready),
            None => {
                let ready = Arc::new(Prepared::new(kernel, &program.max).map_err(fail)?);
                needs = needs.max(ready.needs);
                Arc::clone(slot.insert(ready))
            }
        };
        let args = bind(kernel, step, buffers).map_err(fail)?;
        launches.push(Launch { kernel: ready, args });
    }
    Ok(Compiled { max: program.max, launches, needs })
}

/// Resolves the arguments of a launch.
fn bind(kernel: &Kernel, step: &Step, buffers: &[Buffer]) -> Result<Box<[Arg]>, String> {
    let mut args = Vec::with_capacity(step.args.len());
    let mut ranges = Vec::with_capacity(step.args.len());
    for (p, (region, param)) in step.args.iter().zip(&kernel.params).enumerate() {
        let Region { buffer, offset, values } = *region;
        let found =
            buffers.get(buffer.0 as usize).ok_or_else(|| format!("p{p}: {buffer:?} does not exist"))?;
        let (start, len, writable) = found.raw();
        let end = param.format.bytes(values).and_then(|n| n.checked_add(offset)).filter(|end| *end <= len);
        let end = end.ok_or_else(|| {
            format!(
                "p{p}: {values} values of {:?} at byte {offset} of {buffer:?}, which has {len}",
                param.format
            )
        })?;
        if param.access == Access::Write && !writable {
            return Err(format!("p{p}: {buffer:?} is a weight and cannot be written"));
        }
        for (other, (write, other_buffer, bytes)) in ranges.iter().enumerate() {
            let overlap: &std::ops::Range<usize> = bytes;
            let shared = *other_buffer == buffer && overlap.start < end && offset < overlap.end;
            if shared && (*write || param.access == Access::Write) {
                return Err(format!("p{p} and p{other} overlap, and one of them is written"));
            }
        }
        ranges.push((param.access == Access::Write, buffer, offset..end));
        // SAFETY: the region was just found to lie in its buffer, whose bytes stay where they are as long as the
        // device, and so this launch, lives. A replay borrows the device mutably, so that nothing but kernels
        // touches buffers meanwhile. Kernels run one after the other; within one, what is written overlaps no other
        // argument (above), and no two rows or columns that may go to different threads write the same place
        // (`stores::check`, and `Numbers::distinct` for rows picked by number).
        let arg = unsafe { Arg::new(start.wrapping_add(offset), values, param.format, param.access) };
        args.push(arg.ok_or_else(|| format!("p{p}: {buffer:?} is not aligned for {:?}", param.format))?);
    }
    Ok(args.into())
}

impl Prepared {
    /// Prepares a verified kernel that has rows at the largest sizes.
    fn new(kernel: &Kernel, max: &Sizes) -> Result<Prepared, String> {
        if kernel.rows.len() > MAX_AXES {
            return Err(format!("{} axes of rows, this device has {MAX_AXES}", kernel.rows.len()));
        }
        let space = Space::new(&kernel.rows, max);
        let apart = stores::check(kernel, space.axes())?;
        let program = RowProgram::new(kernel, apart)?;
        let (anchor, anchor_needs) = match &kernel.anchor {
            Anchor::Map | Anchor::Reduce => (PreparedAnchor::Rows, Needs::default()),
            Anchor::Dot { x, w, transposed } => {
                let dot = Dot::new(kernel, &program, x, w, *transposed)?;
                let needs = dot.needs(space.count());
                (PreparedAnchor::Dot(dot), needs)
            }
            Anchor::Attend(attend) => {
                let attend = Attend::new(kernel, attend)?;
                let needs = attend.needs();
                (PreparedAnchor::Attend(attend), needs)
            }
            Anchor::TopK { x, n } => {
                let topk = TopK::new(x, *n);
                let needs = topk.needs(kernel);
                (PreparedAnchor::TopK(topk), needs)
            }
        };
        let numbers = Numbers::of(kernel);
        let rows = if numbers.is_empty() { 0 } else { space.count() };
        let needs = anchor_needs.max(Needs { slots: program.slots, rows, ..Needs::default() });
        Ok(Prepared {
            name: kernel.name.clone(),
            rows: kernel.rows.clone(),
            cols: kernel.cols,
            program,
            anchor,
            numbers,
            needs,
        })
    }

    /// Runs one thread's part of a launch.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        if cx.space.count() == 0 {
            return Ok(());
        }
        for numbers in &self.numbers {
            // Every thread looks at all of them: either all threads run the kernel, or none writes anything.
            numbers.distinct(cx.args, &cx.space, &mut scratch.numbers)?;
        }
        match &self.anchor {
            PreparedAnchor::Rows => rows(cx, scratch),
            PreparedAnchor::Dot(dot) => dot.run(cx, scratch),
            PreparedAnchor::Attend(attend) => attend.run(cx, scratch),
            PreparedAnchor::TopK(topk) => topk.run(cx, scratch),
        }
    }
}

/// Runs one thread's part of a kernel that is nothing but its row program.
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
        cx.finish(row..row + whole.max(1), cols, (&[], 0), registers)?;
        own.start += whole.max(1) * units;
    }
    Ok(())
}
