//! Tokenizers and chat templates compared with the originals, and hostile files.

mod hf;
mod smollm2;
mod template;
mod tokenizer;
