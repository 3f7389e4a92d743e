//! The limits this crate sets where the format sets none, or one too far off to protect anybody.
//!
//! Each is well above what published models need; together they bound the memory and the time a damaged or
//! malicious file can cost. Reader and writer keep to the same ones, so that what is written can be read.

/// Bytes of a metadata key; the specification's own limit.
pub const MAX_KEY_BYTES: usize = 65_535;

/// Bytes of a tensor name. (GGML itself stops at 63; the longest seen in a published model is about 50.)
pub const MAX_NAME_BYTES: usize = 255;

/// Dimensions of a tensor; GGML's own limit.
pub const MAX_DIMS: usize = 4;

/// Metadata keys of one file. (Models have 20 to 100.)
pub const MAX_KEYS: u64 = 65_536;

/// Tensors of one model, all its files together. (The largest models with unstacked experts have about 50
/// 000.)
pub const MAX_TENSORS: u64 = 131_072;

/// Files of one model. (The largest models are published in some 100.)
pub const MAX_FILES: u32 = 10_000;

/// Bytes of one file's header: metadata and tensor directory. (A vocabulary of 155 000 tokens with 320 000
/// merges takes about 10 MB.)
pub const MAX_HEADER_BYTES: u64 = 256 << 20;

/// The largest alignment of tensor data.
pub const MAX_ALIGNMENT: u64 = 1 << 20;

/// The alignment of tensor data in a file that has no `general.alignment`.
pub const DEFAULT_ALIGNMENT: u64 = 32;
