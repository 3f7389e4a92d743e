//! A file of models for a server: a section for each, named as in requests, with where the model is and how it is run.
//!
//! It has the form of the configuration file. What is before the first section holds for all models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use weft_hub::suggest;

use crate::cli::config::{Section, of_models, unquoted};
use crate::cli::option_args::check_setting;
use crate::cli::text_file;
use crate::cli::values::on_or_off;

/// The settings that only a file of models has.
const OWN: &[&str] = &["model", "aliases", "pinned", "load"];

/// The options of a server that a model can have for itself.
const OPTIONS: &[&str] = &[
    "device",
    "gpu-layers",
    "threads",
    "batch",
    "kv",
    "kv-tokens",
    "chunk",
    "speculate",
    "set",
    "no-tuned",
    "lora",
    "cache-prompts",
    "keep-alive",
];

/// The most models of a file.
const MOST: usize = 1000;

/// A model of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Preset {
    /// Its name in requests.
    pub(crate) name: String,
    /// Its file or the name that leads to it.
    pub(crate) model: PathBuf,
    /// Further names in requests.
    pub(crate) aliases: Vec<String>,
    /// Whether it is loaded when the server starts.
    pub(crate) load: bool,
    /// Whether it stays loaded.
    pub(crate) pinned: bool,
    /// The options that are not those of the server.
    pub(crate) options: Section,
}

/// Reads a file of models.
///
/// # Errors
/// If it cannot be read, or has a line that is wrong.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Preset>> {
    let text = text_file::text(path, "the models in")?;
    let mut presets = parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
    anyhow::ensure!(
        !presets.is_empty(),
        "{} has no model: expected a section [NAME] for each",
        path.display()
    );
    // Files are looked for beside the file that names them.
    let folder = path.parent().context("the file of models is a folder")?;
    for preset in &mut presets {
        let beside = folder.join(&preset.model);
        if beside.is_file() {
            preset.model = beside;
        }
    }
    Ok(presets)
}

/// Parses a file.
///
/// # Errors
/// The number of the line, and what is wrong.
fn parse(text: &str) -> Result<Vec<Preset>, String> {
    let mut all = Section::new();
    let mut sections: Vec<(usize, String, Section)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let wrong = |problem: String| format!("{}: {problem}", at + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            let name = section(line).map_err(wrong)?;
            if sections.iter().any(|(_, known, _)| *known == name) {
                return Err(wrong(format!("there are two models named {name}")));
            }
            if sections.len() == MOST {
                return Err(wrong(format!("there are more than {MOST} models")));
            }
            sections.push((at + 1, name, Section::new()));
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("expected NAME = VALUE".to_string()))?;
        let name = name.trim().replace('_', "-");
        let value = unquoted(value.trim()).map_err(wrong)?;
        check(&name, &value, sections.is_empty()).map_err(wrong)?;
        let current = sections.last_mut().map_or(&mut all, |(.., section)| section);
        if current.insert(name.clone(), value).is_some() {
            return Err(wrong(format!("{name} is set twice")));
        }
    }
    sections
        .into_iter()
        .map(|(line, name, own)| preset(name, &all, own).map_err(|why| format!("{line}: {why}")))
        .collect()
}

/// The name of the section that a line begins.
fn section(line: &str) -> Result<String, String> {
    let expected = || "expected [NAME], where NAME is the model's in requests".to_string();
    let rest = line.strip_prefix('[').ok_or_else(expected)?.trim_start();
    let (name, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or_else(expected)?,
        None => rest.split_at(rest.find(']').ok_or_else(expected)?),
    };
    let rest = rest.trim_start().strip_prefix(']').ok_or_else(expected)?.trim();
    let name = name.trim();
    if name.is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
        return Err(expected());
    }
    Ok(name.to_string())
}

