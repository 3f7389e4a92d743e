//! The CPU device against the interpreter, against its own definition, and at its edges.

mod attend;
mod backend;
mod definition;
mod device;
mod dot;
mod indexer;
mod lists;
mod parts;
mod products;
mod prologue;
mod rows;
mod scan;
mod shapes;
mod support;
mod timings;
