//! Where the time of a step goes: the clock, the roles, and the kernels by lost time.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, percent, place, short};
use super::roles::{Roles, list, number};
use super::{roofline, timeline};

/// The most kernels shown.
const MOST: usize = 25;

/// Width of a bar, in units of its picture.
const WIDTH: f64 = 300.0;

/// Writes a `profile`, if there is one.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    if list(results, "kernels").is_empty() {
        return Ok(());
    }
    let roles = Roles::of(results);
    big(results, out)?;
    stacked(results, &roles, out)?;
    roofline::write(results, &roles, out)?;
    kernels(results, &roles, out)?;
    timeline::write(results, &roles, out)?;
    lints(results, out)
}

/// The most important figures.
fn big(results: &Value, out: &mut String) -> fmt::Result {
    let clock = &results["clock"];
    out.write_str("<div class=\"big\">")?;
    for (figure, name) in [
        (short(number(&results["tokens_per_second"]["median"])), "tokens per second"),
        (format!("{} ms", short(number(&clock["wall_ms"]))), "per step"),
        (format!("{} ms", short(number(&clock["kernels_ms"]))), "in kernels"),
        (format!("{} ms", short(number(&clock["waits_ms"]))), "waiting"),
        (results["step"]["kernels"].to_string(), "kernels"),
        (percent(number(&clock["closes"])), "of the time accounted for"),
        (percent(number(&results["overhead"]["median"])), "overhead of the clock"),
    ] {
        write!(out, "<div><b>{}</b>{name}</div>", Escaped(&figure))?;
    }
    out.write_str("</div>\n")
}

/// The time of each role: a bar and the figures.
fn stacked(results: &Value, roles: &Roles<'_>, out: &mut String) -> fmt::Result {
    let rows = list(results, "roles");
    if rows.is_empty() {
        return Ok(());
    }
    let total: f64 = rows.iter().map(|row| number(&row["ms"])).sum();
    let words: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row["role"].as_str().unwrap_or("?"), percent(number(&row["share"]))))
        .collect();
    let words = words.join(", ");
    write!(
        out,
        "<h3>Time by role</h3>\n<svg class=\"strip\" style=\"height:30px\" viewBox=\"0 0 1000 30\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\">",
        Escaped(&words)
    )?;
    let mut x = 0.0;
    for row in rows {
        let (role, width) =
            (row["role"].as_str().unwrap_or("?"), place(number(&row["ms"]), [0.0, total], 1000.0));
        let class = roles.class(role);
        let title = Escaped(role);
        write!(
            out,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"0\" width=\"{width:.2}\" height=\"30\"><title>{title}</title></rect>"
        )?;
        x += width;
    }
    out.write_str(
        "</svg>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time by role\">\n<table>\n<thead><tr><th>Role</th>\
         <th class=\"num\">ms</th><th class=\"num\">Share</th><th class=\"num\">Waiting</th><th class=\"num\">GB/s</th>\
         <th class=\"num\">GMAC/s</th><th class=\"num\">Of the roof</th></tr></thead>\n<tbody>\n",
    )?;
    for row in rows {
        let role = row["role"].as_str().unwrap_or("?");
        let [ms, waiting, bytes, macs, of_roof] =
            ["ms", "waiting_ms", "bytes_per_second", "multiplications_per_second", "of_roof"]
                .map(|name| number(&row[name]));
        writeln!(
            out,
            "<tr><td><span class=\"legend\"><span><i class=\"{}\"></i>{}</span></span></td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{:.1}</td><td class=\"num\">{:.1}</td>\
             <td class=\"num\">{}</td></tr>",
            roles.class(role),
            Escaped(role),
            short(ms),
            // Of the whole step, waiting between kernels included, as the terminal says it.
            percent(number(&row["share"])),
            short(waiting),
            bytes / 1e9,
            macs / 1e9,
            percent(of_roof)
        )?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n")
}

