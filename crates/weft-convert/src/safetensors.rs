//! The header of a safetensors file: which tensors are where in it.
//!
//! A file is 8 bytes with the length of the header, the header as JSON, and the tensors' data. The header is untrusted: each number is
//! checked against the length of the file before it is used. As the format demands, the tensors must fill the data exactly, without
//! gaps and overlaps, so a file that was cut short is found here.

use std::fmt;
use std::ops::Range;

use serde_json::{Map, Value};

/// The longest header, in bytes; the format's own limit.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The most dimensions a tensor can have.
const MAX_DIMS: usize = 8;

/// A type of stored values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// 8-bit floating point with 4 bits of exponent and no infinities.
    F8E4M3,
    /// Another type of the format, which no weight is converted from.
    Other(&'static str, u64),
}

/// The names of types, and how many bytes a value takes.
const DTYPES: &[(&str, Dtype)] = &[
    ("F32", Dtype::F32),
    ("F16", Dtype::F16),
    ("BF16", Dtype::BF16),
    ("F8_E4M3", Dtype::F8E4M3),
    ("F8_E5M2", Dtype::Other("F8_E5M2", 1)),
    ("F8_E8M0", Dtype::Other("F8_E8M0", 1)),
    ("F64", Dtype::Other("F64", 8)),
    ("BOOL", Dtype::Other("BOOL", 1)),
    ("I8", Dtype::Other("I8", 1)),
    ("U8", Dtype::Other("U8", 1)),
    ("I16", Dtype::Other("I16", 2)),
    ("U16", Dtype::Other("U16", 2)),
    ("I32", Dtype::Other("I32", 4)),
    ("U32", Dtype::Other("U32", 4)),
    ("I64", Dtype::Other("I64", 8)),
    ("U64", Dtype::Other("U64", 8)),
];

impl Dtype {
    fn named(name: &str) -> Result<Dtype, String> {
        let found = DTYPES.iter().find(|(known, _)| *known == name);
        found.map(|(_, dtype)| *dtype).ok_or_else(|| {
            let known: Vec<&str> = DTYPES.iter().map(|(known, _)| *known).collect();
            format!("its type {name:?} is unknown; known are {}", known.join(", "))
        })
    }

    /// The size of a value in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
            Dtype::F8E4M3 => 1,
            Dtype::Other(_, bytes) => bytes,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = DTYPES.iter().find(|(_, dtype)| dtype == self).map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

/// A tensor of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: Dtype,
    /// Its shape, the outermost dimension first. No dimensions: a single value.
    pub shape: Vec<u64>,
    /// Where its data are in the file, in bytes from the start.
    pub range: Range<usize>,
}

/// Reads the header of a file and returns its tensors in the header's order.
///
/// # Errors
///
/// If the header breaks a rule of the format; the message says which, and where.
pub fn tensors(file: &[u8]) -> Result<Vec<Stored>, String> {
    let len = file.len() as u64;
    let Some((length, rest)) = file.split_first_chunk::<8>() else {
        return Err(format!(
            "it has {len} bytes; a safetensors file begins with 8 bytes for the length of its header"
        ));
    };
    let header = u64::from_le_bytes(*length);
    if header > MAX_HEADER_BYTES {
        return Err(format!("at byte 0: a header of {header} bytes exceeds the limit of {MAX_HEADER_BYTES}"));
    }
    let Some(text) = rest.get(..header as usize) else {
        return Err(format!(
            "at byte 0: its header has {header} bytes, but only {} follow: the file was cut short",
            rest.len()
        ));
    };
    let start = 8 + header as usize;
    let text = std::str::from_utf8(text).map_err(|error| format!("its header is not UTF-8: {error}"))?;
    let entries: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("its header is not a JSON object: {error}"))?;
    let data = file.len() - start;
    let mut tensors = Vec::new();
    for (name, entry) in entries.iter().filter(|(name, _)| *name != "__metadata__") {
        let read = || -> Result<Stored, String> {
            let (dtype, shape, range) = entry_of(entry, data as u64)?;
            let range = start + range.start as usize..start + range.end as usize;
            Ok(Stored { name: name.clone(), dtype, shape, range })
        };
        tensors.push(read().map_err(|rule| format!("tensor `{}`: {rule}", name.escape_debug()))?);
    }
    check_cover(&tensors, start..file.len())?;
    Ok(tensors)
}

