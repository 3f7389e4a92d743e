//! The meaning of operations, and that rewriting does not change the meaning of a graph.

mod claims;
mod grower;
mod hoisting;
mod offload;
mod operations;
mod patterns;
mod refusals;
mod support;
