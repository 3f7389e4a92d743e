//! Metadata values.

use std::fmt;

/// The bytes of the shortest string in a file: its length.
pub(crate) const MIN_STRING_BYTES: u64 = 8;

macro_rules! types {
    ($($variant:ident($one:ty, $many:ty) = $id:literal, $name:literal;)*) => {
        /// A metadata value.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "the variants are the format's types by their Rust names")]
        pub enum Value { $($variant($one),)* Array(Array) }

        /// A metadata array: any number of elements of one type.
        ///
        /// The format also allows arrays of arrays; this crate refuses them, since no key in use has one.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "the variants are the format's types by their Rust names")]
        pub enum Array { $($variant($many),)* }

        /// The types of metadata values, with their ids in a file (`gguf_type` in GGML's `gguf.h`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ValueType { $($variant = $id,)* Array = 9 }

        impl ValueType {
            pub(crate) fn id(self) -> u32 {
                self as u32
            }

            pub(crate) fn from_id(id: u32) -> Option<ValueType> {
                match id { $($id => Some(ValueType::$variant),)* 9 => Some(ValueType::Array), _ => None }
            }

            pub(crate) fn name(self) -> &'static str {
                match self { $(ValueType::$variant => $name,)* ValueType::Array => "array" }
            }
        }

        impl Value {
            pub(crate) fn value_type(&self) -> ValueType {
                match self { $(Value::$variant(_) => ValueType::$variant,)* Value::Array(_) => ValueType::Array }
            }
        }

        impl Array {
            pub(crate) fn element_type(&self) -> ValueType {
                match self { $(Array::$variant(_) => ValueType::$variant,)* }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(Array::$variant(elements) => elements.len(),)* }
            }
        }

        $(
            impl From<$one> for Value {
                fn from(value: $one) -> Value {
                    Value::$variant(value)
                }
            }

            impl From<$many> for Value {
                fn from(elements: $many) -> Value {
                    Value::Array(Array::$variant(elements))
                }
            }
        )*
    };
}

types! {
    U8(u8, Vec<u8>) = 0, "u8";
    I8(i8, Vec<i8>) = 1, "i8";
    U16(u16, Vec<u16>) = 2, "u16";
    I16(i16, Vec<i16>) = 3, "i16";
    U32(u32, Vec<u32>) = 4, "u32";
    I32(i32, Vec<i32>) = 5, "i32";
    F32(f32, Vec<f32>) = 6, "f32";
    Bool(bool, Vec<bool>) = 7, "bool";
    String(String, Strings) = 8, "string";
    U64(u64, Vec<u64>) = 10, "u64";
    I64(i64, Vec<i64>) = 11, "i64";
    F64(f64, Vec<f64>) = 12, "f64";
}

impl Value {
    /// The name of the value's type, such as `u32`, `string` or `array`.
    pub fn type_name(&self) -> &'static str {
        self.value_type().name()
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.to_string())
    }
}

impl Array {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the elements' type, such as `u32` or `string`.
    pub fn type_name(&self) -> &'static str {
        self.element_type().name()
    }
}

/// Many strings in one allocation, such as a vocabulary or its merges.
///
/// The strings are bytes, not `str`, because a token may be part of a character. [`Strings::get_str`] returns
/// those that are text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`. It begins where the previous one ends.
    ends: Vec<usize>,
}

impl Strings {
    /// Creates an empty list with room for `count` strings.
    pub(crate) fn with_capacity(count: usize) -> Strings {
        Strings { bytes: Vec::new(), ends: Vec::with_capacity(count) }
    }

    /// Appends a string.
    pub fn push(&mut self, string: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(string.as_ref());
        self.ends.push(self.bytes.len());
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`; `None` past the end.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// The string at `index` as text; `None` past the end, or if it is not UTF-8.
    pub fn get_str(&self, index: usize) -> Option<&str> {
        std::str::from_utf8(self.get(index)?).ok()
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Strings {
        let mut all = Strings::default();
        strings.into_iter().for_each(|string| all.push(string));
        all
    }
}

impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(String::from_utf8_lossy)).finish()
    }
}
