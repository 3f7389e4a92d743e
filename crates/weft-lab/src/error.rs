//! Why something could not be measured.

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine or its device refused or failed.
    #[error(transparent)]
    Engine(#[from] weft_engine::Error),
    /// A text that has nothing to score.
    #[error(
        "a window of {context} tokens scores nothing, or is more than the {tokens} of the text: give a longer text, or windows of another length"
    )]
    Short {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens of a window.
        context: usize,
    },
    /// Two models that do not speak of the same tokens, so that their predictions cannot be compared.
    #[error("the vocabularies differ, so there is nothing to compare: {0}")]
    Vocabulary(String),
    /// Somebody cancelled it.
    #[error("measuring was interrupted")]
    Interrupted,
}
