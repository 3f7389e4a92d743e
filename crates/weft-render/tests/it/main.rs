//! Compares rendered texts with the expected ones, and checks them with naga and NVRTC.

mod chains;
mod cooperative;
mod cuda;
mod dump;
mod files;
mod given;
mod graphs;
#[path = "../../../weft-fuse/tests/it/include.rs"]
mod include;
mod plans;
mod refusals;
mod valid;
