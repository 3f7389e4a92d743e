//! The `weft` command: runs, inspects and measures language models.
//!
//! Start reading at `cli/knobs.rs` and `commands.rs`, the tables of options and commands; `cli/parser.rs` builds the parser from them
//! and `main` runs the command. Exit codes are 0 for success, 1 for an error, 2 for a usage error, 3 for a reply that was cut
//! off before it had the form of `--schema` or `--grammar`, 101 for a bug, and 130, 143 or 129 after Ctrl-C, SIGTERM or
//! SIGHUP.
#![forbid(unsafe_code)]

mod chat;
mod cli;
mod commands;
mod model;
mod terminal;
#[cfg(test)]
#[path = "../../weft-make/src/test_folder.rs"]
mod test_folder;

use std::panic;
use std::process::{ExitCode, exit};

use cli::args::Args;
use cli::{again, config, parser};
use commands::Outcome;
use model::processes;
use terminal::streams::{self, note};
use terminal::{interrupt, mode};

/// The exit code for a reply that was cut off before it had the form that it must have.
const CUT_OFF: u8 = 3;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| report(panic)));
    interrupt::install();
    weft_host::console::enable_escapes();
    if let Err(error) = config::read() {
        streams::error(&error);
        return ExitCode::from(2);
    }
    let matches = match parser::parser_of_call().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => parser::with_tip(error).exit(),
    };
    // The parser only accepts commands of the table.
    let Some((command, matches)) = parser::called(&matches) else { return ExitCode::from(2) };
    again::install(parser::again);
    processes::begin(command.name);
    let args = Args(matches, command.name, None);
    let outcome = args.check_adapters().and_then(|()| (command.run)(args));
    processes::end();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Completions(shell)) => {
            parser::completions(shell);
            ExitCode::SUCCESS
        }
        Ok(Outcome::Manual(folder)) => match parser::manual(&folder) {
            Ok(pages) => {
                note!("wrote {pages} pages to {}", folder.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                note!("weft: cannot write the manual to {}: {error}", folder.display());
                ExitCode::FAILURE
            }
        },
        Ok(Outcome::Interrupted) => ExitCode::from(interrupt::exit_code()),
        Ok(Outcome::CutOff) => ExitCode::from(CUT_OFF),
        Err(error) if streams::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) if matches!(error.downcast_ref(), Some(weft_engine::Error::Interrupted)) => {
            ExitCode::from(interrupt::exit_code())
        }
        Err(error) => match error.downcast::<clap::Error>() {
            // A usage error that only the command could detect.
            Ok(usage) => parser::exit(usage, command),
            Err(error) => {
                streams::error(&error);
                ExitCode::FAILURE
            }
        },
    }
}

/// Reports a panic in any thread and exits, since the program's state can no longer be trusted.
fn report(panic: &panic::PanicHookInfo<'_>) -> ! {
    mode::restore();
    let place =
        panic.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let message = panic.payload_as_str().unwrap_or("no message").replace('\n', " ");
    note!("weft: internal error{place}: {message}; please report this line and how it came about");
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        note!("{}", std::backtrace::Backtrace::force_capture());
    }
    exit(101)
}
