//! A device that checks everything and computes nothing, for tests of the code above a device.

use weft_kern::Sizes;

use crate::checkpoints::{Checkpoints, Mark};
use crate::device::{Caps, Device};
use crate::error::DeviceError;
use crate::hardware::Hardware;
use crate::ids::{BufferId, ProgramId};
use crate::program::Program;
use crate::weight::Weight;

/// Accepts weights and programs and runs nothing. Buffers read as zeros.
#[derive(Debug)]
pub struct NullDevice {
    caps: Caps,
    /// Bytes of each buffer.
    buffers: Vec<usize>,
    programs: Vec<Program>,
}

impl Default for NullDevice {
    fn default() -> NullDevice {
        NullDevice {
            caps: Caps {
                name: "null".into(),
                threads: 1,
                largest_buffer: usize::MAX,
                largest_weight: usize::MAX,
                hardware: Hardware::common("null"),
                packing: None,
                streams: false,
            },
            buffers: Vec::new(),
            programs: Vec::new(),
        }
    }
}

impl NullDevice {
    /// A device that limits buffers and weights to `bytes` bytes.
    pub fn with_largest_buffer(bytes: usize) -> NullDevice {
        let device = NullDevice::default();
        NullDevice { caps: Caps { largest_buffer: bytes, largest_weight: bytes, ..device.caps }, ..device }
    }

    /// The programs compiled so far.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Bytes of all buffers, weights included.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().sum()
    }

    fn new_buffer(&mut self, bytes: usize) -> BufferId {
        self.buffers.push(bytes);
        BufferId(self.buffers.len() as u32 - 1)
    }

    fn check(&self, buffer: BufferId, offset: usize, len: usize) -> Result<(), DeviceError> {
        match (self.buffers.get(buffer.0 as usize), offset.checked_add(len)) {
            (Some(bytes), Some(end)) if end <= *bytes => Ok(()),
            _ => Err(DeviceError::Usage(format!("{len} bytes at {offset} of {buffer:?} do not exist"))),
        }
    }
}

impl Device for NullDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        Ok(self.new_buffer(bytes))
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check(buffer, offset, bytes.len())
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.check(buffer, offset, out.len())?;
        out.fill(0);
        Ok(())
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        weight.check()?;
        Ok(self.new_buffer((*weight.bytes).as_ref().len()))
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        program.verify(|b| self.buffers.get(b.0 as usize).copied())?;
        self.programs.push(program.clone());
        Ok(ProgramId(self.programs.len() as u32 - 1))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let found = self.programs.get(program.0 as usize);
        let max = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?.max;
        if sizes.fit(&max) { Ok(()) } else { Err(DeviceError::Usage(format!("{sizes:?} exceed {max:?}"))) }
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }
}

impl Checkpoints for NullDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.programs.truncate(mark.programs);
        self.buffers.truncate(mark.buffers);
    }
}
