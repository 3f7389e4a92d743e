//! The gain of each change: a row per change, its gain as an interval on an axis that all rows share.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, place, signed_percent};
use crate::ablate::MARGIN;

/// Width of an axis, in units of its picture.
const WIDTH: f64 = 300.0;

/// Larger gains are drawn at the end of the axis.
const MOST: f64 = 0.5;

const PHASES: [&str; 2] = ["decode", "prefill"];

/// Writes the rows of an `ablate`, if there are any.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let rows = list(&results["rows"]);
    if rows.is_empty() {
        return Ok(());
    }
    let combined = &results["combined"];
    let tried = list(&combined["tried"]);
    let end = rows.iter().chain(&tried).map(reach).fold(3.0 * MARGIN, f64::max).min(MOST);
    let confidence =
        results["rule"]["confidence"].as_f64().map_or(String::new(), |c| format!("{:.1} % ", 100.0 * c));
    out.write_str("<h3>One change at a time</h3>\n")?;
    writeln!(
        out,
        "<p class=\"soft\">Gain in tokens per second: the median of the pairs and its {confidence}interval. A gain within the band of \
         ±{} % is undecided.</p>",
        100.0 * MARGIN
    )?;
    table(&rows, end, "Changes", out)?;
    if !tried.is_empty() {
        out.write_str(
            "<h3>Combined</h3>\n<p class=\"soft\">Each winner on top of those kept before it.</p>\n",
        )?;
        table(&tried, end, "Combined changes", out)?;
        let gains = PHASES.iter().filter_map(|phase| {
            let gain = combined["together"][*phase]["gain"]["median"].as_f64()?;
            Some(format!("<div><b>{}</b>{phase}, all together</div>", signed_percent(gain)))
        });
        writeln!(out, "<div class=\"big\">{}</div>", gains.collect::<String>())?;
        let together = &combined["together"];
        if let (Some(verdict), Some(why)) = (together["verdict"].as_str(), together["why"].as_str()) {
            writeln!(out, "<p>All together: {}, {}.</p>", Escaped(verdict), Escaped(why))?;
        }
    }
    Ok(())
}

/// The largest magnitude of a row's intervals.
fn reach(row: &Value) -> f64 {
    let ends = PHASES.iter().flat_map(|phase| ["low", "high"].map(|end| &row[*phase]["gain"][end]));
    ends.filter_map(Value::as_f64).map(f64::abs).fold(0.0, f64::max)
}

fn table(rows: &[Value], end: f64, label: &str, out: &mut String) -> fmt::Result {
    let present: Vec<&str> =
        PHASES.into_iter().filter(|phase| rows.iter().any(|row| row[*phase].is_object())).collect();
    write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table>\n<thead><tr><th>Change</th>\
         <th class=\"num\">Kernels</th><th>Logits</th>"
    )?;
    for phase in &present {
        write!(out, "<th style=\"width:26%\">Gain in {phase}, ±{:.0} %</th><th></th>", 100.0 * end)?;
    }
    out.write_str("<th>Verdict</th></tr></thead>\n<tbody>\n")?;
    for row in rows {
        let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
        let (change, about) = (text(&row["change"]), row["about"].as_str().unwrap_or_default());
        write!(
            out,
            "<tr><td title=\"{}\" style=\"min-width:10rem\"><code>{}</code></td>",
            Escaped(about),
            Escaped(&change)
        )?;
        write!(
            out,
            "<td class=\"num\">{}</td><td class=\"nowrap\">{}</td>",
            kernels(row),
            logits(&row["logits"])
        )?;
        for phase in &present {
            interval(&row[*phase], end, &format!("{change} in {phase}"), out)?;
        }
        let (verdict, why) = (text(&row["verdict"]), text(&row["why"]));
        let class = if ["keep", "drop"].contains(&verdict.as_str()) { verdict.as_str() } else { "undecided" };
        writeln!(
            out,
            "<td><span class=\"verdict {class}\">{}</span> <small class=\"why\">{}</small></td></tr>",
            Escaped(&verdict),
            Escaped(&why)
        )?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n")
}

fn kernels(row: &Value) -> String {
    let counts = PHASES.iter().find_map(|phase| {
        let kernels = &row[*phase]["kernels"];
        Some((kernels["base"].as_i64()?, kernels["change"].as_i64()?))
    });
    match counts {
        None => "–".into(),
        Some((base, change)) if base == change => change.to_string(),
        Some((base, change)) => format!("{change} ({:+})", change - base).replace('-', "−"),
    }
}

fn logits(gate: &Value) -> String {
    if gate["same_bits"] == true {
        return "same bits".into();
    }
    let golden = &gate["from_golden"]["change"]["mean_kl"];
    match golden.as_f64().or(gate["from_base"]["mean_kl"].as_f64()) {
        Some(kl) => format!("KL {kl:.1e}{}", if golden.is_null() { "" } else { " from golden" }),
        None if gate.is_null() => "–".into(),
        None => "NaN".into(),
    }
}

/// Writes two cells: the interval as a picture and the gain as a number.
fn interval(phase: &Value, end: f64, of: &str, out: &mut String) -> fmt::Result {
    let gain = &phase["gain"];
    let Some(median) = gain["median"].as_f64() else {
        return out.write_str("<td></td><td class=\"num\">–</td>");
    };
    let at = |value: f64| place(value, [-end, end], WIDTH);
    let ends = [gain["low"].as_f64(), gain["high"].as_f64()];
    let words = match ends {
        [Some(low), Some(high)] => {
            let [median, low, high] = [median, low, high].map(signed_percent);
            format!("{of}: {median}, from {low} to {high}")
        }
        _ => format!("{of}: {}, too few pairs for an interval", signed_percent(median)),
    };
    let tone = match ends {
        [Some(low), _] if low > MARGIN => "good",
        [_, Some(high)] if high < -MARGIN => "bad",
        _ => "even",
    };
    let (left, right, zero) = (at(-MARGIN), at(MARGIN), at(0.0));
    write!(
        out,
        "<td><svg class=\"strip\" viewBox=\"0 0 {WIDTH} 22\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\
         <rect class=\"band\" x=\"{left:.1}\" y=\"0\" width=\"{1:.1}\" height=\"22\"/>\
         <line class=\"zero\" x1=\"{zero}\" x2=\"{zero}\" y1=\"0\" y2=\"22\" vector-effect=\"non-scaling-stroke\"/>",
        Escaped(&words),
        right - left,
    )?;
    if let [Some(low), Some(high)] = ends {
        let (low, high) = (at(low), at(high));
        // Narrow intervals stay visible.
        let width = (high - low).max(1.5);
        write!(
            out,
            "<rect class=\"{tone}\" fill-opacity=\".4\" x=\"{low:.1}\" y=\"8\" width=\"{width:.1}\" height=\"6\" rx=\"1\"/>"
        )?;
    }
    // An interval that reaches beyond the axis ends in an arrow.
    let beyond = |value: f64| value.abs() > end;
    let values = ends.into_iter().flatten().chain([median]);
    for (sign, tip, base) in [(-1.0, 0.0, 9.0), (1.0, WIDTH, WIDTH - 9.0)] {
        if values.clone().any(|value| beyond(value) && value.signum() == sign) {
            write!(out, "<path class=\"{tone}\" d=\"M{tip} 11L{base} 4V18Z\"/>")?;
        }
    }
    let middle = at(median) - 1.0;
    write!(out, "<rect class=\"{tone}\" x=\"{middle:.1}\" y=\"4\" width=\"2\" height=\"14\"/></svg></td>")?;
    write!(out, "<td class=\"num\">{}</td>", signed_percent(median))
}
