//! Tests of conversions, on the models in `tests/models`.

mod damaged;
mod fixtures;
mod hybrids;
mod support;
mod templates;
mod unsayable;
mod weights;
