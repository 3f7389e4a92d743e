//! The model of a command: finding it, downloading it, loading it, keeping it packed, and which processes hold one.

pub(crate) mod download;
pub(crate) mod load;
pub(crate) mod model_ref;
pub(crate) mod packing;
pub(crate) mod processes;
