//! The kernels of a plan drawn to scale: how many bytes of weights each reads, and how long it takes.

use std::fmt::{self, Write as _};

use weft_lab::Escaped;

use super::facts::Plan;
use super::wording;
use crate::terminal::units::bytes;

/// Width of a bar, in units of its picture.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 26.0;

/// The number of colours.
const COLOURS: usize = 10;

/// The least width in which a number fits.
const ROOM: f64 = 20.0;

/// The anchor of a kernel of a plan, both counted from 1.
pub(super) fn id(plan: usize, kernel: usize) -> String {
    format!("plan-{plan}-kernel-{kernel}")
}

/// The class that colours a kernel.
pub(super) fn colour(kernel: usize) -> String {
    format!("c{}", (kernel - 1) % COLOURS)
}

/// Writes the bars: a part of each for every kernel, which links to it.
pub(super) fn write(number: usize, plan: &Plan<'_>, out: &mut String) -> fmt::Result {
    let kernels = &plan.kernels;
    let read: Vec<f64> = kernels.iter().map(|kernel| kernel.call.amounts.weight_bytes as f64).collect();
    let measured = kernels.iter().all(|kernel| kernel.measured_ns.is_some());
    let time = |at: usize| {
        let kernel = &kernels[at];
        kernel.measured_ns.filter(|_| measured).unwrap_or(kernel.call.ns)
    };
    let times: Vec<f64> = (0..kernels.len()).map(|at| time(at) as f64).collect();
    let word = if measured { "measured" } else { "estimated" };
    out.write_str("<div class=\"diagram\">\n")?;
    if read.iter().sum::<f64>() > 0.0 {
        let total = format!("Weights read: {}", bytes(read.iter().sum::<f64>() as u64));
        bar(number, plan, &total, &read, &|at| bytes(read[at] as u64), out)?;
    }
    let total = format!("Time, {word}: {}", wording::time(times.iter().sum::<f64>() as u64));
    bar(number, plan, &total, &times, &|at| wording::time(time(at)), out)?;
    out.write_str("</div>\n")
}

fn bar(
    number: usize,
    plan: &Plan<'_>,
    title: &str,
    sizes: &[f64],
    shown: &dyn Fn(usize) -> String,
    out: &mut String,
) -> fmt::Result {
    let total: f64 = sizes.iter().sum();
    write!(
        out,
        "<p class=\"soft\">{0}</p>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">",
        Escaped(title)
    )?;
    let mut x = 0.0;
    for (at, size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0.0) {
        let width = WIDTH * size / total;
        let words = format!(
            "{}. {}: {} ({:.1} %)",
            at + 1,
            plan.kernels[at].label(),
            shown(at),
            100.0 * size / total
        );
        write!(
            out,
            "<a href=\"#{}\"><title>{}</title><rect class=\"{}\" x=\"{x:.2}\" y=\"0\" width=\"{:.2}\" height=\"{HEIGHT}\"/>",
            id(number, at + 1),
            Escaped(&words),
            colour(at + 1),
            // A gap of a pixel between neighbours.
            (width - 1.0).max(0.5)
        )?;
        if width >= ROOM {
            let middle = x + width / 2.0;
            write!(out, "<text x=\"{middle:.1}\" y=\"17.5\" text-anchor=\"middle\">{}</text>", at + 1)?;
        }
        out.write_str("</a>")?;
        x += width;
    }
    out.write_str("</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_and_colours() {
        assert_eq!(id(2, 11), "plan-2-kernel-11");
        assert_eq!((colour(1), colour(11)), ("c0".to_string(), "c0".to_string()));
    }
}
