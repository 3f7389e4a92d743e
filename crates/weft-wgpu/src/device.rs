//! A GPU as a [`Device`].

use weft_device::{
    BufferId, Caps, Checkpoints, Device, DeviceError, DeviceKind, Mark, OpenError, OpenOptions, Program,
    ProgramId, RowsOf16, SourceText, Timing, Timings, Tuning, Weight,
};
use weft_gpu::Scheduler;
use weft_kern::Sizes;

use crate::adapter::Adapter;
use crate::buffers::{self, Buffers, Staging};
use crate::canary::Canary;
use crate::clock::Clock;
use crate::compile::{Apart, Compiled, compile};
use crate::context::Context;
use crate::hardware::{hardware, has_time_limit};
use crate::pipelines::Pipelines;
use crate::probe;
use crate::replay::{InFlight, replay};

/// A device that runs kernels on a GPU, through wgpu.
///
/// Quantised weights are stored in tiles, all others as the file has them; those that are larger than a kernel can bind are in
/// several buffers. A step is one submission, or several where the GPU also draws the screen; wgpu finds the dependencies between
/// its launches from what they bind. Each read checks that all submissions before it ran to their end. A replay allocates nothing
/// but what wgpu needs to encode it. An index in a step's data that is out of bounds is clamped silently.
#[derive(Debug)]
pub struct GpuDevice {
    caps: Caps,
    context: Context,
    scheduler: Scheduler,
    pipelines: Pipelines,
    buffers: Buffers,
    programs: Vec<Compiled>,
    staging: Staging,
    canary: Canary,
    /// Bytes that it can use, if it reports them.
    memory: Option<u64>,
    in_flight: InFlight,
}

impl GpuDevice {
    /// Opens a GPU.
    ///
    /// # Errors
    /// [`OpenError::Failed`] if its driver refuses.
    pub fn open(adapter: &Adapter, options: &OpenOptions) -> Result<GpuDevice, OpenError> {
        let threads = options.host_threads();
        let name = format!("gpu ({}, {})", adapter.name(), adapter.interface());
        let hardware = hardware(adapter, threads);
        let limited = has_time_limit(adapter.kind()).then_some(hardware.machine);
        let context = Context::open(adapter, name.clone(), limited)?;
        let failed =
            |error: DeviceError| OpenError::Failed { device: adapter.name().into(), why: error.to_string() };
        let canary = Canary::new(&context).map_err(failed)?;
        let by_value = adapter.gpu().features.cooperative_values
            && probe::multiplies_by_value(&context).map_err(failed)?;
        let pipelines = Pipelines::new(&context, adapter, options.folder.as_deref());
        let largest_buffer = adapter.largest_buffer();
        let largest_weight = usize::try_from(adapter.gpu().largest_weight()).unwrap_or(usize::MAX);
        Ok(GpuDevice {
            caps: Caps {
                name,
                threads,
                largest_buffer,
                largest_weight,
                hardware,
                packing: Some(&RowsOf16),
                streams: false,
            },
            context,
            scheduler: adapter.scheduler(options.schedule_folder(), by_value),
            pipelines,
            buffers: Buffers::default(),
            programs: Vec::new(),
            staging: Staging::default(),
            canary,
            // A software adapter uses the host's memory.
            memory: adapter.memory().filter(|_| adapter.kind() != DeviceKind::Software),
            in_flight: InFlight::default(),
        })
    }

    fn run(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: Option<&mut Timings>,
    ) -> Result<(), DeviceError> {
        let id = program.0 as usize;
        if timings.is_some() {
            self.compile_apart(id)?;
        }
        let GpuDevice { context, canary, programs, in_flight, .. } = self;
        let found = programs.get_mut(id);
        let mut found = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?;
        if timings.is_some() && found.apart.is_some() {
            let apart = found.apart.as_mut().and_then(|apart| apart.compiled.as_mut());
            found = apart.ok_or_else(|| DeviceError::Usage(format!("{program:?} is not compiled")))?;
        }
        replay((context, canary), found, sizes, timings, in_flight)
    }

    /// Compiles a program with chains without them, unless that has been done: launches of a chain can only be timed together.
    fn compile_apart(&mut self, id: usize) -> Result<(), DeviceError> {
        let GpuDevice { context, canary, buffers, pipelines, programs, caps, .. } = self;
        let apart = programs.get_mut(id).and_then(|program| program.apart.as_mut());
        if let Some(Apart { program, scheduler, compiled: compiled @ None }) = apart.map(|apart| &mut **apart)
        {
            let with = (&*program, &*scheduler);
            *compiled = Some(compile((context, canary), with, buffers, false, pipelines, caps.threads)?);
        }
        Ok(())
    }
}

impl Device for GpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        let buffer = buffers::zeroed(&self.context, bytes, self.caps.largest_buffer)?;
        self.buffers.add(buffer)
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.buffers.for_host(buffer, offset, bytes.len())?;
        buffers::write(&self.context, (&self.staging, &self.canary), to, offset, bytes)
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let buffer = self.buffers.for_host(buffer, offset, out.len())?;
        self.staging.read(&self.context, &self.canary, buffer, offset, out)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let gpu = &self.scheduler.renderer.target().gpu;
        let buffer = buffers::weight(&self.context, &weight, gpu, self.caps.largest_weight)?;
        self.buffers.add(buffer)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let GpuDevice { context, canary, scheduler, buffers, pipelines, caps, .. } = self;
        let with = (program, &*scheduler);
        let compiled = compile((context, canary), with, buffers, true, pipelines, caps.threads)?;
        let id =
            u32::try_from(self.programs.len()).map_err(|_| DeviceError::Usage("too many programs".into()))?;
        self.programs.push(compiled);
        Ok(ProgramId(id))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.run(program, sizes, None)
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        self.in_flight.wait(&self.context)
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        if Clock::is_there(&self.context) { Some(self) } else { None }
    }

    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        Some(&mut self.scheduler)
    }

    fn text(&self) -> Option<&dyn SourceText> {
        Some(&self.scheduler)
    }

    /// The memory that this device has not taken; other programs may have taken some of it.
    fn free_memory(&self) -> Option<u64> {
        self.memory.map(|memory| memory.saturating_sub(self.buffers.bytes()))
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }
}

impl Timing for GpuDevice {
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        self.run(program, sizes, Some(timings))
    }
}

impl Checkpoints for GpuDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.programs.truncate(mark.programs);
        self.buffers.truncate(mark.buffers);
    }
}

#[cfg(test)]
mod tests;
