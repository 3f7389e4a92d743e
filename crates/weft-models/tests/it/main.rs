//! The tests of this crate, as one program.

mod equivalence;
mod fixtures;
mod goldens;
mod hostile;
mod reference;
mod refusals;
mod support;
