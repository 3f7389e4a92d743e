//! How many workgroups of a chain run at once.
//!
//! No API tells: it depends on the registers and the workgroup memory of the compiled text, and on the number of multiprocessors.
//! So a launch of the text itself counts those that begin before one has ended.

use weft_device::DeviceError;
use weft_render::{CENSUS, CENSUS_GROUPS, CENSUS_RESULT};
use wgpu::{BindGroup, ComputePipeline};

use crate::canary::Canary;
use crate::context::Context;

/// Counts the workgroups of a chain that run at once; at least one. `ask` writes whether a launch with these bindings is a census.
///
/// # Errors
/// Those of the driver.
pub(crate) fn census(
    (context, canary): (&Context, &Canary),
    pipeline: &ComputePipeline,
    bindings: &BindGroup,
    ask: impl Fn(bool) -> Result<(), DeviceError>,
) -> Result<u32, DeviceError> {
    ask(true)?;
    canary.reset(context, &CENSUS)?;
    context.checked("a census", 0, || {
        let mut encoder = context.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, bindings, &[]);
        pass.dispatch_workgroups(CENSUS_GROUPS, 1, 1);
        drop(pass);
        context.queue.submit([encoder.finish()])
    })?;
    let counted = canary.word(context, CENSUS_RESULT)?;
    canary.reset(context, &CENSUS)?;
    ask(false)?;
    Ok(counted.clamp(1, CENSUS_GROUPS))
}
