//! Going back to an earlier state of a device, so that experiments leave nothing behind.

/// How many buffers and programs a device has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Buffers.
    pub buffers: usize,
    /// Programs.
    pub programs: usize,
}

/// A device that can free what was made since some point.
pub trait Checkpoints {
    /// The device's state now.
    fn mark(&mut self) -> Mark;

    /// Drops every buffer and program made since `mark` and frees their memory. Their ids must not be used again.
    fn rewind(&mut self, mark: Mark);
}
