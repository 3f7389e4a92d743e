//! The tensor graph: nodes, builder, text form, verifier and the float oracle.
#![forbid(unsafe_code)]
