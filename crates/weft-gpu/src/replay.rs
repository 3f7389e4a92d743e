//! A step on the adapter: its launches in one command buffer, in order.

use weft_device::{DeviceError, Timings};
use weft_kern::Sizes;

use crate::clock::Clock;
use crate::compile::Compiled;
use crate::context::Context;
use crate::shader::Shader;

/// Runs a program once, and returns when it is done.
pub(crate) fn replay(
    context: &Context,
    program: &mut Compiled,
    sizes: &Sizes,
    timings: Option<&mut Timings>,
) -> Result<(), DeviceError> {
    if !sizes.fit(&program.max) {
        let max = program.max;
        return Err(DeviceError::Usage(format!("{sizes:?} exceed what was compiled for: {max:?}")));
    }
    let Some(timings) = timings else {
        let submitted = submit(context, program, sizes, None)?;
        return context.wait(submitted);
    };
    if program.clock.is_none() {
        program.clock = Some(Clock::new(context, program.launches.len())?);
    }
    let program = &*program;
    let Some(clock) = &program.clock else { return Ok(()) };
    timings.begin(1, program.launches.len());
    let lane = timings.lane(0);
    let submitted = submit(context, program, sizes, Some(clock))?;
    let at = timings.origin().map_or(0, |origin| origin.elapsed().as_nanos() as u64);
    context.wait(submitted)?;
    let ran = |launch: usize| program.launches[launch].grid.groups(sizes) != [0; 3];
    clock.tell(context, at, ran, &lane)
}

/// Encodes a step and hands it to the adapter.
fn submit(
    context: &Context,
    program: &Compiled,
    sizes: &Sizes,
    clock: Option<&Clock>,
) -> Result<wgpu::SubmissionIndex, DeviceError> {
    let mut words = [0; 16];
    for (bytes, word) in words.as_chunks_mut::<4>().0.iter_mut().zip(Shader::sizes(sizes)) {
        *bytes = word.to_le_bytes();
    }
    context.checked("a step", 0, || {
        context.queue.write_buffer(&program.sizes, 0, &words);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        // Time is only taken where a pass begins or ends, so each launch is one then.
        let mut pass = None;
        for (i, launch) in program.launches.iter().enumerate() {
            let [x, y, z] = launch.grid.groups(sizes);
            if x == 0 {
                continue;
            }
            if clock.is_some() {
                pass = None;
            }
            let pass = pass.get_or_insert_with(|| {
                let timestamp_writes = clock.map(|clock| clock.writes(i));
                let described = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                encoder.begin_compute_pass(&described).forget_lifetime()
            });
            pass.set_pipeline(&launch.pipeline);
            pass.set_bind_group(0, &launch.bindings, &[]);
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        if let Some(clock) = clock {
            clock.resolve(&mut encoder);
        }
        let submitted = context.queue.submit([encoder.finish()]);
        if let Some(clock) = clock {
            clock.ask();
        }
        submitted
    })
}
