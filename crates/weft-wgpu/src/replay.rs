//! Replays a step: its launches in order, in one command buffer or a few.
//!
//! A step is submitted without waiting for it. While the GPU works on it the host goes on, to the
//! step's next program or to encoding the next step, which is most often just like this one.
//! Reading what a step wrote waits for it, and checks that it ran to its end.

use std::collections::VecDeque;

use weft_device::{DeviceError, Timings};
use weft_kern::Sizes;
use weft_render::Shader;
use wgpu::SubmissionIndex;

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
        if !program.encoded_for.is_some_and(|of| program.same_groups(&of, sizes)) {
            encode((context, canary), program, sizes, false)?;
        }
        write_sizes(context, program, sizes)?;
        let submitted = submit((context, canary), program, false)?;
        in_flight.0.extend(submitted);
        // This step is on its way whatever becomes of the next one, which will report its own
        // error.
        let _ = encode((context, canary), program, sizes, false);
        return Ok(());
    };
    in_flight.wait(context)?;
    if program.clock.is_none() {
        program.clock = Some(Clock::new(context, program.launches.len())?);
    }
    write_sizes(context, program, sizes)?;
    timings.begin(1, program.launches.len());
    let lane = timings.lane(0);
    encode((context, canary), program, sizes, true)?;
    let submitted = submit((context, canary), program, true)?;
    let Some(clock) = &program.clock else { return Ok(()) };
    let at = timings.origin().map_or(0, |origin| origin.elapsed().as_nanos() as u64);
    submitted.map_or(Ok(()), |submitted| context.wait(submitted))?;
    let ran = |launch: usize| program.launches[launch].iter().any(|dispatch| dispatch.runs(sizes));
    clock.record(context, at, ran, &lane)
}

impl Dispatch {
    /// Whether there is something to do in a step of these sizes.
    fn runs(&self, sizes: &Sizes) -> bool {
        self.groups.of(sizes) != [0; 3]
    }
}

impl Compiled {
    /// Whether steps of these sizes have the same workgroups.
    fn same_groups(&self, a: &Sizes, b: &Sizes) -> bool {
        a == b
            || self.launches.iter().flatten().all(|dispatch| dispatch.groups.of(a) == dispatch.groups.of(b))
    }
}

/// Encodes the submissions of a step into `program.next`. The last dispatch of each counts it.
fn encode(
    (context, canary): (&Context, &Canary),
    program: &mut Compiled,
    sizes: &Sizes,
    timed: bool,
) -> Result<(), DeviceError> {
    let Compiled { launches, segments, clock, next, encoded_for, .. } = program;
    let clock = clock.as_ref().filter(|_| timed);
    next.clear();
    *encoded_for = None;
    context.checked("a step", 0, || {
        for (s, segment) in segments.iter().enumerate() {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            let mut pass = None;
            for (i, launch) in segment.clone().zip(&launches[segment.clone()]) {
                let first = launch.iter().position(|dispatch| dispatch.runs(sizes));
                let last = launch.iter().rposition(|dispatch| dispatch.runs(sizes));
                for (p, dispatch) in launch.iter().enumerate() {
                    let [x, y, z] = dispatch.groups.of(sizes);
                    if x == 0 {
                        continue;
                    }
                    // Timestamps are only written where a pass begins or ends, so each dispatch gets
                    // a pass.
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
            if let Some(clock) = clock.filter(|_| s + 1 == segments.len()) {
                clock.resolve(&mut encoder);
            }
            next.push(encoder.finish());
        }
    })?;
    // A step that is timed is not kept for others.
    *encoded_for = Some(*sizes).filter(|_| !timed);
    Ok(())
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

/// Submits the encoded step, and expects all of it to be counted. Returns its last submission.
fn submit(
    (context, canary): (&Context, &Canary),
    program: &mut Compiled,
    timed: bool,
) -> Result<Option<SubmissionIndex>, DeviceError> {
    let Compiled { next, encoded_for, clock, .. } = program;
    *encoded_for = None;
    let mut last = None;
    for commands in next.drain(..) {
        let submitted = context.checked("a step", 0, || context.queue.submit([commands]))?;
        canary.submitted();
        last = Some(submitted);
    }
    if let Some(clock) = clock.as_ref().filter(|_| timed) {
        context.checked("a step", 0, || clock.ask())?;
    }
    Ok(last)
}
