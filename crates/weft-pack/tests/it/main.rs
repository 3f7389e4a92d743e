//! Packing small models: the bytes are right with and without a cache, whatever happened to its files.

mod cache;
mod damage;
mod packed_model;
mod support;