/// The kernels, the largest loss first.
fn kernels(results: &Value, roles: &Roles<'_>, out: &mut String) -> fmt::Result {
    let rows = list(results, "kernels");
    let most = rows.iter().map(|row| number(&row["ms"])).fold(0.0, f64::max);
    out.write_str(
        "<h3>Kernels by lost time</h3>\n<p class=\"soft\">The full part of a bar is the least time the machine needs, if that is known; the pale \
         part is lost. The numbers are those of the picture above.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Kernels\">\n\
         <table>\n<thead><tr><th class=\"num\">#</th><th>Kernel</th><th>Where</th><th class=\"num\">Launches</th><th class=\"num\">ms</th>\
         <th style=\"width:26%\">Lost</th><th class=\"num\">Lost ms</th><th class=\"num\">GB/s</th><th class=\"num\">Of the roof</th>\
         </tr></thead>\n<tbody>\n",
    )?;
    for (at, row) in rows.iter().take(MOST).enumerate() {
        let text = |name: &str| row[name].as_str().unwrap_or("?").to_string();
        let (kernel, role, segments) = (text("kernel"), text("role"), text("segments"));
        let [ms, roof, lost, of_roof, bytes] =
            ["ms", "roof_ms", "lost_ms", "of_roof", "bytes_per_second"].map(|name| number(&row[name]));
        let lost_words = match lost.is_nan() {
            true => "unknown how much of it lost".to_string(),
            false => format!("{} of it lost", short(lost)),
        };
        let words = format!("{kernel}: {} ms, {lost_words}", short(ms));
        let at_x = |ms: f64| place(ms, [0.0, most], WIDTH);
        writeln!(
            out,
            "<tr><td class=\"num\">{}</td><td><span class=\"legend\"><span><i class=\"{class}\"></i><code>{}</code></span></span>\
             <small>{}</small></td><td class=\"nowrap\"><small>{}</small></td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td><svg class=\"strip\" viewBox=\"0 0 {WIDTH} 22\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\
             <rect class=\"{class}\" fill-opacity=\".35\" x=\"0\" y=\"6\" width=\"{:.1}\" height=\"10\" rx=\"1\"/>\
             <rect class=\"{class}\" x=\"0\" y=\"6\" width=\"{:.1}\" height=\"10\" rx=\"1\"/></svg></td><td class=\"num\">{}</td>\
             <td class=\"num\">{:.1}</td><td class=\"num\">{}</td></tr>",
            at + 1,
            Escaped(&kernel),
            Escaped(&role),
            Escaped(&segments),
            row["launches"].as_u64().unwrap_or(0),
            short(ms),
            Escaped(&words),
            at_x(ms),
            at_x(if roof < ms { roof } else { 0.0 }),
            short(lost),
            bytes / 1e9,
            percent(of_roof),
            class = roles.class(&role),
        )?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n")?;
    let more = rows.len().saturating_sub(MOST);
    if more > 0 {
        writeln!(out, "<p class=\"soft\">{more} more kernels lose less.</p>")?;
    }
    Ok(())
}

/// Writes the advice.
fn lints(results: &Value, out: &mut String) -> fmt::Result {
    let lints = list(results, "lints");
    if lints.is_empty() {
        return Ok(());
    }
    out.write_str("<h3>Advice</h3>\n<ul>\n")?;
    for lint in lints {
        let text = |name: &str| lint[name].as_str().unwrap_or_default();
        let lost = match number(&lint["lost_ms"]) {
            lost if lost > 0.0 => format!(" ({} ms)", short(lost)),
            _ => String::new(),
        };
        let [lint, about, text] = ["lint", "about", "text"].map(text);
        let about = match about {
            "" => String::new(),
            about => format!("<code>{}</code>: ", Escaped(about)),
        };
        writeln!(out, "<li>{}{}: {about}{}</li>", Escaped(lint), Escaped(&lost), Escaped(text))?;
    }
    out.write_str("</ul>\n")
}
