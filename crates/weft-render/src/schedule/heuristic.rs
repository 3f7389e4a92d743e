//! The heuristic: the schedule of a kernel unless another one is given.
//!
//! There are two, side by side. [`known`] fills whole waves of multiprocessors in short steps; [`unknown`] is for GPUs that do not report
//! their number, and [`known`] begins longer steps with its numbers. In both, the choices that decide the order of a sum (lanes, `reduce`,
//! `upcast`, `chunk`) depend only on the part, never on the number of rows in a step, so results are batch-invariant, bit for bit. Rows,
//! width and the spreading of chunks change no bit and depend on the sizes.

pub(crate) mod known;
pub(crate) mod unknown;

use weft_kern::{Kernel, Part, Sizes};

use crate::gpu::Gpu;
use crate::schedule::Schedule;
use crate::schedule::tuned::TunedSchedules;

/// A schedule for a kernel in steps of sizes up to `max`. A `reduce` that was tuned for a part's products takes precedence.
pub(crate) fn choose(kernel: &Kernel, max: &Sizes, gpu: &Gpu, kept: &TunedSchedules) -> Schedule {
    let tuned = |part: &Part| kept.reduce(kernel, part, gpu);
    let draft = match gpu.processors {
        0 => unknown::choose(kernel, max, gpu, tuned),
        _ => known::choose(kernel, max, gpu, tuned),
    };
    draft.schedule(kernel, gpu)
}
