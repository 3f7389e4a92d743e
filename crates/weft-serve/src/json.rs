//! Request bodies: parsed with limits, and read field by field.

mod body;
mod fields;

pub(crate) use body::{merged, parse};
#[cfg(test)]
pub(crate) use fields::record::recorded;
pub(crate) use fields::{Fields, expected_at};
pub(crate) use weft_text::object_prefix;
