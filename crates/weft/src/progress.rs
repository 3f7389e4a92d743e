//! How far something is: a bar on a terminal, a line now and then elsewhere, and nothing for what is done at once.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::out::note;
use crate::units;

/// What takes less than this shows no progress.
const PATIENCE: Duration = Duration::from_millis(400);
/// Time between two lines where there is no terminal.
const LINES: Duration = Duration::from_secs(10);

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Tokens,
    Samples,
    Kernels,
    Seconds,
}

/// The progress of one thing. It goes away when dropped.
pub(crate) struct Progress {
    label: String,
    total: u64,
    unit: Unit,
    started: Instant,
    /// How long nothing is shown.
    patience: Duration,
    /// When the last line was printed.
    said: Instant,
    terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing of `total` is done; `label` says what is going on.
    pub(crate) fn new(label: impl Into<String>, total: u64, unit: Unit) -> Progress {
        let now = Instant::now();
        let terminal = io::stderr().is_terminal();
        let label = label.into();
        Progress { label, total, unit, started: now, patience: PATIENCE, said: now, terminal, bar: None }
    }

    /// Shows it from the beginning, if it is known to take long.
    pub(crate) fn at_once(mut self, long: bool) -> Progress {
        if long {
            self.patience = Duration::ZERO;
        }
        self
    }

    /// So much is to be done: more has turned up.
    pub(crate) fn expect(&mut self, total: u64) {
        self.total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    /// So much is done.
    pub(crate) fn set(&mut self, done: u64) {
        if self.started.elapsed() < self.patience {
            return;
        }
        if self.terminal {
            let bar = self.bar.get_or_insert_with(|| bar(&self.label, self.total, self.unit, done));
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

/// A bar that begins at `done`, so that what an earlier run did does not count as speed.
fn bar(label: &str, total: u64, unit: Unit, done: u64) -> ProgressBar {
    let counted = match unit {
        Unit::Bytes => "{decimal_bytes} of {decimal_total_bytes}{pace}",
        Unit::Tokens => "{pos} of {len} tokens{pace}",
        Unit::Samples => "{pos} of {len} samples{pace}",
        Unit::Kernels => "{pos} of {len} kernels{pace}",
        // Time has a pace of its own.
        Unit::Seconds => "{pos} of {len} seconds",
    };
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} {{wide_bar}} {counted}")) {
        let pace = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            if state.pos() > done {
                let _ = out.write_str(&pace(unit, state.per_sec(), state.eta()));
            }
        };
        bar.set_style(style.with_key("pace", pace));
    }
    bar.set_message(label.to_string());
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// How fast it goes and what is left, once something is done.
fn pace(unit: Unit, per_second: f64, left: Duration) -> String {
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
    fn a_pace_is_round() {
        let left = Duration::from_secs(5);
        assert_eq!(pace(Unit::Tokens, 12.3456, left), ", 12.3/s, 5s left");
        assert_eq!(pace(Unit::Bytes, 1_234_567.8, left), ", 1.23 MB/s, 5s left");
    }
}
