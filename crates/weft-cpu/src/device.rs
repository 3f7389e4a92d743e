//! The CPU as a [`Device`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use weft_device::{
    BufferId, Caps, Checkpoints, Device, DeviceError, Mark, Probe, Program, ProgramId, RowsOf16, Timing,
    Timings, Weight,
};
use weft_host::available_memory;
use weft_kern::Sizes;

use crate::buffer::Buffer;
use crate::compile::{Compiled, Launch, compile};
use crate::crowd::Crowd;
use crate::hardware::{MAX_THREADS, hardware, threads};
use crate::isa::{Arch, Isa, missing};
use crate::memory::Memory;
use crate::probe::CpuProbe;
use crate::scratch::Scratch;
use crate::team::Team;

/// How to open the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuOptions {
    /// Threads that compute a step, including the calling one; by default as many as the machine runs at once.
    pub threads: Option<usize>,
    /// The instruction set; by default the fastest the processor has. All give the same bits.
    pub isa: Option<Isa>,
}

/// A device that runs kernels on the CPU, on its own thread pool.
///
/// Weights are read in place, as the file stores them or in tiles. The same program on the same data gives the same bits on any
/// machine, with any number of threads and any instruction set, except for `sin` and `cos`, which the system computes.
#[derive(Debug)]
pub struct CpuDevice {
    caps: Caps,
    arch: Arch,
    crowd: Crowd,
    team: Team,
    /// One for each thread.
    scratch: Vec<Scratch>,
    // Programs point into buffers made before them, so `rewind` drops programs no later than their buffers.
    buffers: Vec<Buffer>,
    programs: Vec<Compiled>,
}

impl CpuDevice {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if the instruction set is not available, or the threads cannot be started.
    pub fn new(options: CpuOptions) -> Result<CpuDevice, DeviceError> {
        let isa = options.isa.unwrap_or_else(Isa::best);
        let arch = Arch::new(isa).ok_or_else(|| missing(isa.name()))?;
        let threads = threads(options.threads);
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(DeviceError::Usage(format!("{threads} threads; give between 1 and {MAX_THREADS}")));
        }
        let team = Team::new(threads).map_err(|error| {
            DeviceError::Usage(format!("cannot start {threads} threads: {error}; try fewer"))
        })?;
        let name = format!("cpu ({isa}), {threads} thread{}", if threads == 1 { "" } else { "s" });
        Ok(CpuDevice {
            caps: Caps {
                name,
                threads,
                largest_buffer: isize::MAX as usize,
                largest_weight: isize::MAX as usize,
                hardware: hardware(isa, Some(threads)),
                packing: Some(&RowsOf16),
                streams: false,
            },
            arch,
            crowd: Crowd::new(threads),
            team,
            scratch: (0..threads).map(|_| Scratch::default()).collect(),
            buffers: Vec::new(),
            programs: Vec::new(),
        })
    }

    /// From now on computes each step on another number of threads than the one before, for tests: no bit depends on it. Without
    /// this the number changes only while other programs want the cores.
    pub fn vary_threads(&mut self) {
        self.crowd.vary();
    }

    fn out_of_memory(&self, bytes: usize) -> DeviceError {
        DeviceError::Memory { device: self.caps.name.clone(), bytes }
    }

    /// Runs a program once. With `timings`, records when each thread was at which launch.
    fn run(
        &mut self,
        id: ProgramId,
        sizes: &Sizes,
        timings: Option<&mut Timings>,
    ) -> Result<(), DeviceError> {
        let found = self.programs.get_mut(id.0 as usize);
        let program = found.ok_or_else(|| DeviceError::Usage(format!("{id:?} does not exist")))?;
        if !sizes.fit(&program.max) {
            let max = program.max;
            return Err(DeviceError::Usage(format!("{sizes:?} exceed those it was compiled for: {max:?}")));
        }
        if std::mem::replace(&mut program.broken, true) {
            program.launches.iter().for_each(Launch::sweep);
        }
        /// The value while no launch has met a bad index.
        const NONE: usize = usize::MAX;
        let fault = AtomicUsize::new(NONE);
        let arch = self.arch;
        let timings = timings.map(|timings| {
            timings.begin(self.scratch.len(), program.of);
            &*timings
        });
        let kind = (id.0 as u64) << 32 | sizes.tokens as u64;
        // Lanes are those of all threads.
        let threads = if timings.is_some() { self.team.threads() } else { self.crowd.threads(kind) };
        let begun = Instant::now();
        let lost = self.team.run_on(&mut self.scratch[..threads], &|member, scratch| {
            let mut lane = timings.map(|timings| timings.lane(member.index));
            for (i, launch) in program.launches.iter().enumerate() {
                if launch.run(arch, sizes, member, scratch).is_err() {
                    fault.fetch_min(i, Ordering::Relaxed);
                }
                if let Some(lane) = &mut lane {
                    lane.done();
                }
                member.wait()?;
                if let Some(lane) = &mut lane {
                    lane.free(launch.index);
                }
                if member.index == 0 {
                    launch.rewind();
                }
                // Other threads may already be in the next launch and meet a fault there, but all agree about this one.
                if fault.load(Ordering::Relaxed) <= i {
                    break;
                }
            }
            Ok(())
        });
        if timings.is_none() {
            self.crowd.took(kind, begun.elapsed(), lost);
        }
        match fault.into_inner() {
            NONE => {
                program.broken = false;
                Ok(())
            }
            i => Err(DeviceError::Index { kernel: program.launches[i].kernel.name.clone() }),
        }
    }

    fn add(&mut self, buffer: Buffer) -> Result<BufferId, DeviceError> {
        let id =
            u32::try_from(self.buffers.len()).map_err(|_| DeviceError::Usage("too many buffers".into()))?;
        self.buffers.push(buffer);
        Ok(BufferId(id))
    }
}

