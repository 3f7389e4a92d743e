//! Weights that a device reads in turn in one place.

use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::weight::Weight;

/// A device that replaces weights while it computes, so that many pass through the memory of a few.
///
/// It computes the products of experts with the bits that a plan says ([`Shares`](weft_kern::Shares)), as do all devices that have this: so
/// it does not matter which of them computes an expert.
pub trait Streaming {
    /// Prepares to replace the contents of a weight by those of another one of its type and shape, so that
    /// [`replace`](Streaming::replace) does so without delay.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it is no weight of this type and shape; those of memory for it.
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError>;

    /// Begins to replace the contents of a weight by those of another one, as [prepared](Streaming::prepare), after all work before. Its
    /// `unread` first rows, whole tiles, may keep theirs. Later work may run meanwhile. It must not read the weight before it
    /// [waits](Streaming::wait_for) for it.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if this was not prepared; those of the copy.
    fn replace(&mut self, buffer: BufferId, with: &Weight, unread: usize) -> Result<(), DeviceError>;

    /// Makes later work wait until the weight has its last contents.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if there is no such buffer.
    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError>;
}
