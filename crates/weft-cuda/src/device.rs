//! A card as a [`Device`].

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use weft_device::{
    BufferId, Caps, Checkpoints, Device, DeviceError, Mark, OpenError, OpenOptions, Probe, Program,
    ProgramId, RowsCopied, RowsOf16, SourceText, Span, Staging, Streaming, Timing, Timings, Tuning, Weight,
};
use weft_gpu::Scheduler;
use weft_kern::Sizes;
use weft_render::{Language, Slots, Target};

use crate::buffers::{self, Buffer, Buffers, HostMemory};
use crate::card::Card;
use crate::compile::{Compiled, compile};
use crate::crossing::Crossing;
use crate::cubins::Cubins;
use crate::driver::{Context, DeviceMemory, Failure};
use crate::error::error;
use crate::hardware::hardware;
use crate::probe::{self, CudaProbe};
use crate::streaming::Stream;

/// A device that runs kernels on an NVIDIA card.
///
/// Quantised weights are stored in tiles, all others as the file has them. A step is one launch of a graph, which returns before
/// the step has finished. A replay allocates nothing. An index in a step's data that is out of bounds is clamped silently.
#[derive(Debug)]
pub struct CudaDevice {
    // Dropped in this order: programs use buffers, and all use the context.
    programs: Vec<Compiled>,
    stream: Stream,
    buffers: Buffers,
    staging: HostMemory,
    crossing: Crossing,
    cubins: Cubins,
    scheduler: Scheduler,
    caps: Caps,
    context: Arc<Context>,
}

/// The schedules of a card's kernels, with those kept for it in a folder.
pub(crate) fn scheduler(card: &Card, folder: Option<&Path>) -> Scheduler {
    Scheduler::open(&card.key(), Target { language: Language::Cuda, gpu: card.gpu() }, folder)
}

impl CudaDevice {
    /// Opens a card.
    ///
    /// # Errors
    /// [`OpenError::Failed`] if Weft does not support it, or its driver refuses.
    pub fn open(card: &Card, options: &OpenOptions) -> Result<CudaDevice, OpenError> {
        let failed = |why: String| OpenError::Failed { device: card.name.clone(), why };
        if let Some(why) = card.unsupported() {
            return Err(failed(why));
        }
        let context = Context::open(card.handle).map_err(|failure| failed(failure.why))?;
        let name = format!("cuda ({})", card.name);
        let staging = HostMemory::new(&context).map_err(|failure| failed(failure.why))?;
        let crossing = Crossing::new(&context, &name).map_err(|failure| failed(failure.why))?;
        let folder = options.folder.as_deref();
        // As many words as kernels can address.
        let largest = card.memory.min(card.gpu().binding_bytes as usize) & !3;
        Ok(CudaDevice {
            programs: Vec::new(),
            stream: Stream::default(),
            buffers: Buffers::default(),
            staging,
            crossing,
            cubins: Cubins::new(card, folder),
            scheduler: scheduler(card, options.schedule_folder()),
            caps: Caps {
                name,
                threads: options.host_threads(),
                largest_buffer: largest,
                largest_weight: largest,
                hardware: hardware(card),
                packing: Some(&RowsOf16),
                streams: true,
            },
            context,
        })
    }

    /// Checks that a buffer can have `bytes` bytes.
    fn check_size(&self, bytes: usize) -> Result<(), DeviceError> {
        let Caps { name, largest_buffer, .. } = &self.caps;
        if bytes <= *largest_buffer {
            return Ok(());
        }
        Err(DeviceError::TooLarge { device: name.clone(), bytes, largest: *largest_buffer })
    }

    fn program(&mut self, id: ProgramId, sizes: &Sizes) -> Result<&mut Compiled, DeviceError> {
        let found = self.programs.get_mut(id.0 as usize);
        let program = found.ok_or_else(|| DeviceError::Usage(format!("{id:?} does not exist")))?;
        if !sizes.fit(&program.max) {
            let max = program.max;
            return Err(DeviceError::Usage(format!("{sizes:?} exceed what was compiled for: {max:?}")));
        }
        Ok(program)
    }

