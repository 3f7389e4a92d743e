//! The [`Device`] trait: what every device can do, and access to optional abilities.

use std::ops::Range;

use weft_kern::Sizes;

use crate::checkpoints::Checkpoints;
use crate::error::DeviceError;
use crate::hardware::Hardware;
use crate::ids::{BufferId, ProgramId};
use crate::packing::Packing;
use crate::placement::Placement;
use crate::program::Program;
use crate::roof::Probe;
use crate::staging::Staging;
use crate::streaming::Streaming;
use crate::target::SourceText;
use crate::timing::Timing;
use crate::tuning::Tuning;
use crate::weight::Weight;

/// The properties of a device, and its limits.
#[derive(Clone, Debug)]
pub struct Caps {
    /// For people: `cpu (avx512-vnni), 2 threads`.
    pub name: String,
    /// Host threads that compute a step, or that pack weights for a device with processors of its own.
    pub threads: usize,
    /// Bytes of the largest buffer that is not a weight.
    pub largest_buffer: usize,
    /// Bytes of the largest weight, which a device may keep in several buffers.
    pub largest_weight: usize,
    /// The hardware it runs on.
    pub hardware: Hardware,
    /// The layout it wants for weights of products; `None` if it reads them as the file stores them.
    pub packing: Option<&'static dyn Packing>,
    /// Whether it can [replace weights](Device::streaming) by others.
    pub streams: bool,
}

/// Something that runs programs.
///
/// Buffers and programs are numbered from 0 as they are made and live as long as the device, unless it is
/// [rewound](Checkpoints::rewind). Only [`replay`](Device::replay) and what reads its results may block.
///
/// Not every device can time single launches, vary its schedules or be rewound. These abilities are traits of their own
/// ([`Timing`], [`Tuning`], [`Checkpoints`], [`Staging`], [`Streaming`]), and a device that lacks one leaves its method as it is.
pub trait Device: Send {
    /// The device's properties and limits.
    fn caps(&self) -> &Caps;

    /// Allocates a buffer of zeros.
    ///
    /// # Errors
    /// [`DeviceError::Memory`], [`DeviceError::TooLarge`].
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError>;

    /// Takes the memory of these buffers now rather than when it is first written. They keep what they hold.
    ///
    /// Does nothing on a device that takes a buffer's memory when it is allocated.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] if there is less memory than they need.
    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        let _ = buffers;
        Ok(())
    }

    /// Copies bytes into a buffer that is not a weight.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the buffer has no such range.
    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies bytes out of a buffer that is not a weight.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the buffer has no such range; any error of a replay that was still running.
    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies ranges of buffers that are not weights out, one after another, into as many bytes.
    ///
    /// Waits once, where single reads would wait for each other.
    ///
    /// # Errors
    /// Those of [`read`](Device::read); [`DeviceError::Usage`] if the ranges have more bytes.
    fn read_several(&self, from: &[(BufferId, Range<usize>)], out: &mut [u8]) -> Result<(), DeviceError> {
        let mut rest = out;
        for (buffer, bytes) in from {
            let parts = rest.split_at_mut_checked(bytes.len());
            let (own, after) = parts
                .ok_or_else(|| DeviceError::Usage("ranges have more bytes than there is room for".into()))?;
            self.read(*buffer, bytes.start, own)?;
            rest = after;
        }
        Ok(())
    }

    /// The same as [`read`](Device::read), by several threads if the device has any and there are many bytes.
    ///
    /// # Errors
    /// Those of [`read`](Device::read).
    fn read_wide(&mut self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.read(buffer, offset, out)
    }

    /// Takes a weight in, in whatever layout suits the device. Only kernels can read it.
    ///
    /// # Errors
    /// [`DeviceError::Memory`], [`DeviceError::TooLarge`]; [`DeviceError::Weight`] or [`DeviceError::Usage`] if the bytes or
    /// tiles do not match the shape.
    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError>;

    /// Verifies a program and prepares it for replay.
    ///
    /// # Errors
    /// [`DeviceError::Program`], [`DeviceError::Kernel`], [`DeviceError::Memory`].
    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError>;

    /// Runs a program once. `sizes` must not exceed the program's. Allocates, locks and logs nothing.
    ///
    /// A device that runs asynchronously may return before the program has finished, and report a failure later; every other
    /// method behaves as if it had finished.
    ///
    /// # Errors
    /// [`DeviceError::Usage`], [`DeviceError::Index`], [`DeviceError::Lost`].
    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError>;

    /// Blocks until all submitted work completes.
    ///
    /// # Errors
    /// Those of the work.
    fn wait(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Times single launches, if the device can.
    fn timing(&mut self) -> Option<&mut dyn Timing> {
        None
    }

    /// Varies how kernels are scheduled, if the device can.
    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        None
    }

    /// Renders kernels as [`compile`](Device::compile) would, if the device runs source text.
    fn text(&self) -> Option<&dyn SourceText> {
        None
    }

    /// Bytes of the device's own memory that are free; `None` if it has none, or does not know.
    fn free_memory(&self) -> Option<u64> {
        None
    }

    /// Native loops that measure the hardware's roofs, if the device has any. Those that read memory read `bytes` of it, which should
    /// be several times the last-level cache.
    ///
    /// # Errors
    /// [`DeviceError::Memory`] if there is not enough memory.
    fn probe(&self, bytes: usize) -> Result<Option<Box<dyn Probe>>, DeviceError> {
        let _ = bytes;
        Ok(None)
    }

    /// Memory of the host that the device copies from, if it has any.
    fn staging(&mut self) -> Option<&mut dyn Staging> {
        None
    }

    /// Replaces weights while it computes, if the device can.
    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        None
    }

    /// Decides where buffers are made, if the device is several.
    fn placement(&mut self) -> Option<&mut dyn Placement> {
        None
    }

    /// Frees what was made since some point, if the device can.
    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        None
    }
}
