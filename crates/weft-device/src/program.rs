//! Programs: flat lists of kernel launches, bound to buffers.

use std::ops::Range;
use std::sync::Arc;

use weft_kern::{Access, Kernel, Sizes};

use crate::error::DeviceError;
use crate::ids::BufferId;

/// Part of a buffer, as one argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: BufferId,
    /// Where it begins, in bytes; a multiple of 64.
    pub offset: usize,
    /// Values it has room for. Determines where the planes of a `q8` buffer lie.
    pub values: usize,
}

/// A kernel and the memory it works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelLaunch {
    /// Index in [`Program::kernels`].
    pub kernel: usize,
    /// A region for each of the kernel's parameters.
    pub args: Vec<Region>,
}

/// A fixed sequence of kernel launches, such as all layers of a model. Each launch sees what the ones before it wrote. A program is
/// compiled once and replayed for every step; only the sizes of the step and the contents of buffers change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The largest sizes it may be replayed with.
    pub max: Sizes,
    /// The distinct kernels.
    pub kernels: Vec<Arc<Kernel>>,
    /// The launches, in order.
    pub launches: Vec<KernelLaunch>,
}

impl Program {
    /// Checks every launch: its kernel is well-formed ([`weft_kern::verify`]); it has a region for each parameter, within a buffer; no
    /// view reaches beyond its region at the largest sizes; and no region that is written overlaps another argument. `size` gives the
    /// bytes of a buffer of the device; of a weight, as the file stores it.
    ///
    /// Devices call this before they compile. What can still go wrong in a program that passes is an index in the step's own data.
    ///
    /// # Errors
    /// [`DeviceError::Program`].
    pub fn verify(&self, size: impl Fn(BufferId) -> Option<usize>) -> Result<(), DeviceError> {
        for (i, launch) in self.launches.iter().enumerate() {
            let kernel = self.kernels.get(launch.kernel);
            let fail = |why: String| DeviceError::Program {
                launch: i,
                kernel: kernel.map_or_else(|| format!("#{}", launch.kernel), |k| k.name.clone()),
                why,
            };
            let kernel = kernel.ok_or_else(|| fail("no such kernel".into()))?;
            let values: Vec<usize> = launch.args.iter().map(|r| r.values).collect();
            weft_kern::verify_call(kernel, &values, &self.max).map_err(fail)?;
            let mut ranges = Vec::with_capacity(launch.args.len());
            for (region, param) in launch.args.iter().zip(&kernel.params) {
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
                if access.writes() && ranges.iter().enumerate().any(overlaps) {
                    return Err(fail(format!(
                        "a region of {buffer:?} is written and overlaps another argument"
                    )));
                }
            }
        }
        Ok(())
    }
}
