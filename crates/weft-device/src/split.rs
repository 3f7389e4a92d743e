//! Two devices as one, for models that one of them has no room for.
//!
//! Weights and states are [placed](Placement) on one side. A launch runs where its weights and states are. One without them runs on the
//! first side if it reads what that has written, else on the second if it reads what that has written, else where the launch before it
//! ran. All other buffers exist on both sides, and a program copies what one side has written to the other before it is read there.
//!
//! Launches of one side that the next ones of the other side do not wait for run at the same time: they come last, and what those read is
//! copied before, so a device that runs asynchronously computes while the other one does.

mod cuts;
mod cutting;
mod order;
mod steps;
mod streams;

use std::ops::Range;
use std::time::Instant;

use weft_kern::{Access, Sizes};

use crate::checkpoints::{Checkpoints, Mark};
use crate::device::{Caps, Device};
use crate::error::DeviceError;
use crate::hardware::Hardware;
use crate::ids::{BufferId, ProgramId};
use crate::placement::{Crossings, Placement, Side};
use crate::program::{KernelLaunch, Program, Region};
use crate::split::cuts::{Cut, Part, Written};
use crate::split::steps::{Copy, Step, Steps};
use crate::split::streams::Streams;
use crate::streaming::{RowsCopied, Streaming};
use crate::target::SourceText;
use crate::weight::Weight;

/// Two devices that run programs together. See the [trait](Placement) that says what is where.
///
/// It has no abilities but [`Placement`], [`Streaming`] if the first device has it, and [`Checkpoints`] if both have them.
pub struct SplitDevice {
    sides: [Box<dyn Device>; 2],
    caps: Caps,
    place: Option<Side>,
    buffers: Vec<Held>,
    programs: Vec<Steps>,
    /// The bytes that are being copied from one device to the other, in the host's memory.
    crossing: Vec<u8>,
    streams: Streams,
    crossings: Crossings,
}

/// A buffer of both sides, or of one.
#[derive(Clone, Copy, Debug)]
struct Held {
    ids: [Option<BufferId>; 2],
    weight: bool,
    /// The number of the weight, if it is one of several that are read in turn in one buffer.
    streamed: Option<usize>,
    /// On which sides it has its current contents.
    current: [bool; 2],
}

impl Held {
    /// The only side that has it, if one does.
    fn side(&self) -> Option<Side> {
        match self.ids {
            [Some(_), None] => Some(Side::First),
            [None, Some(_)] => Some(Side::Second),
            _ => None,
        }
    }
}

impl SplitDevice {
    /// Two devices as one of this name. Plans are made for the hardware of the first. `numbers` identifies what is placed
    /// where, on which bits depend.
    pub fn new(first: Box<dyn Device>, second: Box<dyn Device>, name: String, numbers: &str) -> SplitDevice {
        let (a, b) = (first.caps(), second.caps());
        let numbers = format!("{}; {}; {numbers}", a.hardware.numbers, b.hardware.numbers);
        let rules_keep_bits = a.hardware.rules_keep_bits && b.hardware.rules_keep_bits;
        let same_packing = a.packing.map(|packing| packing.id()) == b.packing.map(|packing| packing.id());
        let caps = Caps {
            name,
            threads: a.threads.max(b.threads),
            largest_buffer: a.largest_buffer.min(b.largest_buffer),
            largest_weight: a.largest_weight.min(b.largest_weight),
            hardware: Hardware { numbers, rules_keep_bits, ..a.hardware.clone() },
            packing: a.packing.filter(|_| same_packing),
            streams: false,
        };
        let sides = [first, second];
        SplitDevice {
            sides,
            caps,
            place: None,
            buffers: Vec::new(),
            programs: Vec::new(),
            crossing: Vec::new(),
            streams: Streams::default(),
            crossings: Crossings::default(),
        }
    }

    fn held(&self, id: BufferId) -> Result<&Held, DeviceError> {
        let held = self.buffers.get(id.0 as usize);
        held.ok_or_else(|| DeviceError::Usage(format!("{id:?} does not exist")))
    }

    /// Makes a buffer on the sides where buffers are made.
    fn make(
        &mut self,
        weight: bool,
        mut make: impl FnMut(&mut dyn Device) -> Result<BufferId, DeviceError>,
    ) -> Result<BufferId, DeviceError> {
        let mut ids = [None; 2];
        for side in Side::ALL.into_iter().filter(|side| self.place.is_none_or(|place| place == *side)) {
            ids[side as usize] = Some(make(&mut *self.sides[side as usize])?);
        }
        self.add(Held { ids, weight, streamed: None, current: [true; 2] })
    }

