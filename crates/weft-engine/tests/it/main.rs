//! The engine on the fixtures.

mod ahead;
mod bits;
mod candidates;
mod collect;
mod emulator;
mod failures;
mod generation;
mod given_texts;
mod golden;
mod gpu;
mod launches;
mod lora;
mod mtp;
mod packed_models;
mod packing;
mod prompts;
mod replacements;
mod requests;
mod scheduling;
mod snapshots;
mod speculation;
mod support;
mod ties;
mod trained;
mod variants;
mod windows;
