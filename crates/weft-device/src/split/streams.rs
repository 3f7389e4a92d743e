//! Weights of the second device that the first one reads in slots, several in turn in one slot.
//!
//! A program copies a weight to its slot as soon as the launches that read the one before have begun, and launches that read it wait for
//! the copy. Meanwhile the weights in other slots are read.

use std::ops::Range;
use std::time::Instant;

use crate::device::Device;
use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::program::Program;
use crate::streaming::RowsCopied;
use crate::weight::Weight;

/// The weights and their slots.
#[derive(Default)]
pub(super) struct Streams {
    weights: Vec<Streamed>,
    slots: Vec<Slot>,
}

/// A weight that is read in a slot.
struct Streamed {
    weight: Weight,
    /// Its rows that are read.
    read: Vec<RowsCopied>,
    slot: usize,
}

/// A weight of the first device whose contents change.
struct Slot {
    /// The number that was given, since weights of one shape may be needed at the same time.
    number: usize,
    buffer: BufferId,
    /// The weight that it has, unless a copy failed.
    has: Option<usize>,
}

/// What happens before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// The copy of a weight to its slot begins.
    Copy(usize),
    /// Launches that read a weight follow.
    Read(usize),
}

impl Streams {
    /// Adds a weight. Returns its number, and the buffer of the first device where it is read.
    pub(super) fn add(
        &mut self,
        first: &mut dyn Device,
        (weight, rows): (Weight, &[Range<usize>]),
        number: usize,
    ) -> Result<(usize, BufferId), DeviceError> {
        let shape = |weight: &Weight| (weight.ty, weight.rows, weight.row_len);
        let weights = &self.weights;
        let alike =
            |i: usize| weights.iter().any(|known| known.slot == i && shape(&known.weight) == shape(&weight));
        let known = (0..self.slots.len()).find(|i| self.slots[*i].number == number && alike(*i));
        let id = weights.len();
        let slot = match known {
            Some(slot) => slot,
            None => {
                let buffer = first.pack(weight.clone())?;
                self.slots.push(Slot { number, buffer, has: Some(id) });
                self.slots.len() - 1
            }
        };
        let buffer = self.slots[slot].buffer;
        if let Some(streaming) = first.streaming() {
            streaming.prepare(buffer, &weight)?;
        }
        let read = rows.iter().cloned().map(RowsCopied::in_place).collect();
        self.weights.push(Streamed { weight, read, slot });
        Ok((id, buffer))
    }

    /// Reads these rows of a weight from now on.
    pub(super) fn read(&mut self, id: usize, rows: &[Range<usize>]) {
        let Streamed { read, slot, .. } = &mut self.weights[id];
        read.clear();
        read.extend(rows.iter().cloned().map(RowsCopied::in_place));
        self.slots[*slot].has = None;
    }

    /// The number of buffers of the first device.
    pub(super) fn buffers(&self) -> usize {
        self.slots.len()
    }

    /// The speed of a copy in bytes per second: of the second of two, because the first one may read a file.
    pub(super) fn rate(&mut self, first: &mut dyn Device) -> Result<Option<f64>, DeviceError> {
        let Some(Streamed { weight, read, slot }) = self.weights.first() else { return Ok(None) };
        let bytes = weight.tiles.as_ref().unwrap_or(&weight.bytes);
        let rows: usize = read.iter().map(|rows| rows.from.len()).sum();
        let read = rows as f64 / weight.rows.max(1) as f64;
        let (bytes, slot) = ((**bytes).as_ref().len() as f64 * read, *slot);
        let mut seconds = 0.0;
        for _ in 0..2 {
            self.slots[slot].has = None;
            first.wait()?;
            let start = Instant::now();
            self.turn(first, Turn::Copy(0))?;
            self.turn(first, Turn::Read(0))?;
            first.wait()?;
            seconds = start.elapsed().as_secs_f64();
        }
        Ok(Some(bytes / seconds.max(1e-9)))
    }

