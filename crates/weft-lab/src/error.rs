//! Why something could not be measured.

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine or its device refused or failed.
    #[error(transparent)]
    Engine(#[from] weft_engine::Error),
    /// Somebody cancelled it.
    #[error("measuring was interrupted")]
    Interrupted,
}
