//! Tokenizers and chat templates compared with the originals, and hostile files.

mod adapt;
mod hf;
mod injection;
mod pieces;
mod reply;
mod smollm2;
mod support;
mod template;
mod tokenizer;
