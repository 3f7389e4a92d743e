//! GGML block formats: layout table, scalar encode and decode, and the blocks' integer view.
//!
//! Everything here is portable scalar code that takes slices and returns slices: no IO, no threads, no `unsafe`. It
//! is the oracle that every faster path is checked against, and the one place that knows where a format keeps its
//! bits.
#![forbid(unsafe_code)]

mod codec;
mod encoding;
mod floats;
pub mod ints;
mod iquants;
mod kquants;
mod kquants_encode;
mod legacy;
mod legacy_encode;
pub mod packed;
mod types;

pub use codec::{CodecError, decode, encode};
pub use floats::f16_to_f32;
pub use ints::{IntLayout, unpack_row};
pub use types::{GgmlType, UnknownType};
