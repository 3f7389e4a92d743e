//! The families of models: one file each, listed here.

mod deepseek2;
mod llama;
mod qwen3;
mod qwen3moe;

use weft_gguf::Gguf;

use crate::error::Error;
use crate::file::ModelFile;
use crate::keys::Keys;
use crate::{BuildOptions, ModelGraph};

/// A family: the architecture it is for, and how its models are built.
pub(crate) struct Family {
    /// The value of `general.architecture`.
    pub(crate) architecture: &'static str,
    /// Reads the family's keys and builds its graphs, or returns an error that names what it cannot do.
    pub(crate) build: fn(&ModelFile<'_>) -> Result<ModelGraph, Error>,
}

/// Every family, in the order error messages list them.
static FAMILIES: &[Family] = &[llama::FAMILY, deepseek2::FAMILY, qwen3::FAMILY, qwen3moe::FAMILY];

/// The architectures that can be built, as `general.architecture` spells them.
///
/// ```
/// assert!(weft_models::architectures().any(|name| name == "llama"));
/// ```
pub fn architectures() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.architecture)
}

/// Builds the model in `gguf` with its family's function.
pub(crate) fn build(gguf: &Gguf, options: &BuildOptions) -> Result<ModelGraph, Error> {
    let metadata = gguf.metadata();
    let found = metadata.require_str("general.architecture")?;
    match FAMILIES.iter().find(|family| family.architecture == found) {
        Some(Family { architecture, build }) => {
            build(&ModelFile { gguf, keys: Keys { metadata, architecture }, options })
        }
        None => Err(Error::Architecture {
            file: metadata.file().into(),
            found: found.into(),
            supported: architectures().collect::<Vec<_>>().join(", "),
        }),
    }
}
