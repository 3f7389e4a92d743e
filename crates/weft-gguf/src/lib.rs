//! GGUF v2/v3 files: metadata, tensor directory, splits, mmap, and a writer.
#![forbid(unsafe_code)]
