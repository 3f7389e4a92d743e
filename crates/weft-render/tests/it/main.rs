//! Rendered texts against the expected ones, naga and NVRTC.

mod chains;
mod cooperative;
mod cuda;
mod files;
mod given;
mod graphs;
mod plans;
mod refusals;
mod valid;
