//! The options of building a model.

use weft_ir::STATE_TYPES;
use weft_quant::GgmlType;

use crate::pooling::Pooling;

/// Options that the file does not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// The type of the KV cache, one of [`STATE_TYPES`].
    pub kv: GgmlType,
    /// The number of rows in a page of the KV cache.
    pub page: usize,
    /// Makes the model compute embeddings, pooled in this way, whatever its file says.
    pub pooling: Option<Pooling>,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions { kv: GgmlType::F16, page: BuildOptions::PAGE, pooling: None }
    }
}

impl BuildOptions {
    /// The default number of rows in a page: few enough that short sequences waste little, many enough that long sequences
    /// have short page lists.
    pub const PAGE: usize = 32;

    pub(crate) fn are_valid(&self) -> bool {
        STATE_TYPES.contains(&self.kv) && self.page > 0
    }

    /// The type of states that choose something: the keys of an indexer, and hidden states from which tokens are guessed. A choice is right
    /// or wrong, so these have 8 bits at least.
    pub(crate) fn choices(&self) -> GgmlType {
        match self.kv {
            GgmlType::Q5_1 | GgmlType::Q4_0 => GgmlType::Q8_0,
            kv => kv,
        }
    }
}
