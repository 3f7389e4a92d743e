//! Memory of the host that a device copies from.

use crate::error::DeviceError;
use crate::ids::BufferId;

/// A device that copies from memory of the host while the host continues. Bytes that are written there, rather than given to
/// [`write`](crate::Device::write), are copied once less.
pub trait Staging {
    /// Memory for at least one byte and at most `bytes`, to be [sent](Staging::send) next.
    ///
    /// # Errors
    /// Those of the work that still reads it.
    fn room(&mut self, bytes: usize) -> Result<&mut [u8], DeviceError>;

    /// Copies the first bytes of the last [room](Staging::room) into a buffer that is not a weight, after all work before.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the buffer has no such range.
    fn send(&mut self, buffer: BufferId, offset: usize, bytes: usize) -> Result<(), DeviceError>;
}
