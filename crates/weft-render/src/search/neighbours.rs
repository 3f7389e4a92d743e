//! A schedule's neighbours: one choice halved, doubled or flipped. Those that cannot be rendered
//! are left out.

use weft_kern::{Anchor, Kernel, Part, Sizes};

use crate::limits::Limits;
use crate::render::fits;
use crate::schedule::check::is_possible;
use crate::schedule::order::{can_be_tuned, lanes_matter, sums};
use crate::schedule::{Schedule, Split};

/// Columns that are rounded together.
const BLOCK: u32 = 32;

/// All neighbours of a kernel's schedule that can run in steps up to `max`, each once, the most
/// promising choices first.
pub(crate) fn neighbours(kernel: &Kernel, max: &Sizes, from: &Schedule, limits: &Limits) -> Vec<Schedule> {
    let mut found: Vec<Schedule> = Vec::new();
    let mut offer = |schedule: Schedule| {
        let is_new = schedule != *from && !found.contains(&schedule);
        let can = is_new && can_be_tuned(kernel, &schedule, limits);
        if can && is_possible(kernel, &schedule, limits) && fits(kernel, &schedule, max, limits) {
            found.push(schedule);
        }
    };
    for (i, part) in kernel.parts.iter().enumerate() {
        if matches!(part.anchor, Anchor::Dot(_)) {
            for reduce in steps(from.parts[i].reduce) {
                [false, true]
                    .into_iter()
                    .for_each(|scale| offer(with_reduce(kernel, from, i, reduce, scale)));
            }
        }
    }
    if !lanes_matter(kernel) {
        for lanes in steps(from.lanes) {
            [false, true].into_iter().for_each(|scale| offer(with_lanes(kernel, from, lanes, scale)));
        }
    }
    for (i, part) in kernel.parts.iter().enumerate() {
        for split in splits(part, max, &from.parts[i]) {
            let mut schedule = from.clone();
            schedule.parts[i] = split;
            offer(schedule);
        }
    }
    found
}

/// Twice and half.
fn steps(n: u32) -> impl Iterator<Item = u32> {
    [n.saturating_mul(2), n / 2].into_iter().filter(|n| *n > 0)
}

/// Splits that change no bit, and nothing outside the part.
fn splits(part: &Part, max: &Sizes, from: &Split) -> Vec<Split> {
    let all = part.rows.iter().fold(1usize, |n, d| n.saturating_mul(d.eval(max)));
    let attends = part.attention().is_some();
    let mut splits = Vec::new();
    if from.picked > 0 {
        // All else of the split follows from it.
        return [0, from.picked / 2, from.picked * 2].map(|picked| Split { picked, ..*from }).into();
    }
    for rows in steps(from.rows).filter(|rows| *rows as usize <= all.next_power_of_two()) {
        splits.push(Split { rows, along_first: from.along_first && rows > 1, ..*from });
        if rows > 1 && part.rows.len() > 1 && !attends {
            splits.push(Split { rows, along_first: !from.along_first, ..*from });
        }
    }
    if from.rows > 1 && part.rows.len() > 1 && !attends {
        splits.push(Split { along_first: !from.along_first, ..*from });
    }
    if attends {
        splits.push(Split { spread: !from.spread, ..*from });
    }
    if part.columns_independent() && !attends {
        splits.extend(steps(from.width).map(|width| Split { width: at_most_all(part, width), ..*from }));
    }
    if matches!(part.anchor, Anchor::Dot(_)) {
        for upcast in steps(from.upcast) {
            splits.push(Split { upcast, ..*from });
            splits.push(Split { upcast, width: scaled(part, from.width, upcast, from.upcast), ..*from });
        }
    }
    splits
}

/// The schedule with `reduce` lanes for each sum of part `i` and of other parts with the same sums.
/// With `scale`, the width changes so that each lane has as many columns as before.
pub(crate) fn with_reduce(kernel: &Kernel, from: &Schedule, i: usize, reduce: u32, scale: bool) -> Schedule {
    let mut schedule = from.clone();
    let own = sums(kernel, &kernel.parts[i]);
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        if sums(kernel, part) == own {
            let width = if scale { scaled(part, split.width, split.reduce, reduce) } else { split.width };
            *split = Split { reduce, width, ..*split };
        }
    }
    schedule
}

/// The schedule with this number of lanes.
pub(crate) fn with_lanes(kernel: &Kernel, from: &Schedule, lanes: u32, scale: bool) -> Schedule {
    let mut schedule = Schedule { lanes, ..from.clone() };
    for (part, split) in kernel.parts.iter().zip(&mut schedule.parts) {
        if scale {
            split.width = scaled(part, split.width, lanes, from.lanes);
        }
    }
    schedule
}

/// A width times `times / by`, if columns can be split: whole blocks, and at most all columns.
pub(crate) fn scaled(part: &Part, width: u32, times: u32, by: u32) -> u32 {
    if !part.columns_independent() {
        return width;
    }
    let scaled = u64::from(width) * u64::from(times) / u64::from(by.max(1));
    let scaled = u32::try_from(scaled).unwrap_or(u32::MAX).max(2);
    at_most_all(part, if width.is_multiple_of(BLOCK) { scaled.max(BLOCK) } else { scaled })
}

fn at_most_all(part: &Part, width: u32) -> u32 {
    width.min(u32::try_from(part.cols).unwrap_or(u32::MAX))
}
