//! The crate from outside: what it refuses and how it says so, what it reads, and what it writes.

mod fixtures;
mod folder;
mod header;
mod keys;
mod metadata;
mod mutation;
mod raw;
mod round_trip;
mod splits;
mod stored;
mod tensors;
mod writing;