    /// The first side, which replaces rows of a weight, and its buffer.
    fn replaced(&mut self, buffer: BufferId) -> Result<(&mut dyn Streaming, BufferId), DeviceError> {
        let id = self.held(buffer)?.ids[Side::First as usize];
        let streaming = self.sides[Side::First as usize].streaming();
        streaming.zip(id).ok_or_else(|| DeviceError::Usage(format!("{buffer:?} cannot be replaced")))
    }

    fn add(&mut self, held: Held) -> Result<BufferId, DeviceError> {
        let id = u32::try_from(self.buffers.len());
        let id = id.map_err(|_| DeviceError::Usage("too many buffers".into()))?;
        self.buffers.push(held);
        Ok(BufferId(id))
    }

    /// Where a launch must run: where its weights and states are. `None` if it has none.
    fn bound(&self, program: &Program, i: usize) -> Result<Option<Side>, DeviceError> {
        let KernelLaunch { kernel, args } = &program.launches[i];
        let mut bound = None;
        for Region { buffer, .. } in args {
            let side = self.held(*buffer)?.side();
            if bound.is_some() && side.is_some() && bound != side {
                return Err(DeviceError::Program {
                    launch: i,
                    kernel: program.kernels.get(*kernel).map_or_else(String::new, |k| k.name.clone()),
                    why: "has weights and states on two devices".into(),
                });
            }
            bound = bound.or(side);
        }
        Ok(bound)
    }

    /// The parts of buffers that exist on both sides which a launch reads or writes.
    fn mirrored(&self, program: &Program, i: usize) -> Result<Vec<(Part, Access)>, DeviceError> {
        let KernelLaunch { kernel, args } = &program.launches[i];
        let mut mirrored = Vec::new();
        for (region, param) in args.iter().zip(program.kernels.get(*kernel).iter().flat_map(|k| &k.params)) {
            let held = self.held(region.buffer)?;
            let bytes = param.format.bytes(region.values).unwrap_or(usize::MAX);
            let bytes = region.offset..region.offset.saturating_add(bytes);
            if held.side().is_none() && !held.weight {
                mirrored.push((Part { buffer: region.buffer, bytes }, param.access));
            }
        }
        Ok(mirrored)
    }

    /// Cuts a program where it goes from one side to the other.
    fn cuts(&self, program: &Program) -> Result<(Vec<Cut>, Vec<Written>), DeviceError> {
        let (mut cuts, mut written): (Vec<Cut>, Vec<Written>) = (Vec::new(), Vec::new());
        let all = 0..program.launches.len();
        let bound = all.map(|i| self.bound(program, i)).collect::<Result<Vec<_>, _>>()?;
        let mut last = bound.iter().flatten().next().copied().unwrap_or(Side::First);
        for (i, bound) in bound.into_iter().enumerate() {
            let mirrored = self.mirrored(program, i)?;
            let reads = || mirrored.iter().filter(|(_, access)| access.reads()).map(|(part, _)| part);
            let from = |side: Side| {
                let own = |known: &&Written| known.by == side;
                written.iter().filter(own).any(|known| reads().any(|part| known.part.overlap(part).is_some()))
            };
            let side =
                bound.unwrap_or_else(|| Side::ALL.into_iter().find(|side| from(*side)).unwrap_or(last));
            last = side;
            if cuts.last().is_none_or(|cut| cut.side != side) {
                cuts.push(Cut { side, copied: Vec::new(), found: Vec::new(), launches: i..i });
            }
            let Some(cut) = cuts.last_mut() else { continue };
            cut.launches.end = i + 1;
            reads().for_each(|part| cut.read(part, &mut written));
            for (part, _) in mirrored.iter().filter(|(_, access)| access.writes()) {
                cut.write(part, i, &mut written);
            }
        }
        Ok((cuts, written))
    }

