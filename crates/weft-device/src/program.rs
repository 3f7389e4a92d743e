//! The program: a flat list of kernel launches, bound to buffers.

use std::ops::Range;
use std::sync::Arc;

use weft_kern::{Access, Kernel, Sizes};

use crate::device::{BufferId, DeviceError};

/// Part of a buffer, as one argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: BufferId,
    /// Where the part begins, in bytes; a multiple of 64.
    pub offset: usize,
    /// Values it has room for. Fixes where the planes of a `q8` buffer lie.
    pub values: usize,
}

/// One launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Index in [`Program::kernels`].
    pub kernel: usize,
    /// A region for each of the kernel's parameters.
    pub args: Vec<Region>,
}

/// Everything that is run for a step, in order: each launch sees what the ones before it wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The largest sizes it may be replayed with.
    pub max: Sizes,
    /// The distinct kernels.
    pub kernels: Vec<Arc<Kernel>>,
    /// What is launched.
    pub steps: Vec<Step>,
}

impl Program {
    /// Checks every launch: kernels are well-formed ([`weft_kern::verify`]), there is a region for each parameter, within a buffer and
    /// with no view that reaches beyond it at the largest sizes, and what is written overlaps no other argument. `size` gives
    /// the bytes of a buffer of the device, counted for a weight as its file has it.
    ///
    /// Devices call this before compiling; what they may then still meet is an index in the step's own data.
    ///
    /// # Errors
    /// [`DeviceError::Program`].
    pub fn verify(&self, size: impl Fn(BufferId) -> Option<usize>) -> Result<(), DeviceError> {
        for (i, step) in self.steps.iter().enumerate() {
            let kernel = self.kernels.get(step.kernel);
            let fail = |why: String| DeviceError::Program {
                step: i,
                kernel: kernel.map_or_else(|| format!("#{}", step.kernel), |k| k.name.clone()),
                why,
            };
            let kernel = kernel.ok_or_else(|| fail("no such kernel".into()))?;
            let values: Vec<usize> = step.args.iter().map(|r| r.values).collect();
            weft_kern::verify_call(kernel, &values, &self.max).map_err(fail)?;
            let mut ranges = Vec::with_capacity(step.args.len());
            for (region, param) in step.args.iter().zip(&kernel.params) {
                let &Region { buffer, offset, values } = region;
                let size = size(buffer).ok_or_else(|| fail(format!("{buffer:?} does not exist")))?;
                if offset % 64 != 0 {
                    return Err(fail(format!("a region begins at byte {offset}, not a multiple of 64")));
                }
                let end = param.format.bytes(values).and_then(|bytes| bytes.checked_add(offset));
                let end = end.filter(|end| *end <= size).ok_or_else(|| {
                    let what = format!("{values} values of {} at byte {offset}", param.format);
                    fail(format!("{what} do not fit into the {size} bytes of {buffer:?}"))
                })?;
                ranges.push((region.buffer, region.offset..end, param.access));
            }
            for (i, (buffer, written, access)) in ranges.iter().enumerate() {
                let overlaps = |(j, (b, r, _)): (usize, &(BufferId, Range<usize>, Access))| {
                    i != j && b == buffer && r.start < written.end && written.start < r.end
                };
                if *access == Access::Write && ranges.iter().enumerate().any(overlaps) {
                    return Err(fail(format!("what is written to {buffer:?} overlaps another argument")));
                }
            }
        }
        Ok(())
    }
}
