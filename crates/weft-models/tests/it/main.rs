//! The integration tests of this crate, in one binary.

mod equivalence;
mod fixtures;
mod gemma4;
mod goldens;
mod heads;
mod hostile;
mod kimi;
mod mixed;
mod mtp;
mod plain;
mod reference;
mod refusals;
mod sparse;
mod streams;
mod support;