    /// Takes a step of a program.
    fn step(&mut self, step: &Step, sizes: &Sizes) -> Result<(), DeviceError> {
        match step {
            Step::Fetch(side, from) => {
                let staging = self.sides[*side as usize].staging();
                staging.map_or(Ok(()), |staging| staging.fetch(from))
            }
            Step::Copy(copy) if copy.to == Side::Second => {
                let start = Instant::now();
                let copied = self.cross(copy);
                self.crossings.count += 1;
                self.crossings.waited += start.elapsed();
                copied
            }
            Step::Copy(copy) => self.cross(copy),
            Step::Find(buffer, copy) => {
                let Held { current, .. } = *self.held(*buffer)?;
                let found = !current[copy.to as usize] && current[copy.to.other() as usize];
                if found { self.cross(copy) } else { Ok(()) }
            }
            Step::Run(Side::First, program) => self.sides[Side::First as usize].replay(*program, sizes),
            Step::Run(Side::Second, program) => {
                let start = Instant::now();
                let done = self.sides[Side::Second as usize].replay(*program, sizes);
                self.crossings.second += start.elapsed();
                done
            }
            Step::Turn(turn) => self.streams.turn(&mut *self.sides[Side::First as usize], *turn),
        }
    }

    /// Copies what one side has to the other, in staged memory if that side has any.
    fn cross(&mut self, copy: &Copy) -> Result<(), DeviceError> {
        let [first, second] = &mut self.sides;
        let (source, target) = match copy.to {
            Side::First => (second, first),
            Side::Second => (first, second),
        };
        if copy.fetched
            && let Some(staging) = source.staging()
        {
            let mut rest = staging.fetched()?;
            for (to, bytes) in &copy.to_ranges {
                let Some((own, after)) = rest.split_at_checked(bytes.len()) else { break };
                target.write(*to, bytes.start, own)?;
                rest = after;
            }
            return Ok(());
        }
        let Some(staging) = target.staging() else { return self.cross_through(copy) };
        for ((from, Range { start, end }), (to, _)) in copy.from.iter().zip(&copy.to_ranges) {
            let mut at = *start;
            while at < *end {
                let room = staging.room(end - at)?;
                let count = room.len();
                source.read_wide(*from, at, room)?;
                staging.send(*to, at, count)?;
                at += count;
            }
        }
        Ok(())
    }

    /// The same for a side without staged memory.
    fn cross_through(&mut self, copy: &Copy) -> Result<(), DeviceError> {
        let Copy { to, from, to_ranges, .. } = copy;
        let mut rest = &mut self.crossing[..copy.bytes()];
        self.sides[to.other() as usize].read_several(from, rest)?;
        for (buffer, bytes) in to_ranges {
            let (own, after) = rest.split_at_mut(bytes.len());
            rest = after;
            self.sides[*to as usize].write(*buffer, bytes.start, own)?;
        }
        Ok(())
    }
}

