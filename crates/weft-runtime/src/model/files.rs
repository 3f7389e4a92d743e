//! Opening and checking the files of models: GGUF files, or the only copy of a model in a packed form.

use std::ops::ControlFlow;
use std::path::Path;

use weft_device::{Packing, RowsOf16};
use weft_gguf::Gguf;

use crate::error::Error;

/// The layout that packed models are in: that of the CPU, which GPUs share.
pub(crate) const PACKING: &dyn Packing = &RowsOf16;

/// Opens a model's file: a GGUF file, or a [packed model](crate::pack_model). Only headers are read.
///
/// # Errors
/// If the file cannot be read, or is not valid.
pub fn open_file(path: &Path) -> Result<Gguf, Error> {
    Ok(weft_pack::open_model(path, &[PACKING])?)
}

/// Checks a packed model, unless that was done since the machine was started. Does nothing for a GGUF file.
///
/// # Errors
/// If it is damaged; [`Error::Interrupted`] if `on` interrupts it.
pub fn check_file(model: &Gguf, on: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<(), Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(weft_pack::check(model, threads, on)?)
}
