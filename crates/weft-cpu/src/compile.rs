//! Compiles a program to a list of prepared kernels with arguments resolved to memory.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_device::{DeviceError, KernelLaunch, Program, Region};
use weft_kern::{Access, Kernel, Sizes};

use crate::buffer::Buffer;
use crate::isa::Arch;
use crate::memory::Arg;
use crate::part;
use crate::prologue;
use crate::rows::Fault;
use crate::scratch::{Needs, Scratch};
use crate::share::Rounds;
use crate::stores;
use crate::team::{Line, Member};
use crate::thread::Thread;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) max: Sizes,
    /// The number of buffers when it was compiled: it points into no others.
    pub(crate) buffers: usize,
    /// The number of launches of the program, including those that never have rows, which this list omits.
    pub(crate) of: usize,
    pub(crate) launches: Vec<Launch>,
    /// Whether the last step did not finish: a launch met a bad index, or a thread panicked.
    pub(crate) broken: bool,
    /// Scratch memory that every thread needs.
    pub(crate) needs: Needs,
}

/// A kernel with its arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Its index among the program's launches.
    pub(crate) index: usize,
    pub(crate) kernel: Arc<Prepared>,
    args: Box<[Arg]>,
    /// Stretches taken in this step, beyond each thread's own.
    taken: Line<AtomicUsize>,
}

/// A kernel, prepared once for all its launches.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    /// The parts that can have rows, in the order in which they are laid end to end.
    parts: Vec<part::Prepared>,
    needs: Needs,
}

/// Checks a program and prepares it.
pub(crate) fn compile(
    program: &Program,
    buffers: &mut [Buffer],
    (arch, threads): (Arch, usize),
) -> Result<Compiled, DeviceError> {
    program.verify(|b| buffers.get(b.0 as usize).map(Buffer::len))?;
    let mut prepared: Vec<Option<Arc<Prepared>>> = vec![None; program.kernels.len()];
    let mut launches = Vec::with_capacity(program.launches.len());
    let mut needs = Needs::default();
    for (index, launch) in program.launches.iter().enumerate() {
        let kernel = &program.kernels[launch.kernel];
        let fail = |why| DeviceError::Program { launch: index, kernel: kernel.name.clone(), why };
        let slot = &mut prepared[launch.kernel];
        let ready = match slot {
            Some(ready) => Arc::clone(ready),
            None => {
                let values = most_values(program, launch.kernel);
                let ready =
                    Arc::new(Prepared::new(kernel, &program.max, &values, (arch, threads)).map_err(fail)?);
                needs = needs.max(ready.needs);
                Arc::clone(slot.insert(ready))
            }
        };
        if !ready.parts.is_empty() {
            let mut args = bind(kernel, launch, buffers).map_err(fail)?;
            bind_tiles(kernel, launch, buffers, &mut args).map_err(fail)?;
            launches.push(Launch { index, kernel: ready, args, taken: Line::default() });
        }
    }
    let (max, of, buffers) = (program.max, program.launches.len(), buffers.len());
    Ok(Compiled { max, buffers, of, launches, broken: false, needs })
}

/// The most values that each argument of a kernel has in any of its launches.
fn most_values(program: &Program, kernel: usize) -> Vec<usize> {
    let mut most = vec![0; program.kernels[kernel].params.len()];
    for launch in program.launches.iter().filter(|launch| launch.kernel == kernel) {
        most.iter_mut().zip(&launch.args).for_each(|(most, region)| *most = region.values.max(*most));
    }
    most
}

/// Resolves the arguments of a launch.
fn bind(kernel: &Kernel, launch: &KernelLaunch, buffers: &[Buffer]) -> Result<Box<[Arg]>, String> {
    let mut args = Vec::with_capacity(launch.args.len());
    let mut ranges = Vec::with_capacity(launch.args.len());
    for (p, (region, param)) in launch.args.iter().zip(&kernel.params).enumerate() {
        let Region { buffer, offset, values } = *region;
        let found =
            buffers.get(buffer.0 as usize).ok_or_else(|| format!("p{p}: {buffer:?} does not exist"))?;
        let only_tiles = found.has_given_tiles() && kernel.only_multiplies_by(p);
        let (start, len, writable) =
            if only_tiles { (std::ptr::null_mut(), found.len(), false) } else { found.raw() };
        let end = param.format.bytes(values).and_then(|n| n.checked_add(offset)).filter(|end| *end <= len);
        let end = end.ok_or_else(|| {
            format!(
                "p{p}: {values} values of {:?} at byte {offset} of {buffer:?}, which has {len}",
                param.format
            )
        })?;
        if param.access.writes() && !writable {
            return Err(format!("p{p}: {buffer:?} is a weight and cannot be written"));
        }
        for (other, (write, other_buffer, bytes)) in ranges.iter().enumerate() {
            let overlap: &std::ops::Range<usize> = bytes;
            let shared = *other_buffer == buffer && overlap.start < end && offset < overlap.end;
            if shared && (*write || param.access.writes()) {
                return Err(format!("p{p} and p{other} overlap, and one of them is written"));
            }
        }
        ranges.push((param.access.writes(), buffer, offset..end));
        if only_tiles && param.access == Access::Read {
            args.push(Arg::without_bytes(values, param.format));
            continue;
        }
        // SAFETY: the region was just found to lie in its buffer, whose bytes stay where they are as long as this program, and so
        // this launch, exists: `rewind` drops programs before the buffers they point into. A replay borrows the device mutably, so
        // only kernels access buffers meanwhile. Kernels run one after another. Within one, a written argument overlaps no other
        // (checked above), so nothing reads it, and two writes can only meet in one argument. That argument belongs to one part
        // (`stores::owned`): parts side by side do not meet. Within a part, no two rows or columns that may go to different threads
        // write the same place (`stores::check`, and `Numbers::distinct` for rows picked by index). States that are updated in place are
        // read and written by one thread each (`Scan::check`).
        let arg = unsafe { Arg::new(start.wrapping_add(offset), values, param.format, param.access) };
        args.push(arg.ok_or_else(|| format!("p{p}: {buffer:?} is not aligned for {:?}", param.format))?);
    }
    Ok(args.into())
}

