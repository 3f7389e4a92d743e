//! What something was measured on: every report begins with it.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use weft_engine::{DeviceChoice, Engine, EngineOptions};
use weft_gguf::Gguf;
use weft_lab::Host;
use weft_models::ModelGraph;

use crate::units;

/// A model as it was loaded to be measured.
pub(crate) struct Measured<'a> {
    /// The model's file.
    pub(crate) path: &'a Path,
    /// Bytes of it, in all its parts.
    pub(crate) bytes: u64,
    pub(crate) architecture: &'a str,
    pub(crate) layers: usize,
    /// The device, as it calls itself.
    pub(crate) device: &'a str,
    /// How the engine was loaded.
    pub(crate) options: &'a EngineOptions,
    /// Most tokens computed at once.
    pub(crate) batch: usize,
    pub(crate) loaded: Duration,
}

impl<'a> Measured<'a> {
    pub(crate) fn new(
        path: &'a Path,
        gguf: &Gguf,
        engine: &'a Engine,
        options: &'a EngineOptions,
        loaded: Duration,
    ) -> Measured<'a> {
        let config = &engine.model().graph().config;
        Measured {
            path,
            bytes: gguf.files().iter().map(|file| file.size).sum(),
            architecture: config.architecture,
            layers: config.layers(),
            device: &engine.device().name,
            options,
            batch: engine.batch(),
            loaded,
        }
    }

    /// Whether it ran on the processor, which is what the lab measures the limits of.
    pub(crate) fn is_the_processor(&self) -> bool {
        self.options.device == DeviceChoice::Cpu
    }

    /// This and what was measured, for programs.
    pub(crate) fn json(&self, measured: Value) -> Value {
        let Measured { path, bytes, architecture, layers, device, options, batch, loaded } = self;
        let mut json = json!({
            "weft": {
                "version": env!("CARGO_PKG_VERSION"),
                // Told by whoever builds it, since a package knows no repository.
                "commit": option_env!("WEFT_COMMIT"),
                "debug": cfg!(debug_assertions),
            },
            "model": {
                "path": path.display().to_string(),
                "bytes": bytes,
                "architecture": architecture,
                "layers": layers,
            },
            "device": device,
            "kv": options.kv.name(),
            "batch": batch,
            "context": options.context,
            "load_seconds": loaded.as_secs_f64(),
        });
        if let (Value::Object(json), Value::Object(measured)) = (&mut json, measured) {
            json.extend(measured);
        }
        json
    }

    /// Two lines for people.
    pub(crate) fn text(&self, host: &Host, out: &mut impl Write) -> io::Result<()> {
        let Measured { path, bytes, architecture, layers, device, options, .. } = self;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let size = units::bytes(*bytes);
        writeln!(out, "{file}: {architecture}, {layers} layers, {size}; KV cache in {}", options.kv)?;
        writeln!(out, "{device}; {}, which has {}", host.cpu, host.threads)
    }
}

/// Refuses a step that the model, the context or a batch has no room for, before anything is loaded.
///
/// # Errors
/// If it has none.
pub(crate) fn check_step(
    depth: usize,
    tokens: usize,
    context: Option<usize>,
    batch: usize,
    model: &ModelGraph,
) -> anyhow::Result<()> {
    let (needed, trained) = (depth.saturating_add(tokens), model.config.context);
    ensure!(
        tokens <= batch,
        "a step of {tokens} tokens is more than --batch {batch}; give a smaller --prefill or a larger --batch"
    );
    ensure!(
        needed <= trained,
        "{tokens} tokens at a depth of {depth} are {needed}: the model was made for {trained}; give a smaller --depth"
    );
    if let Some(context) = context {
        ensure!(
            needed <= context,
            "{tokens} tokens at a depth of {depth} are {needed}: they do not fit into --context {context}"
        );
    }
    Ok(())
}
