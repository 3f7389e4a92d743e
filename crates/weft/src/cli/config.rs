//! The configuration file: options that apply to every call, unless an argument or environment variable says otherwise.
//!
//! Its format is a small part of TOML: `name = value`, comments, and sections named after commands, or after models as
//! `[model.NAME]`. The table of knobs is its schema: every option that has an environment variable can be set, and `model`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::Context as _;
use weft_hub::suggest;

use crate::cli::knobs::{KNOBS, Kind, Knob};
use crate::cli::option_args::check_setting;
use crate::cli::samplers;
use crate::cli::text_file;

/// The name of the model to use where a command names none.
pub(crate) const MODEL: &str = "model";

/// The prefix of the name of a model's section.
pub(crate) const MODELS: &str = "model.";

/// The options that a model's section can set. They are about its replies, which `run`, `chat` and `serve` use, and about what it
/// computes.
pub(super) fn of_models() -> impl Iterator<Item = &'static str> {
    let own = ["system", "think", "reasoning-budget", "context", "pooling", "reasoning-preserve"];
    own.into_iter().chain(samplers::NAMES.iter().copied()).chain(["mirostat"])
}

/// Settings by name.
pub(crate) type Section = BTreeMap<String, String>;

/// The settings of the file: by section (empty for all commands) and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config(BTreeMap<String, Section>);

static CONFIG: OnceLock<Config> = OnceLock::new();

/// The settings of the user's file.
pub(crate) fn config() -> &'static Config {
    static EMPTY: Config = Config(BTreeMap::new());
    CONFIG.get().unwrap_or(&EMPTY)
}

/// The value that the user's file sets for an option of a command.
pub(crate) fn setting(command: &str, name: &str) -> Option<&'static str> {
    let is_it = |knob: &&Knob| knob.name == name && knob.commands.contains(&command) && is_setting(knob);
    KNOBS.iter().find(is_it).and_then(|_| config().get(command, name))
}

/// Reads the user's file, once at the start.
///
/// # Errors
/// If it exists and cannot be read, or has a line that is not a setting.
pub(crate) fn read() -> anyhow::Result<()> {
    if let Some(path) = path() {
        let read = fs::read(&path);
        let config = match read {
            Ok(bytes) => {
                let text = text_file::text_of(bytes)
                    .with_context(|| format!("cannot read the configuration {}", path.display()))?;
                parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Config::default(),
            Err(error) => {
                anyhow::bail!(
                    "cannot read the configuration {}: {}",
                    path.display(),
                    text_file::words(&error)
                )
            }
        };
        let _ = CONFIG.set(config);
    }
    Ok(())
}

/// The path of the user's file: that of `WEFT_CONFIG`, or `config.toml` in the user's folder of configurations.
pub(crate) fn path() -> Option<PathBuf> {
    match env::var_os("WEFT_CONFIG") {
        Some(path) if path.is_empty() => None,
        Some(path) => Some(path.into()),
        None => Some(weft_file::config_folder()?.join("config.toml")),
    }
}

impl Config {
    /// The value of an option for a command; its own section comes before what applies to all commands.
    pub(crate) fn get(&self, command: &str, name: &str) -> Option<&str> {
        let find = |section: &str| self.0.get(section)?.get(name);
        find(command).or_else(|| find("")).map(String::as_str)
    }

    /// The settings of each command or model that has its own.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&str, &Section)> {
        self.0.iter().filter(|(name, _)| !name.is_empty()).map(|(name, section)| (name.as_str(), section))
    }

    /// The section of a model that is known by these names. The first that has one counts.
    pub(crate) fn section_of(&self, names: &[&str]) -> Option<&Section> {
        names.iter().find_map(|name| self.0.get(&format!("{MODELS}{name}")))
    }

    /// All settings: section, name and value.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().flat_map(|(section, settings)| {
            settings.iter().map(move |(name, value)| (section.as_str(), name.as_str(), value.as_str()))
        })
    }
}

/// Parses a file.
///
/// # Errors
/// The number of the line, and what is wrong.
pub(crate) fn parse(text: &str) -> Result<Config, String> {
    let mut config = Config::default();
    let mut current = String::new();
    for (at, line) in text.lines().enumerate() {
        let wrong = |problem: String| format!("{}: {problem}", at + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            let name =
                section(line).ok_or_else(|| wrong("expected [COMMAND] or [model.NAME]".to_string()))?;
            if !is_section(&name) {
                return Err(wrong(format!("there is no command {name} with settings")));
            }
            current = name;
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("expected NAME = VALUE".to_string()))?;
        let name = name.trim().replace('_', "-");
        check(&current, &name).map_err(wrong)?;
        let value = unquoted(value.trim()).map_err(wrong)?;
        if current.starts_with(MODELS) {
            check_setting("", &name, &value).map_err(|error| wrong(error.to_string()))?;
        }
        config.0.entry(current.clone()).or_default().insert(name, value);
    }
    Ok(config)
}

/// The name of the section that a line begins. A model's name may be quoted, as TOML has it.
pub(crate) fn section(line: &str) -> Option<String> {
    let name = line.trim().strip_prefix('[')?.split('#').next()?.trim().strip_suffix(']')?.trim();
    Some(match name.strip_prefix(MODELS) {
        Some(model) => format!("{MODELS}{}", model.trim().trim_matches('"')),
        None => name.to_string(),
    })
}

/// The line that begins a section.
pub(crate) fn header(section: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match section.strip_prefix(MODELS) {
        Some(model) if !model.chars().all(bare) => format!("[{MODELS}\"{model}\"]"),
        _ => format!("[{section}]"),
    }
}

/// Whether there can be a section of this name: of a command with settings, or of a model.
pub(crate) fn is_section(name: &str) -> bool {
    name.strip_prefix(MODELS).map_or_else(|| is_command(name), |model| !model.is_empty())
}