    fn failed(&self, what: &str, bytes: usize, failure: &Failure) -> DeviceError {
        error(&self.caps.name, what, bytes, failure)
    }
}

impl Device for CudaDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        self.check_size(bytes)?;
        // Kernels read whole words.
        let memory = DeviceMemory::zeroed(&self.context, bytes.next_multiple_of(4));
        let memory = memory.map_err(|failure| self.failed("a buffer", bytes, &failure))?;
        self.buffers.add(Buffer { memory, bytes, weight: None })
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = self.buffers.for_host(buffer, offset, bytes.len())?;
        let written = self.staging.write(&to.memory, offset, bytes);
        written.map_err(|failure| self.failed("bytes for a buffer", bytes.len(), &failure))
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let from = self.buffers.for_host(buffer, offset, out.len())?;
        let read = self.staging.read(&from.memory, offset, out);
        read.map_err(|failure| self.failed("to read a buffer", out.len(), &failure))
    }

    fn read_several(&self, from: &[(BufferId, Range<usize>)], out: &mut [u8]) -> Result<(), DeviceError> {
        let bytes = out.len();
        for (buffer, range) in from {
            self.buffers.for_host(*buffer, range.start, range.len())?;
        }
        let ranges = from.iter().filter_map(|(buffer, range)| {
            let from = self.buffers.for_host(*buffer, range.start, range.len()).ok()?;
            Some((&from.memory, range.clone()))
        });
        self.staging
            .read_several(ranges, out)
            .map_err(|failure| self.failed("to read buffers", bytes, &failure))
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        weight.check()?;
        self.check_size(weft_gpu::WeightLayout::of(&weight).bytes(&weight)?)?;
        let name = &self.caps.name;
        let failed = |bytes: usize, failure: &Failure| error(name, "a weight", bytes, failure);
        let buffer = buffers::weight(&self.context, &mut self.staging, &weight, failed)?;
        self.buffers.add(buffer)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let CudaDevice { context, scheduler, buffers, cubins, caps, programs, .. } = self;
        cubins.keep(!scheduler.renderer.is_trying());
        let shaders =
            |kernel: usize, slots: &Slots| scheduler.shaders(&program.kernels[kernel], slots, &program.max);
        let compiled = compile(
            context,
            &caps.name,
            program,
            buffers,
            (scheduler.binds(), &shaders),
            cubins,
            caps.threads,
        )?;
        let id = u32::try_from(programs.len()).map_err(|_| DeviceError::Usage("too many programs".into()))?;
        programs.push(compiled);
        Ok(ProgramId(id))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let launched = self.program(program, sizes)?.launch(sizes);
        launched.map_err(|failure| self.failed("a step", 0, &failure))
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        self.context.wait().map_err(|failure| self.failed("to wait", 0, &failure))
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        Some(self)
    }

    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        Some(&mut self.scheduler)
    }

    fn text(&self) -> Option<&dyn SourceText> {
        Some(&self.scheduler)
    }

    fn free_memory(&self) -> Option<u64> {
        self.context.free_memory().ok()
    }

    fn probe(&self, _bytes: usize) -> Result<Option<Box<dyn Probe>>, DeviceError> {
        let gpu = &self.scheduler.renderer.target().gpu;
        if !gpu.features.matrix {
            return Ok(None);
        }
        // Without a compiler, only the results of the probe are unknown.
        let function = self.cubins.function(&self.context, &self.caps.name, &probe::shader());
        let Ok(function) = function else { return Ok(None) };
        let made = CudaProbe::new(&self.context, &self.caps.name, function, gpu.processors);
        Ok(Some(Box::new(made.map_err(|failure| self.failed("a measurement", 0, &failure))?)))
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }

    fn staging(&mut self) -> Option<&mut dyn Staging> {
        Some(self)
    }

    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        Some(self)
    }
}

