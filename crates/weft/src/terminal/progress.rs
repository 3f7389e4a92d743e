//! Progress of long tasks: a bar on a terminal, a line every few seconds elsewhere, and nothing for short tasks.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::terminal::streams::note;
use crate::terminal::units;

/// Tasks shorter than this show no progress.
const PATIENCE: Duration = Duration::from_millis(400);
/// The time between two lines where there is no terminal.
const LINES: Duration = Duration::from_secs(10);

/// The time between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// The unit of progress.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Tokens,
    Samples,
    Kernels,
    Seconds,
}

/// The progress of one task. Dropping it clears the bar.
pub(crate) struct Progress {
    label: String,
    total: u64,
    unit: Unit,
    started: Instant,
    /// The time from which the speed is measured, and the number of units done by then.
    from: Option<(Instant, u64)>,
    /// How long to wait before showing anything.
    patience: Duration,
    /// When the last line was printed.
    said: Instant,
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts a task of `total` units; `label` describes it.
    pub(crate) fn new(label: impl Into<String>, total: u64, unit: Unit) -> Progress {
        let now = Instant::now();
        let terminal = io::stderr().is_terminal();
        let label = label.into();
        let (from, patience) = (None, PATIENCE);
        Progress { label, total, unit, started: now, from, patience, said: now, terminal, bar: None }
    }

    /// Says that the task has run since `begun`, with `done` units done before that.
    pub(crate) fn since(mut self, begun: Instant, done: u64) -> Progress {
        self.from = Some((begun, done));
        self
    }

    /// Shows progress from the start if the task is known to be `long`.
    pub(crate) fn at_once(mut self, long: bool) -> Progress {
        if long {
            self.patience = Duration::ZERO;
        }
        self
    }

    /// Changes the total number of units.
    pub(crate) fn expect(&mut self, total: u64) {
        self.total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    /// Sets the number of units that are done.
    pub(crate) fn set(&mut self, done: u64) {
        let from = *self.from.get_or_insert_with(|| (Instant::now(), done));
        if self.started.elapsed() < self.patience {
            return;
        }
        if self.terminal {
            let bar = self.bar.get_or_insert_with(|| bar(&self.label, self.total, self.unit, from));
            bar.set_position(done);
        } else if self.said.elapsed() >= LINES {
            self.said = Instant::now();
            let (done, total) = match self.unit {
                Unit::Bytes => (units::bytes(done), units::bytes(self.total)),
                Unit::Tokens => (done.to_string(), format!("{} tokens", self.total)),
                Unit::Samples => (done.to_string(), format!("{} samples", self.total)),
                Unit::Kernels => (done.to_string(), format!("{} kernels", self.total)),
                Unit::Seconds => (done.to_string(), format!("{} seconds", self.total)),
            };
            note!("{}: {done} of {total}", self.label);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A spinner on a terminal, for a wait of unknown length. Dropping it clears it.
pub(crate) struct Spinner(Option<ProgressBar>);

impl Spinner {
    /// Shows nothing.
    pub(crate) fn hidden() -> Spinner {
        Spinner(None)
    }

    /// Begins to wait for `what`. Short waits show nothing.
    pub(crate) fn new(what: &'static str) -> Spinner {
        if !io::stderr().is_terminal() {
            return Spinner::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(what);
        let delayed = bar.downgrade();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            // A bar that has been dropped stays hidden.
            if let Some(bar) = delayed.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(TICK);
            }
        });
        Spinner(Some(bar))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// Creates a bar. Its speed leaves out the units that were done at its beginning.
fn bar(label: &str, total: u64, unit: Unit, (since, done): (Instant, u64)) -> ProgressBar {
    let counted = match unit {
        Unit::Bytes => "{decimal_bytes} of {decimal_total_bytes}{pace}",
        Unit::Tokens => "{pos} of {len} tokens{pace}",
        Unit::Samples => "{pos} of {len} samples{pace}",
        Unit::Kernels => "{pos} of {len} kernels{pace}",
        // Seconds per second say nothing.
        Unit::Seconds => "{pos} of {len} seconds",
    };
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} {{wide_bar}} {counted}")) {
        let pace = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let made = state.pos().saturating_sub(done);
            let left = state.len().unwrap_or(0).saturating_sub(state.pos());
            let _ = out.write_str(&pace(unit, made, left, since.elapsed()));
        };
        bar.set_style(style.with_key("pace", pace));
    }
    bar.set_message(label.to_string());
    bar.set_position(done);
    bar
}

/// The speed and the time left, as soon as they can be estimated. `made` units took the time `took`, and `left` remain.
fn pace(unit: Unit, made: u64, left: u64, took: Duration) -> String {
    if made == 0 || took < TICK {
        return String::new();
    }
    let per_second = made as f64 / took.as_secs_f64();
    let left = Duration::try_from_secs_f64(left as f64 / per_second).unwrap_or(Duration::MAX);
    let rate = match unit {
        Unit::Bytes => units::bytes(per_second as u64),
        Unit::Tokens | Unit::Samples | Unit::Kernels | Unit::Seconds => format!("{per_second:.1}"),
    };
    format!(", {rate}/s, {:#} left", HumanDuration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_measured_from_the_beginning_of_the_task() {
        let begun = Instant::now();
        let mut task = Progress::new("reading", 900, Unit::Tokens).since(begun, 700);
        task.set(800);
        assert_eq!(task.from, Some((begun, 700)));
        let mut task = Progress::new("downloading", 900, Unit::Bytes);
        task.set(300);
        task.set(400);
        assert_eq!(task.from.map(|(_, done)| done), Some(300), "an earlier run did them");
    }

    #[test]
    fn a_pace_is_rounded() {
        let took = Duration::from_secs(10);
        assert_eq!(pace(Unit::Tokens, 123, 62, took), ", 12.3/s, 5s left");
        assert_eq!(pace(Unit::Bytes, 12_345_678, 6_172_839, took), ", 1.23 MB/s, 5s left");
        assert_eq!(pace(Unit::Tokens, 0, 62, took), "", "what was done before does not count");
        let moment = Duration::from_micros(200);
        assert_eq!(pace(Unit::Tokens, 512, 2693, moment), "", "units that came at once have no speed");
    }
}
