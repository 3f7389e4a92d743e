//! The limits that this crate sets where the format has none, or one too high to protect anyone.
//!
//! Each is well above what published models need; together they bound the memory and time that a damaged or
//! malicious file can cost. Reader and writer have the same limits, so that what is written can be read.

/// The most bytes of a metadata key; the specification's own limit.
pub const MAX_KEY_BYTES: usize = 65_535;

/// The most bytes of a tensor name. (GGML itself stops at 63; the longest seen in a published model is about
/// 50.)
pub const MAX_NAME_BYTES: usize = 255;

/// The most dimensions of a tensor; GGML's own limit.
pub const MAX_DIMS: usize = 4;

/// The most metadata keys of a file. (Models have 20 to 100.)
pub const MAX_KEYS: u64 = 65_536;

/// The most tensors of a model, in all its files together. (The largest models with unstacked experts have
/// about 50,000.)
pub const MAX_TENSORS: u64 = 131_072;

/// The most files of a model. (The largest models are published in some 100.)
pub const MAX_FILES: u32 = 10_000;

/// The most bytes of a file's header: metadata and tensor directory. (A vocabulary of 155,000 tokens with
/// 320,000 merges takes about 10 MB.)
pub const MAX_HEADER_BYTES: u64 = 256 << 20;

/// The largest alignment of tensor data.
pub const MAX_ALIGNMENT: u64 = 1 << 20;

/// The alignment of tensor data in a file without `general.alignment`.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// The most LoRA adapters of a model that requests choose from.
pub const MAX_SELECTABLE: usize = 64;
