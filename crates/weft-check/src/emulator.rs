//! A device that runs CUDA texts on the CPU, slowly and strictly.
//!
//! Kernels are rendered as CUDA C++ and compiled by the system's C++ compiler, with a shim for what CUDA defines. The
//! threads of a block are fibers of one thread that take turns in a random order; blocks also run in a random order. Values
//! on which texts must not rely are poison or vary. Forbidden operations are errors: an access outside of a buffer or of
//! shared memory, a barrier or shuffle that not all lanes reach. If a launch may read a buffer before the previous launch has
//! ended, it reads the contents from before that launch.

mod compiler;
#[allow(unsafe_code, reason = "runs compiled texts")]
mod library;
mod memory;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use weft_device::{
    BufferId, Caps, Checkpoints, Device, DeviceError, Mark, Packing as _, Program, ProgramId, RowsCopied,
    RowsOf16, SourceText, Streaming, Tuning, Weight,
};
use weft_gpu::{Binds, Scheduler, ScratchBytes, WeightLayout, cuda_hardware, lay_out, slots};
use weft_kern::Sizes;
use weft_render::{COUNTER_BYTES, Content, Features, Gpu, Grid, Language, Shader, Slots, Target};

use crate::emulator::compiler::Compiler;
use crate::emulator::library::{Launch, Library};
use crate::emulator::memory::Memory;
use crate::emulator::text::Kernel;

/// The multiprocessors of an H200, and the bytes per second of its memory: models have the programs that they have there.
const PROCESSORS: u32 = 132;
const BANDWIDTH: u64 = 4_800_000_000_000;

/// The byte that scratch memory is filled with before a launch.
const POISON: u8 = 0xff;

/// Bytes of the largest buffer: more than any test needs.
const LARGEST: usize = 1 << 30;

/// Why there is no emulator.
const MISSING: &str = "the emulator needs Linux and g++ or clang++";

/// A device that runs CUDA texts on the CPU.
pub struct Emulator {
    caps: Caps,
    scheduler: Scheduler,
    compiler: Compiler,
    buffers: Vec<Buffer>,
    programs: Vec<Compiled>,
    /// Stacks of a block's threads.
    stacks: Vec<u8>,
    /// What weights get once they are waited for. Until then they have poison.
    coming: BTreeMap<BufferId, Vec<(Weight, RowsCopied)>>,
    /// How many kernels were launched; each is a new seed.
    launches: u64,
    /// The edit to texts before they are compiled.
    edit: Edit,
}

/// A change of a text.
type Edit = Box<dyn Fn(&str) -> String + Send>;

struct Buffer {
    memory: Memory,
    /// Its bytes as asked for; of a weight, as the file has it.
    bytes: usize,
    weight: Option<WeightLayout>,
}

struct Compiled {
    max: Sizes,
    library: Option<Library>,
    /// For each launch of the program, its shaders.
    launches: Vec<Vec<Dispatch>>,
    scratch: BTreeMap<Option<usize>, Memory>,
}

struct Dispatch {
    name: String,
    /// Which of the library's texts.
    entry: usize,
    args: Vec<u32>,
    /// The buffer of each slot, and its content.
    slots: Vec<BufferId>,
    contents: Vec<Content>,
    /// Whether each slot is written.
    written: Vec<bool>,
    /// The scratch memory that is one more slot, if one is.
    scratch: Option<Option<usize>>,
    lanes: u32,
    grid: Grid,
    releases_early: bool,
}

impl Dispatch {
    /// The buffers that no launch running at the same time writes.
    fn stable(&self) -> impl Iterator<Item = BufferId> {
        let all = self.slots.iter().zip(&self.contents);
        all.filter(|(_, content)| **content == Content::Stable).map(|(id, _)| *id)
    }

    /// The slot that has the memory of a buffer, stable or not: the one that is written, if one is. A user's text can have
    /// a buffer in several slots, of which the others get a copy.
    fn own_slot(&self, buffer: usize, stable: bool) -> Option<usize> {
        let all = self.slots.iter().zip(&self.contents).enumerate();
        let is = |(_, (id, content)): &(usize, (&BufferId, &Content))| {
            (id.0 as usize, **content == Content::Stable) == (buffer, stable)
        };
        let own = all.filter(is).map(|(slot, _)| slot);
        own.min_by_key(|slot| !self.written.get(*slot).copied().unwrap_or(false))
    }

