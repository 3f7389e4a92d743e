//! The timings of a step.

use std::time::{Duration, Instant};

use weft_device::{Device, DeviceError, ProgramId, Timings, replay_timed};
use weft_ir::Sizes;

/// The timings of a step and of its launches. Reused between steps, so that only the first allocates.
#[derive(Debug, Default)]
pub struct StepTimings {
    began: Option<Instant>,
    wall: Duration,
    replays: [ReplayTimings; 2],
    /// Whether the step has logits, which the second replay computes.
    head: bool,
}

/// The timings of a replay and of its launches.
#[derive(Debug, Default)]
pub struct ReplayTimings {
    /// From the beginning of the step to the beginning of the replay.
    pub began: Duration,
    /// From the beginning of the step to the end of the replay.
    pub ended: Duration,
    /// From the beginning of the step to the origin of the launches' times.
    pub origin: Duration,
    /// The marks of every worker at every launch.
    pub launches: Timings,
}

impl StepTimings {
    /// Begins a step, with the head if it has logits.
    pub fn begin(&mut self, head: bool) {
        self.began = Some(Instant::now());
        self.head = head;
    }

    /// Ends the step.
    pub fn end(&mut self) {
        self.wall = self.began.map(|began| began.elapsed()).unwrap_or_default();
    }

    /// How long the step took.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// The replays in order: all layers, and then the head if there are logits.
    /// [`Runtime::launches`](super::Runtime::launches) lists their launches.
    pub fn replays(&self) -> &[ReplayTimings] {
        if self.head { &self.replays } else { &self.replays[..1] }
    }
}

/// Replays a program of a step. With `timed`, records the timings as those of replay 0 or 1.
pub(super) fn replay(
    device: &mut dyn Device,
    program: ProgramId,
    sizes: &Sizes,
    timed: Option<(&mut StepTimings, usize)>,
) -> Result<(), DeviceError> {
    let Some((StepTimings { began: Some(step), replays, .. }, which)) = timed else {
        return device.replay(program, sizes);
    };
    let ReplayTimings { began, ended, origin, launches } = &mut replays[which];
    *began = step.elapsed();
    replay_timed(device, program, sizes, launches)?;
    *ended = step.elapsed();
    *origin = launches.origin().map_or(*began, |origin| origin.saturating_duration_since(*step));
    Ok(())
}
