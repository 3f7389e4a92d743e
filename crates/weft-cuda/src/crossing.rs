//! Values that go to the host while the card continues.

use std::ops::Range;
use std::sync::Arc;

use weft_device::DeviceError;

use crate::buffers::read_all;
use crate::driver::{Context, DeviceMemory, Event, Failure, PinnedMemory};
use crate::error::error;

/// Host memory that values are fetched to.
#[derive(Debug)]
pub(crate) struct Crossing {
    context: Arc<Context>,
    /// The card's name.
    device: String,
    memory: PinnedMemory,
    /// The bytes that were fetched last.
    bytes: usize,
    /// When they are there.
    there: Arc<Event>,
}

impl Crossing {
    pub(crate) fn new(context: &Arc<Context>, device: &str) -> Result<Crossing, Failure> {
        Ok(Crossing {
            context: Arc::clone(context),
            device: device.to_string(),
            memory: PinnedMemory::zeroed(context, 0)?,
            bytes: 0,
            there: Event::without_time(context)?,
        })
    }

    /// Makes room for so many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), DeviceError> {
        if self.memory.bytes() >= bytes {
            return Ok(());
        }
        let memory = PinnedMemory::zeroed(&self.context, bytes);
        self.memory = memory.map_err(|failure| error(&self.device, "memory to fetch to", bytes, &failure))?;
        Ok(())
    }

    /// Begins to copy ranges of memories to the host, after all work before.
    pub(crate) fn fetch<'m>(
        &mut self,
        from: impl Iterator<Item = (&'m DeviceMemory, Range<usize>)> + Clone,
    ) -> Result<(), DeviceError> {
        let (bytes, room) = (from.clone().map(|(_, range)| range.len()).sum(), self.memory.bytes());
        if bytes > room {
            return Err(DeviceError::Usage(format!("{bytes} bytes are fetched where {room} are reserved")));
        }
        self.bytes = bytes;
        let copied = read_all(from, &mut self.memory);
        let recorded = copied.and_then(|()| self.context.record(&self.there));
        recorded.map_err(|failure| error(&self.device, "to read buffers", bytes, &failure))
    }

    /// Waits for what was fetched last.
    pub(crate) fn fetched(&self) -> Result<&[u8], DeviceError> {
        let there = self.context.wait_until(&self.there);
        there.map_err(|failure| error(&self.device, "to read buffers", self.bytes, &failure))?;
        Ok(&self.memory.as_slice()[..self.bytes])
    }
}
