//! Two devices as one, for models that one of them has no room for.
//!
//! Weights and states are [placed](Placement) on one side. A launch runs where its weights and states are, or else where the
//! launch before it ran. All other buffers exist on both sides, and a program copies what one side has written to the
//! other before it is read there.

use std::ops::Range;

use weft_kern::Sizes;

use crate::checkpoints::{Checkpoints, Mark};
use crate::device::{Caps, Device};
use crate::error::DeviceError;
use crate::hardware::Hardware;
use crate::ids::{BufferId, ProgramId};
use crate::placement::{Placement, Side};
use crate::program::{KernelLaunch, Program, Region};
use crate::weight::Weight;

/// Two devices that run programs together. See the [trait](Placement) that says what is where.
///
/// It has no abilities but [`Placement`] and, if both devices do, [`Checkpoints`].
pub struct SplitDevice {
    sides: [Box<dyn Device>; 2],
    caps: Caps,
    place: Option<Side>,
    buffers: Vec<Held>,
    programs: Vec<Staged>,
    /// The bytes that are being copied from one device to the other, in the host's memory.
    crossing: Vec<u8>,
}

/// A buffer of both sides, or of one.
#[derive(Clone, Copy, Debug)]
struct Held {
    ids: [Option<BufferId>; 2],
    weight: bool,
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

/// A program, in stages that run one after another.
#[derive(Debug)]
struct Staged {
    stages: Vec<Stage>,
    /// The buffers that it leaves changed, and on which sides they are then current.
    changed: Vec<(BufferId, [bool; 2])>,
}

/// Launches on one side.
#[derive(Debug)]
struct Stage {
    side: Side,
    /// The parts that the other side has written by then.
    copied: Vec<Part>,
    /// The parts that were there before the program, on either side.
    found: Vec<Part>,
    program: ProgramId,
}

/// Some bytes of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    buffer: BufferId,
    bytes: Range<usize>,
}

impl Part {
    fn overlap(&self, other: &Part) -> Option<Part> {
        let bytes = self.bytes.start.max(other.bytes.start)..self.bytes.end.min(other.bytes.end);
        (self.buffer == other.buffer && !bytes.is_empty()).then_some(Part { buffer: self.buffer, bytes })
    }

    /// The parts of it that are not in `other`.
    fn without(&self, other: &Part) -> impl Iterator<Item = Part> {
        let Range { start, end } = self.bytes;
        let kept = match self.overlap(other) {
            None => [start..end, end..end],
            Some(Part { bytes, .. }) => [start..bytes.start, bytes.end..end],
        };
        let buffer = self.buffer;
        kept.into_iter().filter(|bytes| !bytes.is_empty()).map(move |bytes| Part { buffer, bytes })
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
        };
        let sides = [first, second];
        SplitDevice {
            sides,
            caps,
            place: None,
            buffers: Vec::new(),
            programs: Vec::new(),
            crossing: Vec::new(),
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
        let id = u32::try_from(self.buffers.len());
        let id = id.map_err(|_| DeviceError::Usage("too many buffers".into()))?;
        self.buffers.push(Held { ids, weight, current: [true; 2] });
        Ok(BufferId(id))
    }

    /// Where each launch of a program runs.
    fn places(&self, program: &Program) -> Result<Vec<Side>, DeviceError> {
        let mut places = Vec::with_capacity(program.launches.len());
        for (i, KernelLaunch { kernel, args }) in program.launches.iter().enumerate() {
            let mut place = None;
            for Region { buffer, .. } in args {
                let side = self.held(*buffer)?.side();
                if place.is_some() && side.is_some() && place != side {
                    return Err(DeviceError::Program {
                        launch: i,
                        kernel: program.kernels.get(*kernel).map_or_else(String::new, |k| k.name.clone()),
                        why: "has weights and states on two devices".into(),
                    });
                }
                place = place.or(side);
            }
            places.push(place);
        }
        let mut last = places.iter().flatten().next().copied().unwrap_or(Side::First);
        let followed = places.into_iter().map(|place| {
            last = place.unwrap_or(last);
            last
        });
        Ok(followed.collect())
    }

