//! Reading a family's keys. Every number has bounds, and is checked before it is used.

use std::fmt::Display;
use std::ops::RangeInclusive;

use weft_gguf::{Metadata, Value};

use crate::error::Error;

/// The most layers of a model. (The deepest published models have about 130.)
pub(crate) const MAX_LAYERS: usize = 4096;
/// The largest width and vocabulary. `f32` represents all integers up to it.
pub(crate) const MAX_WIDTH: usize = 1 << 24;
/// The most attention heads of a layer.
pub(crate) const MAX_HEADS: usize = 4096;
/// The largest width of a head. Its product with [`MAX_HEADS`] is far from overflow.
pub(crate) const MAX_HEAD_WIDTH: usize = 1 << 16;
/// The most routed experts of a layer.
pub(crate) const MAX_EXPERTS: usize = 4096;
/// The most shared experts of a layer. Its product with [`MAX_WIDTH`] is far from overflow.
pub(crate) const MAX_SHARED_EXPERTS: usize = 64;
/// The longest context: positions are `i32`.
pub(crate) const MAX_CONTEXT: usize = i32::MAX as usize;

/// The keys of one architecture, named without their prefix: `block_count` reads `deepseek2.block_count`.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) metadata: &'a Metadata,
    pub(crate) architecture: &'static str,
}

impl Keys<'_> {
    /// The full name of a key.
    pub(crate) fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// Reads an optional number: a single one, or an array with the same for each layer, as converters write
    /// what could differ.
    pub(crate) fn u32(&self, key: &str) -> Result<Option<u32>, Error> {
        let name = self.name(key);
        match self.metadata.get(&name) {
            Some(Value::Array(_)) => Ok(self.metadata.u32_of_layers(&name, self.layers()?)?),
            _ => Ok(self.metadata.u32(&name)?),
        }
    }

    /// Reads an optional floating-point number, as [`u32`](Keys::u32).
    pub(crate) fn f32(&self, key: &str) -> Result<Option<f32>, Error> {
        let name = self.name(key);
        match self.metadata.get(&name) {
            Some(Value::Array(_)) => Ok(self.metadata.f32_of_layers(&name, self.layers()?)?),
            _ => Ok(self.metadata.f32(&name)?),
        }
    }

    /// The number of layers in the file, which can only be a single number.
    fn layers(&self) -> Result<usize, Error> {
        const KEY: &str = "block_count";
        let layers = self.metadata.require_u32(&self.name(KEY))?;
        self.within(KEY, layers, 1..=MAX_LAYERS)
    }

    /// Reads a required number within `range`.
    pub(crate) fn number(&self, key: &str, range: RangeInclusive<usize>) -> Result<usize, Error> {
        match self.u32(key)? {
            Some(value) => self.within(key, value, range),
            // The error for a missing key.
            None => self.within(key, self.metadata.require_u32(&self.name(key))?, range),
        }
    }

    /// Reads an optional number within `range`.
    pub(crate) fn number_opt(&self, key: &str, range: RangeInclusive<usize>) -> Result<Option<usize>, Error> {
        let value = self.u32(key)?;
        value.map(|value| self.within(key, value, range)).transpose()
    }

    /// Reads a number for each layer: a single one for all layers, or an array. The values are not checked, because arrays
    /// hold zeros for layers that a key does not apply to.
    pub(crate) fn per_layer(&self, key: &str, layers: usize) -> Result<Vec<u32>, Error> {
        Ok(self.metadata.require_u32_per_layer(&self.name(key), layers)?)
    }

    /// Checks that `value` of `key` is within `range`.
    pub(crate) fn within(&self, key: &str, value: u32, range: RangeInclusive<usize>) -> Result<usize, Error> {
        match usize::try_from(value) {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.wrong(key, value, format!("it must be from {} to {}", range.start(), range.end()))),
        }
    }

    /// Reads a required number, finite and above zero.
    pub(crate) fn positive(&self, key: &str) -> Result<f32, Error> {
        match self.f32(key)? {
            Some(value) => self.above_zero(key, value),
            None => self.above_zero(key, self.metadata.require_f32(&self.name(key))?),
        }
    }

    /// Reads an optional number, finite and above zero. Zero means "not set", as some writers use it.
    pub(crate) fn positive_opt(&self, key: &str) -> Result<Option<f32>, Error> {
        match self.f32(key)? {
            None | Some(0.0) => Ok(None),
            Some(value) => self.above_zero(key, value).map(Some),
        }
    }

    /// Returns an error if the file has a factor that is not built. Zero means "not set", and 1 changes nothing.
    pub(crate) fn refuse_factor(&self, key: &str) -> Result<(), Error> {
        match self.f32(key)? {
            None | Some(0.0 | 1.0) => Ok(()),
            Some(factor) => Err(self.unsupported(key, factor, "it can only be 1")),
        }
    }

    /// Returns an error if the file has positions in several dimensions, as those of vision models do.
    pub(crate) fn refuse_sections(&self) -> Result<(), Error> {
        const SECTIONS: &str = "rope.dimension_sections";
        match self.metadata.get(&self.name(SECTIONS)) {
            Some(_) => Err(self.unsupported(SECTIONS, "set", "vision models are not")),
            None => Ok(()),
        }
    }

    fn above_zero(&self, key: &str, value: f32) -> Result<f32, Error> {
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
        Err(self.wrong(key, value, "it must be finite and above zero"))
    }

    /// The error for a value that breaks a rule.
    pub(crate) fn wrong(&self, key: &str, found: impl Display, expected: impl Into<String>) -> Error {
        Error::Value {
            file: self.metadata.file().into(),
            key: self.name(key),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    /// The error for a valid value that requires something unsupported.
    pub(crate) fn unsupported(&self, key: &str, found: impl Display, supported: impl Into<String>) -> Error {
        let file = self.metadata.file().into();
        let supported = supported.into();
        Error::Unsupported { file, key: self.name(key), found: found.to_string(), supported }
    }
}
