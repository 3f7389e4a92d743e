//! Synthetic models for tests.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use weft_gguf::Writer;

use super::{Model, Preset, SynthOptions, Synthesised, synth};
use crate::tensor_types::QuantMix;
use crate::write_model::PlannedTensor;

/// Options for a model with this many layers, and seed 1.
pub(crate) fn options(preset: &str, layers: u32, mix: &str) -> SynthOptions {
    SynthOptions {
        preset: *Preset::named(preset).unwrap(),
        layers: Some(layers),
        mtp: false,
        mix: QuantMix::named(mix).unwrap(),
        seed: 1,
        threads: NonZeroUsize::MIN,
    }
}

/// Writes a model.
pub(crate) fn write(options: &SynthOptions, path: &Path) -> Synthesised {
    synth(options, path, &mut |_, _| ControlFlow::Continue(())).unwrap().unwrap()
}

/// Writes a tiny model.
pub(crate) fn write_tiny(path: &Path, layers: u32, mix: &str) {
    write(&options("tiny", layers, mix), path);
}

/// Writes the header of a model, followed by zeros instead of weights: a sparse file, which takes no space.
pub(crate) fn write_header(options: &SynthOptions, path: &Path) {
    let Model { metadata, tensors, .. } = Model::new(options).unwrap();
    let mut writer = Writer::new(metadata).unwrap();
    for PlannedTensor { name, ty, shape } in &tensors {
        writer.declare(name, *ty, shape).unwrap();
    }
    let mut file = fs::File::create(path).unwrap();
    drop(writer.to_stream(&mut file).unwrap());
    let padded = |tensor: &PlannedTensor| tensor.bytes().next_multiple_of(32);
    let header = file.metadata().unwrap().len();
    file.set_len(header + tensors.iter().map(padded).sum::<u64>()).unwrap();
}

/// The names, types and shapes of a model's tensors as text.
pub(crate) fn tensor_types(preset: &str, layers: u32, mix: &str) -> String {
    let mut text = String::new();
    for PlannedTensor { name, ty, shape } in Model::new(&options(preset, layers, mix)).unwrap().tensors {
        let _ = writeln!(text, "{name} {ty} {shape:?}");
    }
    text
}
