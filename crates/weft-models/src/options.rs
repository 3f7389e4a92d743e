//! The options of building a model.

use weft_quant::GgmlType;

/// Options that the file does not decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuildOptions {
    /// The type of the KV cache: F16, BF16, F32 or Q8_0.
    pub kv: GgmlType,
    /// The number of rows in a page of the KV cache.
    pub page: usize,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        BuildOptions { kv: GgmlType::F16, page: BuildOptions::PAGE }
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
