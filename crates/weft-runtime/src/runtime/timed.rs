//! Measuring steps: lists of launches, and parts of a step replayed alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_device::{DeviceError, KernelLaunch, Program, Region};
use weft_ir::{F32, Sizes};
use weft_kern::{Access, Anchor, Format, Instr, Kernel, Param, Part, Plan, Seen, Source, View};

use super::Runtime;
use super::variants::{PartId, StepPart};
use crate::compile::launches::Launch;
use crate::error::Error;
use crate::fit::dry::packed_bytes;
use crate::layout::PAGE;

/// The shape of a step of one sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepShape {
    /// The number of tokens computed.
    pub tokens: usize,
    /// The number of tokens in the KV cache before them.
    pub depth: usize,
    /// The number of tokens whose logits are wanted.
    pub logits: usize,
}

impl Runtime {
    /// Lists the launches of a step: those of the layers and, if logits are wanted, those of the head.
    pub fn launches(&self, shape: &StepShape) -> Vec<Launch> {
        let StepShape { tokens, depth, logits } = *shape;
        let pages = (depth + tokens).div_ceil(PAGE);
        let Sizes { slots, sequences, .. } = self.room.max;
        let body = Sizes::of(tokens).slots(slots).pages(pages).sequences(sequences.min(1));
        let seen = Seen::causal(depth as u64, tokens as u64);
        let compiled = self.variants.used();
        let Some(class) = compiled.class(tokens) else { return Vec::new() };
        let mut launches = Vec::new();
        let head = class.plans.len() - class.heads;
        for (i, (segment, plan)) in compiled.segments.iter().zip(&class.plans).enumerate() {
            if i < head {
                segment.launches(plan, &body, &seen, &mut launches);
            } else if logits > 0 {
                segment.launches(plan, &Sizes { rows: logits, ..body }, &seen, &mut launches);
            }
        }
        launches
    }

    /// The source text that the device runs for one of the [launches](Runtime::launches) of a step, by its number, or why it
    /// cannot; `None` if there is no such launch, or the device runs no text.
    pub fn text(&self, shape: &StepShape, launch: usize) -> Option<Result<String, String>> {
        let text = self.device.text()?;
        let class = self.variants.used().class(shape.tokens)?;
        let (_, body) = class.body((shape.depth + shape.tokens).div_ceil(PAGE));
        let head = &class.programs[1];
        let (program, at) = match launch.checked_sub(body.launches.len()) {
            Some(at) => (head, at),
            None => (body, launch),
        };
        program.launches.get(at)?;
        // Launches are the calls of all plans, in order.
        let calls = class.plans.iter().flat_map(|plan| plan.calls.iter().map(move |call| (plan, call)));
        let packing = self.device.caps().packing;
        let mut weights = BTreeMap::new();
        for ((plan, call), launch) in calls.zip(body.launches.iter().chain(&head.launches)) {
            for (buffer, region) in call.args.iter().map(|arg| &plan.buffers[*arg]).zip(&launch.args) {
                if let Source::Weight(_) = buffer.source {
                    let unpacked = || buffer.bytes(&plan.max).map(|bytes| bytes as u64);
                    weights.insert(region.buffer, packed_bytes(buffer, packing).or_else(unpacked));
                }
            }
        }
        Some(text.render(program, at, &|id| weights.get(&id).copied().flatten()))
    }

    /// The names of pairs of equal plans that were compiled separately, for steps of `tokens` tokens.
    pub fn plans_made_twice(&self, tokens: usize) -> Vec<(String, String)> {
        self.variants.used().class(tokens).map_or_else(Vec::new, |class| made_twice(&class.plans))
    }

    /// Compiles a range of the [launches](Runtime::launches) of a step, without those of the head, to be replayed alone, after a step of
    /// the same shape.
    ///
    /// # Errors
    /// If the range is out of bounds, or the device has not enough memory.
    pub fn part(&mut self, shape: &StepShape, launches: Range<usize>) -> Result<PartId, Error> {
        let StepShape { tokens, depth, .. } = *shape;
        let body =
            self.variants.used().class(tokens).map(|class| class.body((depth + tokens).div_ceil(PAGE)).1);
        let part = body.and_then(|body| Some((body, body.launches.get(launches.clone())?)));
        let (body, part) = part.ok_or_else(|| {
            DeviceError::Usage(format!("a step of {tokens} tokens does not have launches {launches:?}"))
        })?;
        let program = Program { max: body.max, kernels: body.kernels.clone(), launches: part.to_vec() };
        self.add_part(tokens, |device| device.compile(&program))
    }

    /// Compiles this number of launches of a kernel that writes one number, to measure the overhead of a launch.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn empty_part(&mut self, tokens: usize, launches: usize) -> Result<PartId, Error> {
        let view = View { param: 0, offset: 0, strides: Vec::new(), step: 1 };
        let body = vec![Instr::Const(F32(0.0)), Instr::Store { value: 0, view, indexed: None }];
        let part = Part { rows: Vec::new(), cols: 1, prologue: None, anchor: Anchor::Map, body };
        let params = vec![Param { access: Access::Write, format: Format::F32 }];
        let kernel = Kernel { name: "empty".into(), params, parts: vec![part], texts: Vec::new() };
        let max = self.room.max;
        self.add_part(tokens, |device| {
            let region = Region { buffer: device.alloc(4)?, offset: 0, values: 1 };
            let launch = KernelLaunch { kernel: 0, args: vec![region] };
            let launches = vec![launch; launches];
            device.compile(&Program { max, kernels: vec![Arc::new(kernel)], launches })
        })
    }

    /// Replays a part of a step, with the values that the last step left in memory. Returns how long it took.
    ///
    /// # Errors
    /// If the part has been dropped, the last step had another number of tokens, or the device fails.
    pub fn replay_part(&mut self, part: PartId) -> Result<Duration, Error> {
        let part = self.variants.part(part);
        let &StepPart { program, tokens: of, .. } =
            part.ok_or_else(|| DeviceError::Usage("this part of a step has been dropped".into()))?;
        let tokens = self.inputs.tokens.len();
        if tokens != of {
            let why = format!("cannot replay a part of a step of {of} tokens after one of {tokens}");
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

/// The names of plans that are equal but for their names, each paired with the first plan that it equals.
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
    fn shared_plans_are_not_duplicates() {
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
