//! Sessions, ragged batches, paged KV and sampling on top of replayed programs.
#![forbid(unsafe_code)]
