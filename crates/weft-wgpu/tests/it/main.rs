//! The GPU device against the interpreter, and what every device promises.

mod device;
mod kernels;
mod support;
