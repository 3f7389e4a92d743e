//! Shows the progress of downloading a model: notes, and one bar at a time.

use std::ops::ControlFlow;

use weft_hub::Event;

use crate::terminal::progress::{Progress, Unit};
use crate::terminal::streams::note;
use crate::terminal::units;

/// Runs `fetch` and shows its events.
pub(crate) fn with_events<T>(fetch: impl FnOnce(weft_hub::OnEvent<'_>) -> T) -> T {
    let mut shown = Shown::default();
    fetch(&mut |event| {
        shown.event(&event);
        // Ctrl-C ends the program; what has been downloaded is kept.
        ControlFlow::Continue(())
    })
}

/// Runs `fetch`, and shows its events once bytes arrive; nothing if none do. For a `fetch` that may fail without being the
/// user's concern.
pub(crate) fn with_events_of_success<T>(fetch: impl FnOnce(weft_hub::OnEvent<'_>) -> T) -> T {
    let mut shown = Shown { held: Some(Vec::new()), ..Shown::default() };
    fetch(&mut |event| {
        shown.event(&event);
        ControlFlow::Continue(())
    })
}

/// The progress that is currently shown.
#[derive(Default)]
struct Shown {
    /// The label of the bar, and the bar.
    progress: Option<(String, Progress)>,
    /// Whether waiting has been reported.
    waiting: bool,
    /// Notes to be shown when bytes arrive. `None` shows them at once.
    held: Option<Vec<String>>,
}

impl Shown {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Checking { done, total, .. } => {
                self.progress("checking the downloaded part", *done, *total)
            }
            Event::Downloading { file, done, total } => self.progress(file, *done, *total),
            Event::DownloadingPackage { package: (name, version), done, total } => {
                self.progress(&format!("{name} {version}"), *done, *total);
            }
            Event::Fetching { file, part, bytes, host } => {
                let which = match part {
                    (_, 1) => String::new(),
                    (at, parts) => format!(" (part {at} of {parts})"),
                };
                self.note(&format!("downloading {file}{which}, {}, from {host}", units::bytes(*bytes)));
            }
            Event::Chosen { name, choices } => {
                self.note(&format!("the repository has {}; taking {name}", choices.join(", ")));
            }
            Event::NotChecked { error } => {
                self.note(&format!("{}; using the copy in the cache", error.in_one_line()));
            }
            Event::Outdated { packed } => {
                self.note(&format!("{} was packed from other files than the hub has now", packed.display()));
            }
            Event::Waiting { .. } if self.waiting => {}
            Event::Waiting { .. } => {
                self.waiting = true;
                self.note("another program is downloading the same file; waiting for it");
            }
            Event::Retrying { reason, done } => {
                self.note(&format!("the connection broke ({reason}); resuming at byte {done}"));
            }
            Event::FallingBack { error, package: (name, version) } => {
                self.note(&error.in_one_line());
                self.note(&format!("using the same file from the Python package {name} {version} instead"));
            }
            // `Event` is non-exhaustive.
            _ => {}
        }
    }

    fn note(&mut self, text: &str) {
        if let Some(held) = &mut self.held {
            return held.push(text.to_string());
        }
        self.progress = None;
        note!("{text}");
    }

    fn progress(&mut self, label: &str, done: u64, total: u64) {
        if done == 0 && self.held.is_some() {
            return;
        }
        self.held.take().into_iter().flatten().for_each(|text| note!("{text}"));
        if self.progress.as_ref().is_none_or(|(known, _)| known != label) {
            self.progress = Some((label.to_string(), Progress::new(label, total, Unit::Bytes)));
        }
        self.progress.iter_mut().for_each(|(_, progress)| progress.set(done));
    }
}
