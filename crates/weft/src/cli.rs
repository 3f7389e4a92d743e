//! The command-line parser, built from the tables of knobs and commands.

use std::env;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, StyledStr, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use weft_engine::DeviceChoice;

use crate::commands::{COMMANDS, Command, Positional};
use crate::knobs::{KNOBS, Kind, Knob};
use crate::units;
use crate::values::{counts, ids, integer, on_or_off, real, setting};

const ABOUT: &str = "Run language models from GGUF files, on the CPU or a GPU";
const EXAMPLES: &str = "\
Examples:
  weft run \"What is the capital of France?\"
  weft chat hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M
  weft inspect model.gguf

Most options can also be set by environment variables; `weft COMMAND --help` names them.";

/// The parser of the whole program.
pub(crate) fn parser() -> clap::Command {
    clap::Command::new("weft")
        .about(ABOUT)
        .version(version())
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommands(COMMANDS.iter().map(subcommand))
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

/// What `--version` prints. Debug builds say so, since they are slow.
fn version() -> &'static str {
    if cfg!(debug_assertions) {
        concat!(env!("CARGO_PKG_VERSION"), " (debug build, which is slow)")
    } else {
        env!("CARGO_PKG_VERSION")
    }
}

fn subcommand(command: &Command) -> clap::Command {
    let knobs = KNOBS.iter().filter(|knob| knob.commands.contains(&command.name));
    clap::Command::new(command.name)
        .about(command.about)
        .after_help(command.notes)
        // The last one wins, so that shell aliases can set defaults.
        .args_override_self(true)
        .args(command.positionals.iter().map(positional))
        .args(knobs.flat_map(arguments))
}

fn positional(positional: &Positional) -> Arg {
    let Positional { name, help, required } = *positional;
    let arg = Arg::new(name).value_name(name.trim_end_matches('.')).help(help).required(required);
    let arg = if name.ends_with("...") { arg.action(ArgAction::Append).num_args(1..) } else { arg };
    // An empty prompt, from a script, is not a usage error.
    if required { arg.value_parser(NonEmptyStringValueParser::new()) } else { arg }
}

/// The arguments of a knob: two for a switch, one otherwise.
fn arguments(knob: &'static Knob) -> Vec<Arg> {
    let mut help = knob.help.to_string();
    if knob.kind == Kind::Device {
        help += &format!(" [possible values: {}]", DeviceChoice::forms().replace('`', ""));
    }
    help.extend(knob.env.map(|name| format!(" [env: {name}]")));
    help.extend(knob.unset.map(|unset| format!(" [default: {unset}]")));
    let mut arg = Arg::new(knob.name)
        .long(knob.name)
        .help(help)
        .help_heading(knob.heading)
        .value_name(knob.placeholder().unwrap_or_default())
        // Named above, so that the help does not depend on the environment.
        .hide_env(true);
    arg = knob.short.into_iter().fold(arg, Arg::short);
    arg = knob.env.into_iter().filter(|name| !is_unset(knob, name)).fold(arg, Arg::env);
    arg = knob.default.into_iter().fold(arg, Arg::default_value);
    let arg = match knob.kind {
        Kind::Flag | Kind::Switch(..) => arg.action(ArgAction::SetTrue).value_parser(on_or_off),
        Kind::Text(_) => arg,
        Kind::Texts(_) => arg.action(ArgAction::Append),
        Kind::Path(_) => arg.value_parser(value_parser!(std::path::PathBuf)),
        Kind::Count(from, to) => {
            arg.allow_negative_numbers(true).value_parser(move |text: &str| integer(text, from, to))
        }
        Kind::Size => arg.value_parser(units::parse_bytes),
        Kind::Real(from, to) => {
            arg.allow_negative_numbers(true).value_parser(move |text: &str| real(text, from, to))
        }
        Kind::Choice(choices) => {
            let parser = PossibleValuesParser::new(choices).map(|choice| choice.to_ascii_lowercase());
            arg.ignore_case(true).value_parser(parser)
        }
        Kind::Ids => arg.allow_hyphen_values(true).value_parser(ids),
        Kind::Counts(from, to) => {
            arg.allow_hyphen_values(true).value_parser(move |text: &str| counts(text, from, to))
        }
        Kind::Device => arg.value_parser(|text: &str| text.parse::<DeviceChoice>()),
        Kind::Decisions => arg.action(ArgAction::Append).value_delimiter(',').value_parser(setting),
    };
    match knob.kind {
        Kind::Switch(opposite, help) => {
            let no = Arg::new(opposite)
                .long(opposite)
                .help(help)
                .help_heading(knob.heading)
                .action(ArgAction::SetTrue);
            // Neither overrides the other in the parser, or the environment would override an argument.
            vec![arg, no]
        }
        _ => vec![arg],
    }
}

/// Whether a knob's variable counts as unset: if it is missing or, except for the system message, empty.
fn is_unset(knob: &Knob, variable: &str) -> bool {
    knob.name != "system" && env::var_os(variable).is_none_or(|value| value.is_empty())
}

/// Adds to an error the environment variable that the invalid value comes from, if any.
pub(crate) fn blame_environment(mut error: clap::Error) -> clap::Error {
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
        env::var(name).is_ok_and(|content| content == value || content.split(',').any(|item| item == value))
    };
    if let Some(name) = knob.and_then(|knob| knob.env).filter(from) {
        let tip = StyledStr::from(format!("the value comes from the environment variable {name}"));
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
