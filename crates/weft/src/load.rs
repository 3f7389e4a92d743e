//! Loading a model to compute with, and showing how far that is.

use std::path::Path;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineOptions};

use crate::progress::{Progress, Unit};

/// Loads a model. Returns how long it took, too.
///
/// # Errors
/// If the file cannot be read or run, or an option does not fit it.
pub(crate) fn load(path: &Path, options: &EngineOptions) -> anyhow::Result<(Engine, Duration)> {
    let started = Instant::now();
    let mut shown = None;
    let mut show = |weft_engine::Progress::Weights { done, total }| {
        shown.get_or_insert_with(|| Progress::new("loading", total, Unit::Bytes)).set(done);
    };
    let engine = Engine::load(path, options, &mut show)?;
    Ok((engine, started.elapsed()))
}
