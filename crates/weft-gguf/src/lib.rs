//! GGUF v2/v3 files: metadata, tensor directory, splits, mmap, and a writer.
//!
//! [`Gguf::open`] maps a model and checks all of its header before it hands out anything; [`Writer`] makes
//! such a file without holding its tensors in memory. A file from the network is hostile input here: every
//! count and length is held against the bytes that are left before anything is allocated, all extents are
//! computed with checked arithmetic, and what breaks a rule is refused with an [`Error`] that names the file,
//! the byte and the rule. The limits that go beyond the format are the constants of [`limits`].
//!
//! # What the format leaves open, and what this crate does
//!
//! - **Strings.** Keys, tensor names and lone string values must be UTF-8, as the specification says. Strings
//!   *in arrays* may be any bytes ([`Strings`]): vocabularies hold pieces of characters, and such a file must
//!   stay usable.
//! - **Shapes.** One to four dimensions, none of them zero. GGML's scalars (no dimension) and empty tensors
//!   occur in no model, and every reader of a shape would have to treat them apart.
//! - **Names.** GGML refuses tensor names of 64 bytes and more; this crate reads up to 255.
//! - **Order.** Tensors may lie in any order and with gaps between them, but never on top of one another.
//! - **Byte order.** Little-endian only; a big-endian file is named as one.
//!
//! The layout is that of GGML's `docs/gguf.md`; the split convention is that of llama.cpp's `gguf-split`.
#![deny(unsafe_code)]

mod cursor;
mod data_writer;
mod decode;
mod encode;
mod error;
mod gguf;
mod header;
pub mod limits;
mod metadata;
mod mmap;
mod sniff;
mod split;
mod tensor;
mod value;
mod writer;

pub use data_writer::DataWriter;
pub use error::{Error, KeyError, WriteError};
pub use gguf::{FileInfo, Gguf};
pub use metadata::Metadata;
pub use mmap::{MappedFile, Stamp, TensorBytes};
pub use tensor::TensorInfo;
pub use value::{Array, Strings, Value};
pub use writer::Writer;
