//! Runs as one HTML page: no scripts, nothing fetched, light or dark as the reader prefers.
//!
//! A page is made from runs of the journal. Each part of it appears if the results have its data, so that commands need not know the
//! page. Every picture has a description in words, and every value is escaped, since names of models are not trusted.

mod ablation;
mod bench;
mod block;
mod difference;
mod html;
mod interrupted;
mod optimized;
mod overlay;
mod profile;
mod quality;
mod roles;
mod roofline;
mod timeline;

use std::fmt::{self, Write as _};

use serde_json::Value;

use crate::journal::{Record, summary};
pub use html::Escaped;

const STYLE: &str = include_str!("report/page.css");

/// Returns an HTML page of some runs.
pub fn report(records: &[Record]) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write_page(records, &mut page);
    page
}

fn write_page(records: &[Record], out: &mut String) -> fmt::Result {
    let title = match records {
        [one] => format!("{} of {}", one.command, one.model_name().unwrap_or("this machine")),
        _ => format!("{} runs", records.len()),
    };
    let title = Escaped(&title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Weft: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n<p class=\"soft\">Measured by Weft.</p>\n</header>\n"
    )?;
    if records.len() > 1 {
        out.write_str("<nav aria-label=\"Runs\">\n")?;
        for record in records {
            let Record { id, command, .. } = record;
            let how = if record.interruption().is_some() { ", interrupted" } else { "" };
            writeln!(out, "<a href=\"#run-{id}\">Run {id}: {}{how}</a>", Escaped(command))?;
        }
        out.write_str("</nav>\n")?;
    }
    if let [before, after] = records {
        difference::write(before, after, out)?;
    }
    overlay::write(records, out)?;
    records.iter().try_for_each(|record| run(record, out))?;
    out.write_str("</main>\n</body>\n</html>\n")
}

fn run(record: &Record, out: &mut String) -> fmt::Result {
    let Record { id, time, command, weft, machine, model, knobs, results } = record;
    writeln!(out, "<section class=\"run\" id=\"run-{id}\">")?;
    writeln!(out, "<h2>Run {id}: {}</h2>", Escaped(command))?;
    interrupted::write(record, out)?;
    let said = summary(record);
    if !said.is_empty() {
        writeln!(out, "<p class=\"soft\">{}</p>", Escaped(&said))?;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let mut facts = vec![("When", time.replace('T', " ").replace('Z', " UTC"))];
    if let Some(name) = record.model_name() {
        let bytes = model["bytes"].as_f64().unwrap_or(f64::NAN);
        facts.push(("Model", format!("{name}, {}B", html::short(bytes))));
    }
    if let Some(cpu) = machine["cpu"].as_str() {
        facts.push(("Machine", format!("{cpu}, {} threads, {}", machine["threads"], text(&machine["isa"]))));
    }
    facts.extend(results["device"].as_str().map(|device| ("Device", device.to_string())));
    let commit = weft["commit"].as_str().map_or(String::new(), |commit| format!(", {commit}"));
    facts.push(("Weft", format!("{}{commit}", text(&weft["version"]))));
    let knobs = knobs.as_object().into_iter().flatten();
    let knobs: Vec<String> = knobs.map(|(name, value)| format!("{name} {}", text(value))).collect();
    if !knobs.is_empty() {
        facts.push(("Knobs", knobs.join(", ")));
    }
    out.write_str("<dl class=\"facts\">\n")?;
    for (name, value) in facts {
        let class = if name == "Knobs" { " class=\"wide\"" } else { "" };
        writeln!(out, "<div{class}><dt>{name}</dt><dd>{}</dd></div>", Escaped(&value))?;
    }
    out.write_str("</dl>\n")?;
    bench::write(results, out)?;
    block::write(results, out)?;
    quality::write(results, out)?;
    profile::write(results, out)?;
    optimized::write(results, out)?;
    ablation::write(results, out)?;
    out.write_str("</section>\n")
}

#[cfg(test)]
mod tests;
