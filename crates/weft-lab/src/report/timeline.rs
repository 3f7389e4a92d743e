//! The timeline of a step: what each thread worked on, and when it waited.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, place, short};
use super::roles::{Roles, list, number};

const WIDTH: f64 = 1000.0;
/// Height of a thread's lane, with the gap below it.
const LANE: f64 = 30.0;
/// Where lanes begin, right of the threads' names.
const LEFT: f64 = 74.0;
/// Marks on the axis.
const MARKS: usize = 8;
/// The most slices drawn, so that browsers can open a page of a large machine.
const MOST: usize = 12_000;

/// Writes the timeline, if there is one.
pub(super) fn write(results: &Value, roles: &Roles<'_>, out: &mut String) -> fmt::Result {
    let timeline = &results["timeline"];
    let wall = number(&timeline["wall_ms"]);
    let slices = list(timeline, "slices");
    let launches = list(results, "launches");
    let last = slices.iter().filter_map(|slice| slice[0].as_u64()).max().unwrap_or(0);
    let threads = usize::try_from(last).unwrap_or(usize::MAX).saturating_add(1);
    if slices.is_empty() || wall.is_nan() || wall <= 0.0 || threads > slices.len() {
        return Ok(());
    }
    // Only whole lanes.
    let shown = (MOST.saturating_mul(threads) / slices.len()).clamp(1, threads);
    let height = shown as f64 * LANE + 30.0;
    write!(
        out,
        "<h3>Timeline of the fastest step</h3>\n<p class=\"soft\">A lane per thread; work is coloured by role, the rest is waiting.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"What {threads} threads did in a step of {} ms, in {} launches\">",
        short(wall),
        launches.len()
    )?;
    let at = |ms: f64| LEFT + place(ms, [0.0, wall], WIDTH - LEFT);
    for thread in 0..shown {
        let y = thread as f64 * LANE;
        write!(
            out,
            "<text x=\"0\" y=\"{:.1}\">thread {}</text><rect class=\"wait\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"24\"/>",
            y + 16.0,
            thread,
            WIDTH - LEFT
        )?;
    }
    for slice in slices {
        let (Some(thread), Some(launch)) = (slice[0].as_u64(), slice[1].as_u64()) else { continue };
        if thread as usize >= shown {
            continue;
        }
        let (from, to) = (number(&slice[2]), number(&slice[3]));
        let text = |name: &str| launches.get(launch as usize).and_then(|l| l[name].as_str()).unwrap_or("?");
        let title = format!("{}, {}: {} ms", text("kernel"), text("segment"), short(to - from));
        write!(
            out,
            "<rect class=\"{}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"24\"><title>{}</title></rect>",
            roles.class(text("role")),
            at(from),
            thread as f64 * LANE,
            (at(to) - at(from)).max(0.15),
            Escaped(&title)
        )?;
    }
    let bottom = shown as f64 * LANE;
    let step = step(wall / MARKS as f64);
    for mark in (0..).map(|i| f64::from(i) * step).take_while(|mark| *mark <= wall).take(4 * MARKS) {
        let x = at(mark);
        write!(
            out,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 5.0,
            bottom + 19.0,
            mark_text(mark)
        )?;
    }
    out.write_str("</svg>\n</div>\n")?;
    if shown < threads {
        writeln!(out, "<p class=\"soft\">{} more threads are not shown.</p>", threads - shown)?;
    }
    Ok(())
}

/// The next larger of 1, 2, 5, 10, 20, …
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|one| one * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

fn mark_text(ms: f64) -> String {
    if ms == 0.0 { "0 ms".into() } else { format!("{}", (ms * 1e6).round() / 1e6) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        let steps = [0.9, 1.0, 1.1, 3.0, 7.0, 0.03].map(step);
        let expected = [1.0, 1.0, 2.0, 5.0, 10.0, 0.05];
        assert!(steps.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{steps:?}");
        assert_eq!((mark_text(0.0), mark_text(0.1 + 0.2)), ("0 ms".into(), "0.3".into()));
    }
}
