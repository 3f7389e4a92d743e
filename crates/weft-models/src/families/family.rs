//! The interface of a model family.

use crate::error::Error;
use crate::file::ModelFile;
use crate::model::ModelGraph;
use crate::mtp::Mtp;

/// Builds the layer that predicts one token more, if a file has it.
pub(crate) type BuildMtp = fn(&ModelFile<'_>) -> Result<Option<Mtp>, Error>;

/// A family: an architecture, and the function that builds its models.
pub(crate) struct Family {
    /// The value of `general.architecture`.
    pub(crate) architecture: &'static str,
    /// The names of the weights of its blocks, for the error for architectures that are not supported.
    pub(crate) tensors: &'static [&'static str],
    /// Keys that it reads and most families refuse, for the same error.
    pub(crate) unusual: &'static [&'static str],
    /// Reads the family's keys and builds its graphs, or returns an error that names what is not supported.
    pub(crate) build: fn(&ModelFile<'_>) -> Result<ModelGraph, Error>,
    /// Builds the layer that predicts one token more, if the file has it. `None` if no model of the family does.
    pub(crate) mtp: Option<BuildMtp>,
}
