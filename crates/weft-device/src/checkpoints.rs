//! Rewinding a device to an earlier state, so that experiments leave nothing behind.

/// The numbers of buffers and programs of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Buffers.
    pub buffers: usize,
    /// Programs.
    pub programs: usize,
}

/// A device that can free everything made since some point.
pub trait Checkpoints {
    /// The device's state now.
    fn mark(&mut self) -> Mark;

    /// Drops every buffer and program made since `mark` and frees their memory. Their ids must not be used again.
    fn rewind(&mut self, mark: Mark);
}
