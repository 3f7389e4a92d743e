//! Log lines about a model that is being loaded: its notes, and every few seconds how far it has come.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{info, warn};
use weft_engine::Report;

use crate::stage::{Progress, Step};

/// The time between two lines.
const LINES: Duration = Duration::from_secs(2);

/// A callback that logs what is reported about the model `name`, and keeps it for those who wait.
pub(crate) fn logged(name: String, progress: Arc<Progress>) -> impl FnMut(Report) -> ControlFlow<()> + Send {
    let mut last = Instant::now();
    move |report| {
        let (task, done, total) = match report {
            Report::Note(note) => {
                warn!(model = %name, "{note}");
                return ControlFlow::Continue(());
            }
            Report::Checking { done, total } => ("checking packed weights", done, total),
            Report::Packing { done, total } => ("packing weights", done, total),
            Report::Unpacking { done, total } => ("restoring files", done, total),
            Report::Loading { done, total } => ("loading weights onto the device", done, total),
        };
        progress.set(Some(Step::Loading { task, done, total }));
        if last.elapsed() >= LINES {
            last = Instant::now();
            info!(model = %name, gigabytes = %tenths(done), of = %tenths(total), "{task}");
        }
        ControlFlow::Continue(())
    }
}

/// Bytes in gigabytes.
fn tenths(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}
