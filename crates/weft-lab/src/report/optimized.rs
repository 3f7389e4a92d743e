//! The results of an `optimize`, and whether they held.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::html::{Escaped, signed_percent};
use super::roles::list;

/// Writes the end of an `optimize`, if the results are of one.
pub(super) fn write(results: &Value, out: &mut String) -> fmt::Result {
    let Some(end) = results["optimized"].as_str() else { return Ok(()) };
    let text = |value: &Value| value.as_str().unwrap_or("?").to_string();
    let faults = &results["verification"]["faults"];
    let what = match end {
        "confirmed" => {
            "These decisions won, won again in fresh samples, and every checked kernel is right.".into()
        }
        "unconfirmed" => "What won did not win again in fresh samples, so nothing new is kept.".into(),
        "wrong" => format!("What won is wrong, so nothing new is kept: {}", text(&faults[0])),
        "interrupted" => "Interrupted: what had won until then is kept, unconfirmed.".into(),
        _ => "No change wins: nothing new is kept.".to_string(),
    };
    writeln!(out, "<h3>Result</h3>\n<p>{}</p>", Escaped(&what))?;
    let gains = ["decode", "prefill"].into_iter().filter_map(|phase| {
        let gain = results["confirmed"][phase]["gain"]["median"].as_f64()?;
        Some(format!("<div><b>{}</b>{phase}, measured again</div>", signed_percent(gain)))
    });
    let gains: String = gains.collect();
    if !gains.is_empty() {
        writeln!(out, "<div class=\"big\">{gains}</div>")?;
    }
    for (name, title) in [("keep", "Found"), ("kept", "Kept for this model on this machine")] {
        let decisions = list(results, name);
        if decisions.is_empty() {
            continue;
        }
        writeln!(out, "<p>{title}:</p>\n<ul>")?;
        for one in decisions {
            let (change, why) = (text(&one["change"]), text(&one["why"]));
            writeln!(out, "<li><code>{}</code>: {}</li>", Escaped(&change), Escaped(&why))?;
        }
        out.write_str("</ul>\n")?;
    }
    if let [Some(checked), Some(of)] = ["checked", "of"].map(|name| results["verification"][name].as_u64()) {
        let faults = faults.as_array().map_or(0, Vec::len);
        writeln!(
            out,
            "<p class=\"soft\">Verified: {checked} of {of} kernels compared with the interpreter, {faults} faults.</p>"
        )?;
    }
    Ok(())
}
