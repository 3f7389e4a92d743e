//! Writes the facts as an HTML page without external resources: no scripts, fonts or images.

use std::fmt::{self, Write as _};

use weft_ir::{Graph, NodeId};
use weft_lab::Escaped;

use super::facts::{Facts, Kernel, Plan};
use super::label;
use super::wording;
use crate::units::{bytes, count};

const STYLE: &str = include_str!("page.css");

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
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>Kernels of {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>Kernels of {title}</h1>\n"
        )?;
        let lines = [
            Some(wording::step(facts)),
            wording::layers(facts),
            Some(wording::speed(&facts.costs)),
            facts.profile.as_ref().map(wording::profile),
        ];
        for line in lines.iter().flatten() {
            writeln!(out, "<p>{}</p>", Escaped(line))?;
        }
        let most =
            facts.plans.iter().flat_map(|plan| &plan.kernels).map(|k| k.call.amounts.weight_bytes).max();
        for plan in &facts.plans {
            self.plan(plan, most.unwrap_or_default())?;
        }
        self.decisions()?;
        self.out.write_str("</body>\n</html>\n")
    }

    /// Writes one plan; `most` is the number of bytes of a full bar.
    fn plan(&mut self, plan: &Plan<'_>, most: u64) -> fmt::Result {
        let (name, range, total) = (plan.name(), plan.range(), wording::total(&plan.total));
        writeln!(self.out, "<section>\n<h2>{} <small>{}</small></h2>", Escaped(name), Escaped(&range))?;
        writeln!(self.out, "<p>{}</p>\n<div class=\"columns\">\n<div>", Escaped(&total))?;
        for (at, kernel) in plan.kernels.iter().enumerate() {
            self.kernel(&plan.explained.graph, at + 1, kernel, most)?;
        }
        self.out.write_str("</div>\n<div>\n")?;
        let before: Vec<String> =
            plan.explained.before.to_string().lines().map(|line| line.trim().into()).collect();
        // Without the first and the last line, `graph … {` and `}`.
        let before = before.get(1..before.len().saturating_sub(1)).unwrap_or_default();
        self.list("before-rules", "ol", "the graph before rewriting", before)?;
        let outcomes = plan.explained.rules.iter().map(|result| wording::outcome(plan, result));
        self.list(
            "rules",
            "ul",
            "rewrite rules, with the nodes of that graph",
            &outcomes.collect::<Vec<_>>(),
        )?;
        let costs = plan.explained.choices.iter().map(|c| wording::arithmetic(self.facts, plan, c));
        let costs: Vec<String> = costs.collect();
        self.list("costs", "ul", "decisions by cost", &costs)?;
        self.out.write_str("</div>\n</div>\n</section>\n")
    }

    fn kernel(&mut self, graph: &Graph, number: usize, kernel: &Kernel<'_>, most: u64) -> fmt::Result {
        let (name, amounts) = (&kernel.call.kernel, kernel.call.amounts);
        writeln!(self.out, "<article class=\"kernel\">\n<h3>{number} · {}</h3>", Escaped(&kernel.label()))?;
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
        out.write_str("<h2>Decisions</h2>\n<div class=\"decisions\">\n<table>\n")?;
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
