//! The `weft` command: runs, inspects and measures language models.
//!
//! Start reading at `knobs.rs` and `commands.rs`, the tables of options and commands; `cli.rs` builds the parser from them
//! and `main` runs the command. Exit codes are 0 for success, 1 for an error, 2 for a usage error, 3 for a reply that was cut
//! off before it had the form of `--schema` or `--grammar`, 101 for a bug, and 130, 143 or 129 after Ctrl-C, SIGTERM or
//! SIGHUP.
#![forbid(unsafe_code)]

mod args;
mod choices;
mod cli;
mod client;
mod commands;
mod config;
mod conversation;
mod fetching;
mod form;
mod hints;
mod interrupt;
mod journal;
mod kernel_file;
mod knobs;
mod load;
mod machine;
mod measured;
mod measuring;
mod messages;
mod model_ref;
mod option_args;
mod os_text;
mod out;
mod output;
mod packing;
mod progress;
mod readable;
mod running;
mod show;
mod table;
mod template;
mod terminal;
#[cfg(test)]
#[path = "../../weft-make/src/test_folder.rs"]
mod test_folder;
mod text_file;
mod tuned;
mod typeset;
mod units;
mod values;

use std::panic;
use std::process::{ExitCode, exit};

use args::Args;
use commands::Outcome;
use out::note;

/// The exit code for a reply that was cut off before it had the form that it must have.
const CUT_OFF: u8 = 3;

fn main() -> ExitCode {
    panic::set_hook(Box::new(|panic| report(panic)));
    interrupt::install();
    if let Err(error) = config::read() {
        out::error(&error);
        return ExitCode::from(2);
    }
    let matches = match cli::parser_of_call().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => cli::with_tip(error).exit(),
    };
    // The parser only accepts commands of the table.
    let Some((command, matches)) = cli::called(&matches) else { return ExitCode::from(2) };
    running::begin(command.name);
    let outcome = (command.run)(Args(matches, command.name, None));
    running::end();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Completions(shell)) => {
            cli::completions(shell);
            ExitCode::SUCCESS
        }
        Ok(Outcome::Manual(folder)) => match cli::manual(&folder) {
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
        Err(error) if out::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) if matches!(error.downcast_ref(), Some(weft_engine::Error::Interrupted)) => {
            ExitCode::from(interrupt::exit_code())
        }
        Err(error) => match error.downcast::<clap::Error>() {
            // A usage error that only the command could detect.
            Ok(usage) => cli::exit(usage, command),
            Err(error) => {
                out::error(&error);
                ExitCode::FAILURE
            }
        },
    }
}

/// Reports a panic in any thread and exits, since the program's state can no longer be trusted.
fn report(panic: &panic::PanicHookInfo<'_>) -> ! {
    terminal::restore();
    let place =
        panic.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let message = panic.payload_as_str().unwrap_or("no message").replace('\n', " ");
    note!("weft: internal error{place}: {message}; please report this line and how it came about");
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        note!("{}", std::backtrace::Backtrace::force_capture());
    }
    exit(101)
}
