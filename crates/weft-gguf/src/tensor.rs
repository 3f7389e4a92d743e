//! An entry of the tensor directory, and the rules it must keep whether read or written.

use weft_quant::GgmlType;

use crate::error::Quoted;
use crate::limits::{MAX_ALIGNMENT, MAX_DIMS, MAX_NAME_BYTES};
use crate::value::Value;

/// A tensor of a model: what it is called, how it is stored and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the model: `blk.0.attn_norm.weight`.
    pub name: String,
    /// How the values are stored.
    pub ty: GgmlType,
    /// One to four sizes, none of them zero, in GGML's order: the contiguous dimension (`ne0`) first.
    pub shape: Vec<u64>,
    /// Where the data begins, in bytes from the start of its file's data section.
    pub offset: u64,
    /// Bytes of data.
    pub bytes: u64,
    /// Which of the model's files holds the data: an index into [`Gguf::files`](crate::Gguf::files).
    pub file: usize,
}

impl TensorInfo {
    /// Number of values.
    pub fn values(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// The name of a tensor is 1 to [`MAX_NAME_BYTES`] bytes long.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!(
            "a tensor's name must have 1 to {MAX_NAME_BYTES} bytes, this one has {}",
            name.len()
        ));
    }
    Ok(())
}

/// A tensor has 1 to [`MAX_DIMS`] dimensions.
pub(crate) fn check_dims(name: &str, dims: u64) -> Result<(), String> {
    if dims == 0 || dims > MAX_DIMS as u64 {
        return Err(format!("tensor {} has {dims} dimensions; 1 to {MAX_DIMS} are allowed", Quoted(name)));
    }
    Ok(())
}

/// The bytes a tensor of this type and shape takes: no dimension is zero, rows are whole blocks, and neither
/// the number of values nor that of bytes overflows.
pub(crate) fn check_shape(name: &str, ty: GgmlType, shape: &[u64]) -> Result<u64, String> {
    let name = Quoted(name);
    if shape.contains(&0) {
        return Err(format!("tensor {name} of shape {shape:?} has a dimension of size zero"));
    }
    let block = ty.block_len() as u64;
    if let Some(row) = shape.first().filter(|row| !row.is_multiple_of(block)) {
        return Err(format!(
            "tensor {name} has rows of {row} values, but {ty} is stored in blocks of {block}"
        ));
    }
    bytes(ty, shape).ok_or_else(|| format!("the size of tensor {name} of shape {shape:?} overflows 64 bits"))
}

fn bytes(ty: GgmlType, shape: &[u64]) -> Option<u64> {
    let values = shape.iter().try_fold(1, |n: u64, &size| n.checked_mul(size))?;
    ty.row_bytes(values)
}

/// The alignment of tensor data, `general.alignment`, is a power of two up to [`MAX_ALIGNMENT`], stored as a
/// `u32`.
pub(crate) fn check_alignment(value: &Value) -> Result<u64, String> {
    match value {
        Value::U32(v) if v.is_power_of_two() && u64::from(*v) <= MAX_ALIGNMENT => Ok((*v).into()),
        Value::U32(v) => {
            Err(format!("the alignment is {v}; it must be a power of two up to {MAX_ALIGNMENT}"))
        }
        _ => Err(format!("the alignment must be stored as a u32, but is stored as {}", value.type_name())),
    }
}
