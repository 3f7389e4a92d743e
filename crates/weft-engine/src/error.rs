//! What can go wrong between a file and its text.

use weft_device::{DeviceError, LinkError, OpenError};
use weft_fuse::FuseError;
use weft_gguf::KeyError;
use weft_ir::EvalError;
use weft_pack::PackError;
use weft_text::{TemplateError, TokenizerError};

/// Why the engine could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read as GGUF.
    #[error(transparent)]
    File(#[from] weft_gguf::Error),
    /// The file is no model that can be run.
    #[error(transparent)]
    Model(#[from] weft_models::Error),
    /// A key of the file is missing or of the wrong type.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The file's tokenizer cannot be used.
    #[error("the tokenizer of {file}: {source}")]
    Tokenizer {
        /// The file.
        file: String,
        /// Why.
        source: TokenizerError,
    },
    /// The chat template failed.
    #[error("the chat template: {0}")]
    Template(#[from] TemplateError),
    /// A graph could not be compiled.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The compiled graphs could not be put together.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no such device, or it cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device has no room for a weight.
    #[error("the weight `{name}`: {source}")]
    Weight {
        /// Its name in the file.
        name: String,
        /// Why.
        source: DeviceError,
    },
    /// The float oracle failed.
    #[error(transparent)]
    Oracle(#[from] EvalError),
    /// A sequence has no room for more tokens.
    #[error(
        "the context is full: {len} tokens are in it and {more} more do not fit into {context}; make it larger or the text shorter"
    )]
    Context {
        /// Tokens in the sequence.
        len: usize,
        /// Tokens that were to be added.
        more: usize,
        /// What the engine was loaded with.
        context: usize,
    },
    /// No free page for a sequence: other sequences hold them.
    #[error(
        "the KV cache is full: {needed} more pages needed, {free} free; end other sequences or load with more"
    )]
    Pages {
        /// Pages the step needs.
        needed: usize,
        /// Pages free.
        free: usize,
    },
    /// The model computed something that is no number.
    #[error(
        "the model's logits are not numbers: its file is damaged, or its weights do not fit what they are used for"
    )]
    NotNumbers,
    /// Loading did not go on because whoever was told about it said so.
    #[error("loading was interrupted")]
    Interrupted,
    /// An option that makes no sense for this model.
    #[error("{0}")]
    Option(String),
    /// A batch that cannot be run.
    #[error("the batch: {0}")]
    Batch(String),
}

impl From<PackError> for Error {
    fn from(error: PackError) -> Error {
        match error {
            PackError::Device(error) => error.into(),
            PackError::Interrupted => Error::Interrupted,
        }
    }
}
