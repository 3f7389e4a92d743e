//! The error of a runtime, and of an engine that shares it.

use weft_device::{DeviceError, LinkError, OpenError};
use weft_fuse::FuseError;
use weft_gguf::KeyError;
use weft_ir::EvalError;
use weft_pack::{ModelError, PackError};
use weft_text::{TemplateError, TokenizerError};

use crate::fit::need::MemoryNeed;

/// Why a model cannot be opened, or a step, a request or a measurement not be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not a valid GGUF file.
    #[error(transparent)]
    File(#[from] weft_gguf::Error),
    /// A packed model cannot be opened, checked, packed or unpacked.
    #[error(transparent)]
    Packed(ModelError),
    /// The model is not supported.
    #[error(transparent)]
    Model(#[from] weft_models::Error),
    /// A key of the file is missing or has the wrong type.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The tokenizer is not supported.
    #[error("cannot use the tokenizer of {file}: {source}")]
    Tokenizer {
        /// The file.
        file: String,
        /// The cause.
        source: TokenizerError,
    },
    /// The chat template is missing or failed.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A graph could not be compiled.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// The compiled graphs could not be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// There is no such device, or it cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device has too little free memory for the model.
    #[error(
        "{0}; close other programs that use the device, or use a shorter context, fewer sequences, a KV cache of q8_0, q5_1 or \
         q4_0, or a smaller quantisation"
    )]
    Memory(Box<MemoryNeed>),
    /// A weight cannot be loaded into the device.
    #[error("cannot load the weight `{name}`: {source}")]
    Weight {
        /// The weight's name in the file.
        name: String,
        /// The cause.
        source: DeviceError,
    },
    /// The float oracle failed.
    #[error(transparent)]
    Oracle(#[from] EvalError),
    /// A sequence exceeds the context.
    #[error(
        "the context is full: {len} tokens and {more} more exceed {context}; use a longer context or a shorter text"
    )]
    Context {
        /// The number of tokens in the sequence.
        len: usize,
        /// The number of tokens to be added.
        more: usize,
        /// The most tokens of a sequence.
        context: usize,
    },
    /// The KV cache has no free pages, because other sequences hold them.
    #[error(
        "the KV cache is full: {needed} more pages needed, {free} free; end other sequences, or open the model with room for more"
    )]
    Pages {
        /// The number of pages that the step needs.
        needed: usize,
        /// The number of free pages.
        free: usize,
    },
    /// The model computed logits that are NaN.
    #[error(
        "the model's logits are NaN: its file is damaged, or its weights do not belong to its architecture"
    )]
    NotNumbers,
    /// Logit processors forbade every token.
    #[error("the request's constraints allow no token at all here")]
    NothingAllowed,
    /// The callback interrupted loading.
    #[error("loading was interrupted")]
    Interrupted,
    /// An option is not valid for this model.
    #[error("{0}")]
    Option(String),
    /// A kernel that was given does not compute what the kernel does that it replaces, or replaces none.
    #[error("{0}")]
    Replacement(String),
    /// A batch or a request is not valid.
    #[error("{0}")]
    Batch(String),
}

impl Error {
    /// Returns whether there was too little memory, so that it may work once other memory is freed.
    pub fn is_out_of_memory(&self) -> bool {
        if let Error::Memory(_) = self {
            return true;
        }
        let (Error::Device(error)
        | Error::Weight { source: error, .. }
        | Error::Link(LinkError::Device(error))) = self
        else {
            return false;
        };
        matches!(error, DeviceError::Memory { .. })
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Error {
        match error {
            ModelError::File(error) => error.into(),
            ModelError::Device(error) => error.into(),
            ModelError::Interrupted => Error::Interrupted,
            error => Error::Packed(error),
        }
    }
}

impl From<PackError> for Error {
    fn from(error: PackError) -> Error {
        match error {
            PackError::Device(error) => error.into(),
            PackError::Interrupted => Error::Interrupted,
        }
    }
}
