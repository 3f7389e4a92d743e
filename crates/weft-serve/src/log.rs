//! The log: one line for each request and each thing that happens to a model, without what people write.

use std::io::{self, IsTerminal as _};
use std::panic::PanicHookInfo;

use tracing::{Level, error};

/// The format of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: a JSON object on each line.
    Json,
}

/// Writes the log of this process to standard error. Only the first call has an effect.
pub fn log_to_stderr(format: LogFormat) {
    let lines =
        tracing_subscriber::fmt().with_max_level(Level::INFO).with_writer(io::stderr).with_target(false);
    // It fails if there is a log already, which then stays.
    let _ = match format {
        LogFormat::Text => {
            tracing::subscriber::set_global_default(lines.with_ansi(io::stderr().is_terminal()).finish())
        }
        LogFormat::Json => tracing::subscriber::set_global_default(lines.json().flatten_event(true).finish()),
    };
}

/// Logs a panic, which the server catches. For [`std::panic::set_hook`].
pub fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or(String::new(), |place| format!("{}:{}", place.file(), place.line()));
    let message = panic.payload_as_str().unwrap_or("no message");
    error!(place, message, "internal error; please report this line and how it came about");
}
