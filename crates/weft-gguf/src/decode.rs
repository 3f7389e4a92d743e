//! Reads metadata values: the type, then the bytes.

use crate::cursor::Cursor;
use crate::error::{Error, Quoted};
use crate::value::{Array, MIN_STRING_BYTES, Strings, Value, ValueType};

/// Reads the type and the value of `key`.
pub(crate) fn value(cursor: &mut Cursor<'_>, key: &str) -> Result<Value, Error> {
    let key = Quoted(key);
    let what = format!("the value of key {key}");
    macro_rules! number {
        ($variant:ident, $t:ty) => {
            Ok(Value::$variant(<$t>::from_le_bytes(cursor.array(what)?)))
        };
    }
    match value_type(cursor, format_args!("the type of key {key}"))? {
        ValueType::U8 => number!(U8, u8),
        ValueType::I8 => number!(I8, i8),
        ValueType::U16 => number!(U16, u16),
        ValueType::I16 => number!(I16, i16),
        ValueType::U32 => number!(U32, u32),
        ValueType::I32 => number!(I32, i32),
        ValueType::F32 => number!(F32, f32),
        ValueType::U64 => number!(U64, u64),
        ValueType::I64 => number!(I64, i64),
        ValueType::F64 => number!(F64, f64),
        ValueType::Bool => Ok(Value::Bool(bools(cursor, 1, &key)?[0])),
        ValueType::String => Ok(Value::String(cursor.text(what)?.to_string())),
        ValueType::Array => array(cursor, &key).map(Value::Array),
    }
}

/// Reads an array's element type, its length and its elements.
fn array(cursor: &mut Cursor<'_>, key: &Quoted<'_>) -> Result<Array, Error> {
    let type_at = cursor.pos();
    let element = value_type(cursor, format_args!("the element type of key {key}"))?;
    let count = cursor.u64(format_args!("the length of the array of key {key}"))?;
    macro_rules! numbers {
        ($variant:ident, $t:ty) => {{
            const SIZE: usize = size_of::<$t>();
            let what = format_args!("the {count} {} of key {key}", element.name());
            let (numbers, _) = cursor.take(count, SIZE as u64, what)?.as_chunks::<SIZE>();
            Ok(Array::$variant(numbers.iter().map(|bytes| <$t>::from_le_bytes(*bytes)).collect()))
        }};
    }
    match element {
        ValueType::U8 => numbers!(U8, u8),
        ValueType::I8 => numbers!(I8, i8),
        ValueType::U16 => numbers!(U16, u16),
        ValueType::I16 => numbers!(I16, i16),
        ValueType::U32 => numbers!(U32, u32),
        ValueType::I32 => numbers!(I32, i32),
        ValueType::F32 => numbers!(F32, f32),
        ValueType::U64 => numbers!(U64, u64),
        ValueType::I64 => numbers!(I64, i64),
        ValueType::F64 => numbers!(F64, f64),
        ValueType::Bool => bools(cursor, count, key).map(Array::Bool),
        ValueType::String => strings(cursor, count, key).map(Array::String),
        ValueType::Array => {
            Err(cursor.malformed(type_at, format!("key {key} is an array of arrays, which is not supported")))
        }
    }
}

/// Reads `count` bytes that must be 0 or 1.
fn bools(cursor: &mut Cursor<'_>, count: u64, key: &Quoted<'_>) -> Result<Vec<bool>, Error> {
    let start = cursor.pos();
    let bytes = cursor.take(count, 1, format_args!("the {count} bool of key {key}"))?;
    if let Some(bad) = bytes.iter().position(|&byte| byte > 1) {
        let rule = format!("a bool must be 0 or 1, but one of key {key} is {}", bytes[bad]);
        return Err(cursor.malformed(start + bad as u64, rule));
    }
    Ok(bytes.iter().map(|&byte| byte == 1).collect())
}

/// Reads `count` strings.
fn strings(cursor: &mut Cursor<'_>, count: u64, key: &Quoted<'_>) -> Result<Strings, Error> {
    cursor.expect(count, MIN_STRING_BYTES, format_args!("the {count} strings of key {key}"))?;
    let mut strings = Strings::with_capacity(count as usize);
    for i in 0..count {
        strings.push(cursor.string(format_args!("string {i} of key {key}"))?);
    }
    Ok(strings)
}

/// Reads a type id. Errors call it `what`.
fn value_type(cursor: &mut Cursor<'_>, what: impl std::fmt::Display) -> Result<ValueType, Error> {
    let at = cursor.pos();
    let id = cursor.u32(&what)?;
    ValueType::from_id(id)
        .ok_or_else(|| cursor.malformed(at, format!("{what} is {id}, which is not a GGUF type (0 to 12)")))
}
