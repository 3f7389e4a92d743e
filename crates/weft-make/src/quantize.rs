//! Converts a model's weights to other types.
//!
//! Tensors are read, converted and written in chunks, so models can be larger than memory. [`TensorTypes`] chooses each
//! tensor's type; metadata is copied, except for the keys that describe types.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use weft_engine::open_file;
use weft_gguf::{Gguf, Metadata, TensorBytes, TensorInfo};
use weft_quant::{GgmlType, decode, encode, encode_weighted};

use crate::error::{Context as _, Result, bail};
use crate::imatrix::{Imatrix, Importance};
use crate::own_files::refuse_own_file;
use crate::tensor_types::{Precise, QUANTIZATION_VERSION, QuantMix, TensorTypes, layers_with_values};
use crate::write_model::{OnProgress, PlannedTensor, write_model};

/// How to convert a model.
#[derive(Debug)]
pub struct QuantizeOptions {
    /// The types of the result.
    pub mix: &'static QuantMix,
    /// Overrides the type of the output matrix.
    pub output: Option<GgmlType>,
    /// Overrides the type of the token embedding.
    pub embedding: Option<GgmlType>,
    /// How much errors in each column of the weights matter, and the name of the file that says so.
    pub imatrix: Option<(Imatrix, String)>,
    /// Whether quantised weights may be converted to quantised types that are no smaller.
    pub allow_requantize: bool,
    /// The number of threads that convert; one more writes.
    pub threads: NonZeroUsize,
}

/// The sizes of a model's tensors by type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(pub BTreeMap<GgmlType, Size>);

/// Tensors of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of tensors.
    pub tensors: usize,
    /// The size of their data in bytes.
    pub bytes: u64,
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

    /// The size of all tensors in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|size| size.bytes).sum()
    }
}

/// The result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The sizes before.
    pub before: Sizes,
    /// The sizes after.
    pub after: Sizes,
    /// The number of tensors that were quantised by the importance of their columns, and of all quantised ones, if an
    /// importance matrix was given.
    pub weighted: Option<(usize, usize)>,
}

/// Converts the model at `input` and writes it to `out`. Returns `None`, and writes no file, if `progress` stops it.
///
/// # Errors
///
/// If the model cannot be read or converted, `out` is one of its own files, a tensor would lose precision without getting
/// smaller, or the file cannot be written.
pub fn quantize(
    input: &Path,
    out: &Path,
    options: &QuantizeOptions,
    progress: OnProgress<'_>,
) -> Result<Option<Conversion>> {
    let gguf = open_file(input)?;
    refuse_own_file(&gguf, out)?;
    let types = types(&gguf, options)?;
    let planned: Vec<_> = gguf.tensors().iter().map(|tensor| plan(tensor, &types)).collect();
    let pairs = || gguf.tensors().iter().zip(&planned);
    pairs().try_for_each(|(tensor, planned)| check_codec(tensor, planned.ty))?;
    if !options.allow_requantize {
        refuse_pointless_loss(pairs())?;
    }
    let importances = importances(&gguf, &planned, options)?;
    match weft_engine::check_file(&gguf, progress) {
        Err(weft_engine::Error::Interrupted) => return Ok(None),
        checked => checked?,
    }
    // Tensors are converted in order. Those of a packed model are restored, and their memory is given back when they are done.
    let open: Mutex<BTreeMap<usize, TensorBytes>> = Mutex::default();
    let convert = |at: usize, values| {
        let (tensor, ty) = (&gguf.tensors()[at], planned[at].ty);
        let bytes = {
            let mut open = open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            open.retain(|other, _| other + 2 > at);
            open.entry(at).or_insert_with(|| gguf.tensor_bytes(tensor)).clone()
        };
        convert(tensor.ty, &bytes, ty, values, importances.get(&at))
    };
    let metadata = metadata(&gguf, options);
    let flow = write_model(out, metadata, &planned, options.threads, convert, progress)?;
    Ok(flow.is_continue().then(|| Conversion {
        before: Sizes::of(gguf.tensors().iter().map(|tensor| (tensor.ty, tensor.bytes))),
        after: Sizes::of(planned.iter().map(|tensor| (tensor.ty, tensor.bytes()))),
        weighted: options.imatrix.as_ref().map(|_| {
            let quantised = pairs().filter(|(tensor, planned)| is_quantised_now(tensor, planned));
            (importances.len(), quantised.count())
        }),
    }))
}

