//! `weft-dynamo`: serves a model to a cluster of NVIDIA Dynamo.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use dynamo_backend_common::{CommonArgs, WorkerConfig, run};
use weft_dynamo::{Worker, card};
use weft_engine::{DeviceChoice, Engine};
use weft_gguf::Gguf;

/// Serves a model to a cluster of NVIDIA Dynamo.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The model, a GGUF file.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The name by which clients ask for the model [default: the file's name without .gguf].
    #[arg(long, value_name = "NAME")]
    served_model_name: Option<String>,
    /// The folder for the files that the front end needs of the model [default: the file's with .card at the end].
    #[arg(long, value_name = "FOLDER")]
    card: Option<PathBuf>,
    /// The most tokens of a prompt and its reply [default: 4096, or as many as the model was trained for].
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,
    /// The sequences of full length that the KV cache has room for.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    sequences: usize,
    /// The most tokens of a step.
    #[arg(long, value_name = "TOKENS")]
    batch: Option<usize>,
    /// The device, as `weft devices` lists them.
    #[arg(long, default_value = "cpu")]
    device: DeviceChoice,
    /// The threads of the CPU [default: all].
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    /// Seconds that replies have to end when the worker is stopped. The front end sends the others to another worker.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    drain: u64,
    #[command(flatten)]
    common: CommonArgs,
}

fn main() -> Result<()> {
    let Args { model, served_model_name, card, context, sequences, batch, device, threads, drain, common } =
        Args::parse();
    let stem = model.file_stem().with_context(|| format!("{}: expected a GGUF file", model.display()))?;
    let name = served_model_name.unwrap_or_else(|| stem.to_string_lossy().into_owned());
    let folder = card.unwrap_or_else(|| model.with_extension("card"));
    let gguf = Gguf::open(&model)?;
    card::write(gguf.metadata(), &folder)?;
    drop(gguf);
    let options = Engine::builder()
        .context(context)
        .sequences(sequences)
        .batch(batch)
        .device(device)
        .threads(threads)
        // A worker says at its start that its memory is too small, not under load.
        .commit(true);
    let reasons = common.dyn_reasoning_parser.is_some();
    let config = WorkerConfig {
        namespace: common.namespace,
        component: common.component,
        endpoint: common.endpoint,
        model_name: folder.to_string_lossy().into_owned(),
        served_model_name: Some(name.clone()),
        endpoint_types: common.endpoint_types,
        custom_jinja_template: common.custom_jinja_template,
        tool_call_parser: common.dyn_tool_call_parser,
        reasoning_parser: common.dyn_reasoning_parser,
        exclude_tools_when_tool_choice_none: common.exclude_tools_when_tool_choice_none,
        disaggregation_mode: common.disaggregation_mode,
        runtime: common.runtime,
        ..WorkerConfig::default()
    };
    let worker = Worker::new(model, name, options).drain(Duration::from_secs(drain)).reasons(reasons);
    run(Arc::new(worker), config)
}
