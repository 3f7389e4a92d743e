//! Tokenizers and chat templates compared with the originals, and hostile files.

mod adapt;
mod conversations;
mod formats;
mod hf;
mod injection;
mod jinja;
mod pieces;
mod reply;
mod smollm2;
mod support;
mod template;
mod tokenizer;