/// Why the host cannot access a range of a buffer.
fn out_of_reach(buffers: &[Buffer], id: BufferId, offset: usize, len: usize) -> DeviceError {
    DeviceError::Usage(match buffers.get(id.0 as usize) {
        None => format!("{id:?} does not exist"),
        Some(Buffer::Memory(memory)) => {
            format!("{len} bytes at {offset} of {id:?}, which has {}", memory.len())
        }
        Some(_) => format!("{id:?} is a weight, which only kernels can read"),
    })
}

/// Fewer bytes are copied by one thread.
const WIDE: usize = 1 << 20;

/// The most threads that copy. Eight read 78 of the 132 GB/s of a server with 16 processors (`bench/runs/2026-11-29-experts-outside.md`).
const COPIERS: usize = 8;

/// Copies bytes, many of them on several threads. Both are as long.
fn copy(team: &mut Team, from: &[u8], to: &mut [u8]) {
    let threads = team.threads().min(COPIERS);
    if from.len() < WIDE || threads < 2 {
        to.copy_from_slice(from);
        return;
    }
    let each = from.len().div_ceil(threads).next_multiple_of(64);
    let mut pieces: [(&[u8], &mut [u8]); COPIERS] = std::array::from_fn(|_| Default::default());
    let mut count = 0;
    for (piece, (from, to)) in pieces.iter_mut().zip(from.chunks(each).zip(to.chunks_mut(each))) {
        *piece = (from, to);
        count += 1;
    }
    team.run_on(&mut pieces[..count], &|_, (from, to)| {
        to.copy_from_slice(from);
        Ok(())
    });
}

impl Device for CpuDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        let memory = Memory::zeroed(bytes).ok_or_else(|| self.out_of_memory(bytes))?;
        self.add(Buffer::Memory(memory))
    }

    /// Where the system says how much memory is available, this fails rather than let the system end the process.
    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        let index = |buffer: &BufferId| buffer.0 as usize;
        let memories = buffers.iter().filter_map(|b| self.buffers.get(index(b))?.memory());
        let bytes: usize = memories.map(Memory::len).sum();
        if available_memory().is_some_and(|available| available < bytes as u64) {
            return Err(self.out_of_memory(bytes));
        }
        for buffer in buffers {
            if let Some(memory) = self.buffers.get_mut(index(buffer)).and_then(Buffer::memory_mut) {
                memory.commit();
            }
        }
        Ok(())
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let memory = self.buffers.get_mut(buffer.0 as usize).and_then(Buffer::memory_mut);
        let range = memory.and_then(|m| m.bytes_mut().get_mut(offset..)?.get_mut(..bytes.len()));
        match range {
            Some(range) => copy(&mut self.team, bytes, range),
            None => return Err(out_of_reach(&self.buffers, buffer, offset, bytes.len())),
        }
        Ok(())
    }

    fn read_wide(&mut self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let memory = self.buffers.get(buffer.0 as usize).and_then(Buffer::memory);
        match memory.and_then(|m| m.bytes().get(offset..)?.get(..out.len())) {
            Some(range) => copy(&mut self.team, range, out),
            None => return Err(out_of_reach(&self.buffers, buffer, offset, out.len())),
        }
        Ok(())
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let memory = self.buffers.get(buffer.0 as usize).and_then(Buffer::memory);
        match memory.and_then(|m| m.bytes().get(offset..)?.get(..out.len())) {
            Some(range) => out.copy_from_slice(range),
            None => return Err(out_of_reach(&self.buffers, buffer, offset, out.len())),
        }
        Ok(())
    }

    fn pack(&mut self, mut weight: Weight) -> Result<BufferId, DeviceError> {
        let bytes = weight.check()?;
        let tiles = weight.tiles.take();
        let mut buffer = Buffer::pack(weight).ok_or_else(|| self.out_of_memory(bytes))?;
        if let Some(tiles) = tiles {
            buffer.set_tiles(tiles).map_err(DeviceError::Usage)?;
        }
        self.add(buffer)
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let compiled = compile(program, &mut self.buffers, (self.arch, self.team.threads()))?;
        for scratch in &mut self.scratch {
            if scratch.grow(&compiled.needs).is_none() {
                return Err(self.out_of_memory(compiled.needs.bytes()));
            }
        }
        let id =
            u32::try_from(self.programs.len()).map_err(|_| DeviceError::Usage("too many programs".into()))?;
        self.programs.push(compiled);
        Ok(ProgramId(id))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        self.run(program, sizes, None)
    }

    fn probe(&self, bytes: usize) -> Result<Option<Box<dyn Probe>>, DeviceError> {
        Ok(Some(Box::new(CpuProbe::new(self.arch.isa(), bytes)?)))
    }

    fn timing(&mut self) -> Option<&mut dyn Timing> {
        Some(self)
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }
}

impl Timing for CpuDevice {
    fn replay_timed(
        &mut self,
        program: ProgramId,
        sizes: &Sizes,
        timings: &mut Timings,
    ) -> Result<(), DeviceError> {
        self.run(program, sizes, Some(timings))
    }
}

impl Checkpoints for CpuDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        // A program points only into buffers that existed when it was compiled. A mark older than an earlier `rewind` may count
        // programs compiled since, on buffers beyond those it counts. (No program has fewer buffers than the one before it.)
        let stay = self.programs.partition_point(|program| program.buffers <= mark.buffers);
        self.programs.truncate(mark.programs.min(stay));
        self.buffers.truncate(mark.buffers);
    }
}
