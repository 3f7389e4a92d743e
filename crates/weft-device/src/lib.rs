//! The Device trait, the program it replays, and the reference and null devices.
#![forbid(unsafe_code)]
