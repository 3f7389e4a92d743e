//! The bytes of glm-small, with the feature `glm-small`. `models/glm-small` says how it was made and what it is good for.

/// The file of the model; empty without the feature.
pub(crate) const BYTES: &[u8] = &FILE;

/// A static: of a constant, each crate that uses it would have a copy of its own, 12 MB each.
#[cfg(feature = "glm-small")]
static FILE: [u8; include_bytes!("../../../models/glm-small/glm-small-q8_0.gguf").len()] =
    *include_bytes!("../../../models/glm-small/glm-small-q8_0.gguf");
#[cfg(not(feature = "glm-small"))]
static FILE: [u8; 0] = [];
