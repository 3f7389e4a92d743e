//! Loads a model and shows the progress.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineOptions, Error, OnReport, Report};

use crate::model::processes;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Spinner, Unit};
use crate::terminal::streams::note;

/// The text of a spinner while no amount is known.
const LOADING: &str = "loading the model";

/// Advice if there is too little memory.
const ADVICE: &str = "too little memory for this model and its context: close other programs, use a smaller --context, --kv q8_0 or \
                      fewer bits, or choose a smaller quantisation of the model";

/// Loads a model. Returns the time it took as well.
///
/// # Errors
/// If the file cannot be read, the model cannot be run, or an option does not fit it; [`Error::Interrupted`] after Ctrl-C.
pub(crate) fn load(path: &Path, options: &EngineOptions) -> anyhow::Result<(Engine, Duration)> {
    let (engine, took) = with_report(|report| Engine::load(path, options, report))?;
    processes::loaded(path, &engine.device().name);
    Ok((engine, took))
}

/// The progress shown while a model loads: always something, until it is dropped.
enum Shown {
    /// A task whose length is known.
    Task(&'static str, Progress),
    /// Between tasks headers are read, plans are made and kernels compiled.
    Spinner(#[expect(dead_code, reason = "it spins until it is dropped")] Spinner),
}

impl Shown {
    fn new() -> Shown {
        Shown::Spinner(Spinner::new(LOADING))
    }

    fn update(&mut self, report: Report) {
        let (label, done, total) = match report {
            Report::Note(text) => {
                // The spinner would be in the way of the note.
                drop(std::mem::replace(self, Shown::Spinner(Spinner::hidden())));
                note!("{text}");
                *self = Shown::new();
                return;
            }
            Report::Checking { done, total } => ("checking packed weights", done, total),
            Report::Packing { done, total } => ("packing weights", done, total),
            Report::Unpacking { done, total } => ("restoring the model's own files", done, total),
            Report::Loading { done, total } => ("loading weights onto the device", done, total),
        };
        match self {
            Shown::Task(..) if done == total => *self = Shown::new(),
            Shown::Task(known, progress) if *known == label => progress.set(done),
            _ if done == total => {}
            _ => *self = Shown::Task(label, Progress::new(label, total, Unit::Bytes)),
        }
    }
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
    let mut shown = Shown::new();
    let mut show = |report| {
        shown.update(report);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_shown_until_the_model_is_loaded() {
        let mut shown = Shown::new();
        let mut seen = Vec::new();
        for report in [
            Report::Checking { done: 0, total: 9 },
            Report::Checking { done: 5, total: 9 },
            Report::Checking { done: 9, total: 9 },
            Report::Packing { done: 0, total: 0 },
            Report::Packing { done: 0, total: 5 },
            Report::Loading { done: 1, total: 5 },
            Report::Note("a note".into()),
            Report::Loading { done: 2, total: 5 },
            Report::Loading { done: 5, total: 5 },
        ] {
            shown.update(report);
            seen.push(match &shown {
                Shown::Task(label, _) => *label,
                Shown::Spinner(_) => LOADING,
            });
        }
        let [checking, packing, onto] =
            ["checking packed weights", "packing weights", "loading weights onto the device"];
        assert_eq!(seen, [checking, checking, LOADING, LOADING, packing, onto, LOADING, onto, LOADING]);
    }
}
