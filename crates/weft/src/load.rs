//! Loading a model to compute with, and showing how far that is.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineOptions, Error, OnReport, Report};

use crate::interrupt::Listener;
use crate::out::note;
use crate::progress::{Progress, Unit};

/// Loads a model. Returns how long it took, too.
///
/// # Errors
/// If the file cannot be read or run, or an option does not fit it; [`Error::Interrupted`] after Ctrl-C.
pub(crate) fn load(path: &Path, options: &EngineOptions) -> anyhow::Result<(Engine, Duration)> {
    with_report(|report| Engine::load(path, options, report))
}

/// Does with something that tells how far it is what [`load`] does with an engine.
///
/// # Errors
/// Its own; [`Error::Interrupted`] after Ctrl-C.
pub(crate) fn with_report<T>(
    load: impl FnOnce(OnReport<'_>) -> Result<T, Error>,
) -> anyhow::Result<(T, Duration)> {
    let started = Instant::now();
    // Half-written files are removed, so it has to be left the time for that.
    let listener = Listener::new();
    let pressed = || listener.pressed().load(Ordering::SeqCst);
    let mut shown: Option<(&str, Progress)> = None;
    let mut show = |report| {
        let (label, done, total) = match report {
            Report::Note(text) => {
                shown = None;
                note!("{text}");
                return ControlFlow::Continue(());
            }
            Report::Checking { done, total } => ("checking the packed weights", done, total),
            Report::Packing { done, total } => ("packing the weights", done, total),
            Report::Loading { done, total } => ("giving the weights to the device", done, total),
        };
        if shown.as_ref().is_none_or(|(known, _)| *known != label) {
            shown = Some((label, Progress::new(label, total, Unit::Bytes)));
        }
        shown.iter_mut().for_each(|(_, progress)| progress.set(done));
        if pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let loaded = load(&mut show)?;
    if pressed() {
        return Err(Error::Interrupted.into());
    }
    Ok((loaded, started.elapsed()))
}
