//! Grammars at work: with the tokenizers of the fixtures, through the processor that the engine calls.

mod calls;
mod forms;
mod harmony;
mod hostile;
mod json;
mod masks;
mod measure;
mod samples;
mod support;
mod validate;