/// The type, shape and range within the data of a tensor.
fn entry_of(entry: &Value, data: u64) -> Result<(Dtype, Vec<u64>, Range<u64>), String> {
    let field = |name: &str| entry.get(name).ok_or_else(|| format!("`{name}` is missing"));
    let dtype = Dtype::named(field("dtype")?.as_str().ok_or("`dtype` is not a string")?)?;
    let numbers = |name: &str| -> Result<Vec<u64>, String> {
        let list = field(name)?.as_array();
        let numbers: Option<Vec<u64>> = list.and_then(|list| list.iter().map(Value::as_u64).collect());
        numbers.ok_or_else(|| format!("`{name}` is not a list of non-negative integers"))
    };
    let shape = numbers("shape")?;
    if shape.len() > MAX_DIMS {
        return Err(format!("{} dimensions exceed the limit of {MAX_DIMS}", shape.len()));
    }
    let [begin, end] = numbers("data_offsets")?[..] else {
        return Err("`data_offsets` is not a pair of integers".into());
    };
    let bytes = shape.iter().try_fold(dtype.bytes(), |bytes, n| bytes.checked_mul(*n));
    let bytes = bytes.ok_or_else(|| format!("the size of shape {shape:?} overflows 64 bits"))?;
    if begin > end || end > data {
        return Err(format!(
            "its data are bytes {begin} to {end} of the {data} that follow the header: the file was cut short or is damaged"
        ));
    }
    if end - begin != bytes {
        return Err(format!(
            "{dtype} of shape {shape:?} takes {bytes} bytes, but {} are its data",
            end - begin
        ));
    }
    Ok((dtype, shape, begin..end))
}

/// Checks that the tensors fill `data`, without gaps and overlaps.
fn check_cover(tensors: &[Stored], data: Range<usize>) -> Result<(), String> {
    let mut sorted: Vec<&Stored> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
    let mut at = data.start;
    for tensor in sorted {
        if tensor.range.start != at {
            let what =
                if tensor.range.start < at { "overlap those before" } else { "leave a gap before them" };
            return Err(format!("the data of tensor `{}` {what}", tensor.name.escape_debug()));
        }
        at = tensor.range.end;
    }
    if at != data.end {
        return Err(format!("{} bytes after the last tensor belong to none", data.end - at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.resize(file.len() + data, 0);
        file
    }

    #[test]
    fn tensors_are_found_in_the_order_of_the_header() {
        let header = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
            "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"n":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}"#;
        let found = tensors(&file(header, 16)).unwrap();
        let start = 8 + header.len();
        let names: Vec<_> = found.iter().map(|tensor| (&*tensor.name, tensor.range.start - start)).collect();
        assert_eq!(names, [("b", 4), ("a", 0), ("n", 16)]);
        assert_eq!((found[0].dtype, &found[0].shape[..]), (Dtype::BF16, &[2, 3][..]));
        assert_eq!(found[2].dtype.to_string(), "I64");
    }

    #[track_caller]
    fn refused(file: &[u8], expected: &str) {
        let message = tensors(file).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        refused(b"1234567", "it has 7 bytes");
        for length in [1 << 63, u64::MAX, MAX_HEADER_BYTES + 1] {
            refused(&length.to_le_bytes(), "exceeds the limit of 100000000");
        }
        refused(&9u64.to_le_bytes(), "its header has 9 bytes, but only 0 follow");
        refused(&file("[]", 0), "not a JSON object");
        refused(&file("\u{7f}{", 0), "not a JSON object");
        refused(&file(&"[".repeat(100_000), 0), "not a JSON object");
        let one = |entry: &str, data| file(&format!(r#"{{"w":{entry}}}"#), data);
        refused(&one("7", 0), "tensor `w`: `dtype` is missing");
        refused(
            &one(r#"{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}"#, 1),
            "type \"Q4\" is unknown; known are F32",
        );
        refused(&one(r#"{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#, 4), "`shape` is not a list");
        refused(&one(r#"{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}"#, 4), "`shape` is not a list");
        refused(&one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}"#, 4), "not a pair");
        let huge = r#"{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}"#;
        refused(&one(huge, 4), "overflows 64 bits");
        let wide = r#"{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}"#;
        refused(&one(wide, 4), "9 dimensions exceed");
        refused(&one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#, 7), "the file was cut short");
        let far = r#"{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551611,18446744073709551615]}"#;
        refused(&one(far, 4), "the file was cut short");
        refused(&one(r#"{"dtype":"F32","shape":[1],"data_offsets":[4,0]}"#, 4), "bytes 4 to 0 of the 4");
        refused(
            &one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#, 4),
            "takes 8 bytes, but 4 are its data",
        );
        refused(
            &one(r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#, 6),
            "2 bytes after the last tensor",
        );
        refused(&one(r#"{"dtype":"F32","shape":[1],"data_offsets":[2,6]}"#, 6), "leave a gap before them");
        let twice = r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}}"#;
        refused(&file(twice, 5), "the data of tensor `b` overlap");
    }
}
