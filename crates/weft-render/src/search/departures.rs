//! Departures: one choice of the heuristic changed in all kernels at once, to measure its effect.

use weft_kern::{Anchor, Kernel, Sizes};

use crate::forms::steps::scaled;
use crate::gpu::Gpu;
use crate::render::fits;
use crate::schedule::Schedule;
use crate::schedule::check::is_possible;
use crate::schedule::order::lanes_matter;
use crate::search::neighbours::{with_lanes, with_reduce};
use crate::switches::{Departure, SWITCHES};

/// A change of each part, or of the whole kernel.
#[derive(Clone, Copy)]
enum Choice {
    Reduce(u32),
    Rows(u32),
    /// Half of the width times this number.
    Width(u32),
    Upcast(u32),
    Lanes(u32),
    Spread(bool),
}

/// The departures that change a number of schedules.
static MOVES: [(Departure, Choice); 12] = [
    (named("schedule.reduce=1", "No lanes share a sum."), Choice::Reduce(1)),
    (named("schedule.reduce=4", "Four lanes share each sum."), Choice::Reduce(4)),
    (named("schedule.reduce=16", "Sixteen lanes share each sum."), Choice::Reduce(16)),
    (named("schedule.reduce=32", "Thirty-two lanes share each sum."), Choice::Reduce(32)),
    (named("schedule.rows=1", "A workgroup has one row of products and attention."), Choice::Rows(1)),
    (
        named(
            "schedule.spread=off",
            "A workgroup walks all chunks of attention, and has all columns of a router.",
        ),
        Choice::Spread(false),
    ),
    (named("schedule.width=half", "A workgroup has half as many columns."), Choice::Width(1)),
    (named("schedule.width=double", "A workgroup has twice as many columns."), Choice::Width(4)),
    (named("schedule.upcast=2", "A lane has two columns at a time."), Choice::Upcast(2)),
    (named("schedule.lanes=64", "Workgroups have 64 lanes, where that changes no bit."), Choice::Lanes(64)),
    (
        named("schedule.lanes=128", "Workgroups have 128 lanes, where that changes no bit."),
        Choice::Lanes(128),
    ),
    (
        named("schedule.lanes=512", "Workgroups have 512 lanes, where that changes no bit."),
        Choice::Lanes(512),
    ),
];

const fn named(name: &'static str, about: &'static str) -> Departure {
    Departure { name, about }
}

/// Every departure: a switched feature, or a changed number.
pub fn departures() -> impl Iterator<Item = &'static Departure> {
    let switched = SWITCHES.iter().map(|switch| &switch.departure);
    switched.chain(MOVES.iter().map(|(departure, _)| departure))
}

/// Applies a departure to the GPU that schedules are chosen for, and to the one that texts are rendered for.
pub(crate) fn switch(departure: &Departure, chosen: &mut Gpu, rendered: &mut Gpu) {
    if let Some(found) = SWITCHES.iter().find(|switch| switch.departure == *departure) {
        (found.switch)(rendered);
        if found.is_scheduled {
            (found.switch)(chosen);
        }
    }
}

/// Applies a departure to every part in which the resulting schedule can be rendered.
pub(crate) fn depart(
    departure: &Departure,
    kernel: &Kernel,
    max: &Sizes,
    from: &Schedule,
    gpu: &Gpu,
) -> Schedule {
    let Some((_, choice)) = MOVES.iter().find(|(known, _)| known == departure) else { return from.clone() };
    let can = |schedule: &Schedule| is_possible(kernel, schedule, gpu) && fits(kernel, schedule, max, gpu);
    if let Choice::Lanes(lanes) = *choice {
        let schedule = with_lanes((kernel, gpu), from, lanes, true);
        return if lanes_matter(kernel) || !can(&schedule) { from.clone() } else { schedule };
    }
    let mut found = from.clone();
    for (i, part) in kernel.parts.iter().enumerate() {
        let mut schedule = found.clone();
        let mut split = found.parts[i].split(part);
        let is_dot = matches!(part.anchor, Anchor::Dot(_));
        match *choice {
            Choice::Reduce(reduce) if is_dot => {
                schedule = with_reduce((kernel, gpu), &found, i, reduce, true);
                split = schedule.parts[i].split(part);
            }
            Choice::Rows(rows) => {
                split.rows = rows;
                split.along_first &= rows > 1;
            }
            Choice::Spread(spread) if split.spread != spread && (split.spread || !is_dot) => {
                split.spread = spread;
                split.width = part.cols as u32;
            }
            Choice::Width(halves) if is_dot => split.width = scaled(part, split.width, halves, 2),
            Choice::Upcast(upcast) if is_dot => {
                split.width = scaled(part, split.width, upcast, split.upcast);
                split.upcast = upcast;
            }
            _ => continue,
        }
        schedule.parts[i] = schedule.parts[i].with(part, &split, gpu);
        if can(&schedule) {
            found = schedule;
        }
    }
    found
}
