//! Weights of the second device that the first one reads in rooms: as many weights as take turns share one.
//!
//! A program copies a weight to its room as soon as the launches that read the one before have begun, and launches that read it wait for
//! the copy. So with two rooms, one layer's weights are on their way while those of another are read.

use std::time::Instant;

use crate::device::Device;
use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::program::Program;
use crate::weight::Weight;

/// The weights and their rooms.
#[derive(Default)]
pub(super) struct Streams {
    views: Vec<View>,
    rooms: Vec<Room>,
}

/// A weight that is read in a room.
struct View {
    weight: Weight,
    /// Its first rows that are not read.
    unread: usize,
    room: usize,
}

/// A weight of the first device whose contents change.
struct Room {
    /// The number that was given, since weights of one shape may be needed at the same time.
    number: usize,
    buffer: BufferId,
    /// The weight that it has, unless a copy failed.
    has: Option<usize>,
}

/// What happens before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// The copy of a weight to its room begins.
    Copy(usize),
    /// Launches that read a weight follow.
    Read(usize),
}

impl Streams {
    /// Adds a weight. Returns its number, and the buffer of the first device where it is read.
    pub(super) fn add(
        &mut self,
        first: &mut dyn Device,
        (weight, unread): (Weight, usize),
        number: usize,
    ) -> Result<(usize, BufferId), DeviceError> {
        let shape = |weight: &Weight| (weight.ty, weight.rows, weight.row_len);
        let views = &self.views;
        let alike =
            |i: usize| views.iter().any(|view| view.room == i && shape(&view.weight) == shape(&weight));
        let known = (0..self.rooms.len()).find(|i| self.rooms[*i].number == number && alike(*i));
        let view = self.views.len();
        let room = match known {
            Some(room) => room,
            None => {
                let buffer = first.pack(weight.clone())?;
                self.rooms.push(Room { number, buffer, has: Some(view) });
                self.rooms.len() - 1
            }
        };
        self.views.push(View { weight, unread, room });
        Ok((view, self.rooms[room].buffer))
    }

    /// The number of buffers of the first device.
    pub(super) fn buffers(&self) -> usize {
        self.rooms.len()
    }

    /// The speed of a copy in bytes per second, of the second of two: before the first, the weight may not be ready to be copied.
    pub(super) fn rate(&mut self, first: &mut dyn Device) -> Result<Option<f64>, DeviceError> {
        let Some(view) = self.views.first() else { return Ok(None) };
        let View { weight, unread, room } = view;
        let bytes = weight.tiles.as_ref().unwrap_or(&weight.bytes);
        let read = weight.rows.saturating_sub(*unread) as f64 / weight.rows.max(1) as f64;
        let (bytes, room) = ((**bytes).as_ref().len() as f64 * read, *room);
        let mut seconds = 0.0;
        for _ in 0..2 {
            self.rooms[room].has = None;
            first.wait()?;
            let start = Instant::now();
            self.turn(first, Turn::Copy(0))?;
            self.turn(first, Turn::Read(0))?;
            first.wait()?;
            seconds = start.elapsed().as_secs_f64();
        }
        Ok(Some(bytes / seconds.max(1e-9)))
    }

    /// What happens before launches of a program, in order, by the number of the launch. `view` is the weight that a buffer is read as.
    pub(super) fn turns(
        &self,
        program: &Program,
        view: impl Fn(BufferId) -> Option<usize>,
    ) -> Vec<(usize, Turn)> {
        let mut turns = Vec::new();
        // For each room, the weight that it has and the launch after those that read it.
        let mut rooms: Vec<(Option<usize>, usize)> = vec![(None, 0); self.rooms.len()];
        for (i, launch) in program.launches.iter().enumerate() {
            for view in launch.args.iter().filter_map(|region| view(region.buffer)) {
                let (has, after) = &mut rooms[self.views[view].room];
                if *has != Some(view) {
                    turns.push((*after, Turn::Copy(view)));
                    turns.push((i, Turn::Read(view)));
                }
                (*has, *after) = (Some(view), i + 1);
            }
        }
        turns.sort_by_key(|(launch, _)| *launch);
        turns
    }

    /// Does what happens before a launch.
    pub(super) fn turn(&mut self, first: &mut dyn Device, turn: Turn) -> Result<(), DeviceError> {
        let name = first.caps().name.clone();
        let streaming = first.streaming();
        let streaming =
            streaming.ok_or_else(|| DeviceError::Usage(format!("{name} does not replace weights")))?;
        match turn {
            Turn::Copy(view) => {
                let View { weight, unread, room } = &self.views[view];
                let Room { buffer, has, .. } = &mut self.rooms[*room];
                if *has != Some(view) {
                    *has = None;
                    streaming.replace(*buffer, weight, *unread)?;
                    *has = Some(view);
                }
                Ok(())
            }
            Turn::Read(view) => streaming.wait_for(self.rooms[self.views[view].room].buffer),
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

    /// Four layers take turns in two rooms: a copy begins when the launches that read the weight before have begun.
    #[test]
    fn a_copy_begins_as_soon_as_its_room_is_no_longer_read() {
        let (mut device, mut streams) = (NullDevice::default(), Streams::default());
        for layer in 0..4 {
            let bytes = Arc::new(vec![0u8; 16]);
            let weight = Weight { ty: GgmlType::F32, rows: 1, row_len: 4, bytes, tiles: None };
            assert_eq!(streams.add(&mut device, (weight, 0), layer % 2).unwrap().0, layer);
        }
        assert_eq!(streams.buffers(), 2);
        let launch = |buffer: u32| KernelLaunch {
            kernel: 0,
            args: vec![Region { buffer: BufferId(buffer), offset: 0, values: 4 }],
        };
        // Each layer has a launch without such a weight, buffer 9, and two that read its own.
        let launches = (0..4).flat_map(|layer| [launch(9), launch(layer), launch(layer)]).collect();
        let program = Program { max: Sizes::of(1), kernels: Vec::new(), launches };
        let turns = streams.turns(&program, |id| (id.0 < 4).then_some(id.0 as usize));
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
    }
}