/// Checks a setting. `of_all` is whether it is one of all models.
///
/// # Errors
/// Says what is wrong.
fn check(name: &str, value: &str, of_all: bool) -> Result<(), String> {
    match name {
        "model" | "aliases" if of_all => {
            Err(format!("{name} is about one model: expected it after the name of the model, as [small]"))
        }
        "model" | "aliases" if value.trim().is_empty() => Err(format!("{name} is empty")),
        "model" | "aliases" => Ok(()),
        "pinned" | "load" => on_or_off(value).map(drop).map_err(|why| format!("{name} is {value:?}: {why}")),
        _ if of_models().any(|known| known == name) || OPTIONS.contains(&name) => {
            check_setting("", name, value).map_err(|error| error.to_string())
        }
        _ => {
            let all: Vec<&str> = [OWN, OPTIONS].concat().into_iter().chain(of_models()).collect();
            Err(match suggest(name, &all)[..] {
                [] => format!("{name} is no setting of a model; expected one of {}", all.join(", ")),
                ref near => format!("{name} is no setting of a model; did you mean {}?", near.join(" or ")),
            })
        }
    }
}

/// A model from its settings and those of all.
fn preset(name: String, all: &Section, own: Section) -> Result<Preset, String> {
    let mut options: BTreeMap<String, String> = all.clone();
    options.extend(own);
    let mut take = |name: &str| options.remove(name);
    let flag = |value: Option<String>| value.is_some_and(|value| on_or_off(&value) == Ok(true));
    let model = take("model")
        .ok_or_else(|| format!("{name} has no `model`: expected a GGUF file or a name of one"))?;
    let aliases = take("aliases").unwrap_or_default();
    let aliases: Vec<String> =
        aliases.split(',').map(str::trim).filter(|alias| !alias.is_empty()).map(str::to_string).collect();
    let (pinned, load) = (flag(take("pinned")), flag(take("load")));
    Ok(Preset { name, model: model.into(), aliases, load: load || pinned, pinned, options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_their_own_settings_and_those_of_all() {
        let text = "context = 8192 # all\nkeep-alive = \"10m\"\n\n[small]\nmodel = \"smollm2\"\naliases = \"gpt-4o-mini, fast\"\n\
                    [\"hf:a/b\"] # quoted\nmodel = 'b.gguf'\ncontext = 4096\nkeep_alive = -1\npinned = true\n";
        let presets = parse(text).unwrap();
        let [small, big] = &presets[..] else { panic!("{presets:?}") };
        assert_eq!((small.name.as_str(), small.model.to_str()), ("small", Some("smollm2")));
        assert_eq!(small.aliases, ["gpt-4o-mini", "fast"]);
        assert_eq!((small.load, small.pinned), (false, false));
        assert_eq!(small.options["context"], "8192");
        assert_eq!(small.options["keep-alive"], "10m");
        assert_eq!((big.name.as_str(), big.load, big.pinned), ("hf:a/b", true, true));
        assert_eq!((big.options["context"].as_str(), big.options["keep-alive"].as_str()), ("4096", "-1"));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, said) in [
            ("[a]\n", "1: a has no `model`"),
            ("[a]\nmodel = x\nmodell = y", "3: modell is no setting of a model; did you mean model?"),
            ("model = x", "1: model is about one model"),
            ("[a]\nmodel = x\n[a]\nmodel = y", "3: there are two models named a"),
            ("[a]\nmodel = x\nmodel = y", "3: model is set twice"),
            ("[a]\nmodel = x\ncontext = many", "3: invalid value 'many'"),
            ("[a]\nmodel = x\ndevice = toaster", "3: invalid value 'toaster'"),
            ("[a]\nmodel = x\nkeep-alive = soon", "3: invalid value 'soon'"),
            ("[a]\nmodel = x\npinned = maybe", "3: pinned is \"maybe\": expected 1 or 0"),
            ("[a]\nmodel = x\nport = 80", "3: port is no setting of a model; expected one of model, aliases"),
            ("[]\n", "1: expected [NAME]"),
            ("[a\n", "1: expected [NAME]"),
            ("[a] b\n", "1: expected [NAME]"),
            ("[a]\nmodel", "2: expected NAME = VALUE"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
