//! Renders kernels: chooses a schedule if none is given, lowers, and prints.

use std::iter;

use weft_kern::{Kernel, Sizes};
use weft_shader::dialect::{Cuda, Dialect, WARP, Wgsl, print};
use weft_shader::grid::Grid;
use weft_shader::module::Module;

use crate::forms::Form;
use crate::given;
use crate::gpu::{Gpu, Language, Target};
use crate::lower::{Job, Step};
use crate::refused::{Refused, Why};
use crate::schedule::Schedule;
use crate::schedule::heuristic::choose;
use crate::schedule::tuned::TunedSchedules;
use crate::shader::{Shader, Slots};

/// The fewest lanes per workgroup that selects values.
const LEAST_LANES: u32 = 64;

/// Renders a verified kernel for steps of sizes up to `max`, with the heuristic's schedule, or with its own texts if it has any. Returns
/// its shaders, which must be launched in order. `slots` has the bindings of its parameters.
///
/// # Errors
/// [`Refused`], naming the limit that the kernel exceeds.
pub fn render(kernel: &Kernel, slots: &Slots, max: &Sizes, target: &Target) -> Result<Vec<Shader>, Refused> {
    if let Some(given) = given::shaders(kernel, slots, max, target)? {
        return Ok(given);
    }
    let chosen = choose(kernel, max, &target.gpu, &TunedSchedules::default());
    render_with(kernel, slots, &fitting(kernel, chosen, max, &target.gpu)?, max, target)
}

/// Renders a verified kernel with this schedule.
///
/// # Errors
/// [`Refused`], also if the schedule does not fit the kernel.
pub fn render_with(
    kernel: &Kernel,
    slots: &Slots,
    schedule: &Schedule,
    max: &Sizes,
    target: &Target,
) -> Result<Vec<Shader>, Refused> {
    let refused = |(part, why)| Refused { kernel: kernel.name.clone(), part, why };
    if let (Language::Cuda, Some(found)) = (target.language, target.gpu.subgroup)
        && found != WARP
    {
        return Err(refused((None, Why::Subgroup { found })));
    }
    let job = Job::new(kernel, slots, schedule, max, &target.gpu).map_err(refused)?;
    let shader = |step: &Step| {
        let (module, grid, scratch_bytes) = job.module(*step).map_err(refused)?;
        Ok(shader(dialect(target), &module, grid, scratch_bytes))
    };
    job.steps().iter().map(shader).collect()
}

/// The dialect of the target's language.
pub(crate) fn dialect(target: &Target) -> &'static dyn Dialect {
    match target.language {
        Language::Wgsl if target.gpu.dot4 => &Wgsl { dot4: true },
        Language::Wgsl => &Wgsl { dot4: false },
        Language::Cuda => &Cuda,
    }
}

/// A module as a text.
pub(crate) fn shader(dialect: &dyn Dialect, module: &Module, grid: Grid, scratch_bytes: u64) -> Shader {
    let slots = module.slots.iter().flat_map(|slot| iter::repeat_n(slot.written, slot.pieces as usize));
    Shader {
        name: module.name.clone(),
        source: print(dialect, module),
        entry: dialect.entry_name(&module.name),
        shared_bytes: 4 * module.shared_words + module.arrays.bytes(),
        scratch_bytes,
        lanes: module.lanes,
        needs_spirv: module.needs_spirv(),
        own_architecture: module.uses_warpgroups(),
        sizes_read: module.sizes_read(),
        dependent: module.dependent,
        releases_early: module.releases_early,
        given: None,
        slots: slots.chain(module.chain.then_some(true)).collect(),
        memory: module.memory(),
        grid,
    }
}

/// The schedule, made smaller until it fits a workgroup's memory and its spread products have enough counters.
pub(crate) fn fitting(
    kernel: &Kernel,
    mut schedule: Schedule,
    max: &Sizes,
    gpu: &Gpu,
) -> Result<Schedule, Refused> {
    loop {
        let Err((part, why)) = alone(kernel, &schedule, max, gpu) else { return Ok(schedule) };
        let smaller = match (&why, part) {
            (Why::Shared { .. }, Some(i)) => {
                schedule.parts[i].smaller(&kernel.parts[i], gpu).map(|form| (i, form))
            }
            (Why::Counters { .. }, _) => {
                let parts = kernel.parts.iter().zip(&schedule.parts).enumerate();
                parts.rev().find_map(|(i, (part, form))| match form {
                    Form::DotGathered(gathered) => Some((i, Form::DotLanes(gathered.by_one(part)))),
                    _ => None,
                })
            }
            _ => None,
        };
        match smaller {
            Some((i, smaller)) => schedule.parts[i] = smaller,
            None if can_have_fewer_lanes(&schedule) => schedule.lanes /= 2,
            None => return Err(Refused { kernel: kernel.name.clone(), part, why }),
        }
    }
}

/// Whether a kernel only selects values, so that the number of lanes changes no bit. Without subgroups each lane takes workgroup memory.
fn can_have_fewer_lanes(schedule: &Schedule) -> bool {
    let selects = schedule.parts.iter().all(|form| matches!(form, Form::SelectBlocks(_)));
    selects && schedule.lanes > LEAST_LANES
}

/// Whether a kernel can be rendered with this schedule, for any bindings of its arguments.
pub(crate) fn fits(kernel: &Kernel, schedule: &Schedule, max: &Sizes, gpu: &Gpu) -> bool {
    alone(kernel, schedule, max, gpu).is_ok()
}

/// Lowers a kernel as if each argument had its own buffer, with no limit on their number.
fn alone(kernel: &Kernel, schedule: &Schedule, max: &Sizes, gpu: &Gpu) -> Result<(), (Option<usize>, Why)> {
    let slots = Slots::without_weights(0..kernel.params.len());
    let gpu = Gpu { storage_buffers: u32::MAX, ..gpu.clone() };
    let job = Job::new(kernel, &slots, schedule, max, &gpu)?;
    job.steps().iter().try_for_each(|step| job.module(*step).map(drop))
}
