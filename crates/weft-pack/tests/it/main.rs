//! Packing on small models: the same bytes from memory and from the cache, whatever happened to that.

mod cache;
mod damage;
mod support;
