//! Tokenizers and chat templates against the originals, and against files that mean harm.

mod hf;
mod smollm2;
mod template;
mod tokenizer;
