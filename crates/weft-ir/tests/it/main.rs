//! What operations mean, and that rewriting does not change what a graph means.

mod claims;
mod grower;
mod hoisting;
mod operations;
mod patterns;
mod refusals;
mod support;
