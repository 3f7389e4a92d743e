//! The layout table: values per block and bytes per block of every GGML type.

use std::fmt;
use std::str::FromStr;

macro_rules! ggml_types {
    ($($variant:ident = $id:literal, $name:literal, $len:literal, $bytes:literal;)*) => {
        /// The storage type of a tensor in a GGUF file (`ggml_type` in GGML's `ggml.h`).
        ///
        /// Every type of GGML is named, so that any file can be listed; [`GgmlType::can_decode`] and
        /// [`GgmlType::can_encode`] say for which of them this crate has a codec.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are GGML's own")]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum GgmlType { $($variant,)* }

        impl GgmlType {
            /// All types, in the order of their ids.
            pub const ALL: &'static [GgmlType] = &[$(GgmlType::$variant,)*];

            /// The type's id in files.
            pub const fn id(self) -> u32 { match self { $(GgmlType::$variant => $id,)* } }

            /// The type with this id.
            pub const fn from_id(id: u32) -> Option<GgmlType> {
                match id { $($id => Some(GgmlType::$variant),)* _ => None }
            }

            /// GGML's name in lower case, such as `q4_k`.
            pub const fn name(self) -> &'static str { match self { $(GgmlType::$variant => $name,)* } }

            /// Values in one block; 1 for the plain number types.
            pub const fn block_len(self) -> usize { match self { $(GgmlType::$variant => $len,)* } }

            /// Bytes of one block.
            pub const fn block_bytes(self) -> usize { match self { $(GgmlType::$variant => $bytes,)* } }
        }
    };
}

ggml_types! {
    F32 = 0, "f32", 1, 4;
    F16 = 1, "f16", 1, 2;
    Q4_0 = 2, "q4_0", 32, 18;
    Q4_1 = 3, "q4_1", 32, 20;
    Q5_0 = 6, "q5_0", 32, 22;
    Q5_1 = 7, "q5_1", 32, 24;
    Q8_0 = 8, "q8_0", 32, 34;
    Q8_1 = 9, "q8_1", 32, 36;
    Q2_K = 10, "q2_k", 256, 84;
    Q3_K = 11, "q3_k", 256, 110;
    Q4_K = 12, "q4_k", 256, 144;
    Q5_K = 13, "q5_k", 256, 176;
    Q6_K = 14, "q6_k", 256, 210;
    Q8_K = 15, "q8_k", 256, 292;
    IQ2_XXS = 16, "iq2_xxs", 256, 66;
    IQ2_XS = 17, "iq2_xs", 256, 74;
    IQ3_XXS = 18, "iq3_xxs", 256, 98;
    IQ1_S = 19, "iq1_s", 256, 50;
    IQ4_NL = 20, "iq4_nl", 32, 18;
    IQ3_S = 21, "iq3_s", 256, 110;
    IQ2_S = 22, "iq2_s", 256, 82;
    IQ4_XS = 23, "iq4_xs", 256, 136;
    I8 = 24, "i8", 1, 1;
    I16 = 25, "i16", 1, 2;
    I32 = 26, "i32", 1, 4;
    I64 = 27, "i64", 1, 8;
    F64 = 28, "f64", 1, 8;
    IQ1_M = 29, "iq1_m", 256, 56;
    BF16 = 30, "bf16", 1, 2;
    TQ1_0 = 34, "tq1_0", 256, 54;
    TQ2_0 = 35, "tq2_0", 256, 66;
    MXFP4 = 39, "mxfp4", 32, 17;
    NVFP4 = 40, "nvfp4", 64, 36;
    Q1_0 = 41, "q1_0", 128, 18;
}

impl GgmlType {
    /// Whether this type can be decoded to `f32`.
    pub const fn can_decode(self) -> bool {
        matches!(self, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16) || self.int_layout().is_some()
    }

    /// Whether `f32` values can be encoded as this type.
    pub const fn can_encode(self) -> bool {
        use GgmlType::*;
        matches!(
            self,
            F32 | F16
                | BF16
                | Q4_0
                | Q4_1
                | Q5_0
                | Q5_1
                | Q8_0
                | Q2_K
                | Q3_K
                | Q4_K
                | Q5_K
                | Q6_K
                | IQ4_NL
                | IQ4_XS
                | TQ1_0
                | TQ2_0
                | MXFP4
        )
    }

    /// Whether values are stored in blocks that share a scale.
    pub const fn is_quantised(self) -> bool {
        self.block_len() > 1
    }

    /// The bytes of a row of `values` values; `None` if that is not a whole number of blocks, or overflows.
    pub const fn row_bytes(self, values: u64) -> Option<u64> {
        if !values.is_multiple_of(self.block_len() as u64) {
            return None;
        }
        (values / self.block_len() as u64).checked_mul(self.block_bytes() as u64)
    }

    /// The average number of bits per value.
    pub fn bits_per_value(self) -> f64 {
        self.block_bytes() as f64 * 8.0 / self.block_len() as f64
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not a GGML type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a GGML type (f32, f16, q4_0, q4_k, …)")]
pub struct UnknownType(pub String);

impl FromStr for GgmlType {
    type Err = UnknownType;

    /// Parses [`GgmlType::name`], in either case.
    fn from_str(s: &str) -> Result<Self, UnknownType> {
        let lower = s.to_ascii_lowercase();
        Self::ALL.iter().copied().find(|t| t.name() == lower).ok_or_else(|| UnknownType(s.to_string()))
    }
}
