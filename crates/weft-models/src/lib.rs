//! GGUF metadata to configuration to graphs, one file a family.
#![forbid(unsafe_code)]
