//! The `weft` command: finds a model, and answers, chats, inspects, tokenizes or computes with it.
//!
//! The way in: `knobs.rs` and `commands.rs` are the tables of what can be set and what can be done, `cli.rs` makes a
//! parser of them, and the command that was called takes over. Exit codes are 0, 1 for an error, 2 for a wrong command
//! line, 101 for a mistake in this program, and 130 after
//! Ctrl-C, SIGTERM or SIGHUP.
#![forbid(unsafe_code)]

mod args;
mod cli;
mod commands;
mod conversation;
mod fetching;
mod interrupt;
mod journal;
mod knobs;
mod load;
mod measured;
mod measuring;
mod model_ref;
mod out;
mod output;
mod progress;
mod quantize;
mod synth;
mod table;
mod tensor_types;
mod test_folder;
mod text_file;
mod units;
mod write_model;

use std::panic;
use std::process::{ExitCode, exit};

use args::Args;
use commands::Outcome;
use out::note;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| report(panic)));
    interrupt::install();
    let matches = match cli::parser().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => cli::blame_environment(error).exit(),
    };
    // The parser lets nothing through but a command of the table.
    let Some((command, matches)) = cli::called(&matches) else { return ExitCode::from(2) };
    match (command.run)(Args(matches)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) if out::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) if matches!(error.downcast_ref(), Some(weft_engine::Error::Interrupted)) => {
            ExitCode::from(interrupt::EXIT_CODE)
        }
        Err(error) => match error.downcast::<clap::Error>() {
            // A wrong command line that only the command could tell.
            Ok(usage) => cli::exit(usage, command),
            Err(error) => {
                out::error(&error);
                ExitCode::FAILURE
            }
        },
    }
}

/// Ends the program after a panic, in whichever thread: nothing it could still do can be trusted.
fn report(panic: &panic::PanicHookInfo<'_>) -> ! {
    let place =
        panic.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let message = panic.payload_as_str().unwrap_or("no message").replace('\n', " ");
    note!("weft: a mistake in weft itself{place}: {message}; please report this line and what led to it");
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        note!("{}", std::backtrace::Backtrace::force_capture());
    }
    exit(101)
}
