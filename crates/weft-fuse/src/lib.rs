//! Graph to kernels: where to cut and why, plan reuse and the memory plan.
#![forbid(unsafe_code)]
