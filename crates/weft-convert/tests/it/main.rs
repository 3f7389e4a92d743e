//! Tests of conversions, on the models in `tests/models`.

mod damaged;
mod fixtures;
mod gemma4;
mod hybrids;
mod indexers;
mod support;
mod templates;
mod unsayable;
mod weights;
