//! Steps with a clock beside them, and parts of a step alone: for who measures.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_device::{Device, DeviceError, KernelLaunch, Program, ProgramId, Region, Timings, replay_timed};
use weft_ir::{F32, Sizes};
use weft_kern::{Access, Anchor, Format, Instr, Kernel, Param, Part, Plan, Seen, View};

use super::variants::StepPart;
use super::{LOGIT_ROWS, Runner};
use crate::batch::Batch;
use crate::error::Error;
use crate::launches::Launch;
use crate::model::PAGE;

/// When a step began and ended, and its launches with it. Kept and used again, so that only the first step allocates.
#[derive(Debug, Default)]
pub struct StepTimings {
    began: Option<Instant>,
    wall: Duration,
    replays: [ReplayTimings; 2],
    /// Whether logits were wanted, which the second replay computes.
    head: bool,
}

/// When a replay began and ended, and its launches with it.
#[derive(Debug, Default)]
pub struct ReplayTimings {
    /// From the beginning of the step to that of the replay.
    pub began: Duration,
    /// From the beginning of the step to the end of the replay.
    pub ended: Duration,
    /// From the beginning of the step to where marks count from.
    pub origin: Duration,
    /// When each worker was at which launch.
    pub launches: Timings,
}

impl StepTimings {
    /// How long the step took.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// Its replays in order: all layers, and then the head if logits were wanted. Their launches are [`Runner::launches`].
    pub fn replays(&self) -> &[ReplayTimings] {
        if self.head { &self.replays } else { &self.replays[..1] }
    }
}

/// What a step of one sequence computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepShape {
    /// Tokens computed at once.
    pub tokens: usize,
    /// Tokens in the cache before them.
    pub depth: usize,
    /// How many of them want logits.
    pub logits: usize,
}

/// Part of a step that can be replayed alone, until it is [dropped](Runner::drop_parts) or the plans that were added before it
/// [are](Runner::drop_plans). It names no other, not even after that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartId {
    /// Its place in the engine's list, which is used again.
    pub(super) place: usize,
    /// How many plans and parts were made before it.
    pub(super) generation: u64,
}

impl Runner {
    /// Computes a batch as [`Runner::step`] does, and notes when each worker was at which launch.
    ///
    /// # Errors
    /// Those of [`Runner::step`]; if the device has no such clock, or more logits are wanted than one replay computes.
    pub fn step_timed(&mut self, batch: &Batch, timings: &mut StepTimings) -> Result<&[f32], Error> {
        let began = Instant::now();
        let logits = batch.entries().iter().filter(|entry| entry.logits).count();
        if batch.is_empty() || logits > LOGIT_ROWS {
            let why = format!(
                "{} tokens with {logits} logits: a step of 1 or more with up to {LOGIT_ROWS} is timed",
                batch.len()
            );
            return Err(Error::Batch(why));
        }
        timings.began = Some(began);
        timings.head = logits > 0;
        self.step_with(batch, Some(&mut *timings))?;
        timings.wall = began.elapsed();
        Ok(&self.logits)
    }

    /// The launches of a step, those of the layers before those of the head. There are none of the head if no logits are wanted.
    pub fn launches(&self, shape: &StepShape) -> Vec<Launch> {
        let StepShape { tokens, depth, logits } = *shape;
        let pages = (depth + tokens).div_ceil(PAGE);
        let body = Sizes { tokens, rows: 0, slots: self.max.slots, pages };
        let seen = Seen::causal(depth as u64, tokens as u64);
        let compiled = self.variants.used();
        let Some(class) = compiled.class(tokens) else { return Vec::new() };
        let mut launches = Vec::new();
        let last = class.plans.len() - 1;
        for (i, (segment, plan)) in compiled.segments.iter().zip(&class.plans).enumerate() {
            if i < last {
                segment.launches(plan, &body, &seen, &mut launches);
            } else if logits > 0 {
                segment.launches(plan, &Sizes { rows: logits, ..body }, &seen, &mut launches);
            }
        }
        launches
    }

    /// Plans of steps of so many tokens that are equal and yet were compiled each for itself, by their names.
    pub fn plans_made_twice(&self, tokens: usize) -> Vec<(String, String)> {
        self.variants.used().class(tokens).map_or_else(Vec::new, |class| made_twice(&class.plans))
    }

