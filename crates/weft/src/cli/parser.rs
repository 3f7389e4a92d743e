//! The command-line parser, built from the tables of knobs and commands.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::builder::{
    NonEmptyStringValueParser, OsStringValueParser, StringValueParser, StyledStr, TypedValueParser as _,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use weft_engine::BACKENDS;

use crate::cli::config::{self, Section, config};
use crate::cli::hints;
use crate::cli::knobs::{KNOBS, Knob};
use crate::cli::option_args::arguments;
use crate::cli::os_text::Utf8;
use crate::commands::{COMMANDS, Command, Positional};

const ABOUT: &str = "Run language models from GGUF files, on the CPU or a GPU";
const EXAMPLES: &str = "\
Examples:
  weft run \"What is the capital of France?\"
  weft chat hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M
  weft inspect model.gguf

Most options can also be set by environment variables; `weft COMMAND --help` names them.";

/// The widest help: longer lines are hard to read.
const WIDEST: usize = 140;

/// The parser of the whole program.
pub(crate) fn parser() -> clap::Command {
    parser_with(Help::Long)
}

/// The parser of the whole program for this call: with a short help if `-h` asks for it.
pub(crate) fn parser_of_call() -> clap::Command {
    let short = env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "-h");
    parser_with(if short { Help::Short } else { Help::Long })
}

/// The arguments of this call, where these settings of a model take the place of those of the configuration.
///
/// # Errors
/// If a setting has a value that its option does not take.
pub(crate) fn again(own: &'static Section) -> Result<ArgMatches, clap::Error> {
    let matches = parser_of(Help::Long, Some(own)).try_get_matches()?;
    // The call was accepted before, so it has a command.
    Ok(matches.subcommand().map(|(_, matches)| matches.clone()).unwrap_or_default())
}

/// How much the help shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Help {
    /// The options that most people need.
    Short,
    /// Everything.
    Long,
}

fn parser_with(help: Help) -> clap::Command {
    parser_of(help, None)
}

fn parser_of(help: Help, own: Option<&'static Section>) -> clap::Command {
    clap::Command::new("weft")
        // Windows starts `weft.exe`.
        .bin_name("weft")
        .about(ABOUT)
        .version(version())
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(WIDEST)
        .subcommands(COMMANDS.iter().map(|command| subcommand(command, help, own)))
}

/// The command that was called, and its arguments.
pub(crate) fn called(matches: &ArgMatches) -> Option<(&'static Command, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    Some((COMMANDS.iter().find(|command| command.name == name)?, matches))
}

/// Reports a usage error that only the command itself could detect, and exits.
pub(crate) fn exit(error: clap::Error, command: &Command) -> ! {
    let mut parser = parser();
    // Gives the subcommands their full names.
    parser.build();
    match parser.find_subcommand_mut(command.name) {
        Some(subcommand) => error.format(subcommand).exit(),
        None => error.exit(),
    }
}

/// The output of `--version`: the version, the commit, the devices and the built-in model. Debug builds say so, since they are slow.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut more: Vec<String> =
            weft_lab::commit().map(|commit| format!("commit {commit}")).into_iter().collect();
        // A backend that the build leaves out says so.
        let built = BACKENDS.iter().filter(|backend| !backend.about().ends_with("not in this build"));
        more.push(format!("devices: {}", built.map(|backend| backend.name()).collect::<Vec<_>>().join(", ")));
        more.extend(weft_hub::BUILT_IN.map(|model| format!("model: {}", model.name)));
        if cfg!(debug_assertions) {
            more.push("debug build, which is slow".to_string());
        }
        format!("{} ({})", env!("CARGO_PKG_VERSION"), more.join("; "))
    })
}

/// Writes completions for a shell to standard output.
pub(crate) fn completions(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut parser(), "weft", &mut std::io::stdout());
}

/// Writes a manual page for the program and one for each command into a folder. Returns their number.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn manual(folder: &std::path::Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut parser = parser().disable_help_subcommand(true);
    parser.build();
    let pages: Vec<clap::Command> = std::iter::once(parser.clone())
        .chain(parser.get_subcommands().map(|command| {
            // The parser keeps names for as long as the program runs.
            let name: &'static str = format!("weft-{}", command.get_name()).leak();
            command.clone().name(name).version(version())
        }))
        .collect();
    for page in &pages {
        let mut text = Vec::new();
        clap_mangen::Man::new(page.clone()).render(&mut text)?;
        weft_file::write(&folder.join(format!("{}.1", page.get_name())), &text)?;
    }
    Ok(pages.len())
}

