//! Request bodies: parsed with limits, and read field by field.

mod body;
mod fields;

pub(crate) use body::parse;
pub(crate) use fields::{Fields, expected_at};
#[cfg(test)]
pub(crate) use fields::record::recorded;
