//! The reference device: runs programs in the kernel interpreter. Slow, and the definition of what every other device computes.

use weft_kern::{Format, Sizes, interp};

use crate::backend::{Backend, OpenError, OpenOptions};
use crate::checkpoints::{Checkpoints, Mark};
use crate::device::{Caps, Device};
use crate::error::DeviceError;
use crate::hardware::Hardware;
use crate::ids::{BufferId, ProgramId};
use crate::info::{DeviceInfo, DeviceKind};
use crate::program::{KernelLaunch, Program, Region};
use crate::target::Target;
use crate::weight::{Weight, WeightBytes};

/// The [`Backend`] of the reference device.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceBackend;

impl Backend for ReferenceBackend {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn about(&self) -> &'static str {
        "the kernel interpreter, slow, to check other devices against"
    }

    fn probe(&self) -> Vec<DeviceInfo> {
        vec![DeviceInfo {
            name: self.about().into(),
            kind: DeviceKind::Software,
            interface: None,
            driver: None,
            memory_bytes: None,
            facts: Vec::new(),
        }]
    }

    fn open(&self, _: Option<&str>, _: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        Ok(Box::new(ReferenceDevice::default()))
    }

    fn target(&self, _: Option<&str>, _: &OpenOptions) -> Result<Target, OpenError> {
        Ok(Target { hardware: Hardware::common("reference"), text: None })
    }
}

/// Runs programs in the interpreter.
pub struct ReferenceDevice {
    caps: Caps,
    buffers: Vec<Memory>,
    programs: Vec<Program>,
}

enum Memory {
    Plain(Vec<u8>),
    Weight(WeightBytes),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Plain(bytes) => bytes,
            Memory::Weight(bytes) => (**bytes).as_ref(),
        }
    }
}

impl Default for ReferenceDevice {
    fn default() -> ReferenceDevice {
        let caps = Caps {
            name: "reference (interpreter)".into(),
            threads: 1,
            largest_buffer: isize::MAX as usize,
            largest_weight: isize::MAX as usize,
            hardware: Hardware::common("reference"),
            packing: None,
            streams: false,
        };
        ReferenceDevice { caps, buffers: Vec::new(), programs: Vec::new() }
    }
}

impl ReferenceDevice {
    fn push(&mut self, memory: Memory) -> BufferId {
        self.buffers.push(memory);
        BufferId(self.buffers.len() as u32 - 1)
    }

    fn range(
        &self,
        buffer: BufferId,
        offset: usize,
        len: usize,
    ) -> Result<std::ops::Range<usize>, DeviceError> {
        let size = self.buffers.get(buffer.0 as usize).map(|m| m.bytes().len());
        match (size, offset.checked_add(len)) {
            (Some(size), Some(end)) if end <= size => Ok(offset..end),
            _ => Err(DeviceError::Usage(format!("{len} bytes at {offset} of {buffer:?} do not exist"))),
        }
    }

    fn region(&self, region: &Region, format: Format) -> Result<&[u8], DeviceError> {
        let len = format.bytes(region.values).unwrap_or(usize::MAX);
        let range = self.range(region.buffer, region.offset, len)?;
        Ok(&self.buffers[region.buffer.0 as usize].bytes()[range])
    }

    /// Interprets a launch. Returns what it writes.
    fn launch(
        &self,
        program: &Program,
        launch: &KernelLaunch,
        sizes: &Sizes,
    ) -> Result<Vec<(Region, Vec<u8>)>, DeviceError> {
        let kernel = &program.kernels[launch.kernel];
        let usage = |e: interp::BufferError| DeviceError::Usage(e.to_string());
        let mut args = Vec::with_capacity(launch.args.len());
        for (region, param) in launch.args.iter().zip(&kernel.params) {
            let bytes = self.region(region, param.format)?;
            args.push(interp::Buffer::from_bytes(param.format, region.values, bytes).map_err(usage)?);
        }
        interp::run(kernel, &mut args, sizes)
            .map_err(|_| DeviceError::Index { kernel: kernel.name.clone() })?;
        let written = launch.args.iter().zip(&kernel.params).zip(&args);
        Ok(written
            .filter(|((_, param), _)| param.access.writes())
            .map(|((region, _), buffer)| (*region, buffer.to_bytes()))
            .collect())
    }
}

impl Device for ReferenceDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        let mut memory = Vec::new();
        let refused = |_| DeviceError::Memory { device: self.caps.name.clone(), bytes };
        memory.try_reserve_exact(bytes).map_err(refused)?;
        memory.resize(bytes, 0);
        Ok(self.push(Memory::Plain(memory)))
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let range = self.range(buffer, offset, bytes.len())?;
        match &mut self.buffers[buffer.0 as usize] {
            Memory::Plain(memory) => memory[range].copy_from_slice(bytes),
            Memory::Weight(_) => return Err(DeviceError::Usage(format!("{buffer:?} is a weight"))),
        }
        Ok(())
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range(buffer, offset, out.len())?;
        out.copy_from_slice(&self.buffers[buffer.0 as usize].bytes()[range]);
        Ok(())
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        weight.check()?;
        Ok(self.push(Memory::Weight(weight.bytes)))
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        program.verify(|b| self.buffers.get(b.0 as usize).map(|m| m.bytes().len()))?;
        self.programs.push(program.clone());
        Ok(ProgramId(self.programs.len() as u32 - 1))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let found = self.programs.get(program.0 as usize);
        let program = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?.clone();
        if !sizes.fit(&program.max) {
            return Err(DeviceError::Usage(format!("{sizes:?} exceed {:?}", program.max)));
        }
        for launch in &program.launches {
            for (region, bytes) in self.launch(&program, launch, sizes)? {
                self.write(region.buffer, region.offset, &bytes)?;
            }
        }
        Ok(())
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }
}

impl Checkpoints for ReferenceDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.programs.truncate(mark.programs);
        self.buffers.truncate(mark.buffers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewound_device_keeps_what_was_there_at_the_mark() {
        let mut device = ReferenceBackend.open(None, &OpenOptions::default()).unwrap();
        let nothing = Program { max: Sizes::default(), kernels: Vec::new(), launches: Vec::new() };
        let kept = (device.alloc(4).unwrap(), device.compile(&nothing).unwrap());
        device.write(kept.0, 0, &[1, 2, 3, 4]).unwrap();
        let mark = Mark::of(&mut *device).unwrap();
        let gone = (device.alloc(4).unwrap(), device.compile(&nothing).unwrap());
        mark.restore(&mut *device);
        let mut bytes = [0; 4];
        device.read(kept.0, 0, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4]);
        device.replay(kept.1, &Sizes::default()).unwrap();
        assert!(matches!(device.read(gone.0, 0, &mut bytes), Err(DeviceError::Usage(_))));
        assert!(matches!(device.replay(gone.1, &Sizes::default()), Err(DeviceError::Usage(_))));
    }
}
