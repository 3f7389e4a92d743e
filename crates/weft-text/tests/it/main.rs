//! Tokenizers and chat templates compared with the originals, and hostile files.

mod adapt;
mod hf;
mod injection;
mod reply;
mod smollm2;
mod support;
mod template;
mod tokenizer;