/// Whether a tensor is quantised here.
fn is_quantised_now(tensor: &TensorInfo, planned: &PlannedTensor) -> bool {
    planned.ty.is_quantised() && planned.ty != tensor.ty
}

/// The importance of the tensors that are quantised, by their indices.
fn importances(
    gguf: &Gguf,
    planned: &[PlannedTensor],
    options: &QuantizeOptions,
) -> Result<BTreeMap<usize, Importance>> {
    let Some((imatrix, file)) = &options.imatrix else { return Ok(BTreeMap::new()) };
    if !gguf.tensors().iter().any(|tensor| imatrix.entries.contains_key(&tensor.name)) {
        bail!("{file} has no entry for any tensor of the model: it was computed for another one");
    }
    let mut importances = BTreeMap::new();
    for (at, (tensor, planned)) in gguf.tensors().iter().zip(planned).enumerate() {
        if is_quantised_now(tensor, planned)
            && let Some(importance) = imatrix.importance(tensor)?
        {
            importances.insert(at, importance);
        }
    }
    Ok(importances)
}

fn types(gguf: &Gguf, options: &QuantizeOptions) -> Result<TensorTypes> {
    let metadata = gguf.metadata();
    let architecture = metadata.require_str("general.architecture")?;
    Ok(TensorTypes {
        mix: options.mix,
        with_values: layers_with_values(gguf.tensors().iter().map(|tensor| tensor.name.as_str())),
        layers: metadata.require_u32(&format!("{architecture}.block_count"))?,
        experts: metadata.u32(&format!("{architecture}.expert_count"))?.unwrap_or(0),
        sharing: sharing(metadata)?,
        tied: gguf.tensor("output.weight").is_none(),
        weighted: options.imatrix.is_some(),
        precise: Precise::of(architecture),
        output: options.output,
        embedding: options.embedding,
    })
}

/// How many query heads share a head of keys and values; 1 if the file does not say, or has different numbers
/// of layers.
pub(crate) fn sharing(metadata: &Metadata) -> Result<u32> {
    let architecture = metadata.require_str("general.architecture")?;
    let layers = metadata.require_u32(&format!("{architecture}.block_count"))? as usize;
    let count =
        |key: &str| metadata.u32_of_layers(&format!("{architecture}.attention.{key}"), layers).ok().flatten();
    Ok(match (count("head_count"), count("head_count_kv")) {
        (Some(heads), Some(shared)) => heads.checked_div(shared).unwrap_or(1),
        _ => 1,
    })
}

fn plan(tensor: &TensorInfo, types: &TensorTypes) -> PlannedTensor {
    let ty = types.type_of(&tensor.name, &tensor.shape).unwrap_or(tensor.ty);
    PlannedTensor { name: tensor.name.clone(), ty, shape: tensor.shape.clone() }
}

fn check_codec(tensor: &TensorInfo, ty: GgmlType) -> Result<()> {
    let TensorInfo { name, ty: own, .. } = tensor;
    if *own != ty && !own.can_decode() {
        bail!("cannot read tensor `{}`: its type {own} is not supported", name.escape_debug());
    }
    if *own != ty && !ty.can_encode() {
        bail!("cannot write tensor `{}`: its new type {ty} is not supported", name.escape_debug());
    }
    Ok(())
}

