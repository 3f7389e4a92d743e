//! GGUF files, versions 2 and 3: metadata and tensors, in one file or split, memory-mapped; and a writer.
//!
//! ```
//! use weft_gguf::Gguf;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/llama-tiny-q6_k.gguf");
//! let model = Gguf::open(path.as_ref())?;
//! assert_eq!(model.metadata().require_str("general.architecture")?, "llama");
//!
//! let tensor = model.tensor("blk.0.attn_q.weight").expect("a layer has queries");
//! assert_eq!((tensor.ty.name(), &tensor.shape[..]), ("q6_k", &[256, 256][..]));
//! assert_eq!(model.data(tensor).len(), 256 * 210); // a row is one block of 210 bytes
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`Gguf`], an opened model; its [`Metadata`]; and [`Writer`], which writes a model without holding its
//! tensors in memory.
//!
//! A file from the network is hostile input. [`Gguf::open`] checks the whole header before it returns: every count and
//! length is compared with the bytes that are left before anything is allocated, and all offsets are computed with
//! checked arithmetic. An [`Error`] names the file, the byte and the rule that is broken. [`limits`] has the limits
//! that go beyond the format.
//!
//! # Where the format leaves room
//!
//! - **Strings.** Keys, tensor names and single string values must be UTF-8, as the specification says. Strings *in
//!   arrays* may be any bytes ([`Strings`]): a vocabulary can hold parts of characters.
//! - **Shapes.** One to four dimensions, none of them zero. No model has GGML's scalars (no dimensions) or empty
//!   tensors, and every reader of a shape would have to handle them.
//! - **Names.** GGML rejects tensor names of 64 bytes or more; this crate reads up to 255.
//! - **Order.** Tensors may be in any order and have gaps between them, but must not overlap.
//! - **Byte order.** Little-endian only; a big-endian file gets an error that says so.
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
mod restore;
mod sniff;
mod split;
mod stored;
mod tensor;
mod value;
mod writer;

pub use data_writer::DataWriter;
pub use error::{Error, KeyError, WriteError};
pub use gguf::{Adapter, FileInfo, Gguf, Selectable};
pub use metadata::Metadata;
pub use mmap::{MappedFile, Stamp, TensorBytes};
pub use restore::Restore;
pub use stored::{FileBytes, Piece, StoredPart};
pub use tensor::TensorInfo;
pub use value::{Array, Strings, Value};
pub use writer::Writer;
