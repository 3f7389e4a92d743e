//! `weft explain`: shows the kernels a model compiles to, and why.

mod diagram;
mod dot;
mod facts;
mod families;
mod flows;
mod html;
mod json;
mod label;
mod text;
mod wording;

use std::path::Path;

use anyhow::{Context as _, ensure};
use clap::error::ErrorKind;
use weft_engine::inspect::{ExplainOptions, REPLACE, cost_model, explain, switches_of, tuned_decisions};
use weft_engine::open_adapted;
use weft_models::{BuildOptions, ModelGraph};

use super::{Command, MODEL, Outcome};
use crate::cli::args::Args;
use crate::commands::measure::recording;
use crate::model::model_ref;
use crate::terminal::result_file::{Output, check_output};
use crate::terminal::streams::Out;
use facts::{Facts, Plan, Step};
use text::Detail;

pub(super) const COMMAND: Command = Command {
    name: "explain",
    about: "Show the kernels a model compiles to, and why",
    notes: "\
Compiles a step without running it. Bytes are those of the weights read, where experts count as if no two tokens selected \
the same; multiplications are those of products and attention; times are the compiler's estimates, with an empty KV cache. \
If the journal has a profile of the same step on the same device (from `weft profile`, or `weft profile --prefill 512` for \
--step prefill), measured times are shown as well, and times are estimated for the depth of that profile.

Examples:
  weft explain model.gguf --layer 1 --why
  weft explain model.gguf --set fuse.tail=off,fuse.router=on
  weft explain model.gguf --step prefill --html plan.html
  weft explain model.gguf --layer 1 --device gpu --source",
    positionals: &[MODEL],
    run,
};

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let (dot, html) = (args.path("dot"), args.path("html"));
    if dot.or(html).is_some() {
        args.refuse_with("--dot or --html, which write their own files", &["why", "plan", "source", "json"])?;
        if dot == html {
            let problem = "--dot and --html cannot write to the same file";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
        }
    }
    let folder = args.packed();
    let tuned = folder.as_deref().filter(|_| args.uses_tuned());
    let target = args.device().target(args.count("threads"), tuned)?;
    if args.flag("source") && target.text.is_none() {
        let problem = "--source needs a device that runs source code, such as --device gpu";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, problem).into());
    }
    let path = model_ref::find(args, args.path(MODEL.name))?;
    let gguf = open_adapted(&path, &args.adapters())?;
    dot.into_iter().chain(html).try_for_each(|out| check_output(out, &gguf))?;
    let model = weft_models::build(&gguf, &BuildOptions { kv: args.kv(), ..BuildOptions::default() })?;
    let step = Step::ALL.into_iter().find(|step| Some(step.name) == args.text("step"));
    let step = step.unwrap_or(Step::ALL[0]);
    let profile = recording::profile(args, &gguf, &target.hardware, step.tokens);
    let kept = tuned_decisions(&target.hardware, tuned, &gguf);
    let (kernels, mut tuned) = (args.kernels(), switches_of(&kept));
    if !kernels.is_empty() {
        tuned.set(&REPLACE, REPLACE.default);
    }
    let options = ExplainOptions {
        switches: args.switches().on_top_of(&tuned),
        tokens: step.tokens,
        depth: profile.as_ref().map_or(0, |profile| profile.depth),
        costs: cost_model(&target.hardware, folder.as_deref()),
        kernels,
    };
    let plans = explain(&model, &options)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut facts = Facts::new(file, &model, &plans, step, &options, profile);
    facts.name_kept(&kept);
    if args.flag("source") {
        facts.add_sources(&target);
    }
    if let Some(layer) = args.count("layer") {
        let name = layer_name(&model, layer);
        ensure!(
            name.is_some(),
            "there is no layer {layer}: the model has layers 0 to {}",
            model.config.layers().saturating_sub(1)
        );
        facts.plans.retain(|plan| plan.explained.segments.iter().any(|s| Some(s.as_str()) == name));
    }
    if let Some(out) = html {
        write(out, &html::page(&facts))?;
    }
    if let Some(out) = dot {
        let shared = |plan: &&Plan<'_>| (plan.explained.segments.len(), plan.kernels.len());
        let most_shared = facts.plans.iter().max_by_key(shared).context("the model has no graphs")?;
        write(out, &dot::draw(most_shared))?;
    }
    if dot.or(html).is_some() {
        return Ok(Outcome::Done);
    }
    let mut out = Out::new();
    if args.flag("json") {
        out.json(&json::report(&facts, args.flag("plan")))?;
    } else {
        text::write(&facts, Detail { why: args.flag("why"), plan: args.flag("plan") }, &mut out)?;
    }
    Ok(Outcome::Done)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = Output::create(path)?;
    file.write(text.as_bytes())?;
    file.commit()
}

fn layer_name(model: &ModelGraph, layer: usize) -> Option<&str> {
    model.segments.iter().find(|s| s.layer == Some(layer)).map(|s| s.name.as_str())
}
