//! Text to tokens and back: byte-level BPE, chat templates, streaming decode.
#![forbid(unsafe_code)]
