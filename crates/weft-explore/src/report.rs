//! Reports as text and as JSON.

use std::fmt;

use serde_json::{Value, json};
use weft_fuse::{Choice, Cost};

use crate::explore::{Comparison, Report};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let growth = &self.growth;
        let counts = format!("{} e-nodes in {} classes", growth.nodes, growth.classes);
        let ms = growth.time.as_secs_f64() * 1e3;
        writeln!(f, "  {counts} after {} rounds and {ms:.0} ms: {}", growth.rounds, growth.stopped)?;
        self.results.iter().try_for_each(|result| write!(f, "{result}"))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = if self.products { "products of weights allowed" } else { "weights as stored" };
        writeln!(f, "  {weights}")?;
        let fired: Vec<String> = self.fired.iter().map(|(rule, n)| format!("{rule} x{n}")).collect();
        let fired = if fired.is_empty() { "nothing fired".into() } else { fired.join(", ") };
        let held = if self.holds_rules { "" } else { ", not in the e-graph" };
        writeln!(f, "    rules  {} ({fired}{held})", self.rules)?;
        for fold in &self.folds {
            let taken = if fold.taken() { "taken" } else { "not taken" };
            let (name, without) = (fold.decision.name, fold.without);
            let with = fold.with.as_ref().map_or_else(ToString::to_string, ToString::to_string);
            writeln!(f, "           {name} {taken}: {with}; without {without}")?;
        }
        let of = if self.all { "all" } else { "the first" };
        let effort = format!("of {of} {} graphs, {:.1} s", self.compiled, self.time.as_secs_f64());
        let error = match self.difference.same_bits {
            true => "same bits".into(),
            false => format!("relative L2 {:.1e}", self.difference.relative_l2),
        };
        writeln!(f, "    best   {} ({effort}; {error})", self.best)?;
        for (sign, operations) in [('-', &self.only_rules), ('+', &self.only_best)] {
            operations.iter().try_for_each(|operation| writeln!(f, "           {sign} {operation}"))?;
        }
        Ok(())
    }
}

impl Report {
    /// The report as JSON. Times are in nanoseconds.
    pub fn json(&self) -> Value {
        let growth = &self.growth;
        json!({
            "graph": self.graph,
            "e_nodes": growth.nodes,
            "e_classes": growth.classes,
            "rounds": growth.rounds,
            "stopped": growth.stopped.to_string(),
            "saturation_ns": growth.time.as_nanos() as u64,
            "results": self.results.iter().map(comparison).collect::<Vec<_>>(),
        })
    }
}

fn comparison(result: &Comparison) -> Value {
    json!({
        "products": result.products,
        "rules": cost(&result.rules),
        "fired": result.fired,
        "folds": result.folds.iter().map(fold).collect::<Vec<_>>(),
        "holds_rules": result.holds_rules,
        "best": cost(&result.best),
        "compiled": result.compiled,
        "all": result.all,
        "search_ns": result.time.as_nanos() as u64,
        "same_bits": result.difference.same_bits,
        "relative_l2": result.difference.relative_l2,
        "only_rules": result.only_rules,
        "only_best": result.only_best,
        "graph": result.graph.to_string(),
    })
}

fn fold(fold: &Choice) -> Value {
    json!({
        "rule": fold.decision.name,
        "without": cost(&fold.without),
        "with": fold.with.as_ref().ok().map(cost),
        "error": fold.with.as_ref().err().map(ToString::to_string),
        "taken": fold.taken(),
    })
}

fn cost(cost: &Cost) -> Value {
    json!({ "kernels": cost.kernels, "weight_bytes": cost.weight_bytes, "ns": cost.ns })
}
