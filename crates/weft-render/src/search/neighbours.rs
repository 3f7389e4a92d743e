//! A schedule's neighbours: one number halved, doubled or flipped. Neighbours that cannot be rendered are left out.

use weft_kern::{Anchor, Kernel, Sizes};

use crate::forms::steps::{scaled, steps};
use crate::gpu::Gpu;
use crate::render::fits;
use crate::schedule::Schedule;
use crate::schedule::check::is_possible;
use crate::schedule::order::{can_be_tuned, lanes_matter, sums};
use crate::split::Split;

/// All neighbours of a kernel's schedule that can run in steps up to `max`, each once, the most
/// promising choices first.
pub(crate) fn neighbours(kernel: &Kernel, max: &Sizes, from: &Schedule, gpu: &Gpu) -> Vec<Schedule> {
    let mut found: Vec<Schedule> = Vec::new();
    let mut offer = |schedule: Schedule| {
        let is_new = schedule != *from && !found.contains(&schedule);
        let can = is_new && can_be_tuned(kernel, &schedule, gpu);
        if can && is_possible(kernel, &schedule, gpu) && fits(kernel, &schedule, max, gpu) {
            found.push(schedule);
        }
    };
    for (i, part) in kernel.parts.iter().enumerate() {
        if matches!(part.anchor, Anchor::Dot(_)) {
            for reduce in steps(from.parts[i].split(part).reduce) {
                [false, true]
                    .into_iter()
                    .for_each(|scale| offer(with_reduce((kernel, gpu), from, i, reduce, scale)));
            }
        }
    }
    if !lanes_matter(kernel) {
        for lanes in steps(from.lanes) {
            [false, true].into_iter().for_each(|scale| offer(with_lanes((kernel, gpu), from, lanes, scale)));
        }
    }
    for (i, part) in kernel.parts.iter().enumerate() {
        let rows = part.rows.iter().fold(1usize, |n, d| n.saturating_mul(d.eval(max)));
        for form in from.parts[i].neighbours(part, rows, gpu) {
            let mut schedule = from.clone();
            schedule.parts[i] = form;
            offer(schedule);
        }
    }
    found
}

/// The schedule with `reduce` lanes for each sum of part `i` and of other parts with the same sums. With `scale`, the width changes so that
/// each lane keeps its number of columns.
pub(crate) fn with_reduce(
    (kernel, gpu): (&Kernel, &Gpu),
    from: &Schedule,
    i: usize,
    reduce: u32,
    scale: bool,
) -> Schedule {
    let mut schedule = from.clone();
    let own = sums(kernel, &kernel.parts[i]);
    for (part, form) in kernel.parts.iter().zip(&mut schedule.parts) {
        if sums(kernel, part) == own {
            let split = form.split(part);
            let width = if scale { scaled(part, split.width, split.reduce, reduce) } else { split.width };
            *form = form.with(part, &Split { reduce, width, ..split }, gpu);
        }
    }
    schedule
}

/// The schedule with this number of lanes.
pub(crate) fn with_lanes(
    (kernel, gpu): (&Kernel, &Gpu),
    from: &Schedule,
    lanes: u32,
    scale: bool,
) -> Schedule {
    let mut schedule = Schedule { lanes, ..from.clone() };
    for (part, form) in kernel.parts.iter().zip(&mut schedule.parts).filter(|_| scale) {
        let split = form.split(part);
        let width = scaled(part, split.width, lanes, from.lanes);
        *form = form.with(part, &Split { width, ..split }, gpu);
    }
    schedule
}
