//! Departures: one choice of the heuristic changed in all kernels at once, to measure what it is
//! worth.

use weft_kern::{Anchor, Kernel, Sizes};

use crate::forms::Form;
use crate::forms::steps::scaled;
use crate::limits::Limits;
use crate::render::fits;
use crate::schedule::Schedule;
use crate::schedule::check::is_possible;
use crate::schedule::order::lanes_matter;
use crate::search::neighbours::{with_lanes, with_reduce};

/// A choice of the heuristic that can be changed in all kernels at once.
#[derive(PartialEq, Eq, Debug)]
pub struct Departure {
    /// Its name: `schedule.rows=1`.
    pub name: &'static str,
    /// What it changes, in a sentence.
    pub about: &'static str,
}

/// What is changed, in each part or for the whole kernel.
#[derive(Clone, Copy)]
enum Choice {
    Reduce(u32),
    Rows(u32),
    /// The width times this, halved.
    Width(u32),
    Upcast(u32),
    Lanes(u32),
    Spread(bool),
    /// What the texts of the same schedule use.
    Text(fn(&mut Limits)),
    /// What the heuristic knows about the GPU, and so the schedule and its text.
    Gpu(fn(&mut Limits)),
}

/// Every departure, and what it changes.
static ALL: [(Departure, Choice); 33] = [
    (
        named("launch.early=off", "No kernel begins before the one before it has ended."),
        Choice::Text(|limits| limits.dependent_launch = false),
    ),
    (
        named("launch.handed=off", "No kernel lets the next one begin before it has waited itself."),
        Choice::Text(|limits| limits.hands_over = false),
    ),
    (
        named("launch.chains=off", "No launches become one whose workgroups wait for each other."),
        Choice::Text(|limits| limits.chains = false),
    ),
    (
        named("loads.early=off", "No weights are loaded before a workgroup waits, or ahead of a norm."),
        Choice::Text(|limits| limits.early_words = 0),
    ),
    (
        named("loads.quads=off", "Lanes load one word at a time, which changes the order of sums."),
        Choice::Gpu(|limits| (limits.quads, limits.gathers) = (false, false)),
    ),
    (
        named("products.matrix=off", "No products are computed by matrix units."),
        Choice::Gpu(|limits| limits.matrix = false),
    ),
    (
        named(
            "products.panels=off",
            "No products are multiplied from panels in workgroup memory, nor rows sorted by their matrix for that, which changes no bit.",
        ),
        Choice::Gpu(|limits| limits.panels = false),
    ),
    (
        named(
            "cooperative.values=off",
            "Cooperative matrices multiply no bytes, and nothing value by value: products from panels and the joins of prompts' attention are left to lanes, which changes no bit of finite values.",
        ),
        Choice::Text(|limits| limits.cooperative_values = false),
    ),
    (
        named("products.stages=off", "Products on matrix units copy no weights before a workgroup waits."),
        Choice::Text(|limits| limits.matrix_stages_ahead = false),
    ),
    (
        named(
            "products.whole=off",
            "Products on matrix units have no more than some stages of what they multiply in workgroup memory.",
        ),
        Choice::Text(|limits| limits.matrix_whole = false),
    ),
    (
        named(
            "products.large=off",
            "Wide products of prompts have workgroups of 32 rows and no more, which changes no bit.",
        ),
        Choice::Gpu(|limits| limits.matrix_large = false),
    ),
    (
        named(
            "products.picked=off",
            "Where few rows pick the same matrix, matrix units multiply them as in longer steps, which changes no bit.",
        ),
        Choice::Gpu(|limits| limits.picked_by_lanes = false),
    ),
    (
        named("attention.matrix=off", "No attention is computed by matrix units."),
        Choice::Gpu(|limits| limits.matrix_halves = false),
    ),
    (
        named("attention.cooperative=off", "No attention is computed by cooperative matrices."),
        Choice::Gpu(|limits| limits.cooperative = false),
    ),
    (
        named("attention.warpgroups=off", "No warps multiply matrices together, which changes no bit."),
        Choice::Gpu(|limits| limits.warpgroups = false),
    ),
    (
        named(
            "attention.shares=off",
            "Workgroups do not hand tiles of attention to each other, which changes no bit.",
        ),
        Choice::Text(|limits| limits.shares_tiles = false),
    ),
    (
        named(
            "attention.tiles=off",
            "A workgroup has at most four heads of a token in the latent attention of prompts, which changes no bit.",
        ),
        Choice::Gpu(|limits| limits.tiles = false),
    ),
    (
        named(
            "schedule.waves=off",
            "Schedules are chosen as if the number of multiprocessors were not known.",
        ),
        Choice::Gpu(|limits| limits.processors = 0),
    ),
    (
        named(
            "schedule.large=on",
            "Where the number of multiprocessors is not known, 16 bytes are loaded at a time and schedules are those for 128. This changes the order of sums.",
        ),
        Choice::Gpu(|limits| {
            if limits.processors == 0 {
                *limits = limits.clone().as_large();
            }
        }),
    ),
    (
        named(
            "attention.tiles=on",
            "The same, and a workgroup has up to ten heads of a token in the latent attention of prompts, which changes no further bit.",
        ),
        Choice::Gpu(|limits| {
            if limits.processors == 0 {
                *limits = limits.clone().with_tiles();
            }
        }),
    ),
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
    (
        named(
            "panels.ahead=off",
            "Lanes do not load the next stage of panels before they multiply this one.",
        ),
        Choice::Text(|limits| limits.panels_ahead = false),
    ),
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

/// Every departure.
pub fn departures() -> impl Iterator<Item = &'static Departure> {
    ALL.iter().map(|(departure, _)| departure)
}

/// The limits with which schedules are chosen under this departure, and those that texts are rendered for.
pub(crate) fn limits(departure: &Departure, chosen: &mut Limits, rendered: &mut Limits) {
    match ALL.iter().find(|(known, _)| known == departure) {
        Some((_, Choice::Text(change))) => change(rendered),
        Some((_, Choice::Gpu(change))) => {
            change(chosen);
            change(rendered);
        }
        _ => {}
    }
}

/// The schedule changed by this departure, in every part where the result can be rendered.
pub(crate) fn depart(
    departure: &Departure,
    kernel: &Kernel,
    max: &Sizes,
    from: &Schedule,
    limits: &Limits,
) -> Schedule {
    let Some((_, choice)) = ALL.iter().find(|(known, _)| known == departure) else { return from.clone() };
    let can =
        |schedule: &Schedule| is_possible(kernel, schedule, limits) && fits(kernel, schedule, max, limits);
    if let Choice::Lanes(lanes) = *choice {
        let schedule = with_lanes((kernel, limits), from, lanes, true);
        return if lanes_matter(kernel) || !can(&schedule) { from.clone() } else { schedule };
    }
    let mut found = from.clone();
    for (i, part) in kernel.parts.iter().enumerate() {
        let mut schedule = found.clone();
        let mut split = found.parts[i].split(part);
        let is_dot = matches!(part.anchor, Anchor::Dot(_));
        match *choice {
            Choice::Reduce(reduce) if is_dot => {
                schedule = with_reduce((kernel, limits), &found, i, reduce, true);
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
        schedule.parts[i] = Form::new(part, &split, limits);
        if can(&schedule) {
            found = schedule;
        }
    }
    found
}
