//! Compiling for a device without opening it, to show the kernels of a model.

use std::fmt;

use weft_kern::{Kernel, Sizes};

use crate::hardware::Hardware;
use crate::ids::BufferId;
use crate::program::Program;

/// A device as a target to compile for.
#[derive(Debug)]
pub struct Target {
    /// The hardware it runs on.
    pub hardware: Hardware,
    /// Renders kernels, if the device runs source text.
    pub text: Option<Box<dyn SourceText>>,
}

/// Renders kernels to the source text that a device compiles, or takes those that they come with.
pub trait SourceText: fmt::Debug {
    /// The text of a launch of a program, by its number, in the form in which a person can give it for the kernel. `weights` says which
    /// buffers hold weights, and how many bytes each takes as the device lays it out.
    ///
    /// # Errors
    /// Why the device cannot run it.
    ///
    /// # Panics
    /// If there is no such launch.
    fn render(
        &self,
        program: &Program,
        launch: usize,
        weights: &dyn Fn(BufferId) -> Option<u64>,
    ) -> Result<String, String>;

    /// The language of the text that a kernel comes with, if that is what the device runs for it in programs for steps up to `max`.
    fn given(&self, kernel: &Kernel, max: &Sizes) -> Option<&'static str>;

    /// Bytes of scratch memory that a program needs in addition to its buffers. Launches that cannot be rendered need none.
    fn scratch_bytes(&self, program: &Program, weights: &dyn Fn(BufferId) -> Option<u64>) -> u64;
}
