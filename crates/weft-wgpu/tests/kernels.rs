//! Kernels against the interpreter: every anchor, format and pick, odd sizes, outputs poisoned, fresh random data.

mod kernels {
    mod attend;
    mod case;
    mod dot;
    mod random;
    mod rows;
}
mod support;
