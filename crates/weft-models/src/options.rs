//! The options of building a model.

use weft_quant::GgmlType;

use crate::pooling::Pooling;

/// Options that the file does not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// The type of the KV cache: F16, BF16, F32 or Q8_0.
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
        let kv = matches!(self.kv, GgmlType::F16 | GgmlType::BF16 | GgmlType::F32 | GgmlType::Q8_0);
        kv && self.page > 0
    }
}
