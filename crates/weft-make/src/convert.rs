//! Converts a model from Hugging Face's form to a GGUF file.
//!
//! `weft-convert` knows names, metadata and where values are; here each tensor gets its type, as llama.cpp's converter gives it or as
//! `quantize` does, and the file is written. Values are read, converted and written in chunks: models can be larger than memory.

use std::num::NonZeroUsize;
use std::path::Path;

use weft_convert::{Conversion, Tensor};
use weft_gguf::Metadata;
use weft_quant::GgmlType;

use crate::error::Result;
use crate::own_files::refuse_files_in;
use crate::quantize::{encoded, sharing};
use crate::tensor_types::{
    Precise, QUANT_MIXES, QUANTIZATION_VERSION, QuantMix, TensorTypes, layers_with_values,
};
use crate::write_model::{OnProgress, PlannedTensor, write_model};

/// `general.file_type` of files whose experts are in MXFP4 and the rest in 16 bits.
const MXFP4_MOE: u32 = 38;

/// How to convert a model.
#[derive(Debug)]
pub struct ConvertOptions {
    /// The types of the result; without it, weights keep 16 bits, as bf16 if they are stored so.
    pub mix: Option<&'static QuantMix>,
    /// The number of threads that convert; one more writes.
    pub threads: NonZeroUsize,
}

/// The result of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// The family, by its name in GGUF.
    pub architecture: String,
    /// The name of the types.
    pub quant: &'static str,
    /// The number of tensors.
    pub tensors: usize,
    /// The number of values in them.
    pub parameters: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// A note for the user about a choice between files.
    pub note: Option<&'static str>,
}

/// Converts the model in `folder` and writes it to `out`. Returns `None`, and writes no file, if `progress` stops it.
///
/// # Errors
///
/// If the model cannot be read or converted, `out` is one of the files in `folder`, or the file cannot be written.
pub fn convert(
    folder: &Path,
    out: &Path,
    options: &ConvertOptions,
    progress: OnProgress<'_>,
) -> Result<Option<Converted>> {
    let model = Conversion::open(folder)?;
    refuse_files_in(folder, out)?;
    let stored = model.stored_type();
    let as_stored = || QUANT_MIXES.iter().find(|mix| mix.main == stored);
    let mix = options.mix.or_else(as_stored).unwrap_or(&QUANT_MIXES[0]);
    let types = types(&model, mix)?;
    let keeps = options.mix.is_none();
    let planned: Vec<PlannedTensor> =
        model.tensors().iter().map(|tensor| plan(tensor, &types, keeps)).collect();
    let mut metadata = Metadata::new();
    for (key, value) in model.metadata().iter() {
        metadata.insert(key, value.clone());
    }
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
    let is_kept = keeps && model.tensors().iter().any(|tensor| tensor.quantised.is_some());
    metadata.insert("general.file_type", if is_kept { MXFP4_MOE } else { mix.file_type });
    let architecture = metadata.require_str("general.architecture")?.to_owned();
    let make = |at: usize, values: std::ops::Range<u64>| {
        let (tensor, ty) = (&model.tensors()[at], planned[at].ty);
        let bytes = match model.bytes(tensor, ty, values.clone()) {
            Some(bytes) => bytes,
            None => encoded(&model.values(tensor, values.clone()), ty, None)?,
        };
        model.release(tensor, values);
        Ok(bytes)
    };
    let flow = write_model(out, metadata, &planned, options.threads, make, progress)?;
    Ok(flow.is_continue().then(|| Converted {
        architecture,
        quant: if is_kept { "mxfp4" } else { mix.name },
        tensors: planned.len(),
        parameters: planned.iter().map(PlannedTensor::values).sum(),
        bytes: planned.iter().map(PlannedTensor::bytes).sum(),
        note: model.note(),
    }))
}

fn types(model: &Conversion, mix: &'static QuantMix) -> Result<TensorTypes> {
    let metadata = model.metadata();
    let architecture = metadata.require_str("general.architecture")?;
    Ok(TensorTypes {
        mix,
        with_values: layers_with_values(model.tensors().iter().map(|tensor| tensor.name.as_str())),
        layers: metadata.require_u32(&format!("{architecture}.block_count"))?,
        experts: metadata.u32(&format!("{architecture}.expert_count"))?.unwrap_or(0),
        sharing: sharing(metadata)?,
        tied: model.tensors().iter().all(|tensor| tensor.name != "output.weight"),
        weighted: false,
        precise: Precise::of(architecture),
        output: None,
        embedding: None,
    })
}

/// `keeps` is whether tensors that are quantised already stay as they are.
fn plan(tensor: &Tensor, types: &TensorTypes, keeps: bool) -> PlannedTensor {
    let wanted = types.type_of(&tensor.name, &tensor.shape).filter(|_| !tensor.is_exact);
    let ty = tensor.quantised.filter(|_| keeps).or(wanted).unwrap_or(GgmlType::F32);
    PlannedTensor { name: tensor.name.clone(), ty, shape: tensor.shape.clone() }
}
