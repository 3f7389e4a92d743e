//! The program: a flat list of kernel launches, bound to buffers.

use std::sync::Arc;

use weft_kern::Kernel;
use weft_kern::Sizes;

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
    /// Checks every launch: kernels are well-formed ([`weft_kern::verify`]), there is a region for each parameter, and no view reaches
    /// beyond its region at the largest sizes.
    ///
    /// Devices call this before compiling; what they may then still meet is an index in the step's own data.
    ///
    /// # Errors
    /// [`DeviceError::Program`].
    pub fn verify(&self) -> Result<(), DeviceError> {
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
            if let Some(r) = step.args.iter().find(|r| r.offset % 64 != 0) {
                return Err(fail(format!("a region begins at byte {}, not a multiple of 64", r.offset)));
            }
        }
        Ok(())
    }
}
