//! Loads a model and shows the progress.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineOptions, Error, OnReport, Report};

use crate::interrupt::Listener;
use crate::out::note;
use crate::progress::{Progress, Spinner, Unit};
use crate::running;

/// What a spinner says while no amount is known.
const LOADING: &str = "loading the model";

/// What helps if there is too little memory.
const ADVICE: &str = "too little memory for this model and its context: close other programs, use a smaller --context or --kv q8_0, \
                      or choose a smaller quantisation of the model";

/// Loads a model. Returns the time it took as well.
///
/// # Errors
/// If the file cannot be read, the model cannot be run, or an option does not fit it; [`Error::Interrupted`] after Ctrl-C.
pub(crate) fn load(path: &Path, options: &EngineOptions) -> anyhow::Result<(Engine, Duration)> {
    let (engine, took) = with_report(|report| Engine::load(path, options, report))?;
    running::loaded(path, &engine.device().name);
    Ok((engine, took))
}

/// Runs `load` and shows the progress it reports. Returns the time it took as well.
///
/// # Errors
/// Those of `load`; [`Error::Interrupted`] after Ctrl-C.
pub(crate) fn with_report<T>(
    load: impl FnOnce(OnReport<'_>) -> Result<T, Error>,
) -> anyhow::Result<(T, Duration)> {
    let started = Instant::now();
    // Ctrl-C must leave time to remove half-written files.
    let listener = Listener::new();
    let pressed = || listener.pressed().load(Ordering::SeqCst);
    let mut shown: Option<(&str, Progress)> = None;
    // Between tasks whose length is known, headers are read, plans are made and kernels compiled.
    let mut spinner = Some(Spinner::new(LOADING));
    let mut show = |report| {
        let (label, done, total) = match report {
            Report::Note(text) => {
                (shown, spinner) = (None, None);
                note!("{text}");
                return ControlFlow::Continue(());
            }
            Report::Checking { done, total } => ("checking packed weights", done, total),
            Report::Packing { done, total } => ("packing weights", done, total),
            Report::Unpacking { done, total } => ("restoring the model's own files", done, total),
            Report::Loading { done, total } => ("loading weights onto the device", done, total),
        };
        if done == total {
            shown = None;
            spinner.get_or_insert_with(|| Spinner::new(LOADING));
        } else {
            spinner = None;
            if shown.as_ref().is_none_or(|(known, _)| *known != label) {
                shown = Some((label, Progress::new(label, total, Unit::Bytes)));
            }
            shown.iter_mut().for_each(|(_, progress)| progress.set(done));
        }
        if pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let loaded = load(&mut show).map_err(|error| {
        // An error that lists what the model needs has its own advice.
        let full = error.is_out_of_memory() && !matches!(error, Error::Memory(_));
        let error = anyhow::Error::from(error);
        if full { error.context(ADVICE) } else { error }
    })?;
    if pressed() {
        return Err(Error::Interrupted.into());
    }
    Ok((loaded, started.elapsed()))
}