    /// The slots that get a copy.
    fn copied(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|slot| {
            let stable = self.contents[*slot] == Content::Stable;
            self.own_slot(self.slots[*slot].0 as usize, stable) != Some(*slot)
        })
    }
}

impl Emulator {
    /// Opens it. Compiled texts are kept in this folder. `None` without a C++ compiler or Linux.
    pub fn open(folder: &Path) -> Option<Emulator> {
        Emulator::with_processors(folder, PROCESSORS)
    }

    fn with_processors(folder: &Path, processors: u32) -> Option<Emulator> {
        let gpu = Gpu::of_cuda((9, 0), processors);
        let target = Target { language: Language::Cuda, gpu };
        let name = String::from("emulator of CUDA");
        let caps = Caps {
            name: "emulator (CUDA)".into(),
            threads: 1,
            largest_buffer: LARGEST,
            largest_weight: LARGEST,
            hardware: cuda_hardware(name.clone(), name, processors, BANDWIDTH),
            packing: Some(&RowsOf16),
            streams: true,
        };
        Some(Emulator {
            caps,
            scheduler: Scheduler::open("emulator", target, None),
            compiler: Compiler::find(folder)?,
            buffers: Vec::new(),
            coming: BTreeMap::new(),
            programs: Vec::new(),
            stacks: Vec::new(),
            launches: 0,
            edit: Box::new(str::to_string),
        })
    }

    /// Opens it for a test. Without a C++ compiler the test is skipped with a message, or fails if
    /// `WEFT_TEST_EMULATOR` is set.
    pub fn for_test(test: &str, folder: &Path) -> Option<Emulator> {
        Emulator::small_for_test(test, folder, PROCESSORS)
    }

    /// Opens it for a test as [`for_test`](Emulator::for_test) does, with this number of multiprocessors.
    pub fn small_for_test(test: &str, folder: &Path, processors: u32) -> Option<Emulator> {
        let emulator = Emulator::with_processors(folder, processors);
        if emulator.is_none() {
            assert!(std::env::var_os("WEFT_TEST_EMULATOR").is_none(), "{test}: {MISSING}");
            // Past the harness, which captures what passing tests print.
            let _ = writeln!(std::io::stderr(), "{test} SKIPPED: {MISSING}");
        }
        emulator
    }

    /// The emulator with the texts of a GPU without matrix units, whose long steps multiply from panels.
    #[must_use]
    pub fn with_panels(self) -> Emulator {
        let gpu = Gpu::of_cuda((7, 5), PROCESSORS).with(multiply_from_panels);
        let target = Target { language: Language::Cuda, gpu };
        Emulator { scheduler: Scheduler::open("emulator", target, None), ..self }
    }

    /// The emulator with the texts of a GPU whose matrix units are cooperative matrices, which also multiply bytes and work element by
    /// element.
    #[must_use]
    pub fn with_cooperative_matrices(self) -> Emulator {
        self.cooperating(true)
    }

    /// The emulator with the texts of a GPU whose cooperative matrices multiply only halves.
    #[must_use]
    pub fn with_cooperative_halves(self) -> Emulator {
        self.cooperating(false)
    }

    fn cooperating(self, cooperative_values: bool) -> Emulator {
        let gpu = Gpu::of_cuda((7, 5), PROCESSORS).with(|features| {
            multiply_from_panels(features);
            (features.cooperative, features.cooperative_values) = (true, cooperative_values);
        });
        let target = Target { language: Language::Cuda, gpu };
        Emulator { scheduler: Scheduler::open("emulator", target, None), ..self }
    }

    /// Changes the texts of programs that are compiled from now on, to see that what is wrong with them is found.
    pub fn edit(&mut self, edit: impl Fn(&str) -> String + Send + 'static) {
        self.edit = Box::new(edit);
    }

