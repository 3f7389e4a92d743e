//! Kernels against the interpreter: every anchor, format and pick, odd sizes, poisoned outputs,
//! random data.

mod attend;
mod case;
mod dot;
mod random;
mod rows;