/// Refuses to convert quantised weights to a quantised type with as many bits or more, which only adds a second rounding
/// error. Float types (`f16`, `f32`) hold quantised weights without loss.
fn refuse_pointless_loss<'a>(pairs: impl Iterator<Item = (&'a TensorInfo, &'a PlannedTensor)>) -> Result<()> {
    let pointless = |(tensor, planned): &(&TensorInfo, &PlannedTensor)| {
        let (from, to) = (tensor.ty, planned.ty);
        let both = from.is_quantised() && to.is_quantised() && from != to;
        both && to.bits_per_value() >= from.bits_per_value()
    };
    let mut pointless = pairs.filter(pointless);
    let Some((tensor, planned)) = pointless.next() else { return Ok(()) };
    bail!(
        "tensor `{}` is already quantised as {}; converting it to {}, which is no smaller, only loses precision (as for {} \
         more tensors). Start from a more precise model, or allow it with --allow-requantize",
        tensor.name.escape_debug(),
        tensor.ty,
        planned.ty,
        pointless.count()
    )
}

/// The metadata of the result: the model's, without the keys of split files, with the new type, and with llama.cpp's keys that
/// describe the importance matrix.
fn metadata(gguf: &Gguf, options: &QuantizeOptions) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| !key.starts_with("split.")) {
        metadata.insert(key, value.clone());
    }
    metadata.insert("general.quantization_version", QUANTIZATION_VERSION);
    metadata.insert("general.file_type", options.mix.file_type);
    if let Some((imatrix, file)) = &options.imatrix {
        metadata.insert("quantize.imatrix.file", file.as_str());
        if let Some(dataset) = imatrix.datasets.last() {
            metadata.insert("quantize.imatrix.dataset", dataset.as_str());
        }
        metadata.insert("quantize.imatrix.entries_count", imatrix.entries.len() as u32);
        metadata.insert("quantize.imatrix.chunks_count", imatrix.chunks);
    }
    metadata
}

/// Converts a range of values, which begins and ends at block boundaries of both types.
fn convert(
    from: GgmlType,
    data: &[u8],
    to: GgmlType,
    values: Range<u64>,
    importance: Option<&Importance>,
) -> Result<Vec<u8>> {
    let byte = |value| from.row_bytes(value).and_then(|at| usize::try_from(at).ok());
    let range = byte(values.start).zip(byte(values.end)).and_then(|(start, end)| data.get(start..end));
    let data = range.context("its data is too short")?;
    if from == to {
        return Ok(data.to_vec());
    }
    let mut floats = vec![0.0; (values.end - values.start) as usize];
    decode(from, data, &mut floats)?;
    encoded(&floats, to, importance.map(|importance| importance.of(values)).as_deref())
}

/// Whole blocks of values as `ty`, with the importance of each value if it is known.
///
/// # Errors
///
/// If a value is outside the range of the type.
pub(crate) fn encoded(values: &[f32], ty: GgmlType, importance: Option<&[f32]>) -> Result<Vec<u8>> {
    check_values(values, ty)?;
    let mut bytes = vec![0; values.len() / ty.block_len() * ty.block_bytes()];
    match importance {
        Some(importance) => encode_weighted(ty, values, importance, &mut bytes)?,
        None => encode(ty, values, &mut bytes)?,
    }
    Ok(bytes)
}

/// Checks that the type can hold the values: one that it cannot hold would spoil its whole block.
fn check_values(values: &[f32], ty: GgmlType) -> Result<()> {
    let most = match ty {
        GgmlType::F32 | GgmlType::BF16 => f32::MAX,
        // Values or scales are stored as f16.
        _ => 65504.0,
    };
    match values.iter().find(|value| !(-most..=most).contains(*value)) {
        None => Ok(()),
        Some(value) => bail!("its value {value} is outside the range of {ty}, which is -{most} to {most}"),
    }
}

#[cfg(test)]
mod tests;
