//! Memory of the host that a device copies from and to.

use std::ops::Range;

use crate::error::DeviceError;
use crate::ids::BufferId;

/// A device that copies from and to memory of the host while the host continues. Bytes that are written there, rather than given to
/// [`write`](crate::Device::write), are copied once less. Bytes that are fetched are there before later work has run.
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

    /// Makes room for [fetches](Staging::fetch) of up to so many bytes, which allocate nothing later.
    ///
    /// # Errors
    /// Those of memory for them.
    fn reserve(&mut self, bytes: usize) -> Result<(), DeviceError>;

    /// Begins to copy ranges of buffers that are not weights to the host, after all work before. Later work may run meanwhile.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if a buffer has no such range, or there is no room.
    fn fetch(&mut self, from: &[(BufferId, Range<usize>)]) -> Result<(), DeviceError>;

    /// Waits for the last [fetch](Staging::fetch), and returns its bytes, one range after another.
    ///
    /// # Errors
    /// Those of the work before it.
    fn fetched(&mut self) -> Result<&[u8], DeviceError>;
}
