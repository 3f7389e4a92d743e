//! The device's buffers, and how bytes get into and out of them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use weft_device::{DeviceError, Weight};
use weft_gpu::{WeightLayout, lay_out};

use crate::driver::{Context, DeviceMemory, Failure, PinnedMemory};

/// Bytes of host memory through which all bytes go to the card: several pieces of a weight.
const RING: usize = 64 << 20;

/// The most bytes of one copy.
const PIECE: usize = RING / 4;

/// A buffer of the device.
pub(crate) type Buffer = weft_gpu::Buffer<DeviceMemory>;

/// All buffers of the device.
pub(crate) type Buffers = weft_gpu::Buffers<DeviceMemory>;

/// Host memory that the card copies from and to. The card works through copies in order, while the host continues.
#[derive(Debug)]
pub(crate) struct HostMemory {
    context: Arc<Context>,
    /// Bytes on their way to the card: those before `at` may still be needed.
    ring: PinnedMemory,
    at: usize,
    /// Bytes read back. It grows as needed.
    back: RefCell<PinnedMemory>,
}

impl HostMemory {
    pub(crate) fn new(context: &Arc<Context>) -> Result<HostMemory, Failure> {
        Ok(HostMemory {
            context: Arc::clone(context),
            ring: PinnedMemory::zeroed(context, RING)?,
            at: 0,
            back: RefCell::new(PinnedMemory::zeroed(context, 0)?),
        })
    }

    /// Copies bytes into a memory, after all work before.
    pub(crate) fn write(&mut self, to: &DeviceMemory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let mut offset = offset;
        for piece in bytes.chunks(PIECE) {
            self.room(piece.len())?.copy_from_slice(piece);
            self.send(to, offset, piece.len())?;
            offset += piece.len();
        }
        Ok(())
    }

    /// Room for at most so many bytes that are [sent](HostMemory::send) next.
    pub(crate) fn room(&mut self, bytes: usize) -> Result<&mut [u8], Failure> {
        let bytes = bytes.min(PIECE);
        if self.at + bytes > RING {
            self.context.wait()?;
            self.at = 0;
        }
        Ok(self.ring.part_mut(self.at, bytes))
    }

    /// Copies the bytes that the room has into a memory, after all work before.
    pub(crate) fn send(&mut self, to: &DeviceMemory, offset: usize, bytes: usize) -> Result<(), Failure> {
        to.write(offset, &self.ring, self.at, bytes)?;
        self.at += bytes;
        Ok(())
    }

    /// Copies bytes out of a memory, after all work before.
    pub(crate) fn read(&self, from: &DeviceMemory, offset: usize, out: &mut [u8]) -> Result<(), Failure> {
        let range = offset..offset + out.len();
        self.read_several(std::iter::once((from, range)), out)
    }

    /// The same for several ranges, one after another, with one wait for all.
    pub(crate) fn read_several<'m>(
        &self,
        from: impl Iterator<Item = (&'m DeviceMemory, Range<usize>)>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let mut back = self.back.borrow_mut();
        if back.bytes() < out.len() {
            *back = PinnedMemory::zeroed(&self.context, out.len().next_power_of_two())?;
        }
        read_all(from, &mut back)?;
        self.context.wait()?;
        out.copy_from_slice(&back.as_slice()[..out.len()]);
        Ok(())
    }
}

/// Begins to copy ranges of memories out, one after another, after all work before.
pub(crate) fn read_all<'m>(
    from: impl Iterator<Item = (&'m DeviceMemory, Range<usize>)>,
    to: &mut PinnedMemory,
) -> Result<(), Failure> {
    let mut at = 0;
    for (memory, Range { start, end }) in from {
        memory.read(start, to, at, end - start)?;
        at += end - start;
    }
    Ok(())
}

/// A weight on the card: as it is, or in tiles if it is quantised, since kernels read quantised weights in tiles only. `error` describes
/// a failure to allocate or write a number of bytes.
pub(crate) fn weight(
    context: &Arc<Context>,
    staging: &mut HostMemory,
    weight: &Weight,
    error: impl Fn(usize, &Failure) -> DeviceError,
) -> Result<Buffer, DeviceError> {
    let layout = WeightLayout::of(weight);
    let bytes = layout.bytes(weight)?;
    let memory = DeviceMemory::zeroed(context, bytes).map_err(|failure| error(bytes, &failure))?;
    fill(staging, (&memory, 0), weight, layout, error)?;
    Ok(Buffer { memory, bytes: weight.check()?, weight: Some(layout) })
}

/// Writes a weight in this layout to a memory, from a place on, after all work before.
pub(crate) fn fill(
    staging: &mut HostMemory,
    (memory, first): (&DeviceMemory, usize),
    weight: &Weight,
    layout: WeightLayout,
    error: impl Fn(usize, &Failure) -> DeviceError,
) -> Result<(), DeviceError> {
    let mut at = first;
    lay_out(weight, layout, |piece| {
        staging.write(memory, at, piece).map_err(|failure| error(piece.len(), &failure))?;
        at += piece.len();
        Ok(())
    })
}
