//! Creates models with random weights in the shape of real ones, in any size and format: for tests, and for benchmarks
//! of models that are too large to download.
//!
//! The options determine the file: it has the same bytes on every machine and with any number of threads.

mod metadata;
pub(crate) mod preset;
mod tensors;
mod vocabulary;
mod weights;

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;

use weft_gguf::{Metadata, Writer};

use crate::error::{Result, bail};
use crate::tensor_types::{Precise, QuantMix, TensorTypes};
use crate::write_model::{OnProgress, PlannedTensor, write_model};
use metadata::metadata;
use preset::{Attention, Preset};
use tensors::Tensors;
use weights::{Distribution, Weights};

/// The maximum number of layers.
const MAX_LAYERS: u32 = 1000;

/// The most tokens of a vocabulary.
const MAX_VOCABULARY: u32 = 1 << 20;

/// Which model to create.
#[derive(Debug)]
pub struct SynthOptions {
    /// The shape.
    pub preset: Preset,
    /// The number of layers, 1 to 1000; `None` for as many as the preset has.
    pub layers: Option<u32>,
    /// Whether there is a layer for multi-token prediction after them.
    pub mtp: bool,
    /// The types of the weights.
    pub mix: &'static QuantMix,
    /// The random seed.
    pub seed: u64,
    /// The number of threads that make weights; one more writes them.
    pub threads: NonZeroUsize,
}

/// The size of a created model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthesised {
    /// The number of tensors.
    pub tensors: usize,
    /// The number of values in all tensors.
    pub parameters: u64,
    /// The size of all tensors in bytes.
    pub bytes: u64,
}

/// Creates a model and writes it to `out`. Returns `None`, and writes no file, if `progress` stops it.
///
/// # Errors
///
/// If the number of layers or of tokens is out of range, the preset has no layer for multi-token prediction,
/// or the file cannot be written.
pub fn synth(options: &SynthOptions, out: &Path, progress: OnProgress<'_>) -> Result<Option<Synthesised>> {
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

/// Writes the header of such a model, followed by zeros instead of weights: a sparse file, which takes no space. It is for those who need
/// names, types and shapes only.
///
/// # Errors
///
/// Those of [`synth`].
pub fn synth_header(options: &SynthOptions, out: &Path) -> Result<()> {
    let Model { metadata, tensors, distributions } = Model::new(options)?;
    let mut writer = Writer::new(metadata)?;
    for PlannedTensor { name, ty, shape } in &tensors {
        writer.declare(name, *ty, shape)?;
    }
    let mut file = File::create(out)?;
    drop(writer.to_stream(&mut file)?);
    let weights = Weights::new(options.seed, std::iter::empty())?;
    let mut at = file.metadata()?.len();
    for (tensor, distribution) in tensors.iter().zip(distributions) {
        // Graphs have these values.
        if let Distribution::Steps { .. } = distribution {
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&weights.make(&tensor.name, tensor.ty, distribution, 0..tensor.values())?)?;
        }
        at += tensor.bytes().next_multiple_of(32);
    }
    Ok(file.set_len(at)?)
}

/// A model without its weights.
struct Model {
    metadata: Metadata,
    tensors: Vec<PlannedTensor>,
    /// The distribution of each tensor's values.
    distributions: Vec<Distribution>,
}

impl Model {
    fn new(options: &SynthOptions) -> Result<Model> {
        let preset = &options.preset;
        let layers = options.layers.unwrap_or(preset.layers);
        if !(1..=MAX_LAYERS).contains(&layers) {
            bail!("cannot create a model with {layers} layers; expected 1 to {MAX_LAYERS}");
        }
        let (tokens, [fewest, most]) = (preset.vocabulary, [preset.family.fewest_tokens(), MAX_VOCABULARY]);
        if !(fewest..=most).contains(&tokens) {
            bail!(
                "cannot create a vocabulary of {tokens} tokens in the shape of {}; expected {fewest} to {most}: \
                 all bytes and the special tokens are in it",
                preset.name
            );
        }
        let may_predict = matches!(preset.attention, Attention::Latent { .. })
            || ["qwen35", "qwen35moe"].contains(&preset.architecture);
        if options.mtp && !may_predict {
            bail!(
                "cannot create a layer for multi-token prediction in the shape of {}; expected a preset with latent \
                 attention, such as glm-4.7-flash, or of Qwen 3.5 to 3.8",
                preset.name
            );
        }
        let types = TensorTypes {
            weighted: false,
            precise: Precise::of(preset.architecture),
            mix: options.mix,
            layers: layers + u32::from(options.mtp),
            with_values: match preset.attention {
                Attention::Gemma4(gemma) => {
                    let has = |layer: &u32| !(gemma.keyed && gemma.sees_all(*layer, layers));
                    (0..layers).filter(has).collect()
                }
                Attention::Kimi { .. } | Attention::Next(_) => {
                    (0..layers).filter(|l| preset.is_recurrent(*l, layers)).collect()
                }
                Attention::Mixed(mixed) => (0..layers).filter(|layer| mixed.kind(*layer) == b'*').collect(),
                _ => Vec::new(),
            },
            experts: preset.experts.map_or(0, |experts| experts.count),
            sharing: match preset.attention {
                Attention::Grouped { kv_heads, .. } | Attention::Hybrid { kv_heads, .. } => {
                    preset.heads.checked_div(kv_heads).unwrap_or(1)
                }
                // As llama.cpp takes it from the first layer, which may have none.
                Attention::Mixed(mixed) if mixed.kind(0) == b'*' => preset.heads / mixed.kv_heads,
                Attention::Mixed(_) => 0,
                // As llama.cpp takes it from the first layer.
                Attention::Gemma4(gemma) => preset.heads.checked_div(gemma.kv_heads[0]).unwrap_or(1),
                // As llama.cpp takes it from the first layer, which has a state.
                Attention::Kimi { .. } | Attention::Next(_) => 0,
                Attention::Latent { .. } | Attention::Sparse { .. } => preset.heads,
            },
            tied: preset.tied,
            output: None,
            embedding: None,
        };
        let (tensors, distributions) = Tensors::list(preset, &types, options.mtp).into_iter().unzip();
        let metadata = metadata(preset, &types, options.mtp, options.seed);
        Ok(Model { metadata, tensors, distributions })
    }
}

pub(crate) mod testing;
#[cfg(test)]
mod tests;
