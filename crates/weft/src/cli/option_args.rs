//! Options as arguments of the parser, with the defaults that the configuration file sets.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, StringValueParser, TypedValueParser as _};
use clap::{Arg, ArgAction, value_parser};
use weft_engine::{AdapterFile, DeviceChoice};

use crate::cli::choices::Choices;
use crate::cli::kernel_file::kernel_file;
use crate::cli::knobs::{KNOBS, Kind, Knob};
use crate::cli::os_text::{Utf8, rsplit_once, split_once};
use crate::cli::values::{
    context, counts, duration, experts, ids, integer, limit, on_or_off, real, seed, setting,
};
use crate::terminal::units;

/// The arguments of a knob: two for a switch, one otherwise. `configured` is the default that the configuration file sets.
pub(crate) fn arguments(knob: &'static Knob, configured: Option<&'static str>) -> Vec<Arg> {
    let mut help = knob.help.to_string();
    if knob.kind == Kind::Device {
        help += &format!(" [possible values: {}]", DeviceChoice::forms().replace('`', ""));
    }
    help.extend(knob.env.map(|name| format!(" [env: {name}]")));
    let configured_default = configured.and(knob.default);
    help.extend(knob.unset.or(configured_default).map(|unset| format!(" [default: {unset}]")));
    let mut arg = Arg::new(knob.name)
        .long(knob.name)
        .help(help)
        .help_heading(knob.heading)
        .value_name(knob.placeholder().unwrap_or_default())
        // Named above, so that the help does not depend on the environment.
        .hide_env(true);
    arg = knob.short.into_iter().fold(arg, Arg::short);
    arg = knob.env.into_iter().filter(|name| !is_unset(knob, name)).fold(arg, Arg::env);
    arg = match configured {
        // The help states the default that the table has.
        // A file has one value for an option that may be given more than once.
        Some(value) if knob.kind == Kind::Adapters => {
            arg.default_values(value.split(',').map(str::trim)).hide_default_value(true)
        }
        Some(value) => arg.default_value(value).hide_default_value(true),
        None => knob.default.into_iter().fold(arg, Arg::default_value),
    };
    let arg = match knob.kind {
        Kind::Flag | Kind::Switch(..) => arg.action(ArgAction::SetTrue).value_parser(Utf8(on_or_off)),
        Kind::Text(_) => arg.value_parser(Utf8(StringValueParser::new())),
        Kind::Texts(_) => arg.action(ArgAction::Append).value_parser(Utf8(StringValueParser::new())),
        Kind::Name(_) => arg.value_parser(OsStringValueParser::new().map(PathBuf::from)),
        Kind::Names(_) => arg.action(ArgAction::Append).value_parser(OsStringValueParser::new()),
        Kind::Path(_) => arg.value_parser(value_parser!(PathBuf)),
        Kind::Count(from, to) => {
            arg.allow_negative_numbers(true).value_parser(Utf8(move |text: &str| integer(text, from, to)))
        }
        Kind::Context(to) => {
            arg.allow_negative_numbers(true).value_parser(Utf8(move |text: &str| context(text, to)))
        }
        Kind::Experts(to) => {
            arg.allow_negative_numbers(true).value_parser(Utf8(move |text: &str| experts(text, to)))
        }
        Kind::Limit(from, to) => {
            arg.allow_negative_numbers(true).value_parser(Utf8(move |text: &str| limit(text, from, to)))
        }
        Kind::Seed => arg.allow_negative_numbers(true).value_parser(Utf8(seed)),
        Kind::Size => arg.value_parser(Utf8(units::parse_bytes)),
        Kind::Duration => arg.allow_negative_numbers(true).value_parser(Utf8(duration)),
        Kind::Real(from, to) => {
            arg.allow_negative_numbers(true).value_parser(Utf8(move |text: &str| real(text, from, to)))
        }
        Kind::Choice(choices) => arg.ignore_case(true).value_parser(Utf8(Choices::of(choices))),
        Kind::Ids => arg.allow_hyphen_values(true).value_parser(Utf8(ids)),
        Kind::Counts(from, to) => {
            arg.allow_hyphen_values(true).value_parser(Utf8(move |text: &str| counts(text, from, to)))
        }
        Kind::Device => arg.value_parser(Utf8(|text: &str| text.parse::<DeviceChoice>())),
        Kind::Adapters => {
            arg.action(ArgAction::Append).value_parser(OsStringValueParser::new().map(|text| adapter(&text)))
        }
        Kind::Kernels => arg
            .action(ArgAction::Append)
            .value_parser(OsStringValueParser::new().try_map(|path| kernel_file(Path::new(&path)))),
        Kind::Decisions => arg.action(ArgAction::Append).value_delimiter(',').value_parser(Utf8(setting)),
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

/// Reads `FILE`, `FILE:SCALE`, `NAME=FILE` or `NAME=FILE:SCALE`, whatever bytes the file's name has.
fn adapter(text: &OsStr) -> AdapterFile {
    let scaled = rsplit_once(text, ':').and_then(|(path, scale)| Some((path, scale.to_str()?.parse().ok()?)));
    let (path, scale) = scaled.unwrap_or((text.to_os_string(), 1.0));
    let named = split_once(&path, '=').and_then(|(name, file)| Some((name.into_string().ok()?, file)));
    let (name, path) = match named.filter(|(name, _)| !name.contains(['/', '\\'])) {
        Some((name, file)) => (Some(name), file),
        None => (None, path),
    };
    AdapterFile { name, path: path.into(), scale }
}

/// Checks the value of a setting in the configuration file.
///
/// # Errors
/// Says what the option expects.
pub(crate) fn check_setting(section: &str, name: &str, value: &str) -> anyhow::Result<()> {
    let belongs = |knob: &&Knob| section.is_empty() || knob.commands.contains(&section);
    for knob in KNOBS.iter().filter(|knob| knob.name == name && knob.env.is_some()).filter(belongs) {
        let checked = match knob.kind {
            Kind::Flag | Kind::Switch(..) => on_or_off(value).map(drop),
            _ => {
                // A command of its own, without positionals and other options.
                let parser = clap::Command::new("weft").args(arguments(knob, None));
                let call = ["weft".to_string(), format!("--{name}={value}")];
                parser.try_get_matches_from(call).map(drop).map_err(|error| {
                    let text = error.to_string();
                    let line = text.lines().next().unwrap_or_default();
                    line.strip_prefix("error: ").unwrap_or(line).to_string()
                })
            }
        };
        checked.map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// Whether a knob's variable counts as unset: if it is missing or, except for the system message, empty.
fn is_unset(knob: &Knob, variable: &str) -> bool {
    knob.name != "system" && env::var_os(variable).is_none_or(|value| value.is_empty())
}