/// The text of a value: quoted, or up to a comment.
pub(super) fn unquoted(value: &str) -> Result<String, String> {
    let Some(rest) = value.strip_prefix('"') else {
        return match value.split('#').next().unwrap_or_default().trim() {
            "" => Err("expected a value after `=`".to_string()),
            bare => Ok(bare.trim_matches('\'').to_string()),
        };
    };
    let (mut text, mut chars) = (String::new(), rest.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                let after = chars.as_str().trim();
                return if after.is_empty() || after.starts_with('#') {
                    Ok(text)
                } else {
                    Err(format!("expected nothing after the closing quote, found {after}"))
                };
            }
            '\\' => text.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(c @ ('"' | '\\')) => c,
                _ => return Err("expected \\n, \\t, \\\" or \\\\ after a backslash".to_string()),
            }),
            c => text.push(c),
        }
    }
    Err("expected a closing quote".to_string())
}

/// Checks that a setting exists.
///
/// # Errors
/// Says what is wrong.
pub(crate) fn check(section: &str, name: &str) -> Result<(), String> {
    if section.starts_with(MODELS) {
        return match of_models().any(|known| known == name) {
            true => Ok(()),
            false => Err(format!(
                "{name} is no setting of a model; expected one of {}",
                of_models().collect::<Vec<_>>().join(", ")
            )),
        };
    }
    let belongs = |knob: &&Knob| section.is_empty() || knob.commands.contains(&section);
    let mut known = KNOBS.iter().filter(|knob| is_setting(knob));
    if name == MODEL && section.is_empty() || known.any(|knob| knob.name == name && belongs(&knob)) {
        return Ok(());
    }
    if let Some(knob) = KNOBS.iter().find(|knob| knob.name == name) {
        return Err(match is_setting(knob) {
            true => format!("{name} is no option of `weft {section}`"),
            false => format!("{name} makes sense for one call only, so it cannot be set here"),
        });
    }
    let all: Vec<&str> = KNOBS.iter().filter(|knob| is_setting(knob)).map(|knob| knob.name).collect();
    Err(match suggest(name, &all)[..] {
        [] => format!("there is no setting {name}; `weft config list --all` shows them"),
        ref near => format!("there is no setting {name}; did you mean {}?", near.join(" or ")),
    })
}

/// Whether a command has settings.
fn is_command(name: &str) -> bool {
    KNOBS.iter().any(|knob| is_setting(knob) && knob.commands.contains(&name))
}

/// Whether a file may set this knob: those that the environment may set.
pub(crate) fn is_setting(knob: &Knob) -> bool {
    knob.env.is_some() && knob.kind != Kind::Decisions
}

/// Writes a value so that [`parse`] reads the same.
pub(crate) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    if !value.is_empty() && value.chars().all(plain) && value.parse::<f64>().is_ok()
        || ["true", "false"].contains(&value)
    {
        return value.to_string();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_their_sections() {
        let text = "# mine\nmodel = \"qwen\" # always\ntemperature = 0.25\n\n[chat]\nsystem = \"a \\\"b\\\"\\n\"\ntemperature=1\n";
        let config = parse(text).unwrap();
        assert_eq!(config.get("run", "temperature"), Some("0.25"));
        assert_eq!(config.get("chat", "temperature"), Some("1"));
        assert_eq!(config.get("chat", "system"), Some("a \"b\"\n"));
        assert_eq!(config.get("run", "system"), None);
        assert_eq!(config.get("run", MODEL), Some("qwen"));
    }

    #[test]
    fn a_model_has_settings_of_its_own() {
        let text = "temperature = 1\n[model.small]\ntemperature = 0.2\n[model.\"hf:a/b.c:Q4_0\"]\nsystem = \"Be brief.\"\n";
        let config = parse(text).unwrap();
        let value = |names: &[&str], name: &str| config.section_of(names)?.get(name).map(String::as_str);
        assert_eq!(value(&["small"], "temperature"), Some("0.2"));
        assert_eq!(value(&["other", "hf:a/b.c:Q4_0", "small"], "system"), Some("Be brief."));
        assert_eq!(value(&["small"], "system"), None);
        assert_eq!(config.section_of(&["other", "smal"]), None);
        assert_eq!(config.get("run", "temperature"), Some("1"));
        for name in ["small", "a.b", "hf:a/b:Q4_0"] {
            let name = format!("{MODELS}{name}");
            assert_eq!(section(&header(&name)), Some(name));
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, said) in [
            ("a", "1: expected NAME = VALUE"),
            ("\ntemprature = 1", "2: there is no setting temprature; did you mean temperature?"),
            ("[talk]", "1: there is no command talk"),
            ("threads =", "1: expected a value after `=`"),
            ("system = \"a", "1: expected a closing quote"),
            ("system = \"a\" b", "1: expected nothing after the closing quote, found b"),
            ("[serve]\nsystem = \"a\"", "2: system is no option of `weft serve`"),
            ("tokens = 1", "1: tokens makes sense for one call only"),
            (
                "[model.a]\nthreads = 4",
                "2: threads is no setting of a model; expected one of system, think, reasoning-budget, context",
            ),
            ("[model.a]\ntemperature = hot", "2: invalid value 'hot'"),
            ("[model.]", "1: there is no command model. with settings"),
            ("[model.a", "1: expected [COMMAND] or [model.NAME]"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        for value in ["1", "0.5", "true", "q8_0", "a \"b\"\\\n\tc", "", "hf:a/b:Q4_0", "#1"] {
            let config = parse(&format!("system = {}", quoted(value))).unwrap();
            assert_eq!(config.get("run", "system"), Some(value));
        }
    }
}
