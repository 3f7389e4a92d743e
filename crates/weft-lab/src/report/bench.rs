//! The speed of prefill and decode: each rate on a track from 0 to the machine's limit, with every sample.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, percent, place, short, tick};

/// Width of a track, in units of its picture.
const WIDTH: f64 = 300.0;

/// Writes the settings of a `bench`, if there are any.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    let Some(settings) = results["settings"].as_array().filter(|settings| !settings.is_empty()) else {
        return Ok(());
    };
    out.write_str(
        "<h3>Tokens per second</h3>\n<p class=\"soft\">The bar is the median, each mark a sample; the track ends at the machine's limit, if \
         it is known; what exceeds it has a mark there.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tokens per second\">\n<table>\n\
         <thead><tr><th>Phase</th><th class=\"num\">Tokens</th><th class=\"num\">After</th><th class=\"num\">Tokens/s</th>\
         <th style=\"width:45%\">Samples</th><th class=\"num\">Limit</th><th class=\"num\">Of it</th></tr></thead>\n<tbody>\n",
    )?;
    for setting in settings {
        let rates = &setting["tokens_per_second"];
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let (median, limit) = (number(&rates["median"]), number(&setting["limit_tokens_per_second"]));
        let samples: Vec<f64> = rates["samples"].as_array().into_iter().flatten().map(number).collect();
        let phase = setting["phase"].as_str().unwrap_or("?");
        let sequences = setting["sequences"].as_u64().map_or(String::new(), |n| format!("{n} × "));
        let tokens = format!("{sequences}{}", tick(number(&setting["tokens"])));
        write!(
            out,
            "<tr><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\"><b>{}</b></td><td>",
            Escaped(phase),
            tokens,
            tick(number(&setting["depth"])),
            short(median),
        )?;
        strip(median, limit, &samples, out)?;
        let share = percent(median / limit);
        writeln!(out, "</td><td class=\"num\">{}</td><td class=\"num\">{share}</td></tr>", short(limit))?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n")
}

fn strip(median: f64, limit: f64, samples: &[f64], out: &mut String) -> fmt::Result {
    let most = samples.iter().copied().chain([median]).fold(limit, f64::max);
    let at = |value| place(value, [0.0, most], WIDTH);
    let (least, best) = samples.iter().fold((f64::INFINITY, 0.0), |(a, b), &s| (a.min(s), f64::max(b, s)));
    let limit_words = if limit.is_finite() {
        format!("the limit is {}", short(limit))
    } else {
        "the limit is unknown".into()
    };
    let words = format!(
        "{} tokens per second, the median of {} samples from {} to {}; {limit_words}",
        short(median),
        samples.len(),
        short(least),
        short(best),
    );
    write!(
        out,
        "<svg class=\"strip\" viewBox=\"0 0 {WIDTH} 22\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\
         <rect class=\"track\" x=\"0\" y=\"7\" width=\"{1:.1}\" height=\"8\" rx=\"2\"/>\
         <rect class=\"bar\" x=\"0\" y=\"7\" width=\"{2:.1}\" height=\"8\" rx=\"2\"/>",
        Escaped(&words),
        at(limit),
        at(median),
    )?;
    if limit < most {
        // The bar covers the end of the track.
        write!(
            out,
            "<rect class=\"limit\" x=\"{:.1}\" y=\"1\" width=\"2\" height=\"20\"/>",
            at(limit) - 1.0
        )?;
    }
    for sample in samples {
        // Rectangles, unlike strokes, keep thin marks thin at any width.
        write!(
            out,
            "<rect class=\"dot\" x=\"{:.1}\" y=\"3\" width=\"1.2\" height=\"16\"/>",
            at(*sample) - 0.6
        )?;
    }
    out.write_str("</svg>")
}
