//! `weft config`: shows and changes the configuration file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use clap::error::ErrorKind;

use weft_hub::{DEFAULT_MODEL, Hub, HubOptions};

use super::replies::serve;
use super::{Command, Outcome, Positional};
use crate::chat::template;
use crate::cli::args::{Args, guesses};
use crate::cli::config::{self, Config, config};
use crate::cli::knobs::{KNOBS, Kind};
use crate::cli::option_args;
use crate::cli::text_file;
use crate::terminal::streams::{Out, note};

const WHAT: Positional = Positional {
    name: "WHAT",
    help: "`list` the settings, print the `path` of the file, or `set` or `unset` a setting [default: list]",
    required: false,
};
const NAME: Positional = Positional {
    name: "NAME",
    help: "A setting: the name of an option without dashes, or `model`; COMMAND.NAME is for that command only, model.MODEL.NAME for a model's replies",
    required: false,
};
const VALUE: Positional = Positional { name: "VALUE", help: "Its value", required: false };

pub(super) const COMMAND: Command = Command {
    name: "config",
    about: "Show or change the configuration file",
    notes: "\
Settings apply to every call, unless an argument or an environment variable says otherwise. Every option with an \
environment variable can be set, and the model to use where none is named. WEFT_CONFIG names another file; if it is empty, \
no file is read. `list --all` shows all of them, in the form of the file.

A model can have settings of its own, which `run`, `chat` and `serve` use: system, think, context, and how tokens are sampled. \
MODEL is a name that `serve` gives it, the name by which it is called, that of `weft list`, or that of its file.

Examples:
  weft config set model hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M
  weft config set threads 4
  weft config set chat.system \"Answer in one sentence.\"
  weft config set model.smollm2.temperature 0.7
  weft config unset threads
  weft config list --all",
    positionals: &[WHAT, NAME, VALUE],
    run,
};

/// Settings whose values are not printed.
const SECRETS: [&str; 2] = ["api-key", "hub-token"];

fn run(args: Args<'_>) -> anyhow::Result<Outcome> {
    let path =
        config::path().context("there is no folder for the configuration; name a file with WEFT_CONFIG")?;
    let [name, value] = [NAME, VALUE].map(|argument| args.text(argument.name));
    let mut out = Out::new();
    match (args.text(WHAT.name).unwrap_or("list"), name, value) {
        ("list", None, None) if args.flag("all") => out.write_all(every_setting(config()).as_bytes())?,
        ("list", None, None) => {
            for (section, name, value) in config().all() {
                let dot = if section.is_empty() { "" } else { "." };
                writeln!(out, "{section}{dot}{name} = {}", config::quoted(value))?;
            }
            note!("settings of {}; `weft config list --all` shows what can be set", path.display());
        }
        ("path", None, None) => writeln!(out, "{}", path.display())?,
        ("set", Some(name), Some(value)) => change(args, &path, name, Some(value))?,
        ("unset", Some(name), None) => change(args, &path, name, None)?,
        ("set", ..) => return Err(usage("expected `weft config set NAME VALUE`")),
        ("unset", ..) => return Err(usage("expected `weft config unset NAME`")),
        (what @ ("list" | "path"), ..) => {
            return Err(usage(format!("`weft config {what}` takes no more arguments")));
        }
        (what, ..) => {
            return Err(usage(format!("there is no action `{what}`; expected list, path, set or unset")));
        }
    }
    Ok(Outcome::Done)
}

fn usage(problem: impl std::fmt::Display) -> anyhow::Error {
    clap::Error::raw(ErrorKind::InvalidValue, problem).into()
}