    fn add(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// The index of a buffer that the host may access in this range.
    fn host_range(&self, id: BufferId, offset: usize, len: usize) -> Result<usize, DeviceError> {
        let index = id.0 as usize;
        match self.buffers.get(index) {
            None => Err(DeviceError::Usage(format!("{id:?} does not exist"))),
            Some(Buffer { weight: Some(_), .. }) => Err(DeviceError::Usage(format!("{id:?} is a weight"))),
            Some(buffer) if offset.checked_add(len).is_some_and(|end| end <= buffer.bytes) => Ok(index),
            Some(buffer) => {
                let has = buffer.bytes;
                Err(DeviceError::Usage(format!("{len} bytes at {offset} of {id:?}, which has {has}")))
            }
        }
    }

    fn memory(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let device = || self.caps.name.clone();
        match bytes <= LARGEST {
            true => Ok(Memory::zeroed(bytes)),
            false => Err(DeviceError::TooLarge { device: device(), bytes, largest: LARGEST }),
        }
    }
}

impl Emulator {
    /// The bytes of rows of a weight that are replaced.
    fn replaced(
        &mut self,
        buffer: BufferId,
        with: &Weight,
        copied: &RowsCopied,
    ) -> Result<&mut [u8], DeviceError> {
        let tile = RowsOf16.tile(with.ty, with.row_len);
        let wrong = || DeviceError::Usage(format!("{copied:?} of {buffer:?} are not whole tiles"));
        let tile = tile.ok_or_else(wrong)?;
        let bytes = self.buffers[buffer.0 as usize].memory.bytes_mut();
        let rows = bytes.len() / tile.bytes * tile.rows;
        let (from, to) = copied.bytes(tile, (with.rows, rows)).ok_or_else(wrong)?;
        bytes.get_mut(to..to + from.len()).ok_or_else(wrong)
    }
}

/// Writes a weight in this layout.
fn fill(bytes: &mut [u8], weight: &Weight, layout: WeightLayout) -> Result<(), DeviceError> {
    let mut at = 0;
    lay_out(weight, layout, |piece| {
        let to = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..piece.len()));
        let to = to.ok_or_else(|| DeviceError::Usage("a weight that is larger than its buffer".into()))?;
        to.copy_from_slice(piece);
        at += piece.len();
        Ok(())
    })
}

impl Streaming for Emulator {
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError> {
        let known = self.buffers.get(buffer.0 as usize);
        match known.is_some_and(|known| known.weight == Some(WeightLayout::of(with))) {
            true => Ok(()),
            false => Err(DeviceError::Usage(format!("{buffer:?} is no weight like {with:?}"))),
        }
    }

    /// The rows hold nothing until they are waited for.
    fn replace(&mut self, buffer: BufferId, with: &Weight, rows: &[RowsCopied]) -> Result<(), DeviceError> {
        self.prepare(buffer, with)?;
        for copied in rows {
            self.replaced(buffer, with, copied)?.fill(POISON);
            self.coming.entry(buffer).or_default().push((with.clone(), copied.clone()));
        }
        Ok(())
    }

    fn is_replaced(&mut self, buffer: BufferId) -> Result<bool, DeviceError> {
        let coming = self.coming.contains_key(&buffer);
        self.wait_for(buffer)?;
        Ok(!coming)
    }

    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError> {
        for (weight, copied) in self.coming.remove(&buffer).unwrap_or_default() {
            let part = weight.part(copied.from.clone(), RowsOf16.tile(weight.ty, weight.row_len));
            fill(self.replaced(buffer, &weight, &copied)?, &part, WeightLayout::of(&part))?;
        }
        Ok(())
    }
}

