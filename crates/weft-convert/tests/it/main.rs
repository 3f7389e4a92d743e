//! Tests of conversions, on the models in `tests/models`.

mod damaged;
mod fixtures;
mod support;
mod unsayable;
mod weights;
