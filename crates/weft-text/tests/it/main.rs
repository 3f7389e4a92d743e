//! Tokenizers and chat templates compared with the originals, and hostile files.

mod adapt;
mod conversations;
mod hf;
mod injection;
mod jinja;
mod pieces;
mod reply;
mod reply_format;
mod smollm2;
mod support;
mod template;
mod tokenizer;
