//! GGML block formats: layout table, scalar encode and decode.
#![forbid(unsafe_code)]

mod types;

pub use types::{GgmlType, UnknownType};
