//! Synthetic models for tests.
#![cfg(test)]

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use super::{Model, Preset, SynthOptions, Synthesised, synth, synth_header};
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

/// Writes the header of a model.
pub(crate) fn write_header(options: &SynthOptions, path: &Path) {
    synth_header(options, path).unwrap();
}

/// The names, types and shapes of a model's tensors as text.
pub(crate) fn tensor_types(preset: &str, layers: u32, mix: &str) -> String {
    let mut text = String::new();
    for PlannedTensor { name, ty, shape } in Model::new(&options(preset, layers, mix)).unwrap().tensors {
        let _ = writeln!(text, "{name} {ty} {shape:?}");
    }
    text
}
