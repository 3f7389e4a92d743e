//! Compiling for a device without opening it, to show the kernels of a model.

use std::fmt;

use weft_kern::{Kernel, Plan, Sizes, Source};

use crate::hardware::Hardware;
use crate::ids::BufferId;
use crate::program::Region;

/// A device as a target to compile for.
#[derive(Debug)]
pub struct Target {
    /// The hardware it runs on.
    pub hardware: Hardware,
    /// Renders kernels, if the device runs source text.
    pub text: Option<Box<dyn SourceText>>,
}

/// Renders kernels to the source text that a device compiles.
pub trait SourceText: fmt::Debug {
    /// The text for a kernel with these arguments in programs for steps up to `max`. What matters about arguments is which of them
    /// share a buffer.
    ///
    /// # Errors
    /// Why the device cannot run it.
    fn render(&self, kernel: &Kernel, args: &[Region], max: &Sizes) -> Result<String, String>;
}

impl Target {
    /// The text that each call of a plan runs, or why it cannot run; `None` if the device runs no text.
    pub fn sources(&self, plan: &Plan) -> Option<Vec<Result<String, String>>> {
        let text = self.text.as_deref()?;
        let calls = plan.calls.iter().map(|call| {
            // Of a plan's buffers, only those in the arena share one of the device.
            let region = |at: &usize| {
                let arena = matches!(plan.buffers[*at].source, Source::Arena(_));
                let buffer = BufferId(if arena { 0 } else { *at as u32 + 1 });
                Region { buffer, offset: 0, values: 0 }
            };
            let args: Vec<Region> = call.args.iter().map(region).collect();
            text.render(&plan.kernels[call.kernel], &args, &plan.max)
        });
        Some(calls.collect())
    }
}
