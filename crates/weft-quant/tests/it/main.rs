//! The codec against GGML's vectors, and what holds for any input.

mod encode;
mod golden;
mod properties;
