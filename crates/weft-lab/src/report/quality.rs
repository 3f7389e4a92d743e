//! How well a model predicts a text: its perplexity, and the windows that make it up.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, place, short};
use super::roles::{list, number};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 48.0;
const BOTTOM: f64 = HEIGHT - 24.0;
/// The most windows that are drawn one by one; more are averaged.
const MOST: usize = 300;

/// Writes a `perplexity`, if there is one.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    let perplexity = number(&results["perplexity"]);
    if perplexity.is_nan() {
        return Ok(());
    }
    out.write_str("<div class=\"big\">")?;
    for (figure, name) in [
        (short(perplexity), "perplexity"),
        (format!("± {}", short(number(&results["standard_error"]))), "standard error"),
        (short(number(&results["nll"]["mean"])), "nats per token"),
        (short(number(&results["scored_tokens"])), "tokens scored"),
        (short(number(&results["context"])), "tokens per window"),
        (short(number(&results["tokens_per_second"])), "tokens per second"),
    ] {
        write!(out, "<div><b>{}</b>{name}</div>", Escaped(&figure))?;
    }
    out.write_str("</div>\n")?;
    let windows: Vec<f64> = list(&results["windows"], "nll").iter().map(number).collect();
    if windows.len() < 2 {
        return Ok(());
    }
    let each = windows.len().div_ceil(MOST);
    let means: Vec<f64> =
        windows.chunks(each).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max) * 1.1;
    let mean = number(&results["nll"]["mean"]);
    let words = format!(
        "Nats per token of {} windows, {} on average, from {} to {}",
        windows.len(),
        short(mean),
        short(windows.iter().copied().fold(f64::INFINITY, f64::min)),
        short(windows.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    );
    let averaged =
        if each == 1 { String::new() } else { format!(" Each mark is the mean of {each} windows.") };
    let at_y = |nats: f64| BOTTOM - place(nats, [0.0, most], BOTTOM - 8.0);
    write!(
        out,
        "<h3>Windows</h3>\n<p class=\"soft\">Nats per token along the text; the line is the mean.{averaged}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Windows\">\n<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{}\">",
        Escaped(&words)
    )?;
    let step = (WIDTH - LEFT) / means.len() as f64;
    for (at, nats) in means.iter().enumerate() {
        let (x, y) = (LEFT + at as f64 * step, at_y(*nats));
        write!(
            out,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}</title></rect>",
            x,
            (step * 0.8).max(0.5),
            BOTTOM - y,
            short(*nats)
        )?;
    }
    let y = at_y(mean);
    writeln!(
        out,
        "<line class=\"zero\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
         <text class=\"ink\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">0</text>\
         <text x=\"{LEFT}\" y=\"{:.1}\">window 1</text><text x=\"{WIDTH}\" y=\"{:.1}\" text-anchor=\"end\">{}</text></svg>\n</div>",
        LEFT - 6.0,
        y + 4.0,
        short(mean),
        LEFT - 6.0,
        BOTTOM + 4.0,
        HEIGHT - 6.0,
        HEIGHT - 6.0,
        windows.len()
    )
}