impl Staging for CudaDevice {
    fn room(&mut self, bytes: usize) -> Result<&mut [u8], DeviceError> {
        let name = &self.caps.name;
        self.staging.room(bytes).map_err(|failure| error(name, "to wait", 0, &failure))
    }

    fn send(&mut self, buffer: BufferId, offset: usize, bytes: usize) -> Result<(), DeviceError> {
        let to = self.buffers.for_host(buffer, offset, bytes)?;
        let sent = self.staging.send(&to.memory, offset, bytes);
        sent.map_err(|failure| self.failed("bytes for a buffer", bytes, &failure))
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), DeviceError> {
        self.crossing.reserve(bytes)
    }

    fn fetch(&mut self, from: &[(BufferId, Range<usize>)]) -> Result<(), DeviceError> {
        let CudaDevice { buffers, crossing, .. } = self;
        crossing.fetch(memories(buffers, from)?)
    }

    fn fetched(&mut self) -> Result<&[u8], DeviceError> {
        self.crossing.fetched()
    }
}

/// Ranges of the memories of buffers that are not weights.
fn memories<'b>(
    buffers: &'b Buffers,
    ranges: &'b [(BufferId, Range<usize>)],
) -> Result<impl Iterator<Item = (&'b DeviceMemory, Range<usize>)> + Clone, DeviceError> {
    for (buffer, range) in ranges {
        buffers.for_host(*buffer, range.start, range.len())?;
    }
    Ok(ranges.iter().map(|(buffer, range)| (&buffers[*buffer].memory, range.clone())))
}

impl Streaming for CudaDevice {
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError> {
        let CudaDevice { buffers, stream, context, caps, .. } = self;
        let to = buffers.get(buffer);
        let to = to.ok_or_else(|| DeviceError::Usage(format!("{buffer:?} does not exist")))?;
        let failed = |failure: &Failure| error(&caps.name, "to replace a weight", to.bytes, failure);
        stream.prepare(context, (buffer, to), with, failed)
    }

    fn replace(&mut self, buffer: BufferId, with: &Weight, rows: &[RowsCopied]) -> Result<(), DeviceError> {
        let CudaDevice { buffers, stream, staging, caps, .. } = self;
        let to = buffers.get(buffer);
        let to = to.ok_or_else(|| DeviceError::Usage(format!("{buffer:?} does not exist")))?;
        let failed = |failure: &Failure| error(&caps.name, "to replace a weight", to.bytes, failure);
        stream.replace(staging, (buffer, to), (with, rows), failed)
    }

    fn is_replaced(&mut self, buffer: BufferId) -> Result<bool, DeviceError> {
        let replaced = self.stream.is_replaced(&self.context, buffer);
        replaced.map_err(|failure| self.failed("to replace a weight", 0, &failure))
    }

    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError> {
        self.stream.wait_for(&self.context, buffer).map_err(|failure| self.failed("to wait", 0, &failure))
    }
}

impl Timing for CudaDevice {
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        self.wait()?;
        let context = Arc::clone(&self.context);
        let compiled = self.program(program, sizes)?;
        timings.begin(1, compiled.launches());
        let lane = timings.lane(0);
        let submitted = timings.origin().map_or(0, |origin| origin.elapsed().as_nanos() as u64);
        let timed = compiled.launch_timed(&context, sizes, &mut |launch, begin, end| {
            let (begin, done) = (submitted + begin, submitted + end);
            lane.set(launch, Span { begin, done, free: done });
        });
        timed.map_err(|failure| self.failed("a timed step", 0, &failure))
    }
}

impl Checkpoints for CudaDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.programs.truncate(mark.programs);
        self.stream.truncate(mark.buffers);
        self.buffers.truncate(mark.buffers);
    }
}