impl Device for SplitDevice {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&mut self, bytes: usize) -> Result<BufferId, DeviceError> {
        self.make(false, |device| device.alloc(bytes))
    }

    fn commit(&mut self, buffers: &[BufferId]) -> Result<(), DeviceError> {
        for side in Side::ALL {
            let held = buffers.iter().map(|id| self.held(*id).map(|held| held.ids[side as usize]));
            let own: Vec<Option<BufferId>> = held.collect::<Result<_, _>>()?;
            self.sides[side as usize].commit(&own.into_iter().flatten().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn write(&mut self, buffer: BufferId, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let ids = self.held(buffer)?.ids;
        for (device, id) in self.sides.iter_mut().zip(ids) {
            id.map_or(Ok(()), |id| device.write(id, offset, bytes))?;
        }
        Ok(())
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        let Held { ids, current, .. } = self.held(buffer)?;
        let has = |side: &Side| ids[*side as usize].is_some();
        // The second device is nearer to the host, if either has the values.
        let side = Side::ALL.into_iter().rev().find(|side| has(side) && current[*side as usize]);
        let side = side.or_else(|| Side::ALL.into_iter().find(has)).unwrap_or(Side::First);
        let id = ids[side as usize].ok_or_else(|| DeviceError::Usage(format!("{buffer:?} is nowhere")))?;
        self.sides[side as usize].read(id, offset, out)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        self.make(true, |device| device.pack(weight.clone()))
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let steps = self.steps(program)?;
        let longest = steps.steps.iter().map(|step| match step {
            Step::Copy(copy) | Step::Find(_, copy) => copy.bytes(),
            Step::Fetch(..) | Step::Run(..) | Step::Turn(_) => 0,
        });
        let longest = longest.max().unwrap_or(0);
        self.crossing.resize(longest.max(self.crossing.len()), 0);
        let id = u32::try_from(self.programs.len());
        let id = id.map_err(|_| DeviceError::Usage("too many programs".into()))?;
        self.programs.push(steps);
        Ok(ProgramId(id))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let index = program.0 as usize;
        let found = self.programs.get_mut(index);
        let found = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?;
        // Taken out and put back, so that nothing is allocated.
        let steps = std::mem::take(&mut found.steps);
        let done = steps.iter().try_for_each(|step| self.step(step, sizes));
        let Steps { steps: taken, changed } = &mut self.programs[index];
        *taken = steps;
        for (buffer, on) in changed {
            self.buffers[buffer.0 as usize].current = *on;
        }
        done
    }

    fn wait(&mut self) -> Result<(), DeviceError> {
        self.sides.iter_mut().try_for_each(|device| device.wait())
    }

    fn placement(&mut self) -> Option<&mut dyn Placement> {
        Some(self)
    }

    fn streaming(&mut self) -> Option<&mut dyn Streaming> {
        let streams = self.sides[Side::First as usize].streaming().is_some();
        if streams { Some(self) } else { None }
    }

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        let both = self.sides.iter_mut().all(|device| device.checkpoints().is_some());
        if both { Some(self) } else { None }
    }
}

impl Placement for SplitDevice {
    fn name_of(&self, side: Side) -> &str {
        &self.sides[side as usize].caps().name
    }

    fn free_memory_of(&self, side: Side) -> Option<u64> {
        self.sides[side as usize].free_memory()
    }

    fn text_of(&self, side: Side) -> Option<&dyn SourceText> {
        self.sides[side as usize].text()
    }

    fn place(&mut self, side: Option<Side>) {
        self.place = side;
    }

    fn stream(
        &mut self,
        weight: Weight,
        slot: usize,
        rows: &[Range<usize>],
    ) -> Result<BufferId, DeviceError> {
        let first = &mut *self.sides[Side::First as usize];
        let (id, buffer) = self.streams.add(first, (weight, rows), slot)?;
        self.add(Held { ids: [Some(buffer), None], weight: true, streamed: Some(id), current: [true; 2] })
    }

    fn stream_rows(&mut self, buffer: BufferId, rows: &[Range<usize>]) -> Result<(), DeviceError> {
        let id = self.held(buffer)?.streamed;
        let id = id.ok_or_else(|| DeviceError::Usage(format!("{buffer:?} is not read in a slot")))?;
        self.streams.read(id, rows);
        Ok(())
    }

    fn rate(&mut self) -> Result<Option<f64>, DeviceError> {
        self.streams.rate(&mut *self.sides[Side::First as usize])
    }

    fn crossings(&self) -> Crossings {
        self.crossings
    }
}

/// Rows of weights of the first side are replaced.
impl Streaming for SplitDevice {
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError> {
        let (streaming, buffer) = self.replaced(buffer)?;
        streaming.prepare(buffer, with)
    }

    fn replace(&mut self, buffer: BufferId, with: &Weight, rows: &[RowsCopied]) -> Result<(), DeviceError> {
        let (streaming, buffer) = self.replaced(buffer)?;
        streaming.replace(buffer, with, rows)
    }

    fn is_replaced(&mut self, buffer: BufferId) -> Result<bool, DeviceError> {
        let (streaming, buffer) = self.replaced(buffer)?;
        streaming.is_replaced(buffer)
    }

    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError> {
        let (streaming, buffer) = self.replaced(buffer)?;
        streaming.wait_for(buffer)
    }
}

impl Checkpoints for SplitDevice {
    fn mark(&mut self) -> Mark {
        Mark { buffers: self.buffers.len(), programs: self.programs.len() }
    }

    fn rewind(&mut self, mark: Mark) {
        self.buffers.truncate(mark.buffers);
        self.programs.truncate(mark.programs);
        for side in Side::ALL {
            let steps = self.programs.iter().flat_map(|program| &program.steps);
            // Weights that are read in slots have no buffers of their own.
            let own = |held: &&Held| held.ids[side as usize].is_some() && held.streamed.is_none();
            let slots = if side == Side::First { self.streams.buffers() } else { 0 };
            let mark = Mark {
                buffers: self.buffers.iter().filter(own).count() + slots,
                programs: steps.filter(|step| matches!(step, Step::Run(own, _) if *own == side)).count(),
            };
            if let Some(checkpoints) = self.sides[side as usize].checkpoints() {
                checkpoints.rewind(mark);
            }
        }
    }
}
