//! The error of building a model. Messages tell whether the file or this program is at fault.

use weft_gguf::KeyError;
use weft_ir::BuildError;
use weft_quant::GgmlType;

use crate::options::BuildOptions;

/// The error of [`build`](crate::build).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file's architecture is not supported.
    #[error(
        "{file}: architecture `{}` is not supported; expected one of {supported}{}{}",
        found.escape_debug(),
        if nearest.is_some() { "; " } else { "" },
        nearest.as_deref().unwrap_or_default()
    )]
    Architecture {
        /// The file.
        file: String,
        /// The value of `general.architecture`.
        found: String,
        /// The names of all supported architectures.
        supported: String,
        /// The nearest of them, and how the file differs.
        nearest: Option<String>,
    },
    /// A key is missing or has the wrong type.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A key's value is invalid, or contradicts another key.
    #[error("{file}: key `{key}` is {found}; {expected}")]
    Value {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// The rule it breaks.
        expected: String,
    },
    /// A key's value requires something that is not supported.
    #[error("{file}: key `{key}` is {found}, which is not supported; {supported}")]
    Unsupported {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// What is supported instead.
        supported: String,
    },
    /// A tensor is missing.
    #[error("{file}: tensor `{tensor}` is missing; its shape should be {}", ggml_order(expected))]
    MissingTensor {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The shape it should have, in GGML's order (contiguous dimension first).
        expected: Vec<u64>,
    },
    /// A tensor's shape contradicts the metadata.
    #[error(
        "{file}: tensor `{tensor}` has shape {}; according to the metadata it should be {}",
        ggml_order(found),
        ggml_order(expected)
    )]
    Shape {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The shape it should have, in GGML's order (contiguous dimension first).
        expected: Vec<u64>,
        /// The shape it has, in the same order.
        found: Vec<u64>,
    },
    /// A tensor's type is not supported for its use.
    #[error("{file}: tensor `{tensor}` is stored as {found}; {expected}")]
    TensorType {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its type.
        found: GgmlType,
        /// What is supported instead.
        expected: &'static str,
    },
    /// A tensor holds an invalid value.
    #[error("{file}: tensor `{tensor}`: value {index} is {found}; {expected}")]
    TensorValue {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The index of the value.
        index: usize,
        /// The value.
        found: f32,
        /// The rule it breaks.
        expected: &'static str,
    },
    /// No part of the model uses a tensor.
    #[error(
        "{file}: tensor `{}` is not supported for architecture `{architecture}`; \
         ignoring it would give wrong results",
        tensor.escape_debug()
    )]
    UnknownTensor {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The file's architecture.
        architecture: &'static str,
    },
    /// An adapter adds to a tensor that is not adapted.
    #[error(
        "{file}: the adapter adds to `{}`, which is not supported: expected matrices that attention and dense feed-forward \
         networks multiply by as a whole, not embeddings, experts, routers or the latent matrices of heads",
        tensor.escape_debug()
    )]
    AdaptedTensor {
        /// The adapter's file.
        file: String,
        /// The tensor.
        tensor: String,
    },
    /// Sizes in the file contradict each other.
    #[error("{file}: the sizes in the file contradict each other: {source}")]
    Graph {
        /// The file.
        file: String,
        /// The contradiction.
        source: BuildError,
    },
    /// Rows of the KV cache are not whole blocks of its type.
    #[error(
        "{file}: the KV cache cannot be {kv}, which has blocks of {} values: a head of this model has {values}; use f16",
        .kv.block_len()
    )]
    StateBlocks {
        /// The file.
        file: String,
        /// The type of the KV cache.
        kv: GgmlType,
        /// The number of adjacent values that must be whole blocks.
        values: usize,
    },
    /// The options are invalid.
    #[error("a KV cache of {} in pages of {} rows: expected f16, bf16, f32, q8_0, q5_1 or q4_0, and at least one row", .0.kv, .0.page)]
    Options(BuildOptions),
}

fn ggml_order(shape: &[u64]) -> String {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{{{}}}", sizes.join(", "))
}
