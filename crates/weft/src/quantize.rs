//! Stores the weights of a model in other types.
//!
//! The model is read, converted and written piece by piece, so that one larger than memory can be quantised. Which type a
//! tensor gets is up to the [`TensorTypes`]; metadata stays as it is, but for what it says of the types.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weft_gguf::{Gguf, Metadata, TensorInfo};
use weft_quant::{GgmlType, decode, encode};

use crate::output::refuse_own_file;
use crate::tensor_types::{QUANTIZATION_VERSION, QuantMix, TensorTypes};
use crate::write_model::{OnProgress, PlannedTensor, write_model};

/// What to make of a model.
#[derive(Debug)]
pub(crate) struct QuantizeOptions {
    /// How weights are stored afterwards.
    pub(crate) mix: &'static QuantMix,
    /// Overrules the type of the output matrix.
    pub(crate) output: Option<GgmlType>,
    /// Overrules the type of the token embedding.
    pub(crate) embedding: Option<GgmlType>,
    /// Whether quantised weights may be quantised to a type that is not smaller, which loses precision and gains nothing.
    pub(crate) allow_requantize: bool,
    /// Threads to convert with; one more writes.
    pub(crate) threads: NonZeroUsize,
}

/// What a model takes, by the type of its tensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) BTreeMap<GgmlType, Size>);

/// Tensors of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// How many.
    pub(crate) tensors: usize,
    /// Bytes of their data.
    pub(crate) bytes: u64,
}

impl Sizes {
    fn of(tensors: impl Iterator<Item = (GgmlType, u64)>) -> Sizes {
        let mut sizes = Sizes::default();
        for (ty, bytes) in tensors {
            let size = sizes.0.entry(ty).or_default();
            size.tensors += 1;
            size.bytes += bytes;
        }
        sizes
    }

    /// Bytes of all tensors.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.values().map(|size| size.bytes).sum()
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    /// The model as it was.
    pub(crate) before: Sizes,
    /// The model as it is.
    pub(crate) after: Sizes,
}

/// Reads the model at `input` and writes it to `out` with its weights stored as `options` say; `None` if `progress` broke
/// off, and then there is no file.
///
/// # Errors
///
/// If the model cannot be read or holds types that cannot be converted, `out` is one of its own files, a tensor would be
/// quantised again for nothing, or the file cannot be written.
pub(crate) fn quantize(
    input: &Path,
    out: &Path,
    options: &QuantizeOptions,
    progress: OnProgress<'_>,
) -> Result<Option<Conversion>> {
    let gguf = Gguf::open(input)?;
    refuse_own_file(&gguf, out)?;
    let types = types(&gguf, options)?;
    let planned: Vec<_> = gguf.tensors().iter().map(|tensor| plan(tensor, &types)).collect();
    let pairs = || gguf.tensors().iter().zip(&planned);
    pairs().try_for_each(|(tensor, planned)| check_codec(tensor, planned.ty))?;
    if !options.allow_requantize {
        refuse_vain_loss(pairs())?;
    }
    let convert = |tensor: usize, values| {
        let (tensor, ty) = (&gguf.tensors()[tensor], planned[tensor].ty);
        convert(tensor.ty, gguf.data(tensor), ty, values)
    };
    let metadata = metadata(&gguf, options.mix);
    let flow = write_model(out, metadata, &planned, options.threads, convert, progress)?;
    Ok(flow.is_continue().then(|| Conversion {
        before: Sizes::of(gguf.tensors().iter().map(|tensor| (tensor.ty, tensor.bytes))),
        after: Sizes::of(planned.iter().map(|tensor| (tensor.ty, tensor.bytes()))),
    }))
}

fn types(gguf: &Gguf, options: &QuantizeOptions) -> Result<TensorTypes> {
    let metadata = gguf.metadata();
    let architecture = metadata.require_str("general.architecture")?;
    Ok(TensorTypes {
        mix: options.mix,
        layers: metadata.require_u32(&format!("{architecture}.block_count"))?,
        experts: metadata.u32(&format!("{architecture}.expert_count"))?.unwrap_or(0),
        tied: gguf.tensor("output.weight").is_none(),
        output: options.output,
        embedding: options.embedding,
    })
}

fn plan(tensor: &TensorInfo, types: &TensorTypes) -> PlannedTensor {
    let ty = types.type_of(&tensor.name, &tensor.shape).unwrap_or(tensor.ty);
    PlannedTensor { name: tensor.name.clone(), ty, shape: tensor.shape.clone() }
}

fn check_codec(tensor: &TensorInfo, ty: GgmlType) -> Result<()> {
    let TensorInfo { name, ty: own, .. } = tensor;
    if *own != ty && !own.can_decode() {
        bail!("tensor `{}` is stored as {own}, which this program cannot read", name.escape_debug());
    }
    if *own != ty && !ty.can_encode() {
        bail!("tensor `{}` should become {ty}, which this program cannot write", name.escape_debug());
    }
    Ok(())
}

/// Quantised weights are as exact as they will ever be: quantising them to a type that takes as many bits or more only adds
/// a second rounding error. Plain numbers (`f16`, `f32`) hold them as they are.
fn refuse_vain_loss<'a>(pairs: impl Iterator<Item = (&'a TensorInfo, &'a PlannedTensor)>) -> Result<()> {
    let vain = |(tensor, planned): &(&TensorInfo, &PlannedTensor)| {
        let (from, to) = (tensor.ty, planned.ty);
        let both = from.is_quantised() && to.is_quantised() && from != to;
        both && to.bits_per_value() >= from.bits_per_value()
    };
    let mut vain = pairs.filter(vain);
    let Some((tensor, planned)) = vain.next() else { return Ok(()) };
    bail!(
        "tensor `{}` is {} already and would become {}, which is not smaller: that loses precision and gains nothing \
         (so it is with {} more). Take the model in a higher precision, or say --allow-requantize",
        tensor.name.escape_debug(),
        tensor.ty,
        planned.ty,
        vain.count()
    )
}

/// The metadata of the result: that of the model, which is one file now and of another type.
fn metadata(gguf: &Gguf, mix: &QuantMix) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| !key.starts_with("split.")) {
        metadata.insert(key, value.clone());
    }
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
    metadata.insert("general.file_type", mix.file_type);
    metadata
}

/// The stored bytes of a range of values, which begins and ends with a block of both types.
fn convert(from: GgmlType, data: &[u8], to: GgmlType, values: Range<u64>) -> Result<Vec<u8>> {
    let byte = |value| from.row_bytes(value).and_then(|at| usize::try_from(at).ok());
    let range = byte(values.start).zip(byte(values.end)).and_then(|(start, end)| data.get(start..end));
    let data = range.context("its data ends too early")?;
    if from == to {
        return Ok(data.to_vec());
    }
    let mut floats = vec![0.0; (values.end - values.start) as usize];
    decode(from, data, &mut floats)?;
    check_values(&floats, to)?;
    let mut bytes = vec![0; floats.len() / to.block_len() * to.block_bytes()];
    encode(to, &floats, &mut bytes)?;
    Ok(bytes)
}

/// A block with one value that its type cannot hold would be lost as a whole.
fn check_values(values: &[f32], ty: GgmlType) -> Result<()> {
    let most = match ty {
        GgmlType::F32 | GgmlType::BF16 => f32::MAX,
        // Halves, or scales that are halves.
        _ => 65504.0,
    };
    match values.iter().find(|value| !(-most..=most).contains(*value)) {
        None => Ok(()),
        Some(value) => bail!("it holds the value {value}, but {ty} holds values from -{most} to {most} only"),
    }
}

#[cfg(test)]
mod tests;