impl Device for Emulator {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        let memory = self.memory(bytes)?;
        Ok(self.add(Buffer { memory, bytes, weight: None }))
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let index = self.host_range(buffer, offset, bytes.len())?;
        self.buffers[index].memory.bytes_mut()[offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let index = self.host_range(buffer, offset, out.len())?;
        out.copy_from_slice(&self.buffers[index].memory.bytes()[offset..][..out.len()]);
        Ok(())
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        let bytes = weight.check()?;
        let layout = WeightLayout::of(&weight);
        let mut memory = self.memory(layout.bytes(&weight)?)?;
        fill(memory.bytes_mut(), &weight, layout)?;
        Ok(self.add(Buffer { memory, bytes, weight: Some(layout) }))
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        program.verify(|id| self.buffers.get(id.0 as usize).map(|buffer| buffer.bytes))?;
        let render = |kernel: usize, slots: &Slots| {
            self.scheduler.shaders(&program.kernels[kernel], slots, &program.max)
        };
        let layout = |id: BufferId| self.buffers[id.0 as usize].weight;
        let rendered = weft_gpu::render(&self.caps.name, program, layout, Binds::EARLY_CUDA, &render)?;
        // Each text once.
        let mut texts: Vec<Shader> = Vec::new();
        let mut launches = Vec::new();
        for (index, (launch, shaders)) in program.launches.iter().zip(&rendered).enumerate() {
            let dispatch = |shader: &Shader| {
                let (slots, bound) = slots(program, index, |id| Some(layout(id)?.pieces), Binds::EARLY_CUDA);
                let args = launch.args.iter().map(|region| (region.offset, region.values));
                let args = Shader::args(args).ok_or_else(|| DeviceError::Program {
                    launch: index,
                    kernel: shader.name.clone(),
                    why: "lies beyond what 32 bits can count".into(),
                })?;
                let source = (self.edit)(&shader.source);
                let is_it = |text: &Shader| {
                    (&text.source, &text.entry, text.shared_bytes)
                        == (&source, &shader.entry, shader.shared_bytes)
                };
                let known = texts.iter().position(is_it);
                let entry = known.unwrap_or_else(|| {
                    texts.push(Shader { source, ..shader.clone() });
                    texts.len() - 1
                });
                Ok(Dispatch {
                    name: shader.name.clone(),
                    entry,
                    args,
                    slots: bound,
                    contents: slots.contents,
                    written: shader.slots.clone(),
                    scratch: (shader.scratch_bytes > 0).then(|| ScratchBytes::of(launch.kernel, shader)),
                    lanes: shader.lanes,
                    grid: shader.grid.clone(),
                    releases_early: shader.releases_early,
                })
            };
            launches.push(shaders.iter().map(dispatch).collect::<Result<Vec<_>, DeviceError>>()?);
        }
        let mut scratch_bytes = ScratchBytes::default();
        for (launch, shaders) in program.launches.iter().zip(&rendered) {
            shaders.iter().for_each(|shader| scratch_bytes.add(launch.kernel, shader));
        }
        let mut scratch = BTreeMap::new();
        for (of, bytes) in scratch_bytes.iter() {
            scratch.insert(of, self.memory(usize::try_from(bytes).unwrap_or(usize::MAX))?);
        }
        let library = match texts.is_empty() {
            true => None,
            false => Some(self.library(&texts)?),
        };
        self.programs.push(Compiled { max: program.max, library, launches, scratch });
        Ok(ProgramId(self.programs.len() as u32 - 1))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let Emulator { caps, buffers, programs, stacks, launches, .. } = self;
        let found = programs.get_mut(program.0 as usize);
        let program = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?;
        if !sizes.fit(&program.max) {
            let max = program.max;
            return Err(DeviceError::Usage(format!("{sizes:?} exceed what was compiled for: {max:?}")));
        }
        let Some(library) = &program.library else { return Ok(()) };
        let has_work = |launch: &&Vec<Dispatch>| launch.iter().any(|each| each.grid.groups(sizes)[0] > 0);
        let working: Vec<_> = program.launches.iter().filter(has_work).collect();
        // A launch reads stable buffers as they were before the first launch that may run at the same time.
        let releases_early = |at: usize| working[at].iter().all(|dispatch| dispatch.releases_early);
        let mut beside: Vec<usize> = Vec::new();
        for at in 0..working.len() {
            beside.push(match at.checked_sub(1) {
                Some(before) if releases_early(before) => beside[before],
                before => before.unwrap_or(0),
            });
        }
        let mut found: BTreeMap<usize, BTreeMap<BufferId, Memory>> = BTreeMap::new();
        for (at, dispatches) in working.iter().enumerate() {
            for (of, _) in beside.iter().enumerate().filter(|(_, first)| **first == at) {
                let stable = working[of].iter().flat_map(Dispatch::stable).collect::<BTreeSet<_>>();
                let copies = stable.into_iter().map(|id| (id, buffers[id.0 as usize].memory.copy()));
                found.insert(of, copies.collect());
            }
            let mut before = found.remove(&at).unwrap_or_default();
            // Counters before chunks.
            for scratch in program.scratch.values_mut() {
                if let Some(chunks) = scratch.bytes_mut().get_mut(COUNTER_BYTES as usize..) {
                    chunks.fill(POISON);
                }
            }
            for dispatch in *dispatches {
                let [wide, high, _] = dispatch.grid.groups(sizes);
                if wide == 0 {
                    continue;
                }
                *launches += 1;
                let launch = Launch {
                    entry: dispatch.entry,
                    args: &dispatch.args,
                    sizes: Shader::sizes(sizes),
                    lanes: dispatch.lanes,
                    blocks: [wide, high],
                    seed: *launches,
                };
                let of_slot = |slot: usize| &buffers[dispatch.slots[slot].0 as usize].memory;
                let copies = dispatch.copied().map(|slot| (slot, of_slot(slot).copy()));
                let mut copies: BTreeMap<usize, Memory> = copies.collect();
                let mut bound: Vec<Option<&mut Memory>> = dispatch.slots.iter().map(|_| None).collect();
                let slot = |id: usize, stable: bool| dispatch.own_slot(id, stable);
                let live =
                    buffers.iter_mut().enumerate().map(|(id, buffer)| (slot(id, false), &mut buffer.memory));
                let stable = before.iter_mut().map(|(id, memory)| (slot(id.0 as usize, true), memory));
                for (slot, memory) in live.chain(stable) {
                    if let Some(slot) = slot {
                        bound[slot] = Some(memory);
                    }
                }
                for (slot, memory) in &mut copies {
                    bound[*slot] = Some(memory);
                }
                let scratch = dispatch.scratch.and_then(|of| program.scratch.get_mut(&of));
                let mut bound: Vec<&mut Memory> = bound.into_iter().flatten().chain(scratch).collect();
                let mut done =
                    library.launch(&launch, &mut bound.iter_mut().map(|memory| &mut **memory), stacks);
                if let Some(slot) = bound.iter().position(|memory| !memory.is_sound()) {
                    done = done.and(Err(format!("wrote beside slot {slot}")));
                }
                let counters = |scratch: &Memory| {
                    scratch.bytes().iter().take(COUNTER_BYTES as usize).any(|byte| *byte != 0)
                };
                if program.scratch.values().any(counters) {
                    done = done.and(Err("left counters that are not 0".into()));
                }
                done.map_err(|why| DeviceError::Refused {
                    device: caps.name.clone(),
                    what: format!("`{}`", dispatch.name),
                    why: format!("{why} (seed {launches})"),
                })?;
            }
        }
        Ok(())
    }

    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        Some(self)
    }

    fn tuning(&mut self) -> Option<&mut dyn Tuning> {
        Some(&mut self.scheduler)
    }

    fn text(&self) -> Option<&dyn SourceText> {
        Some(&self.scheduler)
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        Some(self)
    }
}

impl Emulator {
    /// Compiles texts to a library.
    fn library(&self, texts: &[Shader]) -> Result<Library, DeviceError> {
        let kernels: Vec<Kernel> = texts.iter().map(Kernel::of).collect();
        let compiled = self.compiler.library(&kernels);
        compiled.and_then(|path| Library::load(&path)).map_err(|why| DeviceError::Refused {
            device: self.caps.name.clone(),
            what: "the texts of a program".into(),
            why,
        })
    }
}

impl Checkpoints for Emulator {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.programs.truncate(mark.programs);
        self.buffers.truncate(mark.buffers);
    }
}

/// Switches a GPU's features to products from panels, as they are without matrix units.
fn multiply_from_panels(features: &mut Features) {
    (features.panels, features.panels_ahead, features.matrix_halves) = (true, true, false);
}
