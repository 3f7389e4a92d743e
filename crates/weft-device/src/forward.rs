//! Devices that wrap another device and override some of its methods.
//!
//! Checking what a device computes, injecting faults and pretending to have a clock all need a device that differs from a real
//! one in one or two methods. Such a device implements [`Forward`] and overrides these methods; the rest goes to the device
//! behind it.

use std::ops::Range;

use weft_kern::Sizes;

use crate::checkpoints::Checkpoints;
use crate::device::{Caps, Device};
use crate::error::DeviceError;
use crate::ids::{BufferId, ProgramId};
use crate::placement::Placement;
use crate::program::Program;
use crate::roof::Probe;
use crate::staging::Staging;
use crate::streaming::Streaming;
use crate::target::SourceText;
use crate::timing::Timing;
use crate::tuning::Tuning;
use crate::weight::Weight;

/// A [`Device`] that forwards to another one.
///
/// Every method but the first two has the meaning it has in [`Device`], and calls the inner device unless it is overridden. The
/// inner device's own abilities do not see overrides: a device that overrides [`replay`](Forward::replay) or compiles programs
/// under other ids overrides [`timing`](Forward::timing), [`tuning`](Forward::tuning) and [`checkpoints`](Forward::checkpoints)
/// too where that matters.
///
/// ```
/// use weft_device::{BufferId, Device, DeviceError, Forward, NullDevice};
///
/// /// A device that allocates three times and no more.
/// struct Full(NullDevice, usize);
///
/// impl Forward for Full {
///     fn inner(&self) -> &dyn Device {
///         &self.0
///     }
///
///     fn inner_mut(&mut self) -> &mut dyn Device {
///         &mut self.0
///     }
///
///     fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
///         self.1 += 1;
///         if self.1 > 3 {
///             return Err(DeviceError::Memory { device: "full".into(), bytes });
///         }
///         self.0.alloc(bytes)
///     }
/// }
///
/// let mut device: Box<dyn Device> = Box::new(Full(NullDevice::default(), 0));
/// let results = [64; 4].map(|bytes| device.alloc(bytes).is_ok());
/// assert_eq!(results, [true, true, true, false]);
/// ```
pub trait Forward: Send {
    /// The device behind this one.
    fn inner(&self) -> &dyn Device;

    /// The device behind this one.
    fn inner_mut(&mut self) -> &mut dyn Device;

    /// [`Device::caps`]
    fn caps(&self) -> &Caps {
        self.inner().caps()
    }

    /// [`Device::alloc`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        self.inner_mut().alloc(bytes)
    }

    /// [`Device::commit`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        self.inner_mut().commit(buffers)
    }

    /// [`Device::write`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inner_mut().write(buffer, offset, bytes)
    }

    /// [`Device::read`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.inner().read(buffer, offset, out)
    }

    /// [`Device::read_several`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn read_several(&self, from: &[(BufferId, Range<usize>)], out: &mut [u8]) -> Result<(), DeviceError> {
        self.inner().read_several(from, out)
    }

    /// [`Device::read_wide`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn read_wide(&mut self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.inner_mut().read_wide(buffer, offset, out)
    }

    /// [`Device::pack`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        self.inner_mut().pack(weight)
    }

    /// [`Device::compile`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        self.inner_mut().compile(program)
    }

    /// [`Device::replay`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.inner_mut().replay(program, sizes)
    }

    /// [`Device::wait`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn wait(&mut self) -> Result<(), DeviceError> {
        self.inner_mut().wait()
    }

    /// [`Device::text`]
    fn text(&self) -> Option<&dyn SourceText> {
        self.inner().text()
    }

    /// [`Device::free_memory`]
    fn free_memory(&self) -> Option<u64> {
        self.inner().free_memory()
    }

    /// [`Device::probe`]
    ///
    /// # Errors
    /// Those of the inner device.
    fn probe(&self, bytes: usize) -> Result<Option<Box<dyn Probe>>, DeviceError> {
        self.inner().probe(bytes)
    }

    /// [`Device::timing`]
    fn timing(&mut self) -> Option<&mut dyn Timing> {
        self.inner_mut().timing()
    }

    /// [`Device::tuning`]
    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        self.inner_mut().tuning()
    }

    /// [`Device::staging`]
    fn staging(&mut self) -> Option<&mut dyn Staging> {
        self.inner_mut().staging()
    }

    /// [`Device::streaming`]
    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        self.inner_mut().streaming()
    }

    /// [`Device::placement`]
    fn placement(&mut self) -> Option<&mut dyn Placement> {
        self.inner_mut().placement()
    }

    /// [`Device::checkpoints`]
    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        self.inner_mut().checkpoints()
    }
}

impl<F: Forward> Device for F {
    fn caps(&self) -> &Caps {
        Forward::caps(self)
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        Forward::alloc(self, bytes)
    }

    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        Forward::commit(self, buffers)
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        Forward::write(self, buffer, offset, bytes)
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        Forward::read(self, buffer, offset, out)
    }

    fn read_several(&self, from: &[(BufferId, Range<usize>)], out: &mut [u8]) -> Result<(), DeviceError> {
        Forward::read_several(self, from, out)
    }

    fn read_wide(&mut self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        Forward::read_wide(self, buffer, offset, out)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        Forward::pack(self, weight)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        Forward::compile(self, program)
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        Forward::replay(self, program, sizes)
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        Forward::wait(self)
    }

    fn text(&self) -> Option<&dyn SourceText> {
        Forward::text(self)
    }

    fn free_memory(&self) -> Option<u64> {
        Forward::free_memory(self)
    }

    fn probe(&self, bytes: usize) -> Result<Option<Box<dyn Probe>>, DeviceError> {
        Forward::probe(self, bytes)
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        Forward::timing(self)
    }

    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        Forward::tuning(self)
    }

    fn staging(&mut self) -> Option<&mut dyn Staging> {
        Forward::staging(self)
    }

    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        Forward::streaming(self)
    }

    fn placement(&mut self) -> Option<&mut dyn Placement> {
        Forward::placement(self)
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Forward::checkpoints(self)
    }
}
