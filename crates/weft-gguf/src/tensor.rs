//! Entries of the tensor directory, and the rules for them that reader and writer share.

use weft_quant::GgmlType;

use crate::error::Quoted;
use crate::limits::{MAX_ALIGNMENT, MAX_DIMS, MAX_NAME_BYTES};
use crate::value::Value;

/// A tensor of a model: its name, and how and where it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the model, such as `blk.0.attn_norm.weight`.
    pub name: String,
    /// The storage type of the values.
    pub ty: GgmlType,
    /// One to four sizes, none of them zero, in GGML's order: the contiguous dimension (`ne0`) first.
    pub shape: Vec<u64>,
    /// Where the data begins, in bytes from the start of its file's data section.
    pub offset: u64,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// The file that holds the data: an index into [`Gguf::files`](crate::Gguf::files).
    pub file: usize,
}

impl TensorInfo {
    /// The number of values.
    pub fn values(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// Checks that a name is 1 to [`MAX_NAME_BYTES`] bytes long.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!(
            "a tensor name must have 1 to {MAX_NAME_BYTES} bytes, but this one has {}",
            name.len()
        ));
    }
    Ok(())
}

/// Checks that a tensor has 1 to [`MAX_DIMS`] dimensions.
pub(crate) fn check_dims(name: &str, dims: u64) -> Result<(), String> {
    if dims == 0 || dims > MAX_DIMS as u64 {
        return Err(format!(
            "tensor {} has {dims} dimensions, but 1 to {MAX_DIMS} are allowed",
            Quoted(name)
        ));
    }
    Ok(())
}

/// Returns the size in bytes of a tensor of this type and shape. Checks that no dimension is zero, that rows
/// are whole blocks, and that neither the number of values nor of bytes overflows.
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

/// Checks that `general.alignment` is a power of two up to [`MAX_ALIGNMENT`], stored as a `u32`.
pub(crate) fn check_alignment(value: &Value) -> Result<u64, String> {
    match value {
        Value::U32(v) if v.is_power_of_two() && u64::from(*v) <= MAX_ALIGNMENT => Ok((*v).into()),
        Value::U32(v) => {
            Err(format!("the alignment must be a power of two up to {MAX_ALIGNMENT}, but is {v}"))
        }
        _ => Err(format!("the alignment must be stored as a u32, but is stored as {}", value.type_name())),
    }
}