/// Attaches tiles to the arguments that products read as packed weights.
fn bind_tiles(
    kernel: &Kernel,
    launch: &KernelLaunch,
    buffers: &mut [Buffer],
    args: &mut [Arg],
) -> Result<(), String> {
    let products = kernel.parts.iter().flat_map(|part| part.products());
    for product in products.filter(|product| product.rounds(&kernel.params)) {
        let param = product.w.param;
        let Region { buffer, offset, .. } = launch.args[param];
        let found = buffers.get_mut(buffer.0 as usize).filter(|_| offset == 0);
        let found = found.ok_or_else(|| format!("p{param}: a product needs a whole weight"))?;
        let (start, tile, count) = found.tiles(product.w.k).map_err(|why| format!("p{param}: {why}"))?;
        // SAFETY: `Buffer::tiles` found this many bytes there. A weight's tiles are never replaced, so they stay where they are
        // as long as this program exists: `rewind` drops programs before the buffers they point into. Nothing writes tiles once
        // they are made.
        args[param] = unsafe { args[param].with_tiles(start, tile.bytes, count) };
    }
    Ok(())
}

impl Prepared {
    /// Prepares a verified kernel.
    fn new(
        kernel: &Kernel,
        max: &Sizes,
        values: &[usize],
        (arch, threads): (Arch, usize),
    ) -> Result<Prepared, String> {
        stores::owned(kernel)?;
        let mut parts = Vec::with_capacity(kernel.parts.len());
        for part in &kernel.parts {
            parts.extend(
                part::Prepared::new(kernel, part, max, values, (arch, threads))?
                    .map(|prepared| (prepared, part)),
            );
        }
        parts.sort_by_key(|(part, _)| Reverse(part.least_cost()));
        for i in 1..parts.len() {
            parts[i].0.prologue_is_known = prologue::same(parts[i].1, parts[i - 1].1);
        }
        let parts: Vec<_> = parts.into_iter().map(|(part, _)| part).collect();
        let needs = parts.iter().fold(Needs::default(), |needs, part| needs.max(part.needs));
        Ok(Prepared { name: kernel.name.clone(), parts, needs })
    }
}

impl Launch {
    /// Clears what an unfinished step left behind.
    pub(crate) fn sweep(&self) {
        self.rewind();
        self.kernel.parts.iter().for_each(part::Prepared::sweep);
    }

    /// Resets it for the next step, while no thread runs it.
    pub(crate) fn rewind(&self) {
        self.taken.0.store(0, Ordering::Relaxed);
    }

    /// Runs one thread's share of a step of these sizes.
    pub(crate) fn run(
        &self,
        arch: Arch,
        sizes: &Sizes,
        member: &Member<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let (args, parts) = (&*self.args, &*self.kernel.parts);
        let Member { index, threads, .. } = *member;
        let mut total = 0;
        for part in parts {
            total += part.cost(args, &part.space(sizes))?;
        }
        let mut rounds = Rounds::new(threads, total, true);
        // Only asked where it matters: attention has to plan its work to answer.
        if rounds.stretches() > threads {
            let mut fine = true;
            for part in parts {
                fine = fine && part.is_fine(args, &part.space(sizes), threads)?;
            }
            rounds = Rounds::new(threads, total, fine);
        }
        let mut last = None;
        let mut next = index;
        while next < rounds.stretches() {
            let stretch = rounds.stretch(next);
            let mut before = 0;
            for (i, part) in parts.iter().enumerate() {
                let (space, cols, program) = (part.space(sizes), part.cols, &part.program);
                let cost = part.cost(args, &space)?;
                let own = stretch.within(total, before, cost);
                before += cost;
                if own.is_empty() {
                    continue;
                }
                let again = last == Some(i);
                let keep_prologue = again || i > 0 && last == Some(i - 1) && part.prologue_is_known;
                let cx =
                    Thread { arch, args, space, cols, program, own, again, index, threads, keep_prologue };
                part.run(&cx, scratch)?;
                last = Some(i);
            }
            if rounds.stretches() == threads {
                break;
            }
            next = threads + self.taken.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