    /// Cuts a program where it goes from one side to the other.
    fn stages(&self, program: &Program) -> Result<(Vec<Cut>, Vec<Written>), DeviceError> {
        let places = self.places(program)?;
        let (mut stages, mut written): (Vec<Cut>, Vec<Written>) = (Vec::new(), Vec::new());
        for (i, (launch, side)) in program.launches.iter().zip(places).enumerate() {
            if stages.last().is_none_or(|stage| stage.side != side) {
                stages.push(Cut { side, copied: Vec::new(), found: Vec::new(), launches: i..i });
            }
            let Some(stage) = stages.last_mut() else { continue };
            stage.launches.end = i + 1;
            let Some(kernel) = program.kernels.get(launch.kernel) else { continue };
            let mut mirrored = Vec::new();
            for (region, param) in launch.args.iter().zip(&kernel.params) {
                let held = self.held(region.buffer)?;
                let bytes = param.format.bytes(region.values).unwrap_or(usize::MAX);
                let bytes = region.offset..region.offset.saturating_add(bytes);
                if held.side().is_none() && !held.weight {
                    mirrored.push((Part { buffer: region.buffer, bytes }, param.access));
                }
            }
            for (part, _) in mirrored.iter().filter(|(_, access)| access.reads()) {
                stage.read(part, &mut written);
            }
            for (part, _) in mirrored.iter().filter(|(_, access)| access.writes()) {
                stage.write(part, &mut written);
            }
        }
        Ok((stages, written))
    }

    /// Copies what one side has to the other.
    fn cross(&mut self, part: &Part, to: Side) -> Result<(), DeviceError> {
        let Part { buffer, bytes } = part;
        let ids = self.held(*buffer)?.ids;
        let [Some(from_id), Some(to_id)] = [to.other(), to].map(|side| ids[side as usize]) else {
            return Ok(());
        };
        self.crossing.resize(bytes.len(), 0);
        self.sides[to.other() as usize].read(from_id, bytes.start, &mut self.crossing)?;
        self.sides[to as usize].write(to_id, bytes.start, &self.crossing)
    }
}

/// A stage before it is compiled.
#[derive(Debug)]
struct Cut {
    side: Side,
    copied: Vec<Part>,
    found: Vec<Part>,
    launches: Range<usize>,
}

/// Bytes that a program has written, and the sides that have them.
#[derive(Clone, Debug)]
struct Written {
    part: Part,
    on: [bool; 2],
    read: bool,
}

impl Cut {
    /// Brings what a launch reads to its side.
    fn read(&mut self, part: &Part, written: &mut [Written]) {
        let mut before = vec![part.clone()];
        for known in written.iter_mut() {
            let Some(overlap) = known.part.overlap(part) else { continue };
            known.read = true;
            if !known.on[self.side as usize] {
                self.copied.push(known.part.clone());
                known.on[self.side as usize] = true;
            }
            before = before.iter().flat_map(|rest| rest.without(&overlap).collect::<Vec<_>>()).collect();
        }
        for rest in before {
            if !self.found.contains(&rest) {
                self.found.push(rest);
            }
        }
    }

    /// Notes what a launch writes. What the other side has written and nothing has read may be the rest of it.
    fn write(&mut self, part: &Part, written: &mut Vec<Written>) {
        let mut kept = Vec::with_capacity(written.len() + 2);
        for known in written.drain(..) {
            if known.part.overlap(part).is_some() && !known.read && !known.on[self.side as usize] {
                self.copied.push(known.part.clone());
            }
            kept.extend(known.part.without(part).map(|part| Written { part, ..known.clone() }));
        }
        *written = kept;
        let mut on = [false; 2];
        on[self.side as usize] = true;
        written.push(Written { part: part.clone(), on, read: false });
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
        let side = Side::ALL.into_iter().find(|side| has(side) && current[*side as usize]);
        let side = side.or_else(|| Side::ALL.into_iter().find(has)).unwrap_or(Side::First);
        let id = ids[side as usize].ok_or_else(|| DeviceError::Usage(format!("{buffer:?} is nowhere")))?;
        self.sides[side as usize].read(id, offset, out)
    }

