//! The metadata of a model: keys in the file's order, and typed access with precise errors.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use crate::error::KeyError;
use crate::value::{Array, Strings, Value};

/// Keys and values, in the order of the file.
///
/// The typed getters return `Ok(None)` for an absent key and an error for a value of another type; with the
/// `require_` forms, absence is an error too. An integer may have any of the format's integer types if its
/// value fits, since converters differ in their choice; likewise `f32` and `f64`.
#[derive(Debug, Clone)]
pub struct Metadata {
    file: Arc<str>,
    entries: Vec<(Arc<str>, Value)>,
    index: BTreeMap<Arc<str>, usize>,
}

impl Default for Metadata {
    fn default() -> Metadata {
        Metadata::new()
    }
}

impl Metadata {
    /// Creates empty metadata, for building a model in memory.
    pub fn new() -> Metadata {
        Metadata::of_file("metadata in memory")
    }

    /// Creates empty metadata of a file that errors name.
    pub(crate) fn of_file(file: &str) -> Metadata {
        Metadata { file: file.into(), entries: Vec::new(), index: BTreeMap::new() }
    }

    /// The name of the keys' file in errors.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in the file's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.index.get(key).map(|&at| &self.entries[at].1)
    }

    /// Sets `key` and returns its former value. An existing key keeps its place; a new one is appended.
    pub fn insert(&mut self, key: &str, value: impl Into<Value>) -> Option<Value> {
        if let Some(&at) = self.index.get(key) {
            return Some(std::mem::replace(&mut self.entries[at].1, value.into()));
        }
        let key: Arc<str> = key.into();
        self.index.insert(Arc::clone(&key), self.entries.len());
        self.entries.push((key, value.into()));
        None
    }

    /// One integer per layer, for `layers` layers: an array of that length as it is, a single value repeated.
    ///
    /// This allocates `layers` values: check a number from a file against a limit first.
    pub fn u32_per_layer(&self, key: &str, layers: usize) -> Result<Option<Vec<u32>>, KeyError> {
        match self.get(key) {
            Some(Value::Array(array)) => {
                let values = self.require_u32s(key)?;
                if values.len() == layers {
                    return Ok(Some(values));
                }
                let expected = format!("one u32 or an array with one for each of the {layers} layers");
                Err(self.mismatch(key, expected, format!("an array of {}", array.len())))
            }
            _ => Ok(self.u32(key)?.map(|value| vec![value; layers])),
        }
    }

    /// [`Metadata::u32_per_layer`] of a required key.
    pub fn require_u32_per_layer(&self, key: &str, layers: usize) -> Result<Vec<u32>, KeyError> {
        let values = self.u32_per_layer(key, layers)?;
        values.ok_or_else(|| self.missing(key, "one u32 or an array with one for each layer"))
    }

    /// One integer for all of `layers` layers: a single value, or an array of that length whose values are
    /// all equal.
    pub fn u32_of_layers(&self, key: &str, layers: usize) -> Result<Option<u32>, KeyError> {
        match self.get(key) {
            Some(Value::Array(_)) => self.only(key, &self.require_u32s(key)?, layers, "u32").map(Some),
            _ => self.u32(key),
        }
    }

    /// One floating-point number for all of `layers` layers, as [`Metadata::u32_of_layers`].
    pub fn f32_of_layers(&self, key: &str, layers: usize) -> Result<Option<f32>, KeyError> {
        match self.get(key) {
            Some(Value::Array(_)) => self.only(key, &self.require_f32s(key)?, layers, "f32").map(Some),
            _ => self.f32(key),
        }
    }

    /// The value of an array that has the same for each of `layers` layers.
    fn only<T: Copy + PartialEq + Display>(
        &self,
        key: &str,
        values: &[T],
        layers: usize,
        ty: &str,
    ) -> Result<T, KeyError> {
        let wrong = |found| {
            let expected = format!("one {ty}, or an array with the same one for each of the {layers} layers");
            self.mismatch(key, expected, found)
        };
        match values {
            [first, rest @ ..] if values.len() == layers => match rest.iter().find(|other| *other != first) {
                None => Ok(*first),
                Some(other) => Err(wrong(format!("an array with {first} and {other}"))),
            },
            _ => Err(wrong(format!("an array of {}", values.len()))),
        }
    }

    fn read<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<Option<T>, KeyError> {
        let read = |value| T::from_value(value).map_err(|found| self.mismatch(key, T::EXPECTED, found));
        self.get(key).map(read).transpose()
    }

    fn mismatch(&self, key: &str, expected: impl Into<String>, found: String) -> KeyError {
        KeyError::Mismatch {
            file: self.file.to_string(),
            key: key.to_string(),
            expected: expected.into(),
            found,
        }
    }

    fn missing(&self, key: &str, expected: &str) -> KeyError {
        KeyError::Missing {
            file: self.file.to_string(),
            key: key.to_string(),
            expected: expected.to_string(),
        }
    }
}

