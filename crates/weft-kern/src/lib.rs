//! The kernel: an anchor with a prologue and an epilogue, its text form, verifier and interpreter.
#![forbid(unsafe_code)]
