//! What was measured, and on which machine: every report begins with it.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weft_engine::inspect::{CostModel, Runner};
use weft_engine::{EngineOptions, Switches};
use weft_gguf::Gguf;
use weft_lab::{Host, Roof, Roofs, Samples};

use crate::commands::measure::machine_speed;
use crate::terminal::units;

/// A model that was loaded to be measured.
pub(crate) struct Measured<'a> {
    /// The model's file.
    pub(crate) path: &'a Path,
    /// The size of all its files in bytes.
    pub(crate) bytes: u64,
    pub(crate) architecture: &'a str,
    pub(crate) layers: usize,
    /// The name of the device.
    pub(crate) device: &'a str,
    /// The key of its hardware.
    pub(crate) hardware: &'a str,
    /// The cost model that decisions by cost used.
    pub(crate) costs: CostModel,
    /// The decisions that were set by hand or kept for the model.
    pub(crate) decisions: &'a Switches,
    /// The options of the engine.
    pub(crate) options: &'a EngineOptions,
    /// The maximum number of tokens in a step.
    pub(crate) batch: usize,
    pub(crate) loaded: Duration,
}

impl<'a> Measured<'a> {
    pub(crate) fn new(
        path: &'a Path,
        gguf: &Gguf,
        engine: &'a Runner,
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
            hardware: &engine.device().hardware.key,
            costs: *engine.costs(),
            decisions: engine.switches(),
            options,
            batch: engine.batch(),
            loaded,
        }
    }

    /// This and the measurement as JSON.
    pub(crate) fn json(&self, measured: Value) -> Value {
        let Measured {
            path,
            bytes,
            architecture,
            layers,
            device,
            hardware,
            costs,
            decisions,
            options,
            batch,
            loaded,
        } = self;
        let decisions = decisions.settings().map(|(name, mode)| (name.to_string(), json!(mode.name())));
        let json = json!({
            "weft": weft_lab::this_weft(),
            "model": {
                "path": path.display().to_string(),
                "bytes": bytes,
                "architecture": architecture,
                "layers": layers,
            },
            "device": device,
            "hardware": hardware,
            "cost_model": machine_speed::json(costs),
            "decisions": decisions.collect::<Value>(),
            "kv": options.kv.name(),
            "batch": batch,
            "context": options.context,
            "load_seconds": loaded.as_secs_f64(),
        });
        weft_lab::joined(json, measured)
    }

    /// Writes this as two lines of text.
    pub(crate) fn text(&self, host: &Host, out: &mut impl Write) -> io::Result<()> {
        let Measured { path, bytes, architecture, layers, device, options, .. } = self;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let size = units::bytes(*bytes);
        writeln!(out, "{file}: {architecture}, {layers} layers, {size}; KV cache in {}", options.kv)?;
        writeln!(out, "{device}; {}, {} threads", host.cpu, host.threads)
    }
}

/// Writes two lines about the limits of the device, measured in the same run.
pub(crate) fn meanwhile(roofs: &Roofs, out: &mut impl Write) -> io::Result<()> {
    let of = |roof| Some(roofs.of(roof)).filter(|samples| !samples.all().is_empty()).map(giga);
    let read = of(Roof::Read).unwrap_or_else(|| "-".into());
    let in_order = of(Roof::ReadInOrder).map_or(String::new(), |rate| format!(", in order {rate}"));
    let floats = of(Roof::MulAdd).map_or(String::new(), |rate| format!(", FMA {rate} GMAC/s in f32"));
    match of(Roof::Dot) {
        Some(dot) => {
            writeln!(out, "limits, measured meanwhile: READ {read} GB/s{in_order},")?;
            writeln!(out, "DOT {dot} GMAC/s in 8 bits{floats}")
        }
        None => {
            writeln!(
                out,
                "limits, measured meanwhile: READ {read} GB/s; the multiplication rate is unknown,"
            )?;
            writeln!(out, "and so is what it may limit (-)")
        }
    }
}

/// The median of rates and their range, in units of 10⁹; with one decimal below 1000.
pub(crate) fn giga(samples: &Samples) -> String {
    let [median, min, max] = [samples.median(), samples.min(), samples.max()].map(|rate| rate / 1e9);
    let digits = usize::from(median < 1000.0);
    format!("{median:.digits$} ({min:.digits$} to {max:.digits$})")
}

/// A figure with this many decimals, or a dash if it is unknown.
pub(crate) fn known(figure: f64, digits: usize) -> String {
    if figure.is_nan() { "-".into() } else { format!("{figure:.digits$}") }
}

/// A share in per cent, or a dash if it is unknown.
pub(crate) fn percent(share: f64) -> String {
    if share.is_nan() { "-".into() } else { format!("{:.1} %", 100.0 * share) }
}