fn subcommand(command: &Command, help: Help, own: Option<&'static Section>) -> clap::Command {
    let knobs = KNOBS.iter().filter(|knob| knob.commands.contains(&command.name));
    let hidden = knobs.clone().filter(|knob| knob.is_for_few()).count();
    let notes = match (help, hidden) {
        (Help::Long, _) => command.notes.to_string(),
        (Help::Short, 0) => format!("`weft {} --help` has examples", command.name),
        (Help::Short, 1) => format!("`weft {} --help` has examples, and one more option", command.name),
        (Help::Short, more) => {
            format!("`weft {} --help` has examples, and {more} more options", command.name)
        }
    };
    let configured = move |knob: &Knob| {
        let own = own.and_then(|own| own.get(knob.name)).map(String::as_str);
        own.or_else(|| config::setting(command.name, knob.name))
    };
    let hide = move |knob: &Knob| help == Help::Short && knob.is_for_few();
    clap::Command::new(command.name)
        .about(command.about)
        .override_usage(usage(command))
        .after_help(notes)
        // The last one wins, so that shell aliases can set defaults.
        .args_override_self(true)
        .args(command.positionals.iter().map(positional))
        .args(knobs.flat_map(|knob| {
            arguments(knob, configured(knob)).into_iter().map(move |arg| arg.hide(hide(knob)))
        }))
}

/// How a command is called. The parser's own text has every option that an environment variable sets.
fn usage(command: &Command) -> String {
    let mut usage = format!("weft {}", command.name);
    if KNOBS.iter().any(|knob| knob.commands.contains(&command.name)) {
        usage += " [OPTIONS]";
    }
    for Positional { name, required, .. } in command.positionals {
        let (bare, more) = name.strip_suffix("...").map_or((*name, ""), |bare| (bare, "..."));
        usage += &if *required { format!(" <{bare}>{more}") } else { format!(" [{bare}]{more}") };
    }
    usage
}

fn positional(positional: &Positional) -> Arg {
    let Positional { name, help, required } = *positional;
    let arg = Arg::new(name).value_name(name.trim_end_matches('.')).help(help).required(required);
    // The value of a setting may be a number below zero.
    let arg = arg.allow_negative_numbers(*name == *"VALUE");
    let arg = if name.ends_with("...") { arg.action(ArgAction::Append).num_args(1..) } else { arg };
    // An empty prompt, from a script, is not a usage error.
    match (positional.is_path(), required, name.ends_with("...")) {
        (true, true, true) => arg.value_parser(OsStringValueParser::new()),
        (true, true, false) => arg.value_parser(value_parser!(PathBuf)),
        (true, false, _) => arg.value_parser(OsStringValueParser::new().map(PathBuf::from)),
        (false, true, _) => arg.value_parser(Utf8(NonEmptyStringValueParser::new())),
        (false, false, _) => arg.value_parser(Utf8(StringValueParser::new())),
    }
}

/// Adds a tip to a usage error: the source of an invalid value, or our name for an argument of another program.
pub(crate) fn with_tip(mut error: clap::Error) -> clap::Error {
    let mut arguments = env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let Some(command) = arguments.next().filter(|_| error.exit_code() != 0) else { return error };
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => Some(word.as_str()),
        _ => None,
    };
    // The parser's own guess is about letters only.
    let guessed = error.get(ContextKind::SuggestedArg).is_some();
    let near = || unknown.filter(|_| !guessed).and_then(|word| hints::near(&command, word));
    let instead = || hints::command(&command).map(str::to_string);
    match instead().or_else(|| hints::hint(&command, arguments)).or_else(near) {
        Some(tip) => {
            error.remove(ContextKind::SuggestedArg);
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
            error
        }
        None => blame_environment(error),
    }
}

/// Adds to an error the environment variable or file that the invalid value comes from, if any.
fn blame_environment(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (Some(value), Some(arg)) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg)) else {
        return error;
    };
    // `--kv <TYPE>`. The environment only counts where the argument is absent.
    let long = arg.split_whitespace().next().unwrap_or_default();
    let given = |knob: &Knob| {
        let short = knob.short.map(|short| format!("-{short}"));
        let begins = |arg: &str| arg.starts_with(long) || short.as_ref().is_some_and(|s| arg.starts_with(s));
        env::args_os().any(|arg| begins(&arg.to_string_lossy()))
    };
    let knob = KNOBS.iter().find(|knob| long.strip_prefix("--") == Some(knob.name) && !given(knob));
    // The invalid value may be one item of a list.
    let from = |name: &&str| {
        env::var_os(name).is_some_and(|content| {
            let content = content.to_string_lossy();
            content == value || content.split(',').any(|item| item == value)
        })
    };
    let origin = match knob.and_then(|knob| knob.env).filter(from) {
        Some(name) => Some(format!("the environment variable {name}")),
        None => {
            let set = |knob: &&Knob| config().all().any(|(_, name, set)| name == knob.name && set == value);
            knob.filter(set).and_then(|_| config::path()).map(|path| path.display().to_string())
        }
    };
    if let Some(origin) = origin {
        let tip = StyledStr::from(format!("the value comes from {origin}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_valid() {
        parser().debug_assert();
    }
}
