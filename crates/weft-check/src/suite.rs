//! The tests that every device that renders kernels must pass: its promises, and kernels against the interpreter.

pub mod attend;
pub mod dot;
pub mod indexer;
pub mod many;
pub mod promises;
pub mod random;
pub mod rows;
pub mod scan;
pub mod shapes;
pub mod streaming;
pub mod top;
