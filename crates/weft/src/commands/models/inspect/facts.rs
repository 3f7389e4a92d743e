//! Collects the facts about a model that both output formats show.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use weft_gguf::{Array, Gguf, TensorInfo, Value};
use weft_models::{BlockInfo, BuildOptions, Config, Cost, Head};

use super::roles::role;

/// The number of array elements to show.
const SHOWN: usize = 8;

/// Everything `inspect` shows.
pub(super) struct Facts<'a> {
    pub(super) gguf: &'a Gguf,
    /// The model's configuration and cost, or why Weft cannot run it.
    pub(super) model: Result<(Config, Cost), String>,
    /// The tensors by type, the largest share first.
    pub(super) types: Vec<(String, Share)>,
    /// The tensors by role, the largest share first.
    pub(super) roles: Vec<(String, Share)>,
    /// All tensors, if they should be listed.
    pub(super) tensors: &'a [TensorInfo],
}

/// The totals of some tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Share {
    pub(super) tensors: u64,
    pub(super) values: u64,
    pub(super) bytes: u64,
}

impl<'a> Facts<'a> {
    pub(super) fn of(gguf: &'a Gguf, tensors: bool) -> Facts<'a> {
        let model = weft_models::build(gguf, &BuildOptions::default());
        let model =
            model.map(|model| (model.config.clone(), model.cost())).map_err(|error| error.to_string());
        let layers = model.as_ref().ok().map(|(config, _)| config.layers());
        Facts {
            types: shares(gguf, |tensor| tensor.ty.name().into()),
            roles: shares(gguf, |tensor| role(&tensor.name, layers).into()),
            tensors: if tensors { gguf.tensors() } else { &[] },
            gguf,
            model,
        }
    }

    /// All facts as JSON.
    pub(super) fn json(&self) -> Json {
        let file = |file: &weft_gguf::FileInfo| json!({ "path": file.path.display().to_string(), "bytes": file.size });
        let tensor = |tensor: &TensorInfo| {
            let TensorInfo { name, ty, shape, offset, bytes, file } = tensor;
            json!({
                "name": name, "type": ty.name(), "shape": shape, "bytes": bytes, "file": file, "offset": offset,
            })
        };
        let metadata = self.gguf.metadata().iter().map(|(key, value)| (key.to_string(), json_value(value)));
        let mut all = json!({
            "files": self.gguf.files().iter().map(file).collect::<Json>(),
            "bytes": self.gguf.files().iter().map(|file| file.size).sum::<u64>(),
            "gguf_version": self.gguf.version(),
            "runs": self.model.is_ok(),
            "problem": self.model.as_ref().err(),
            "model": self.model.as_ref().ok().map(|(config, _)| json_config(config)),
            "cost": self.model.as_ref().ok().map(|(_, cost)| json_cost(cost)),
            "types": json_shares(&self.types),
            "roles": json_shares(&self.roles),
            "metadata": metadata.collect::<Map<_, _>>(),
        });
        if !self.tensors.is_empty() {
            all["tensors"] = self.tensors.iter().map(tensor).collect();
        }
        all
    }
}

/// The totals of each group of tensors, the largest group first.
fn shares(gguf: &Gguf, group: impl Fn(&TensorInfo) -> String) -> Vec<(String, Share)> {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for tensor in gguf.tensors() {
        let share = shares.entry(group(tensor)).or_default();
        share.tensors += 1;
        share.values += tensor.values();
        share.bytes += tensor.bytes;
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_by_key(|(_, share)| std::cmp::Reverse(share.bytes));
    shares
}

fn json_shares(shares: &[(String, Share)]) -> Json {
    let share = |(name, Share { tensors, values, bytes }): &(String, Share)| {
        (name.clone(), json!({ "tensors": tensors, "values": values, "bytes": bytes }))
    };
    Json::Object(shares.iter().map(share).collect())
}

fn json_cost(cost: &Cost) -> Json {
    json!({
        "parameters": cost.parameters,
        "bytes": cost.bytes,
        "active_parameters": cost.active_parameters,
        "active_bytes": cost.active_bytes,
        "kv_bytes_per_token": cost.kv_bytes,
        "windowed_kv_bytes_per_token": cost.windowed_kv_bytes,
        "state_bytes_per_sequence": cost.state_bytes,
        "state_bytes_of_guesses": cost.kept_bytes,
        "window": cost.window,
    })
}

fn json_config(config: &Config) -> Json {
    let block = |block: &BlockInfo| {
        let sizes = block.sizes.iter().map(|(name, size)| (name.to_string(), json!(size)));
        Json::Object([("kind".to_string(), json!(block.kind))].into_iter().chain(sizes).collect())
    };
    let attention: Vec<Json> = config.blocks.iter().map(|layer| block(&layer.attention)).collect();
    let attention = match attention.split_first() {
        // In all families so far, every layer has the same attention.
        Some((first, rest)) if rest.iter().all(|other| other == first) => first.clone(),
        _ => Json::Array(attention),
    };
    json!({
        "architecture": config.architecture,
        "name": config.name,
        "layers": config.layers(),
        "hidden": config.hidden,
        "vocab": config.vocab,
        "context": config.context,
        "heads": config.heads,
        "attention": attention,
        "feed_forward": config.blocks.iter().map(|layer| block(&layer.feed_forward)).collect::<Json>(),
        "prediction_blocks": config.mtp_blocks,
        "computes": config.head.result(),
        "pooling": match config.head {
            Head::Embedding(pooling) => Some(pooling.name()),
            Head::Logits | Head::Scores { .. } => None,
        },
    })
}

/// A metadata value; for a long array its type, length and first elements.
pub(super) fn json_value(value: &Value) -> Json {
    match value {
        Value::Array(array) if array.len() > SHOWN => {
            json!({ "array_of": array.type_name(), "length": array.len(), "first": elements(array, SHOWN) })
        }
        Value::Array(array) => Json::Array(elements(array, SHOWN)),
        Value::U8(v) => json!(v),
        Value::I8(v) => json!(v),
        Value::U16(v) => json!(v),
        Value::I16(v) => json!(v),
        Value::U32(v) => json!(v),
        Value::I32(v) => json!(v),
        Value::U64(v) => json!(v),
        Value::I64(v) => json!(v),
        Value::F32(v) => short(*v),
        Value::F64(v) => json!(v),
        Value::Bool(v) => json!(v),
        Value::String(v) => json!(v),
    }
}

/// At most `most` first elements of an array.
pub(super) fn elements(array: &Array, most: usize) -> Vec<Json> {
    fn first<T: Clone + Into<Json>>(elements: &[T], most: usize) -> Vec<Json> {
        elements.iter().take(most).cloned().map(Into::into).collect()
    }
    match array {
        Array::U8(v) => first(v, most),
        Array::I8(v) => first(v, most),
        Array::U16(v) => first(v, most),
        Array::I16(v) => first(v, most),
        Array::U32(v) => first(v, most),
        Array::I32(v) => first(v, most),
        Array::U64(v) => first(v, most),
        Array::I64(v) => first(v, most),
        Array::F32(v) => v.iter().take(most).copied().map(short).collect(),
        Array::F64(v) => first(v, most),
        Array::Bool(v) => first(v, most),
        Array::String(v) => v.iter().take(most).map(|text| String::from_utf8_lossy(text).into()).collect(),
    }
}

/// An `f32` in the fewest digits that identify it, instead of the digits of the equal `f64`.
fn short(value: f32) -> Json {
    json!(value.to_string().parse::<f64>().unwrap_or(f64::NAN))
}
