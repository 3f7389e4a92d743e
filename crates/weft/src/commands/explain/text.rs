//! Writes the facts as text.

use std::io::{self, Write};

use weft_ir::Graph;

use super::facts::{Facts, Kernel, Plan};
use super::wording;
use crate::terminal::units::{bytes, count};

/// The facts to show with the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Detail {
    /// The reasons for kernels, rules and decisions by cost.
    pub(super) why: bool,
    /// Graphs and plans in their text form.
    pub(super) plan: bool,
}

/// Writes the facts.
pub(super) fn write(facts: &Facts<'_>, detail: Detail, out: &mut impl Write) -> io::Result<()> {
    for plan in &facts.plans {
        write_plan(facts, plan, detail, out)?;
        writeln!(out)?;
    }
    if let Some(layers) = wording::layers(facts) {
        writeln!(out, "{layers}")?;
    }
    writeln!(out, "{}", wording::step(facts))?;
    writeln!(out, "{}", wording::reuse(&facts.reuse))?;
    writeln!(out, "{}", wording::speed(&facts.costs))?;
    if let Some(profile) = &facts.profile {
        writeln!(out, "{}", wording::profile(profile))?;
    }
    writeln!(out, "\ndecisions")?;
    let names = facts.decisions.iter().map(|stand| stand.decision.name.len()).max().unwrap_or_default();
    let states = facts.decisions.iter().map(|stand| stand.words().len()).max().unwrap_or_default();
    for stand in &facts.decisions {
        let (name, about) = (stand.decision.name, stand.decision.about);
        writeln!(out, "  {name:<names$}  {:<states$}  {about}", stand.words())?;
    }
    Ok(())
}

fn write_plan(facts: &Facts<'_>, plan: &Plan<'_>, detail: Detail, out: &mut impl Write) -> io::Result<()> {
    let explained = plan.explained;
    writeln!(out, "{} ({}): {}", plan.name(), plan.range(), wording::total(&plan.total))?;
    if detail.plan {
        write!(out, "before rewriting\n{}after rewriting\n{}", explained.before, explained.graph)?;
        write!(out, "{}", explained.plan)?;
    }
    let width = plan.kernels.iter().map(|kernel| kernel.call.kernel.len()).max().unwrap_or_default();
    for (at, kernel) in plan.kernels.iter().enumerate() {
        let (name, amounts) = (&kernel.call.kernel, kernel.call.amounts);
        let mut line = format!("{:>4}  {name:<width$}", at + 1);
        line += &format!("  {:>10}", wording::time(kernel.call.ns));
        if let Some(measured) = kernel.measured_ns {
            line += &format!("  measured {:>10}", wording::time(measured));
        }
        if amounts.multiplications() > 0 {
            let (bytes, mul) = (bytes(amounts.weight_bytes), count(amounts.multiplications()));
            line += &format!("  {bytes:>10}  {mul:>8} mul");
        }
        writeln!(out, "{}\n      {}", line.trim_end(), kernel.label())?;
        if let Some(before) = &kernel.call.replaces {
            writeln!(out, "      given with --kernel, in place of {before}")?;
        }
        if detail.why {
            write_reasons(&explained.graph, kernel, out)?;
        }
        match &kernel.source {
            None => {}
            Some(Ok(source)) => writeln!(out, "{}", source.trim_end())?,
            Some(Err(why)) => writeln!(out, "      cannot run: {why}")?,
        }
    }
    if detail.why {
        writeln!(out, "  rewrite rules, with nodes of the graph before rewriting")?;
        for result in &explained.rules {
            writeln!(out, "    {}", wording::outcome(plan, result))?;
        }
        writeln!(out, "  decisions by cost")?;
        for choice in &explained.choices {
            writeln!(out, "    {}", wording::arithmetic(facts, plan, choice))?;
        }
    }
    Ok(())
}

/// Writes what a kernel computes, and who reads its values.
fn write_reasons(graph: &Graph, kernel: &Kernel<'_>, out: &mut impl Write) -> io::Result<()> {
    for (part, own) in kernel.call.parts.iter().zip(&kernel.parts) {
        let line = format!("{}: {}", part.space, wording::part(graph, own));
        writeln!(out, "        {}", line.trim_end())?;
    }
    for value in &kernel.written {
        for (at, line) in wording::with_readers(graph, value).iter().enumerate() {
            let lead = if at == 0 { "        writes " } else { "          " };
            writeln!(out, "{lead}{line}")?;
        }
    }
    Ok(())
}
