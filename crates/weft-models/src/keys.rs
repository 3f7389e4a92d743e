//! Reads a family's keys, every number with bounds: nothing from a file is used before it is known to be sane.

use std::fmt::Display;
use std::ops::RangeInclusive;

use weft_gguf::Metadata;

use crate::error::Error;

/// Most layers of a model. (The deepest published ones have about 130.)
pub(crate) const MAX_LAYERS: usize = 4096;
/// Largest width and vocabulary: numbers that `f32` still holds exactly.
pub(crate) const MAX_WIDTH: usize = 1 << 24;
/// Most attention heads of a layer.
pub(crate) const MAX_HEADS: usize = 4096;
/// Largest width of a head. Times [`MAX_HEADS`] it is far from overflow.
pub(crate) const MAX_HEAD_WIDTH: usize = 1 << 16;
/// Most routed experts of a layer.
pub(crate) const MAX_EXPERTS: usize = 4096;
/// Most shared experts of a layer. Times [`MAX_WIDTH`] it is far from overflow.
pub(crate) const MAX_SHARED_EXPERTS: usize = 64;
/// Longest context: positions are `i32`.
pub(crate) const MAX_CONTEXT: usize = i32::MAX as usize;

/// The keys of one architecture, without its name: `block_count` reads `deepseek2.block_count`.
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

    /// A required number within `range`.
    pub(crate) fn number(&self, key: &str, range: RangeInclusive<usize>) -> Result<usize, Error> {
        let value = self.metadata.require_u32(&self.name(key))?;
        self.within(key, value, range)
    }

    /// An optional number within `range`.
    pub(crate) fn number_opt(&self, key: &str, range: RangeInclusive<usize>) -> Result<Option<usize>, Error> {
        let value = self.metadata.u32(&self.name(key))?;
        value.map(|value| self.within(key, value, range)).transpose()
    }

    /// A number for each layer, given once for all or as an array. Values are not checked: arrays have zeros for the layers
    /// that a key does not concern.
    pub(crate) fn per_layer(&self, key: &str, layers: usize) -> Result<Vec<u32>, Error> {
        Ok(self.metadata.require_u32_per_layer(&self.name(key), layers)?)
    }

    /// `value` of `key`, if it is within `range`.
    pub(crate) fn within(&self, key: &str, value: u32, range: RangeInclusive<usize>) -> Result<usize, Error> {
        match usize::try_from(value) {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.wrong(key, value, format!("it must be from {} to {}", range.start(), range.end()))),
        }
    }

    /// A required number that is finite and above zero.
    pub(crate) fn positive(&self, key: &str) -> Result<f32, Error> {
        let value = self.metadata.require_f32(&self.name(key))?;
        self.above_zero(key, value)
    }

    /// An optional number that is finite and above zero. Some writers put zero for "not set".
    pub(crate) fn positive_opt(&self, key: &str) -> Result<Option<f32>, Error> {
        match self.metadata.f32(&self.name(key))? {
            None | Some(0.0) => Ok(None),
            Some(value) => self.above_zero(key, value).map(Some),
        }
    }

    fn above_zero(&self, key: &str, value: f32) -> Result<f32, Error> {
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
        Err(self.wrong(key, value, "it must be a finite number above zero"))
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

    /// The error for a valid value that asks for something unsupported.
    pub(crate) fn unsupported(&self, key: &str, found: impl Display, supported: impl Into<String>) -> Error {
        let file = self.metadata.file().into();
        let supported = supported.into();
        Error::Unsupported { file, key: self.name(key), found: found.to_string(), supported }
    }
}
