//! GGML's block formats, in which model files store weights: their layouts, and how they are encoded and decoded.
//!
//! A quantised format stores blocks of 32 to 256 values as small integers and a few scales:
//!
//! ```
//! use weft_quant::{GgmlType, decode, encode};
//!
//! let values: Vec<f32> = (-16..16).map(|i| i as f32).collect();
//! let mut block = vec![0; GgmlType::Q4_0.block_bytes()];
//! encode(GgmlType::Q4_0, &values, &mut block)?;
//! assert_eq!(block.len(), 18); // 32 integers of 4 bits, and a 16-bit scale
//!
//! let mut decoded = vec![0.0; values.len()];
//! decode(GgmlType::Q4_0, &block, &mut decoded)?;
//! // The scale is 2, so no value is off by more than 1.
//! assert!(values.iter().zip(&decoded).all(|(value, decoded)| (value - decoded).abs() <= 1.0));
//! # Ok::<(), weft_quant::CodecError>(())
//! ```
//!
//! Start with [`GgmlType`], the table of formats. [`ints`] gives the integers and scales of a block to code that
//! multiplies by them, and [`packed`] is the layout that fast kernels read.
//!
//! Everything here is portable scalar code without IO, threads or `unsafe`. It is the oracle that faster code is
//! checked against, and the only place that knows where a format keeps its bits.
#![forbid(unsafe_code)]

mod codec;
mod encoding;
mod floats;
mod grid_quants;
mod grids;
mod interleave;
pub mod ints;
mod iquants;
mod iquants_encode;
mod kquants;
mod kquants_encode;
mod kquants_low;
mod legacy;
mod legacy_encode;
mod legacy_weighted;
pub mod packed;
mod restore;
mod ternary;
mod types;

pub use codec::{CodecError, decode, encode, encode_weighted};
pub use floats::f16_to_f32;
pub use ints::{IntLayout, unpack_row};
pub use restore::restore_tile;
pub use types::{GgmlType, UnknownType};

/// Bytes that look random, the same in every run.
#[cfg(test)]
fn test_bytes(mut seed: u64) -> impl FnMut() -> u8 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    }
}