/// All settings in the form of the file: those that are set, and the others as comments, each with its
/// meaning.
fn every_setting(config: &Config) -> String {
    let mut text = String::new();
    let mut add = |name: &str, help: &str, default: Option<&str>, placeholder: &str| {
        let default = default.map_or(String::new(), |default| format!(" [default: {default}]"));
        let line = match config.get("", name) {
            Some(value) => format!("{name} = {}", config::quoted(value)),
            None => format!("# {name} = {placeholder}"),
        };
        text += &format!("# {help}{default}\n{line}\n\n");
    };
    let default = Some(DEFAULT_MODEL.name);
    add(config::MODEL, "Model to use where a command names none", default, "MODEL");
    let mut seen = BTreeSet::new();
    for knob in KNOBS.iter().filter(|knob| config::is_setting(knob) && seen.insert(knob.name)) {
        let placeholder = knob.placeholder().unwrap_or("true");
        add(knob.name, knob.help, knob.default.or(knob.unset), placeholder);
    }
    for (section, settings) in config.sections() {
        text += &format!("[{section}]\n");
        for (name, value) in settings {
            text += &format!("{name} = {}\n", config::quoted(value));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A model as it is kept in the file: one that the program knows, and the path of a file from the root,
/// because the file applies in every folder.
///
/// # Errors
/// If there is no such model, and no name of one that could be downloaded.
fn model(args: Args<'_>, name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.is_file() {
        let path = std::path::absolute(path).with_context(|| format!("cannot find {name}"))?;
        return Ok(path.to_str().map_or(name.to_string(), str::to_string));
    }
    // Without a cache folder, no names can be checked.
    if let Ok(cache) = args.cache() {
        Hub::new(cache, &HubOptions::default())?.check_name(name)?;
    }
    Ok(name.to_string())
}

/// A file or folder as it is kept: its path from the root, because the settings apply in every folder. `None` if the
/// setting names none.
///
/// # Errors
/// If a file that is only read does not exist.
fn file(name: &str, value: &str) -> anyhow::Result<Option<String>> {
    let is_path = KNOBS.iter().any(|knob| knob.name == name && matches!(knob.kind, Kind::Path(_)));
    let is_template = name == "chat-template" && !template::names().split(", ").any(|known| known == value);
    if value.is_empty() || !(is_path || is_template) {
        return Ok(None);
    }
    let is_read = is_template || ["api-key-file", "models"].contains(&name);
    ensure!(!is_read || Path::new(value).is_file(), "{name} cannot be `{value}`: there is no such file");
    let path = std::path::absolute(value).with_context(|| format!("cannot find {value}"))?;
    Ok(path.to_str().map(str::to_string))
}

/// Sets or removes a setting, and says so. Comments and the order of the other lines stay.
fn change(args: Args<'_>, path: &Path, given: &str, value: Option<&str>) -> anyhow::Result<()> {
    // A model's name can have dots.
    let split =
        if given.starts_with(config::MODELS) { given.rsplit_once('.') } else { given.split_once('.') };
    let (section, name) = split.unwrap_or(("", given));
    let name = name.trim_start_matches('-').replace('_', "-");
    if !section.is_empty() && !config::is_section(section) {
        bail!("there is no command {section} with settings");
    }
    config::check(section, &name).map_err(anyhow::Error::msg)?;
    let is_draft = |value: &str| !value.is_empty() && guesses(value).is_none();
    let is_model = name == config::MODEL || name == "speculate" && value.is_some_and(is_draft);
    let absolute = match value {
        Some(value) if is_model => Some(model(args, value)?),
        Some(value) => file(&name, value)?,
        None => None,
    };
    if let Some(host) = value.filter(|_| name == "host") {
        serve::address(host)?;
    }
    if let Some(endpoint) = value.filter(|value| name == "hub" && !value.is_empty()) {
        let mut options = HubOptions::default();
        options.endpoint = endpoint.into();
        options.check().with_context(|| format!("hub cannot be {endpoint:?}"))?;
    }
    let value = absolute.as_deref().or(value);
    if let Some(value) = value {
        let of_model = section.starts_with(config::MODELS);
        option_args::check_setting(if of_model { "" } else { section }, &name, value)?;
    }
    let text = match fs::exists(path) {
        Ok(false) => String::new(),
        _ => text_file::text(path, "the configuration")?,
    };
    let changed = changed(&text, section, &name, value);
    let cannot = || format!("cannot write {}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).with_context(cannot)?;
    weft_file::write(path, changed.as_bytes()).with_context(cannot)?;
    let (dot, path) = (if section.is_empty() { "" } else { "." }, path.display());
    match value {
        // Others may look over one's shoulder, or read a log.
        Some(_) if SECRETS.contains(&name.as_str()) => note!("set {section}{dot}{name} in {path}"),
        Some(value) => note!("set {section}{dot}{name} = {} in {path}", config::quoted(value)),
        None if changed == text => note!("{section}{dot}{name} was not set in {path}"),
        None => note!("removed {section}{dot}{name} from {path}"),
    }
    Ok(())
}

/// The text of a file with one setting changed.
fn changed(text: &str, section: &str, name: &str, value: Option<&str>) -> String {
    let line = value.map(|value| format!("{name} = {}", config::quoted(value)));
    let (mut lines, mut current, mut place) = (Vec::new(), String::new(), None);
    if section.is_empty() {
        place = Some(0);
    }
    for text in text.lines() {
        let own = text.trim();
        if own.starts_with('[') {
            current = config::section(own).unwrap_or_default();
            lines.push(text.to_string());
            if current == section {
                place = Some(lines.len());
            }
            continue;
        }
        let is_it = current == section
            && !own.starts_with('#')
            && own.split_once('=').is_some_and(|(key, _)| key.trim().replace('_', "-") == name);
        if !is_it {
            lines.push(text.to_string());
            if current == section && !own.is_empty() {
                place = Some(lines.len());
            }
        }
    }
    match (line, place) {
        (None, _) => {}
        (Some(line), Some(place)) => lines.insert(place, line),
        (Some(line), None) => {
            if lines.last().is_some_and(|line| !line.is_empty()) {
                lines.push(String::new());
            }
            lines.extend([config::header(section), line]);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_shown_as_a_file_that_can_be_read() {
        let config = config::parse("temperature = 0.5\n[chat]\nsystem = \"a b\"\n").unwrap();
        let text = every_setting(&config);
        assert_eq!(config::parse(&text).unwrap(), config);
        assert!(
            text.contains("# Model to use where a command names none [default: smollm2]\n# model = MODEL\n")
        );
        for line in ["temperature = 0.5", "# threads = N", "[chat]", "system = \"a b\""] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        // With the values that it stands for, each comment is a setting.
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# ")?.split_once(" = ").map(|(name, _)| name))
            .collect();
        assert!(names.len() > 30, "{names:?}");
        for name in names {
            config::check("", name).unwrap();
        }
    }

    #[test]
    fn files_are_kept_by_their_path_from_the_root() {
        let here = std::env::current_dir().unwrap();
        let kept = |name, value| file(name, value).unwrap();
        assert_eq!(kept("journal", "a.db").as_deref(), here.join("a.db").to_str());
        assert_eq!(kept("chat-template", "Cargo.toml").as_deref(), here.join("Cargo.toml").to_str());
        assert_eq!((kept("chat-template", "chatml"), kept("system", "a.db")), (None, None));
        for name in ["chat-template", "api-key-file"] {
            let error = file(name, "none.txt").unwrap_err().to_string();
            assert_eq!(error, format!("{name} cannot be `none.txt`: there is no such file"));
        }
    }

    #[test]
    fn settings_are_changed_in_place() {
        let set = |text: &str, section: &str, name: &str, value| changed(text, section, name, value);
        let file = set("", "", "threads", Some("4"));
        assert_eq!(file, "threads = 4\n");
        let file = set(&file, "chat", "system", Some("Be brief."));
        assert_eq!(file, "threads = 4\n\n[chat]\nsystem = \"Be brief.\"\n");
        let file = set(&file, "", "temperature", Some("1"));
        assert_eq!(file, "threads = 4\ntemperature = 1\n\n[chat]\nsystem = \"Be brief.\"\n");
        let file = set(&file, "", "threads", Some("2"));
        assert_eq!(file, "temperature = 1\nthreads = 2\n\n[chat]\nsystem = \"Be brief.\"\n");
        let file = set(&file, "", "threads", None);
        assert_eq!(file, "temperature = 1\n\n[chat]\nsystem = \"Be brief.\"\n");
        let file = set("", "model.a.b", "system", Some("x"));
        assert_eq!(file, "[model.\"a.b\"]\nsystem = \"x\"\n");
        let file = set(&file, "model.a.b", "temperature", Some("1"));
        assert_eq!(file, "[model.\"a.b\"]\nsystem = \"x\"\ntemperature = 1\n");
        let commented = "# threads = 1\nthreads = 3\n";
        assert_eq!(set(commented, "", "threads", Some("2")), "# threads = 1\nthreads = 2\n");
    }
}
