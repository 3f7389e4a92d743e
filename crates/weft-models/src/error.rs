//! Why a model could not be built, said so that a person can tell whether the file or the program is to blame.

use weft_gguf::KeyError;
use weft_ir::BuildError;
use weft_quant::GgmlType;

use crate::BuildOptions;

/// Why a file's model could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A family of models that this program does not know.
    #[error("{file}: the architecture `{}` is not supported; supported are: {supported}", found.escape_debug())]
    Architecture {
        /// The file.
        file: String,
        /// What `general.architecture` says.
        found: String,
        /// The names of all that are supported.
        supported: String,
    },
    /// A key that is missing, or of another type than it should be.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A key whose value makes no sense, by itself or beside others.
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
    /// A key that asks for something this program cannot do yet.
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
    /// A tensor that is not in the file.
    #[error("{file}: tensor `{tensor}` is missing; it should have the shape {}", ggml_order(expected))]
    MissingTensor {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The shape it should have, in GGML's order (contiguous dimension first).
        expected: Vec<u64>,
    },
    /// A tensor whose shape contradicts the metadata.
    #[error(
        "{file}: tensor `{tensor}` has the shape {}, but by the file's metadata it should have {}",
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
    /// A tensor stored in a type that cannot be used where it stands.
    #[error("{file}: tensor `{tensor}` is stored as {found}; {expected}")]
    TensorType {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its type.
        found: GgmlType,
        /// The types that can be used there.
        expected: &'static str,
    },
    /// A tensor whose values cannot be used.
    #[error("{file}: tensor `{tensor}`: value {index} is {found}; {expected}")]
    TensorValue {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Which of its values.
        index: usize,
        /// The value.
        found: f32,
        /// The rule it breaks.
        expected: &'static str,
    },
    /// A tensor that no part of the model uses.
    #[error(
        "{file}: tensor `{}` is no part of a `{architecture}` as this program knows it; \
         without it the model would not compute what it was trained to",
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
    /// Sizes that contradict each other in a way no single key or tensor shows.
    #[error("{file}: the sizes in the file do not fit together: {source}")]
    Graph {
        /// The file.
        file: String,
        /// What does not fit.
        source: BuildError,
    },
    /// A type of states whose blocks a row does not fill.
    #[error("{file}: a cache of {kv} is made of blocks of {}, and here a head keeps {values} values of a token; use f16", .kv.block_len())]
    StateBlocks {
        /// The file.
        file: String,
        /// The type of states.
        kv: GgmlType,
        /// Values that are kept side by side.
        values: usize,
    },
    /// Options that no graph can be built with.
    #[error("states of {} in pages of {} rows: the type must be f16, bf16, f32 or q8_0, and a page not empty", .0.kv, .0.page)]
    Options(BuildOptions),
}

fn ggml_order(shape: &[u64]) -> String {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("{{{}}}", sizes.join(", "))
}
