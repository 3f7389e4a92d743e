//! The models of a server: those of the call, and those of a file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use weft_engine::EngineOptions;
use weft_serve::ModelSource;

use crate::cli::again::again;
use crate::cli::args::Args;
use crate::cli::os_text::split_once;
use crate::cli::presets::{self, Preset};
use crate::cli::values::on_or_off;
use crate::commands::Positional;
use crate::commands::replies::embed::{named_pooling, pooling};
use crate::model::model_ref;

/// The model of the call, which may be left out.
pub(super) const MODEL: Positional = Positional { required: false, ..crate::commands::MODEL };

/// The models: MODEL, under its own name, those of `--model`, and those of the file of `--models`. The first of those that the call
/// names is loaded at the start, and of the others those that say so.
pub(super) fn all(args: Args<'_>, engine: &EngineOptions) -> anyhow::Result<Vec<ModelSource>> {
    let mut models = Vec::new();
    let more = args.names("model");
    let first = args.path(MODEL.name);
    let file = args.path("models");
    if first.is_some() || (more.is_empty() && file.is_none()) {
        let path = model_ref::find(args, first)?;
        let name = match model_ref::named(first, &path) {
            Some(known) => known.name.to_string(),
            None => model_ref::stem(&path),
        };
        models.push(source(args, engine, name, first, path)?);
    }
    for pair in &more {
        let shown = pair.display();
        let Some((name, model)) = split_once(pair, '=') else {
            bail!("--model is \"{shown}\": expected NAME=MODEL");
        };
        let Ok(name) = name.into_string() else {
            bail!("--model is \"{shown}\": the name is not UTF-8 text");
        };
        ensure!(!name.is_empty(), "--model is \"{shown}\": the name is empty");
        let model = Path::new(&model);
        let path = model_ref::find(args, Some(model))?;
        models.push(source(args, engine, name, Some(model), path)?);
    }
    if let Some(first) = models.first_mut() {
        first.at_start = true;
    }
    if let Some(file) = file {
        // The options of the parser are kept for as long as the program runs.
        let presets: &'static [Preset] = presets::read(file)?.leak();
        for preset in presets {
            let read = preset_source(args, preset, file);
            models.push(read.with_context(|| format!("the model `{}` of {}", preset.name, file.display()))?);
        }
    }
    Ok(models)
}

/// A model of the file of `--models`: as if its settings were options of this call, unless the call has them.
fn preset_source(args: Args<'_>, preset: &'static Preset, file: &Path) -> anyhow::Result<ModelSource> {
    let matches = again(&preset.options)?;
    let path = model_ref::find(args, Some(&preset.model))?;
    let configured = model_ref::configured(args, Some(&preset.name), Some(&preset.model), &path);
    // The file's options come before those of the configuration for a model of that name.
    let mut own = configured.2.cloned().unwrap_or_default();
    own.extend(preset.options.clone());
    let args = Args(&matches, args.1, Some(&own));
    let engine = beside(model_ref::answering(args)?, file);
    let settings = model_ref::settings(Some(&preset.model), &path);
    let mut source = ModelSource::new(&preset.name, path).defaults(args.sampling_defaults(settings));
    replies(&mut source, args);
    let pooling = args.of_model("pooling").map(named_pooling).transpose()?.or(pooling(args)?);
    source.engine = Some(serving(args, engine)?.pooling(pooling));
    source.aliases.clone_from(&preset.aliases);
    (source.at_start, source.pinned) = (preset.load, preset.pinned);
    Ok(source)
}

/// Looks for adapters beside the file that names them first.
fn beside(engine: EngineOptions, file: &Path) -> EngineOptions {
    let mut adapters = engine.adapters.clone();
    for adapter in &mut adapters {
        let beside = file.with_file_name(&adapter.path);
        if beside.is_file() {
            adapter.path = beside;
        }
    }
    engine.adapters(adapters)
}

/// Sets what is about replies.
fn replies(source: &mut ModelSource, args: Args<'_>) {
    source.system = args.of_model("system").map(str::to_string);
    source.think = args.of_model("think").and_then(|value| on_or_off(value).ok());
    source.reasoning_budget = args.count("reasoning-budget");
    source.preserve = args.switch("reasoning-preserve", "no-reasoning-preserve").unwrap_or(true);
    source.keep_alive = args.duration("keep-alive");
}

/// A model with its own settings: those of the catalogue, and those of the configuration under one of its names.
fn source(
    args: Args<'_>,
    engine: &EngineOptions,
    name: String,
    called: Option<&Path>,
    path: PathBuf,
) -> anyhow::Result<ModelSource> {
    let configured = model_ref::configured(args, Some(&name), called, &path);
    let own = model_ref::settings(called, &path);
    let mut source = ModelSource::new(name, path).defaults(configured.sampling_defaults(own));
    replies(&mut source, configured);
    let own_pooling = configured.of_model("pooling").map(named_pooling).transpose()?;
    if configured.of_model("context").is_some() || own_pooling.is_some() {
        let context = if configured.of_model("context").is_some() {
            configured.count("context")
        } else {
            engine.context
        };
        let pooling = own_pooling.or(pooling(args)?);
        source.engine = Some(serving(args, engine.clone().context(context))?.pooling(pooling));
    }
    Ok(source)
}

/// The options of an engine that answers several requests at once.
pub(super) fn serving(args: Args<'_>, engine: EngineOptions) -> anyhow::Result<EngineOptions> {
    let context = engine.context.unwrap_or(CONTEXT);
    let tokens = args.count("kv-tokens").unwrap_or(4 * context);
    let chunk = args.count("chunk").unwrap_or(engine.chunk);
    let sequences = tokens.div_ceil(context).max(1);
    Ok(engine.chunk(chunk).sequences(sequences).commit(true).prompts(args.prompt_cache()?))
}

/// The context of the engine's options where none is set.
const CONTEXT: usize = 4096;
