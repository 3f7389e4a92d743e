//! Writes metadata values, mirroring `decode`.

use crate::value::{Array, Value};

/// Appends the type and the bytes of a value.
pub(crate) fn value(out: &mut Vec<u8>, value: &Value) {
    out.extend(value.value_type().id().to_le_bytes());
    match value {
        Value::U8(v) => out.extend(v.to_le_bytes()),
        Value::I8(v) => out.extend(v.to_le_bytes()),
        Value::U16(v) => out.extend(v.to_le_bytes()),
        Value::I16(v) => out.extend(v.to_le_bytes()),
        Value::U32(v) => out.extend(v.to_le_bytes()),
        Value::I32(v) => out.extend(v.to_le_bytes()),
        Value::F32(v) => out.extend(v.to_le_bytes()),
        Value::U64(v) => out.extend(v.to_le_bytes()),
        Value::I64(v) => out.extend(v.to_le_bytes()),
        Value::F64(v) => out.extend(v.to_le_bytes()),
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::String(v) => string(out, v.as_bytes()),
        Value::Array(v) => array(out, v),
    }
}

/// Appends an array's element type, its length and its elements.
fn array(out: &mut Vec<u8>, array: &Array) {
    out.extend(array.element_type().id().to_le_bytes());
    out.extend((array.len() as u64).to_le_bytes());
    match array {
        Array::U8(v) => out.extend(v),
        Array::I8(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::U16(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::I16(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::U32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::I32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::F32(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::U64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::I64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::F64(v) => out.extend(v.iter().flat_map(|v| v.to_le_bytes())),
        Array::Bool(v) => out.extend(v.iter().map(|&v| u8::from(v))),
        Array::String(v) => v.iter().for_each(|v| string(out, v)),
    }
}

/// Appends a string: its length as a `u64`, then its bytes.
pub(crate) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}
