//! Replays a step: its launches in one command buffer, in order.
//!
//! A step is submitted without waiting for it. While the GPU works on it the host goes on, to the
//! step's next program or to encoding the next step, which is most often just like this one.
//! Reading what a step wrote waits for it, and checks that it ran to its end.

use std::collections::VecDeque;

use weft_device::{DeviceError, Timings};
use weft_kern::Sizes;
use weft_render::Shader;
use wgpu::{CommandBuffer, SubmissionIndex};

use crate::canary::Canary;
use crate::clock::Clock;
use crate::compile::{Compiled, Dispatch};
use crate::context::Context;

/// Most steps in flight: enough to keep the GPU busy, few enough to stop soon.
const AHEAD: usize = 4;

/// The submissions that may not have completed.
#[derive(Debug, Default)]
pub(crate) struct InFlight(VecDeque<SubmissionIndex>);

impl InFlight {
    /// Blocks until at most `most` steps are in flight.
    fn wait_for_all_but(&mut self, context: &Context, most: usize) -> Result<(), DeviceError> {
        while self.0.len() > most {
            if let Some(first) = self.0.pop_front() {
                context.wait(first)?;
            }
        }
        Ok(())
    }

    /// Blocks until all submitted work has completed.
    pub(crate) fn wait(&mut self, context: &Context) -> Result<(), DeviceError> {
        // Steps complete in order.
        match self.0.drain(..).next_back() {
            Some(last) => context.wait(last),
            None => Ok(()),
        }
    }
}

/// Submits a step of a program. With `timings`, waits for it.
pub(crate) fn replay(
    (context, canary): (&Context, &Canary),
    program: &mut Compiled,
    sizes: &Sizes,
    timings: Option<&mut Timings>,
    in_flight: &mut InFlight,
) -> Result<(), DeviceError> {
    if !sizes.fit(&program.max) {
        let max = program.max;
        return Err(DeviceError::Usage(format!("{sizes:?} exceed what was compiled for: {max:?}")));
    }
    let Some(timings) = timings else {
        in_flight.wait_for_all_but(context, AHEAD - 1)?;
        let next = program.next.take().filter(|(of, _)| program.same_groups(of, sizes));
        let commands = match next {
            Some((_, commands)) => commands,
            None => encode((context, canary), program, sizes, None)?,
        };
        write_sizes(context, program, sizes)?;
        in_flight.0.push_back(submit((context, canary), commands, None)?);
        // This step is on its way whatever becomes of the next one, which will report its own
        // error.
        program.next =
            encode((context, canary), program, sizes, None).ok().map(|commands| (*sizes, commands));
        return Ok(());
    };
    in_flight.wait(context)?;
    if program.clock.is_none() {
        program.clock = Some(Clock::new(context, program.launches.len())?);
    }
    write_sizes(context, program, sizes)?;
    let program = &*program;
    let Some(clock) = &program.clock else { return Ok(()) };
    timings.begin(1, program.launches.len());
    let lane = timings.lane(0);
    let commands = encode((context, canary), program, sizes, Some(clock))?;
    let submitted = submit((context, canary), commands, Some(clock))?;
    let at = timings.origin().map_or(0, |origin| origin.elapsed().as_nanos() as u64);
    context.wait(submitted)?;
    let ran = |launch: usize| program.launches[launch].iter().any(|dispatch| dispatch.runs(sizes));
    clock.record(context, at, ran, &lane)
}

impl Dispatch {
    /// Whether there is something to do in a step of these sizes.
    fn runs(&self, sizes: &Sizes) -> bool {
        self.grid.groups(sizes) != [0; 3]
    }
}

impl Compiled {
    /// Whether steps of these sizes have the same workgroups.
    fn same_groups(&self, a: &Sizes, b: &Sizes) -> bool {
        a == b
            || self
                .launches
                .iter()
                .flatten()
                .all(|dispatch| dispatch.grid.groups(a) == dispatch.grid.groups(b))
    }
}

/// Encodes a step; its last dispatch counts it.
fn encode(
    (context, canary): (&Context, &Canary),
    program: &Compiled,
    sizes: &Sizes,
    clock: Option<&Clock>,
) -> Result<CommandBuffer, DeviceError> {
    context.checked("a step", 0, || {
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let mut pass = None;
        for (i, launch) in program.launches.iter().enumerate() {
            let first = launch.iter().position(|dispatch| dispatch.runs(sizes));
            let last = launch.iter().rposition(|dispatch| dispatch.runs(sizes));
            for (p, dispatch) in launch.iter().enumerate() {
                let [x, y, z] = dispatch.grid.groups(sizes);
                if x == 0 {
                    continue;
                }
                // Timestamps are only written where a pass begins or ends, so each dispatch gets a
                // pass.
                if clock.is_some() {
                    pass = None;
                }
                let pass = pass.get_or_insert_with(|| {
                    let (first, last) = (first == Some(p), last == Some(p));
                    let timestamp_writes = clock.and_then(|clock| clock.writes(i, first, last));
                    let described = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                    encoder.begin_compute_pass(&described).forget_lifetime()
                });
                pass.set_pipeline(&dispatch.pipeline);
                pass.set_bind_group(0, &dispatch.bindings, &[]);
                pass.dispatch_workgroups(x, y, z);
            }
        }
        // A dispatch that is timed has a pass of its own.
        if clock.is_some() {
            pass = None;
        }
        canary.count(pass.get_or_insert_with(|| {
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime()
        }));
        drop(pass);
        if let Some(clock) = clock {
            clock.resolve(&mut encoder);
        }
        encoder.finish()
    })
}

/// Writes the sizes of the next step to where shaders read them.
fn write_sizes(context: &Context, program: &mut Compiled, sizes: &Sizes) -> Result<(), DeviceError> {
    if program.sizes_written == Some(*sizes) {
        return Ok(());
    }
    let mut words = [0; 16];
    for (bytes, word) in words.as_chunks_mut::<4>().0.iter_mut().zip(Shader::sizes(sizes)) {
        *bytes = word.to_le_bytes();
    }
    context.checked("a step", 0, || context.queue.write_buffer(&program.sizes, 0, &words))?;
    program.sizes_written = Some(*sizes);
    Ok(())
}

/// Submits an encoded step, and expects it to be counted.
fn submit(
    (context, canary): (&Context, &Canary),
    commands: CommandBuffer,
    clock: Option<&Clock>,
) -> Result<SubmissionIndex, DeviceError> {
    let submitted = context.checked("a step", 0, || {
        let submitted = context.queue.submit([commands]);
        if let Some(clock) = clock {
            clock.ask();
        }
        submitted
    })?;
    canary.submitted();
    Ok(submitted)
}
