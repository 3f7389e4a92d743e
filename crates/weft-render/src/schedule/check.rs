//! Checks that a schedule is legal for a kernel and a GPU. Workgroup memory is counted later, when the kernel is lowered.

use weft_kern::{Kernel, Part};

use crate::forms::Form;
use crate::forms::checks::{Candidate, MOST_SUMS};
use crate::gpu::Gpu;
use crate::schedule::Schedule;

/// Checks a schedule of a verified kernel.
///
/// # Errors
/// The part at fault, if any, and the broken rule.
pub(crate) fn check(kernel: &Kernel, schedule: &Schedule, gpu: &Gpu) -> Result<(), (Option<usize>, String)> {
    let Schedule { lanes, parts } = schedule;
    if !lanes.is_power_of_two() || *lanes > gpu.invocations {
        return Err((None, format!("{lanes} lanes; expected a power of two up to {}", gpu.invocations)));
    }
    if parts.len() != kernel.parts.len() {
        return Err((None, format!("{} forms for {} parts", parts.len(), kernel.parts.len())));
    }
    for (i, (part, form)) in kernel.parts.iter().zip(parts).enumerate() {
        let of = Candidate { kernel, part, lanes: *lanes, gpu };
        form.check(&of).map_err(|why| (Some(i), why))?;
    }
    Ok(())
}

/// Whether a schedule is legal for the kernel, and has a sensible number of variables.
pub(crate) fn is_possible(kernel: &Kernel, schedule: &Schedule, gpu: &Gpu) -> bool {
    let few = |(part, form): (&Part, &Form)| {
        let split = form.split(part);
        let sums = split.rows.saturating_mul(split.upcast).saturating_mul(part.products().len() as u32);
        sums <= MOST_SUMS || form.sorts()
    };
    check(kernel, schedule, gpu).is_ok() && kernel.parts.iter().zip(&schedule.parts).all(few)
}
