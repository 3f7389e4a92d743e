//! Why a measurement failed.

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine or its device refused or failed.
    #[error(transparent)]
    Engine(#[from] weft_engine::Error),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] weft_device::DeviceError),
    /// A text too short for a window, or a window too short to score.
    #[error(
        "the text has {tokens} tokens, and windows of {context} are too long for it or too short to score: give a longer text or another window length"
    )]
    Short {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens of a window.
        context: usize,
    },
    /// Two models with different vocabularies, whose predictions cannot be compared.
    #[error("cannot compare models with different vocabularies: {0}")]
    Vocabulary(String),
    /// It was cancelled.
    #[error("measuring was interrupted")]
    Interrupted,
}
