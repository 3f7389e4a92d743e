//! The description of a family of models.

use crate::error::Result;
use crate::model::Model;
use crate::tokenizer::Kind;

/// Models that have the same keys and tensors.
#[derive(Debug)]
pub(crate) struct Family {
    /// The values of `architectures` in config.json that select it.
    pub(crate) names: &'static [&'static str],
    /// `general.architecture` in GGUF.
    pub(crate) architecture: &'static str,
    /// Values of keys that a configuration may leave out, as the class in `transformers` has them, or else the model's own: a JSON
    /// object.
    pub(crate) defaults: &'static str,
    /// The ways to scale rotary embedding that its files can express and its readers compute, by their names in config.json.
    pub(crate) scalings: &'static [&'static str],
    /// Whether layers with a sliding window have a rotary embedding of their own.
    pub(crate) has_local_rope: bool,
    /// The kind of its tokenizer.
    pub(crate) tokenizer: Kind,
    /// Writes keys and tensors.
    pub(crate) write: fn(&mut Model<'_>) -> Result<()>,
}

/// A family whose tokenizer is found in the usual way, without defaults.
pub(crate) const PLAIN: Family = Family {
    names: &[],
    architecture: "",
    defaults: "{}",
    scalings: &["linear", "yarn"],
    has_local_rope: false,
    tokenizer: Kind::Usual,
    write: |_| Ok(()),
};
