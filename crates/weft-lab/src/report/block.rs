//! The blocks of a layer, each measured alone.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, percent, place, short};
use super::roles::{list, number};

/// Width of a bar, in units of its picture.
const WIDTH: f64 = 300.0;

/// Writes the blocks of a `bench-block`, if there are any.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    let blocks = list(results, "blocks");
    if blocks.is_empty() {
        return Ok(());
    }
    let median = |block: &Value| number(&block["seconds"]["median"]);
    let most =
        blocks.iter().map(|block| number(&block["quartiles"][1]).max(median(block))).fold(0.0, f64::max);
    out.write_str(
        "<h3>Blocks</h3>\n<p class=\"soft\">The bar is the median time of the block in one layer, with the quartiles.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Blocks\">\n<table>\n<thead><tr><th>Block</th><th>Where</th>\
         <th class=\"num\">Layers</th><th class=\"num\">Kernels</th><th class=\"num\">µs</th><th style=\"width:35%\">Time</th>\
         <th class=\"num\">MB</th><th class=\"num\">GB/s</th><th class=\"num\">Of the roof</th></tr></thead>\n<tbody>\n",
    )?;
    for block in blocks {
        let text = |name: &str| block[name].as_str().unwrap_or("?");
        let (time, [low, high]) = (median(block), [0, 1].map(|at| number(&block["quartiles"][at])));
        let bytes = number(&block["weight_bytes"]) + number(&block["state_bytes"]);
        let words = format!(
            "{}: {} µs, half of the samples from {} to {}",
            text("block"),
            short(time * 1e6),
            short(low * 1e6),
            short(high * 1e6)
        );
        let at = |seconds: f64| place(seconds, [0.0, most], WIDTH);
        writeln!(
            out,
            "<tr><td>{}</td><td><small>{}</small></td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\"><b>{}</b></td>\
             <td><svg class=\"strip\" viewBox=\"0 0 {WIDTH} 22\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">\
             <title>{words}</title><rect class=\"bar\" x=\"0\" y=\"7\" width=\"{:.1}\" height=\"8\" rx=\"2\"/>\
             <rect class=\"dot\" x=\"{:.1}\" y=\"9.5\" width=\"{:.1}\" height=\"3\"/></svg></td><td class=\"num\">{:.2}</td>\
             <td class=\"num\">{:.1}</td><td class=\"num\">{}</td></tr>",
            Escaped(text("block")),
            Escaped(text("segment")),
            block["layers"].as_u64().unwrap_or(0),
            block["kernels"].as_u64().unwrap_or(0),
            short(time * 1e6),
            at(time),
            at(low),
            (at(high) - at(low)).max(1.2),
            bytes / 1e6,
            bytes / time / 1e9,
            percent(number(&block["of_roof"])),
            words = Escaped(&words),
        )?;
    }
    out.write_str("</tbody>\n</table>\n</div>\n")
}
