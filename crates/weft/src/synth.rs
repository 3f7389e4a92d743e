//! Models of random weights in the shape of real ones, of any size and format: for tests, and for benchmarks where the
//! real ones are too large to fetch.
//!
//! A file is a function of its options: the same bytes on every machine and with any number of threads.

mod metadata;
pub(crate) mod preset;
mod tensors;
mod vocabulary;
mod weights;

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Result, bail};
use weft_gguf::Metadata;

use crate::tensor_types::{QuantMix, TensorTypes};
use crate::write_model::{OnProgress, PlannedTensor, write_model};
use metadata::metadata;
use preset::Preset;
use tensors::Tensors;
use weights::{Distribution, Weights};

/// The most layers a model is made of.
const MAX_LAYERS: u32 = 1000;

/// What to make.
#[derive(Debug)]
pub(crate) struct SynthOptions {
    /// The shape.
    pub(crate) preset: &'static Preset,
    /// How many layers, 1 to 1000; as many as the real model has if not given.
    pub(crate) layers: Option<u32>,
    /// How weights are stored.
    pub(crate) mix: &'static QuantMix,
    /// Of the random numbers.
    pub(crate) seed: u64,
    /// Threads to make weights with; one more writes them.
    pub(crate) threads: NonZeroUsize,
}

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Synthesised {
    /// Tensors.
    pub(crate) tensors: usize,
    /// Values of all of them.
    pub(crate) parameters: u64,
    /// Bytes they take.
    pub(crate) bytes: u64,
}

/// Makes a model and writes it to `out`; `None` if `progress` broke off, and then there is no file.
///
/// # Errors
///
/// If the number of layers is out of range, or the file cannot be written.
pub(crate) fn synth(
    options: &SynthOptions,
    out: &Path,
    progress: OnProgress<'_>,
) -> Result<Option<Synthesised>> {
    let Model { metadata, tensors, distributions } = Model::new(options)?;
    let types = tensors.iter().map(|tensor| tensor.ty);
    let weights = Weights::new(options.seed, types.zip(distributions.iter().copied()))?;
    let make = |tensor: usize, values| {
        let PlannedTensor { name, ty, .. } = &tensors[tensor];
        weights.make(name, *ty, distributions[tensor], values)
    };
    let flow = write_model(out, metadata, &tensors, options.threads, make, progress)?;
    Ok(flow.is_continue().then(|| Synthesised {
        tensors: tensors.len(),
        parameters: tensors.iter().map(PlannedTensor::values).sum(),
        bytes: tensors.iter().map(PlannedTensor::bytes).sum(),
    }))
}

/// All of a model but its weights.
struct Model {
    metadata: Metadata,
    tensors: Vec<PlannedTensor>,
    /// How the values of each tensor are distributed.
    distributions: Vec<Distribution>,
}

impl Model {
    fn new(options: &SynthOptions) -> Result<Model> {
        let preset = options.preset;
        let layers = options.layers.unwrap_or(preset.layers);
        if !(1..=MAX_LAYERS).contains(&layers) {
            bail!("a model has 1 to {MAX_LAYERS} layers, not {layers}");
        }
        let types = TensorTypes {
            mix: options.mix,
            layers,
            experts: preset.experts.map_or(0, |experts| experts.count),
            tied: preset.tied,
            output: None,
            embedding: None,
        };
        let (tensors, distributions) = Tensors::list(preset, &types).into_iter().unzip();
        Ok(Model { metadata: metadata(preset, &types, options.seed), tensors, distributions })
    }
}

pub(crate) mod testing;
#[cfg(test)]
mod tests;