macro_rules! getters {
    ($($get:ident, $require:ident -> $t:ty, $what:literal;)*) => {
        impl Metadata {
            $(
                #[doc = concat!($what, " of `key`; `None` if the key is absent.")]
                pub fn $get(&self, key: &str) -> Result<Option<$t>, KeyError> {
                    self.read(key)
                }

                #[doc = concat!($what, " of `key`, which is required.")]
                pub fn $require(&self, key: &str) -> Result<$t, KeyError> {
                    self.read(key)?.ok_or_else(|| self.missing(key, <$t as FromValue<'_>>::EXPECTED))
                }
            )*
        }
    };
}

getters! {
    u32, require_u32 -> u32, "The integer";
    f32, require_f32 -> f32, "The floating-point number (an `f64` is rounded)";
    bool, require_bool -> bool, "The bool";
    str, require_str -> &str, "The string";
    u32s, require_u32s -> Vec<u32>, "The array of non-negative integers";
    i32s, require_i32s -> Vec<i32>, "The array of integers";
    f32s, require_f32s -> Vec<f32>, "The array of floating-point numbers (`f64`s are rounded)";
    bools, require_bools -> &[bool], "The array of bools";
    strings, require_strings -> &Strings, "The array of strings";
}

/// A type that metadata can be read as.
trait FromValue<'a>: Sized {
    /// The type in error messages.
    const EXPECTED: &'static str;

    /// The value as this type, or a description of the value found.
    fn from_value(value: &'a Value) -> Result<Self, String>;
}

/// Describes a value for error messages.
fn describe(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("an array of {} {}", array.len(), array.type_name()),
        _ => format!("a value of type {}", value.type_name()),
    }
}

impl FromValue<'_> for u32 {
    const EXPECTED: &'static str = "an integer from 0 to 4294967295";

    fn from_value(value: &Value) -> Result<u32, String> {
        let integer = match *value {
            Value::U8(v) => i128::from(v),
            Value::I8(v) => i128::from(v),
            Value::U16(v) => i128::from(v),
            Value::I16(v) => i128::from(v),
            Value::U32(v) => i128::from(v),
            Value::I32(v) => i128::from(v),
            Value::U64(v) => i128::from(v),
            Value::I64(v) => i128::from(v),
            _ => return Err(describe(value)),
        };
        u32::try_from(integer).map_err(|_| integer.to_string())
    }
}

impl FromValue<'_> for f32 {
    const EXPECTED: &'static str = "a floating-point number";

    fn from_value(value: &Value) -> Result<f32, String> {
        match *value {
            Value::F32(v) => Ok(v),
            Value::F64(v) => Ok(v as f32),
            _ => Err(describe(value)),
        }
    }
}

impl FromValue<'_> for bool {
    const EXPECTED: &'static str = "a bool";

    fn from_value(value: &Value) -> Result<bool, String> {
        if let Value::Bool(v) = value { Ok(*v) } else { Err(describe(value)) }
    }
}

impl<'a> FromValue<'a> for &'a str {
    const EXPECTED: &'static str = "a string";

    fn from_value(value: &'a Value) -> Result<&'a str, String> {
        if let Value::String(v) = value { Ok(v) } else { Err(describe(value)) }
    }
}

impl FromValue<'_> for Vec<u32> {
    const EXPECTED: &'static str = "an array of integers from 0 to 4294967295";

    fn from_value(value: &Value) -> Result<Vec<u32>, String> {
        integers(value)
    }
}

impl FromValue<'_> for Vec<i32> {
    const EXPECTED: &'static str = "an array of integers from -2147483648 to 2147483647";

    fn from_value(value: &Value) -> Result<Vec<i32>, String> {
        integers(value)
    }
}

impl FromValue<'_> for Vec<f32> {
    const EXPECTED: &'static str = "an array of floating-point numbers";

    fn from_value(value: &Value) -> Result<Vec<f32>, String> {
        match value {
            Value::Array(Array::F32(v)) => Ok(v.clone()),
            Value::Array(Array::F64(v)) => Ok(v.iter().map(|&x| x as f32).collect()),
            _ => Err(describe(value)),
        }
    }
}

impl<'a> FromValue<'a> for &'a [bool] {
    const EXPECTED: &'static str = "an array of bool";

    fn from_value(value: &'a Value) -> Result<&'a [bool], String> {
        if let Value::Array(Array::Bool(v)) = value { Ok(v) } else { Err(describe(value)) }
    }
}

impl<'a> FromValue<'a> for &'a Strings {
    const EXPECTED: &'static str = "an array of strings";

    fn from_value(value: &'a Value) -> Result<&'a Strings, String> {
        if let Value::Array(Array::String(v)) = value { Ok(v) } else { Err(describe(value)) }
    }
}

/// An integer array of any type, converted to `T`.
fn integers<T>(value: &Value) -> Result<Vec<T>, String>
where
    T: TryFrom<u8> + TryFrom<i8> + TryFrom<u16> + TryFrom<i16>,
    T: TryFrom<u32> + TryFrom<i32> + TryFrom<u64> + TryFrom<i64>,
{
    let Value::Array(array) = value else { return Err(describe(value)) };
    match array {
        Array::U8(v) => converted(v),
        Array::I8(v) => converted(v),
        Array::U16(v) => converted(v),
        Array::I16(v) => converted(v),
        Array::U32(v) => converted(v),
        Array::I32(v) => converted(v),
        Array::U64(v) => converted(v),
        Array::I64(v) => converted(v),
        _ => Err(describe(value)),
    }
}

fn converted<S: Copy + Display, T: TryFrom<S>>(values: &[S]) -> Result<Vec<T>, String> {
    let convert = |(i, &value)| T::try_from(value).map_err(|_| format!("{value} as element {i}"));
    values.iter().enumerate().map(convert).collect()
}
