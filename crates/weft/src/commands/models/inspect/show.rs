//! Prints the facts as text.

use std::io::{self, Write};

use weft_gguf::Value;
use weft_models::{BlockInfo, Config, Cost, Head};

use super::facts::{Facts, Share, elements, json_value};
use crate::terminal::streams::plain;
use crate::terminal::units::{bytes, count};

/// The maximum number of characters of a value.
const WIDTH: usize = 100;

/// Writes all facts.
pub(super) fn text(facts: &Facts<'_>, out: &mut impl Write) -> io::Result<()> {
    let gguf = facts.gguf;
    for file in gguf.files() {
        writeln!(out, "{}  {}", plain(&file.path.display().to_string()), bytes(file.size))?;
    }
    writeln!(out)?;
    match &facts.model {
        Ok((config, cost)) => {
            model(config, out)?;
            writeln!(out)?;
            costs(config, cost, out)?;
        }
        Err(problem) => writeln!(out, "Weft cannot run this model: {}", plain(&problem.to_string()))?,
    }
    shares("type", &facts.types, out)?;
    shares("role", &facts.roles, out)?;
    writeln!(out, "\nmetadata (GGUF v{}, {} keys)", gguf.version(), gguf.metadata().len())?;
    for (key, value) in gguf.metadata().iter() {
        writeln!(out, "  {} = {}", key.escape_debug(), shown(value))?;
    }
    if !facts.tensors.is_empty() {
        writeln!(out, "\ntensors ({})", facts.tensors.len())?;
    }
    for tensor in facts.tensors {
        let shape: Vec<String> = tensor.shape.iter().map(u64::to_string).collect();
        let (name, shape) = (tensor.name.escape_debug().to_string(), shape.join(" x "));
        writeln!(out, "  {name:<40} {:<8} {shape:<22} {:>10}", tensor.ty, bytes(tensor.bytes))?;
    }
    Ok(())
}

fn model(config: &Config, out: &mut impl Write) -> io::Result<()> {
    let name = config.name.as_deref().map_or(String::new(), |name| format!(" ({})", name.escape_debug()));
    line(out, "architecture", format!("{}{name}", config.architecture))?;
    line(out, "layers", layers(config))?;
    line(out, "hidden", config.hidden.to_string())?;
    let attentions = kinds(config.blocks.iter().map(|layer| &layer.attention));
    for (attention, layers) in &attentions {
        let place = if attentions.len() > 1 { format!(" ({layers} layers)") } else { String::new() };
        line(out, "attention", format!("{}: {}{place}", attention.kind, attention.summary))?;
    }
    line(out, "vocabulary", format!("{} tokens", config.vocab))?;
    match config.head {
        Head::Logits => {}
        Head::Embedding(pooling) => {
            line(
                out,
                "computes",
                format!("embeddings of {} values, pooling {}", config.hidden, pooling.name()),
            )?;
        }
        Head::Scores { labels, .. } => {
            line(out, "computes", format!("scores of {labels} labels, to rank documents"))?
        }
    }
    line(out, "context", format!("{} tokens", config.context))
}

/// The number of layers of each kind.
fn layers(config: &Config) -> String {
    let kinds = kinds(config.blocks.iter().map(|layer| &layer.feed_forward));
    let kinds: Vec<String> =
        kinds.iter().map(|(block, layers)| format!("{layers} {}", block.summary)).collect();
    let unused = match config.mtp_blocks {
        0 => String::new(),
        blocks => format!("; {blocks} for multi-token prediction, used by --speculate"),
    };
    format!("{}: {}{unused}", config.layers(), kinds.join(", "))
}

/// The distinct blocks in order of first occurrence, with the number of each.
fn kinds<'a>(blocks: impl Iterator<Item = &'a BlockInfo>) -> Vec<(&'a BlockInfo, usize)> {
    let mut kinds: Vec<(&BlockInfo, usize)> = Vec::new();
    for block in blocks {
        match kinds.iter_mut().find(|(kind, _)| *kind == block) {
            Some((_, layers)) => *layers += 1,
            None => kinds.push((block, 1)),
        }
    }
    kinds
}

fn costs(config: &Config, cost: &Cost, out: &mut impl Write) -> io::Result<()> {
    let bits = cost.bytes as f64 * 8.0 / cost.parameters.max(1) as f64;
    line(out, "parameters", format!("{}, {} active", count(cost.parameters), count(cost.active_parameters)))?;
    line(out, "weights", format!("{}, {bits:.2} bits per parameter", bytes(cost.bytes)))?;
    line(out, "read per token", format!("{} of weights", bytes(cost.active_bytes)))?;
    let full = cost.kv_bytes_of(config.context);
    let windowed = match cost.window {
        0 => String::new(),
        window => format!("; {} of it for the last {window} tokens only", bytes(cost.windowed_kv_bytes)),
    };
    line(
        out,
        "KV cache",
        format!("{} per token (f16){windowed}, {} for the full context", bytes(cost.kv_bytes), bytes(full)),
    )?;
    match cost.state_bytes {
        0 => Ok(()),
        state => line(
            out,
            "state",
            format!("{} per sequence (f32), {} of it for guesses", bytes(state), bytes(cost.kept_bytes)),
        ),
    }
}

fn line(out: &mut impl Write, name: &str, value: String) -> io::Result<()> {
    writeln!(out, "{name:<14} {value}")
}

fn shares(by: &str, shares: &[(String, Share)], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{:<28} tensors     values        size", format!("by {by}"))?;
    for (name, share) in shares {
        let Share { tensors, values, .. } = share;
        writeln!(out, "  {name:<26} {tensors:>7} {:>10} {:>11}", count(*values), bytes(share.bytes))?;
    }
    Ok(())
}

/// A metadata value on one line, shortened.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(array) => {
            let first: Vec<String> =
                elements(array, 4).iter().map(|element| plain(&element.to_string())).collect();
            let more = if array.len() > first.len() { ", …" } else { "" };
            format!("[{}{more}] ({} {})", first.join(", "), array.len(), array.type_name())
        }
        Value::String(text) => format!("{text:?}"),
        Value::F32(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
        other => json_value(other).to_string(),
    };
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
