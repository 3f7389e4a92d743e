//! The facts in a model's file that are read before the model is loaded, for lists of models.

use std::path::Path;

use serde_json::{Map, Value, json};
use weft_engine::{Error, open_file};
use weft_gguf::{Array, Gguf, Value as Key};

/// The facts in a model's headers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Header {
    /// The architecture.
    pub(crate) architecture: String,
    /// The number of parameters.
    pub(crate) parameters: u64,
    /// The name of the quantisation, as `Q4_K_M`.
    pub(crate) quantisation: String,
    /// The size of its files in bytes.
    pub(crate) bytes: u64,
}

impl Header {
    /// Reads it.
    ///
    /// # Errors
    /// If the file is not a model.
    pub(crate) fn read(path: &Path) -> Result<Header, Error> {
        let file = open_file(path)?;
        let text = |key: &str| match file.metadata().get(key) {
            Some(Key::String(text)) => text.clone(),
            _ => String::new(),
        };
        Ok(Header {
            architecture: text("general.architecture"),
            parameters: file.tensors().iter().map(|tensor| tensor.values()).sum(),
            quantisation: quantisation(&file),
            bytes: file.files().iter().map(|one| one.size).sum(),
        })
    }
}

/// All keys of a model as JSON. Arrays, most of which are the vocabulary, are `null` unless they are asked for.
///
/// # Errors
/// If the file is not a model.
pub(crate) fn keys(path: &Path, arrays: bool) -> Result<Map<String, Value>, Error> {
    let file = open_file(path)?;
    Ok(file.metadata().iter().map(|(name, value)| (name.to_string(), json_of(value, arrays))).collect())
}

/// The name of the quantisation: the file's own, or else the type of most of its values.
fn quantisation(file: &Gguf) -> String {
    let said = match file.metadata().get("general.file_type") {
        Some(Key::U32(number)) => FILE_TYPES.iter().find(|(known, _)| known == number),
        _ => None,
    };
    if let Some((_, name)) = said {
        return (*name).to_string();
    }
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for tensor in file.tensors() {
        let name = tensor.ty.name();
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += tensor.values(),
            None => sums.push((name, tensor.values())),
        }
    }
    sums.into_iter().max_by_key(|(_, sum)| *sum).map_or(String::new(), |(name, _)| name.to_uppercase())
}

/// The values of `general.file_type`: `llama_ftype` in llama.cpp's `llama.h`.
const FILE_TYPES: &[(u32, &str)] = &[
    (0, "F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K"),
    (11, "Q3_K_S"),
    (12, "Q3_K_M"),
    (13, "Q3_K_L"),
    (14, "Q4_K_S"),
    (15, "Q4_K_M"),
    (16, "Q5_K_S"),
    (17, "Q5_K_M"),
    (18, "Q6_K"),
    (19, "IQ2_XXS"),
    (20, "IQ2_XS"),
    (21, "Q2_K_S"),
    (22, "IQ3_XS"),
    (23, "IQ3_XXS"),
    (24, "IQ1_S"),
    (25, "IQ4_NL"),
    (26, "IQ3_S"),
    (27, "IQ3_M"),
    (28, "IQ2_S"),
    (29, "IQ2_M"),
    (30, "IQ4_XS"),
    (31, "IQ1_M"),
    (32, "BF16"),
    (36, "TQ1_0"),
    (37, "TQ2_0"),
    (38, "MXFP4_MOE"),
];

fn json_of(value: &Key, arrays: bool) -> Value {
    match value {
        Key::Array(_) if !arrays => Value::Null,
        Key::Array(array) => Value::Array(elements(array)),
        Key::U8(v) => json!(v),
        Key::I8(v) => json!(v),
        Key::U16(v) => json!(v),
        Key::I16(v) => json!(v),
        Key::U32(v) => json!(v),
        Key::I32(v) => json!(v),
        Key::F32(v) => json!(v),
        Key::Bool(v) => json!(v),
        Key::String(v) => json!(v),
        Key::U64(v) => json!(v),
        Key::I64(v) => json!(v),
        Key::F64(v) => json!(v),
    }
}

fn elements(array: &Array) -> Vec<Value> {
    fn all<T: Into<Value> + Copy>(values: &[T]) -> Vec<Value> {
        values.iter().map(|value| (*value).into()).collect()
    }
    match array {
        Array::U8(v) => all(v),
        Array::I8(v) => all(v),
        Array::U16(v) => all(v),
        Array::I16(v) => all(v),
        Array::U32(v) => all(v),
        Array::I32(v) => all(v),
        Array::F32(v) => all(v),
        Array::Bool(v) => all(v),
        // A token can be part of a character.
        Array::String(v) => v.iter().map(|text| String::from_utf8_lossy(text).into()).collect(),
        Array::U64(v) => all(v),
        Array::I64(v) => all(v),
        Array::F64(v) => all(v),
    }
}
