//! LoRA adapters of random numbers, for models of any shape.

use std::path::Path;

use weft_gguf::{Gguf, Metadata, Value as Key, Writer};

/// Writes an adapter of this rank for two matrices of each layer's attention.
pub(crate) fn write(path: &Path, model: &Gguf, rank: usize) {
    let mut metadata = Metadata::new();
    metadata.insert("general.type", Key::String("adapter".into()));
    metadata.insert("adapter.type", Key::String("lora".into()));
    let architecture = model.metadata().require_str("general.architecture").unwrap();
    metadata.insert("general.architecture", Key::String(architecture.into()));
    let mut random = weft_random::Random::named(rank as u64, "adapter");
    let float = model.tensors().iter().find(|tensor| tensor.ty.name() == "f32").unwrap().ty;
    let mut tensors = Vec::new();
    let adapted = |name: &str| ["attn_output.weight", "attn_q.weight"].iter().any(|end| name.ends_with(end));
    for tensor in model.tensors().iter().filter(|tensor| adapted(&tensor.name)) {
        for (which, shape) in
            [("lora_a", [tensor.shape[0], rank as u64]), ("lora_b", [rank as u64, tensor.shape[1]])]
        {
            let mut value = || 0.4 * (random.below(2001) as f32 / 1000.0 - 1.0);
            let bytes: Vec<u8> = (0..shape[0] * shape[1]).flat_map(|_| value().to_le_bytes()).collect();
            tensors.push((format!("{}.{which}", tensor.name), shape, bytes));
        }
    }
    assert!(!tensors.is_empty());
    let mut writer = Writer::new(metadata).unwrap();
    tensors.iter().for_each(|(name, shape, _)| writer.declare(name, float, shape).unwrap());
    let mut data = writer.create(path).unwrap();
    tensors.iter().for_each(|(name, _, bytes)| data.write(name, bytes).unwrap());
    data.finish().unwrap();
}
