//! The codec against GGML's vectors, and its properties for any input.

mod encode;
mod golden;
mod properties;
