//! `weft explain`: the kernels a model is compiled to, and why they are these.

use std::io::{self, Write};

use anyhow::ensure;
use serde_json::{Value, json};
use weft_engine::{DECISIONS, Explained, KernelCall, explain};
use weft_gguf::Gguf;
use weft_models::{BuildOptions, ModelGraph};

use super::{Command, MODEL, Outcome};
use crate::args::Args;
use crate::model_ref;
use crate::out::Out;
use crate::units::{bytes, count};

pub(super) const COMMAND: Command = Command {
    name: "explain",
    about: "Show the kernels a model is compiled to, and why",
    notes: "\
It compiles a step of one token and runs nothing. Bytes are those of weights read, multiplications those by weights.

Examples:
  weft explain model.gguf --layer 1 --why
  weft explain model.gguf --set fuse.tail=off",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path = model_ref::find(args, args.text(MODEL.name))?;
    let gguf = Gguf::open(&path)?;
    let model = weft_models::build(&gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    let off = args.off();
    let mut plans = explain(&model, &off, 1)?;
    let calls = plans.iter().map(|plan| plan.calls.len() * plan.segments.len()).sum();
    if let Some(layer) = args.count("layer") {
        let name = layer_name(&model, layer);
        ensure!(name.is_some(), "the model has layers 0 to {}", model.config.layers().saturating_sub(1));
        plans.retain(|plan| plan.segments.iter().any(|s| Some(s.as_str()) == name));
    }
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&report(&plans, calls, |name| off.iter().any(|d| d.name == name)))?;
        return Ok(Outcome::Done);
    }
    for plan in &plans {
        writeln!(out, "{} ({}): {} kernels", plan.graph.name(), range(&plan.segments), plan.calls.len())?;
        if args.flag("plan") {
            write!(out, "{}{}", plan.graph, plan.text)?;
        }
        for (i, call) in plan.calls.iter().enumerate() {
            show(i + 1, call, args.flag("why"), &mut out)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{calls} kernels a step")?;
    writeln!(out, "\ndecisions")?;
    for decision in DECISIONS {
        let state = if off.contains(&decision) { "off" } else { "on" };
        writeln!(out, "  {:<12} {state:<4} {}", decision.name, decision.about)?;
    }
    Ok(Outcome::Done)
}

fn layer_name(model: &ModelGraph, layer: usize) -> Option<&str> {
    model.segments.iter().find(|s| s.layer == Some(layer)).map(|s| s.name.as_str())
}

/// The first and the last of the parts that share a plan, and how many there are.
fn range(segments: &[String]) -> String {
    match segments {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}, {} in all", segments.len()),
    }
}

fn show(number: usize, call: &KernelCall, why: bool, out: &mut impl Write) -> io::Result<()> {
    let KernelCall { kernel, space, nodes, work, cuts } = call;
    let mut line = format!("  {number:>3}  {kernel:<34} {space:<18}");
    if work.multiplications > 0 {
        line += &format!("{:>10}  {:>8} mul", bytes(work.weight_bytes), count(work.multiplications));
    }
    writeln!(out, "{}", line.trim_end())?;
    if why {
        let what = if nodes.is_empty() { "moves or rounds values".into() } else { nodes.join(", ") };
        writeln!(out, "       computes {what}")?;
        for (node, why) in cuts {
            writeln!(out, "       not {node}: {why}")?;
        }
    }
    Ok(())
}

fn report(plans: &[Explained], calls: usize, is_off: impl Fn(&str) -> bool) -> Value {
    let call = |call: &KernelCall| {
        let cuts = call.cuts.iter().map(|(node, why)| json!({ "node": node, "why": why }));
        json!({
            "kernel": call.kernel,
            "space": call.space,
            "nodes": call.nodes,
            "weight_bytes": call.work.weight_bytes,
            "multiplications": call.work.multiplications,
            "cuts": cuts.collect::<Vec<_>>(),
        })
    };
    let plan = |plan: &Explained| {
        json!({
            "graph": plan.graph.name(),
            "segments": plan.segments,
            "kernels": plan.calls.iter().map(call).collect::<Vec<_>>(),
        })
    };
    let decision =
        |d: &&weft_engine::Decision| json!({ "name": d.name, "about": d.about, "on": !is_off(d.name) });
    json!({
        "plans": plans.iter().map(plan).collect::<Vec<_>>(),
        "kernels_a_step": calls,
        "decisions": DECISIONS.iter().map(decision).collect::<Vec<_>>(),
    })
}