    fn pack(&mut self, weight: Weight) -> Result<BufferId, DeviceError> {
        self.make(true, |device| device.pack(weight.clone()))
    }

    fn compile(&mut self, program: &Program) -> Result<ProgramId, DeviceError> {
        let (cuts, written) = self.stages(program)?;
        let mut stages = Vec::with_capacity(cuts.len());
        for Cut { side, copied, found, launches } in cuts {
            let mut part = Program {
                max: program.max,
                kernels: program.kernels.clone(),
                launches: program.launches[launches].to_vec(),
            };
            for region in part.launches.iter_mut().flat_map(|launch| &mut launch.args) {
                let id = self.held(region.buffer)?.ids[side as usize];
                region.buffer =
                    id.ok_or_else(|| DeviceError::Usage("a launch is on the wrong side".into()))?;
            }
            let longest = copied.iter().chain(&found).map(|part| part.bytes.len()).max().unwrap_or(0);
            self.crossing.reserve(longest.saturating_sub(self.crossing.len()));
            let program = self.sides[side as usize].compile(&part)?;
            stages.push(Stage { side, copied, found, program });
        }
        let mut changed: Vec<(BufferId, [bool; 2])> = Vec::new();
        for Written { part, on, .. } in written {
            match changed.iter_mut().find(|(buffer, _)| *buffer == part.buffer) {
                Some((_, all)) => all.iter_mut().zip(on).for_each(|(all, on)| *all &= on),
                None => changed.push((part.buffer, on)),
            }
        }
        let id = u32::try_from(self.programs.len());
        let id = id.map_err(|_| DeviceError::Usage("too many programs".into()))?;
        self.programs.push(Staged { stages, changed });
        Ok(ProgramId(id))
    }

    fn replay(&mut self, program: ProgramId, sizes: &Sizes) -> Result<(), DeviceError> {
        let index = program.0 as usize;
        let found = self.programs.get_mut(index);
        let found = found.ok_or_else(|| DeviceError::Usage(format!("{program:?} does not exist")))?;
        // Taken out and put back, so that nothing is allocated.
        let staged = std::mem::take(&mut found.stages);
        let mut run = || {
            for Stage { side, copied, found, program } in &staged {
                for part in copied {
                    self.cross(part, *side)?;
                }
                for part in found {
                    let Held { current, .. } = *self.held(part.buffer)?;
                    if !current[*side as usize] && current[side.other() as usize] {
                        self.cross(part, *side)?;
                    }
                }
                self.sides[*side as usize].replay(*program, sizes)?;
            }
            Ok(())
        };
        let done = run();
        let Staged { stages, changed } = &mut self.programs[index];
        *stages = staged;
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

    fn checkpoints(&mut self) -> Option<&mut dyn Checkpoints> {
        let both = self.sides.iter_mut().all(|device| device.checkpoints().is_some());
        if both { Some(self) } else { None }
    }
}

impl Placement for SplitDevice {
    fn place(&mut self, side: Option<Side>) {
        self.place = side;
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
            let stages = self.programs.iter().flat_map(|program| &program.stages);
            let mark = Mark {
                buffers: self.buffers.iter().filter(|held| held.ids[side as usize].is_some()).count(),
                programs: stages.filter(|stage| stage.side == side).count(),
            };
            if let Some(checkpoints) = self.sides[side as usize].checkpoints() {
                checkpoints.rewind(mark);
            }
        }
    }
}