    /// What happens before launches of a program, in order, by the number of the launch. `streamed` is the weight that a buffer is read as.
    ///
    /// # Errors
    /// If a launch reads two weights of one slot.
    pub(super) fn turns(
        &self,
        program: &Program,
        streamed: impl Fn(BufferId) -> Option<usize>,
    ) -> Result<Vec<(usize, Turn)>, DeviceError> {
        let mut turns = Vec::new();
        // For each slot, the weight that it has and the launch after those that read it.
        let mut slots: Vec<(Option<usize>, usize)> = vec![(None, 0); self.slots.len()];
        for (i, launch) in program.launches.iter().enumerate() {
            for id in launch.args.iter().filter_map(|region| streamed(region.buffer)) {
                let (has, after) = &mut slots[self.weights[id].slot];
                if *has != Some(id) {
                    if *after > i {
                        let why = format!("launch {i} reads two weights that take turns in one slot");
                        return Err(DeviceError::Usage(why));
                    }
                    turns.push((*after, Turn::Copy(id)));
                    turns.push((i, Turn::Read(id)));
                }
                (*has, *after) = (Some(id), i + 1);
            }
        }
        turns.sort_by_key(|(launch, _)| *launch);
        Ok(turns)
    }

    /// Does what happens before a launch.
    pub(super) fn turn(&mut self, first: &mut dyn Device, turn: Turn) -> Result<(), DeviceError> {
        let streaming = first.streaming();
        let streaming = streaming
            .ok_or_else(|| DeviceError::Usage("the first of two devices cannot replace weights".into()))?;
        match turn {
            Turn::Copy(id) => {
                let Streamed { weight, read, slot } = &self.weights[id];
                let Slot { buffer, has, .. } = &mut self.slots[*slot];
                if *has != Some(id) {
                    *has = None;
                    streaming.replace(*buffer, weight, read)?;
                    *has = Some(id);
                }
                Ok(())
            }
            Turn::Read(id) => streaming.wait_for(self.slots[self.weights[id].slot].buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_kern::Sizes;
    use weft_quant::GgmlType;

    use super::*;
    use crate::null::NullDevice;
    use crate::program::{KernelLaunch, Region};

    /// Four layers take turns in two slots: a copy begins when the launches that read the weight before have begun.
    #[test]
    fn a_copy_begins_as_soon_as_its_slot_is_no_longer_read() {
        let (mut device, mut streams) = (NullDevice::default(), Streams::default());
        for layer in 0..4 {
            let bytes = Arc::new(vec![0u8; 16]);
            let weight = Weight { ty: GgmlType::F32, rows: 1, row_len: 4, bytes, tiles: None };
            assert_eq!(
                streams.add(&mut device, (weight, std::slice::from_ref(&(0..1))), layer % 2).unwrap().0,
                layer
            );
        }
        assert_eq!(streams.buffers(), 2);
        let launch = |buffer: u32| KernelLaunch {
            kernel: 0,
            args: vec![Region { buffer: BufferId(buffer), offset: 0, values: 4 }],
        };
        // Each layer has a launch without such a weight, buffer 9, and two that read its own.
        let launches = (0..4).flat_map(|layer| [launch(9), launch(layer), launch(layer)]).collect();
        let program = Program { max: Sizes::of(1), kernels: Vec::new(), launches };
        let streamed = |id: BufferId| (id.0 < 4).then_some(id.0 as usize);
        let turns = streams.turns(&program, streamed).unwrap();
        let expected = [
            (0, Turn::Copy(0)),
            (0, Turn::Copy(1)),
            (1, Turn::Read(0)),
            (3, Turn::Copy(2)),
            (4, Turn::Read(1)),
            (6, Turn::Copy(3)),
            (7, Turn::Read(2)),
            (10, Turn::Read(3)),
        ];
        assert_eq!(turns, expected);
        // Layers 0 and 2 have the same slot.
        let args = [0, 2].map(|buffer| launch(buffer).args).concat();
        let program = Program { launches: vec![KernelLaunch { kernel: 0, args }], ..program };
        assert!(matches!(streams.turns(&program, streamed), Err(DeviceError::Usage(_))));
    }
}
