//! Writes the facts as an HTML page without external resources: no fonts or images, and one small script for the search.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use weft_ir::{Graph, NodeId};
use weft_lab::Escaped;

use super::diagram;
use super::facts::{Facts, Kernel, Plan};
use super::label;
use super::wording;
use crate::terminal::units::{bytes, count};

const STYLE: &str = include_str!("page.css");
const SEARCH: &str = include_str!("search.js");

/// The meaning of the marks on the page.
const LEGEND: &str = "\
<p class=\"legend soft\"><span>Bars are drawn to scale; numbers and colours are those of the kernels below them.</span>
<span><span class=\"chip\">node</span> stays within its kernel</span> <span><span class=\"chip written\">node</span> is written to memory</span>
<span><span class=\"before\"><span class=\"chip\">node</span></span> is computed by every worker, before what it shares</span></p>
";

/// Writes the page.
pub(super) fn page(facts: &Facts<'_>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = Page { facts, out: &mut out }.write();
    out
}

struct Page<'a> {
    facts: &'a Facts<'a>,
    out: &'a mut String,
}

impl Page<'_> {
    fn write(&mut self) -> fmt::Result {
        let Page { facts, ref mut out } = *self;
        let title = Escaped(&facts.model);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'sha256-{}'\">\n\
             <title>Kernels of {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>Kernels of {title}</h1>\n",
            base64(&Sha256::digest(SEARCH)),
        )?;
        let lines = [
            Some(wording::step(facts)),
            wording::layers(facts),
            Some(wording::speed(&facts.costs)),
            facts.profile.as_ref().map(wording::profile),
        ];
        for line in lines.iter().flatten() {
            // A line of the text form is a sentence here.
            let first = line.chars().next().map_or(0, char::len_utf8);
            writeln!(out, "<p>{}{}.</p>", Escaped(&line[..first].to_uppercase()), Escaped(&line[first..]))?;
        }
        self.contents()?;
        self.out.write_str(LEGEND)?;
        let facts = self.facts;
        let most =
            facts.plans.iter().flat_map(|plan| &plan.kernels).map(|k| k.call.amounts.weight_bytes).max();
        for (at, plan) in facts.plans.iter().enumerate() {
            self.plan(at + 1, plan, most.unwrap_or_default())?;
        }
        self.decisions()?;
        write!(self.out, "<script>{SEARCH}</script>\n</body>\n</html>\n")
    }

    /// Writes links to the plans, and the search.
    fn contents(&mut self) -> fmt::Result {
        let Page { facts, ref mut out } = *self;
        out.write_str("<nav aria-label=\"Contents\">\n")?;
        for (at, plan) in facts.plans.iter().enumerate() {
            let (name, range) = (plan.name(), plan.range());
            let kernels = wording::counted(plan.kernels.len() as u64, "kernel");
            let facts = if range == name { kernels } else { format!("{range}, {kernels}") };
            writeln!(
                out,
                "<a href=\"#plan-{}\">{} <small>{}</small></a>",
                at + 1,
                Escaped(name),
                Escaped(&facts)
            )?;
        }
        out.write_str(
            "<a href=\"#decisions\">Decisions</a>\n<input id=\"search\" type=\"search\" placeholder=\"Search kernels and tensors\" \
             aria-label=\"Search\" hidden>\n<output id=\"found\" class=\"soft\"></output>\n</nav>\n",
        )
    }

    /// Writes one plan; `most` is the number of bytes of a full bar.
    fn plan(&mut self, number: usize, plan: &Plan<'_>, most: u64) -> fmt::Result {
        let (name, range, total) = (plan.name(), plan.range(), wording::total(&plan.total));
        // A plan of one segment is named after it.
        let range = if range == name { String::new() } else { range };
        writeln!(
            self.out,
            "<section id=\"plan-{number}\">\n<h2>{} <small>{}</small></h2>\n<p>{}</p>",
            Escaped(name),
            Escaped(&range),
            Escaped(&total)
        )?;
        diagram::write(number, plan, self.out)?;
        writeln!(self.out, "<div class=\"columns\">\n<div>")?;
        for (at, kernel) in plan.kernels.iter().enumerate() {
            let id = diagram::id(number, at + 1);
            self.kernel(&plan.explained.graph, (at + 1, &id), kernel, most)?;
        }
        self.out.write_str("</div>\n<div>\n")?;
        let before: Vec<String> =
            plan.explained.before.to_string().lines().map(|line| line.trim().into()).collect();
        // Without the first and the last line, `graph … {` and `}`.
        let before = before.get(1..before.len().saturating_sub(1)).unwrap_or_default();
        self.list("before-rules", "ol", "the graph before rewriting", before)?;
        // Rules without a place to apply say nothing about this plan, so they are only named.
        let (idle, active): (Vec<_>, Vec<_>) =
            plan.explained.rules.iter().partition(|result| plan.has_no_place(result));
        let mut outcomes: Vec<String> =
            active.into_iter().map(|result| wording::outcome(plan, result)).collect();
        if !idle.is_empty() {
            let names: Vec<&str> = idle.iter().map(|result| result.rule.decision.name).collect();
            outcomes.push(format!("without a place to apply here: {}", names.join(", ")));
        }
        self.list("rules", "ul", "rewrite rules, with the nodes of that graph", &outcomes)?;
        let costs = plan.explained.choices.iter().map(|c| wording::arithmetic(self.facts, plan, c));
        let costs: Vec<String> = costs.collect();
        if !costs.is_empty() {
            self.list("costs", "ul", "decisions by cost", &costs)?;
        }
        self.out.write_str("</div>\n</div>\n</section>\n")
    }

    fn kernel(
        &mut self,
        graph: &Graph,
        (number, id): (usize, &str),
        kernel: &Kernel<'_>,
        most: u64,
    ) -> fmt::Result {
        let (name, amounts) = (&kernel.call.kernel, kernel.call.amounts);
        let label = kernel.label();
        writeln!(
            self.out,
            "<article class=\"kernel\" id=\"{id}\">\n<h3><i class=\"{}\"></i>{number} · {}</h3>",
            diagram::colour(number),
            Escaped(&label)
        )?;
        writeln!(self.out, "<code class=\"soft\">{}</code>", Escaped(name))?;
        if amounts.multiplications() > 0 {
            let percent = 100.0 * amounts.weight_bytes as f64 / most.max(1) as f64;
            let amounts =
                format!("{}, {} mul", bytes(amounts.weight_bytes), count(amounts.multiplications()));
            writeln!(self.out, "<div class=\"bar\"><i style=\"width:{percent:.1}%\"></i></div>")?;
            writeln!(self.out, "<small>{}</small>", Escaped(&amounts))?;
        }
        if let Some(measured) = kernel.measured_ns {
            let [about, measured] = [kernel.call.ns, measured].map(wording::time);
            writeln!(self.out, "<small>about {about}, measured {measured}</small>")?;
        }
        self.out.write_str("<div class=\"parts\">\n")?;
        for (part, own) in kernel.call.parts.iter().zip(&kernel.parts) {
            writeln!(self.out, "<div class=\"part\"><small>{}</small>", Escaped(&part.space))?;
            if !own.prologue.is_empty() {
                self.chips("before", graph, &own.prologue, kernel)?;
            }
            self.chips("nodes", graph, &own.nodes, kernel)?;
            self.out.write_str("</div>\n")?;
        }
        self.out.write_str("</div>\n")?;
        let reasons: Vec<String> =
            kernel.written.iter().map(|value| wording::with_readers(graph, value).join("\n")).collect();
        if !reasons.is_empty() {
            let title = format!("writes {}", wording::counted(reasons.len() as u64, "value"));
            self.list("reasons", "ul", &title, &reasons)?;
        }
        self.out.write_str("</article>\n")
    }

    fn chips(&mut self, class: &str, graph: &Graph, nodes: &[NodeId], kernel: &Kernel<'_>) -> fmt::Result {
        writeln!(self.out, "<div class=\"{class}\">")?;
        for node in nodes {
            let label = label::node(graph, *node);
            match kernel.written.iter().find(|value| value.node == *node) {
                None => writeln!(self.out, "<span class=\"chip\">{}</span>", Escaped(&label))?,
                Some(value) => {
                    let why = wording::with_readers(graph, value).join("\n");
                    let (label, why) = (Escaped(&label), Escaped(&why));
                    writeln!(self.out, "<span class=\"chip written\" title=\"{why}\">{label}</span>")?;
                }
            }
        }
        self.out.write_str("</div>\n")
    }

    /// Writes a collapsible list. An item's lines after the first become a nested list.
    fn list(&mut self, class: &str, tag: &str, title: &str, items: &[String]) -> fmt::Result {
        writeln!(self.out, "<details class=\"{class}\"><summary>{}</summary>\n<{tag}>", Escaped(title))?;
        for item in items {
            let mut lines = item.lines();
            write!(self.out, "<li>{}", Escaped(lines.next().unwrap_or_default()))?;
            let rest: Vec<String> = lines.map(|line| format!("<li>{}</li>", Escaped(line))).collect();
            if !rest.is_empty() {
                write!(self.out, "<ul>{}</ul>", rest.concat())?;
            }
            self.out.write_str("</li>\n")?;
        }
        writeln!(self.out, "</{tag}>\n</details>")
    }

    fn decisions(&mut self) -> fmt::Result {
        let Page { facts, ref mut out } = *self;
        out.write_str("<h2 id=\"decisions\">Decisions</h2>\n<div class=\"decisions\">\n<table>\n")?;
        for stand in &facts.decisions {
            let (name, about) = (Escaped(stand.decision.name), Escaped(stand.decision.about));
            let words = stand.words();
            writeln!(
                out,
                "<tr><td><code>{name}</code></td><td>{}</td><td>{about}</td></tr>",
                Escaped(&words)
            )?;
        }
        out.write_str("</table>\n</div>\n")
    }
}

/// Base64, in which a page names the hash of its script.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
