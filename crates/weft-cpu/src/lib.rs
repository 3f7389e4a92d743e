//! The CPU device: SIMD leaves per instruction set and the thread team.
#![forbid(unsafe_code)]