    /// Prepares some of the [launches](Runner::launches) of steps of so many tokens, none of them the head's, to be replayed alone.
    ///
    /// # Errors
    /// If there are not so many launches, or the device has no room.
    pub fn part(&mut self, tokens: usize, launches: Range<usize>) -> Result<PartId, Error> {
        let body = self.variants.used().class(tokens).map(|class| &class.programs[0]);
        let part = body.and_then(|body| Some((body, body.launches.get(launches.clone())?)));
        let (body, part) = part.ok_or_else(|| {
            DeviceError::Usage(format!("launches {launches:?} are not of a step of {tokens} tokens"))
        })?;
        let program = Program { max: body.max, kernels: body.kernels.clone(), launches: part.to_vec() };
        self.add_part(tokens, |device| device.compile(&program))
    }

    /// Prepares as many launches as wanted of a kernel that writes one number: what a launch costs that does nothing.
    ///
    /// # Errors
    /// If the device has no room.
    pub fn empty_part(&mut self, tokens: usize, launches: usize) -> Result<PartId, Error> {
        let view = View { param: 0, offset: 0, strides: Vec::new(), step: 1 };
        let body = vec![Instr::Const(F32(0.0)), Instr::Store { value: 0, view, indexed: None }];
        let part = Part { rows: Vec::new(), cols: 1, prologue: None, anchor: Anchor::Map, body };
        let params = vec![Param { access: Access::Write, format: Format::F32 }];
        let kernel = Kernel { name: "empty".into(), params, parts: vec![part] };
        let max = self.max;
        self.add_part(tokens, |device| {
            let region = Region { buffer: device.alloc(4)?, offset: 0, values: 1 };
            let launch = KernelLaunch { kernel: 0, args: vec![region] };
            let launches = vec![launch; launches];
            device.compile(&Program { max, kernels: vec![Arc::new(kernel)], launches })
        })
    }

    /// Replays a part of a step on what the last step of as many tokens left behind. Returns how long it took.
    ///
    /// # Errors
    /// If it has been dropped, the last step had another number of tokens, or the device fails.
    pub fn replay_part(&mut self, part: PartId) -> Result<Duration, Error> {
        let part = self.variants.part(part);
        let &StepPart { program, tokens: of, .. } =
            part.ok_or_else(|| DeviceError::Usage("this part of a step has been dropped".into()))?;
        let tokens = self.indices.tokens.len();
        if tokens != of {
            let why = format!("a part of a step of {of} tokens after one of {tokens}");
            return Err(DeviceError::Usage(why).into());
        }
        let sizes = self.sizes();
        self.device.wait()?;
        let began = Instant::now();
        self.device.replay(program, &sizes)?;
        self.device.wait()?;
        Ok(began.elapsed())
    }
}

/// Replays a program, the first or the second of a step, with a clock beside it if there is one to be read.
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

/// Plans that are equal but for their names and not one: each with the first that it is equal to.
fn made_twice(plans: &[Arc<Plan>]) -> Vec<(String, String)> {
    let mut distinct: Vec<&Arc<Plan>> = Vec::new();
    let mut twice = Vec::new();
    for plan in plans {
        if distinct.iter().any(|known| Arc::ptr_eq(known, plan)) {
            continue;
        }
        let Plan { name, max: _, buffers, kernels, calls, arena: _ } = &**plan;
        let same =
            |known: &&&Arc<Plan>| (&known.buffers, &known.kernels, &known.calls) == (buffers, kernels, calls);
        if let Some(known) = distinct.iter().find(same) {
            twice.push((known.name.clone(), name.clone()));
        }
        distinct.push(plan);
    }
    twice
}

#[cfg(test)]
mod tests {
    use weft_kern::parse_plan;

    use super::*;

    #[test]
    fn a_plan_that_several_layers_share_was_made_once_and_equal_ones_twice() {
        let plan = |name: &str, op: &str| {
            let text = format!(
                "plan {name} T=1 R=1 S=32 P=1 arena=0 {{
b0 = input x : f32[T, 4]
b1 = output y : f32[T, 4]
kernel k {{
  p0 read f32
  p1 write f32
  rows [T] cols 4
  map
  v0 = load 4 p0[0; 4; 1]
  v1 = {op} v0
  v2 = store v1 p1[0; 4; 1]
}}
call k b0 b1
}}
"
            );
            Arc::new(parse_plan(&text).unwrap())
        };
        let [a, b, c] = [plan("a", "silu"), plan("b", "silu"), plan("c", "sigmoid")];
        let shared = [&a, &a, &c, &a, &c].map(Arc::clone);
        assert_eq!(made_twice(&shared), []);
        let apart = [&a, &c, &b, &a, &b].map(Arc::clone);
        assert_eq!(made_twice(&apart), [("a".to_string(), "b".to_string())]);
    }
}
