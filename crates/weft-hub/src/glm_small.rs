//! The bytes of glm-small, with the feature `glm-small`. `models/glm-small` says how it was made and what it is good for.

/// The file of the model; empty without the feature.
#[cfg(feature = "glm-small")]
pub(crate) const BYTES: &[u8] = include_bytes!("../../../models/glm-small/glm-small-q8_0.gguf");
/// The file of the model; empty without the feature.
#[cfg(not(feature = "glm-small"))]
pub(crate) const BYTES: &[u8] = &[];
