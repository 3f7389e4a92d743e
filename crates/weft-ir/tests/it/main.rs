//! What operations mean, and that rewriting a graph does not change what it means.

mod claims;
mod grower;
mod hoisting;
mod operations;
mod patterns;
mod refusals;
mod support;
