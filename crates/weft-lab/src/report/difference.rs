//! The differences of two runs: their settings, and the figures that changed most.

use std::fmt::{self, Write as _};

use super::html::{Escaped, short, signed_percent};
use super::interrupted;
use crate::journal::{Compared, Record, diff};

/// The most figures shown.
const MOST: usize = 25;

/// Writes the difference, if anything differs.
pub(super) fn write(before: &Record, after: &Record, out: &mut String) -> fmt::Result {
    let found = diff(before, after);
    if found.settings.is_empty() && found.changes.is_empty() {
        return Ok(());
    }
    let (a, b) = (before.id, after.id);
    let same_model = before.is_of_same_model(after);
    writeln!(out, "<section class=\"run\" id=\"difference\">\n<h2>From run {a} to run {b}</h2>")?;
    [before, after].into_iter().try_for_each(|record| interrupted::write(record, out))?;
    if !same_model {
        out.write_str(
            "<p class=\"soft\">The runs are of different models: their figures are beside each other, and no change is given.</p>\n",
        )?;
    }
    if !found.settings.is_empty() {
        out.write_str("<dl class=\"facts\">\n")?;
        for (name, a, b) in &found.settings {
            let [name, a, b] = [name, a, b].map(|text| Escaped(text));
            writeln!(out, "<div><dt>{name}</dt><dd>{a} → {b}</dd></div>")?;
        }
        out.write_str("</dl>\n")?;
    }
    if !found.changes.is_empty() {
        write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures of both runs\">\n<table class=\"narrow\">\n<thead><tr><th>Figure</th>\
             <th class=\"num\">Run {a}</th><th class=\"num\">Run {b}</th><th class=\"num\">Change</th></tr></thead>\n<tbody>\n"
        )?;
        for change in found.changes.iter().take(MOST) {
            let Compared { name, unit, before, after } = change;
            let relative = change.relative().filter(|_| same_model).map_or("–".into(), signed_percent);
            writeln!(
                out,
                "<tr><td>{} <small>{}</small></td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{relative}</td></tr>",
                Escaped(name),
                Escaped(unit),
                short(*before),
                short(*after)
            )?;
        }
        out.write_str("</tbody>\n</table>\n</div>\n")?;
        let more = found.changes.len().saturating_sub(MOST);
        if more > 0 {
            writeln!(
                out,
                "<p class=\"soft\">{more} figures changed less; <code>weft journal diff</code> lists them.</p>"
            )?;
        }
    }
    out.write_str("</section>\n")
}
