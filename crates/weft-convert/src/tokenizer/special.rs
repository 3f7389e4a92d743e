//! Tokens with a role: the beginning and end of a text, of a turn, padding. And the chat template, which writes them.
//!
//! The roles are named in tokenizer_config.json, the post-processor of tokenizer.json says which are put around every text, and
//! config.json has the ids of those that are named nowhere else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weft_gguf::{Metadata, Strings};

use crate::config::{Config, MAX_SETTINGS, read_text};
use crate::error::Result;

/// The kind of a family's tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One without special handling.
    Usual,
    /// Llama's: the settings say whether texts begin with a space, whatever the tokenizer.
    Llama,
    /// Phi's, where it is SentencePiece: added tokens are written as they are.
    Phi,
    /// Gemma's: texts do not begin with a space.
    Gemma,
    /// Gemma 4's: pieces that merge by a list.
    Gemma4,
    /// GLM's: the prompt begins with `[gMASK]`, and a turn ends where the next one begins.
    Glm,
    /// Kimi's: ranked tokens, whose patterns are in a program.
    Kimi,
    /// Ling's: patterns that other tokenizers have by another name.
    Ling,
}

/// A token that is found in text before all others.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) id: usize,
    pub(super) text: String,
    pub(super) is_special: bool,
}

/// The roles, and their keys in GGUF (one of which has a misspelling in the format's specification).
const ROLES: &[(&str, &str)] = &[
    ("bos", "bos_token_id"),
    ("eos", "eos_token_id"),
    ("unk", "unknown_token_id"),
    ("sep", "seperator_token_id"),
    ("pad", "padding_token_id"),
    ("cls", "cls_token_id"),
    ("mask", "mask_token_id"),
    ("eot", "eot_token_id"),
    ("eom", "eom_token_id"),
];

/// The roles that only some programs know: they are written where the tokenizer says so.
const TURN_ROLES: [&str; 2] = ["eot", "eom"];

/// The most chat templates that a model can have in addition to its main one.
const MAX_TEMPLATES: usize = 64;

/// Whether a token is a control token by its name: some models do not mark theirs.
pub(super) fn looks_special(text: &str) -> bool {
    let is_between = |start: &str, end: &str| text.starts_with(start) && text.ends_with(end);
    ["<pad>", "<mask>", "<2mass>", "[@BOS@]"].contains(&text)
        || is_between("<|", "|>")
        || is_between("<｜", "｜>")
        || is_between("<unused", ">")
}

#[derive(Debug)]
pub(super) struct Roles {
    /// The ids by role.
    ids: BTreeMap<&'static str, u64>,
    /// Whether the token is added to texts, by role: `bos`, `eos`, `sep`.
    added: BTreeMap<&'static str, bool>,
}

/// The texts of tokens by role.
type Names = BTreeMap<&'static str, String>;

impl Roles {
    pub(super) fn read(
        tokenizer: &Config,
        settings: &Config,
        config: &Config,
        tokens: &[Added],
        kind: Kind,
    ) -> Result<Roles> {
        let mut names = Names::new();
        for (role, _) in ROLES.iter().filter(|(role, _)| !TURN_ROLES.contains(role)) {
            let token = settings.value(&format!("{role}_token"));
            let text = token.and_then(|token| token.as_str().or_else(|| token.get("content")?.as_str()));
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                names.insert(role, text.to_owned());
            }
        }
        for (role, instead) in [("bos", "cls"), ("eos", "sep")] {
            if let Some(text) = names.get(instead).cloned() {
                names.entry(role).or_insert(text);
            }
        }
        let mut roles = Roles { ids: BTreeMap::new(), added: BTreeMap::new() };
        let processor = tokenizer.value("post_processor");
        let sequence = processor.and_then(|processor| processor.get("processors")?.as_array());
        let processors: Vec<&Value> =
            sequence.map_or(processor.into_iter().collect(), |all| all.iter().collect());
        for processor in processors {
            roles.process(processor, &mut names);
        }
        // Without tokenizer_config.json, the names of roles are unknown.
        if !settings.is_empty() {
            for (role, _) in ROLES {
                if let Some(added) = settings.value(&format!("add_{role}_token")).and_then(Value::as_bool) {
                    roles.added.entry(role).or_insert(added);
                }
                if let Some(text) = names.get(role) {
                    roles.name(role, text, tokens);
                }
            }
        }
        let text_config = config.object("text_config")?;
        for (role, _) in ROLES.iter().filter(|(role, _)| !TURN_ROLES.contains(role)) {
            let key = format!("{role}_token_id");
            // A list of ends is for samplers; its first element is the tokenizer's end.
            let id = config.value(&key).or_else(|| text_config.value(&key)).and_then(Value::as_u64);
            if let Some(id) = id {
                roles.ids.entry(role).or_insert(id);
            }
        }
        if kind == Kind::Glm {
            let glm = [
                ("bos", "[gMASK]"),
                ("eot", "<|user|>"),
                ("unk", "<|endoftext|>"),
                ("eom", "<|observation|>"),
            ];
            glm.iter().for_each(|(role, text)| roles.name(role, text, tokens));
        }
        Ok(roles)
    }

    /// Gives a role that nobody has to the token with this text.
    fn name(&mut self, role: &'static str, text: &str, tokens: &[Added]) {
        if let Some(token) = tokens.iter().find(|token| token.text == text) {
            self.ids.entry(role).or_insert(token.id as u64);
        }
    }

    /// Reads which tokens a post-processor puts around a text.
    fn process(&mut self, processor: &Value, names: &mut Names) {
        match processor.get("type").and_then(Value::as_str) {
            Some("ByteLevel") => {
                self.added.entry("bos").or_insert(false);
                self.added.entry("eos").or_insert(false);
            }
            Some("TemplateProcessing") => self.process_template(processor, names),
            _ => {}
        }
    }

    fn process_template(&mut self, processor: &Value, names: &mut Names) {
        let list = |key: &str| processor.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let special = |item: Option<&Value>| Some(item?.get("SpecialToken")?.get("id")?.as_str()?.to_owned());
        let sequence = |item: Option<&Value>| Some(item?.get("Sequence")?.get("id")?.as_str()?.to_owned());
        let single = list("single");
        let (mut first, mut last) = (None, None);
        if single.len() > 1 {
            first = special(single.first());
            last = special(single.last());
        }
        if let Some(first) = &first {
            // One that has neither role gets both, where nobody has them.
            let has_role = |names: &Names| ["bos", "cls"].iter().any(|role| names.get(role) == Some(first));
            if !has_role(names) {
                names.entry("bos").or_insert(first.clone());
                names.entry("cls").or_insert(first.clone());
            }
            self.added.insert("bos", has_role(names));
        }
        if let Some(last) = &last {
            // A text that ends with another token than a reply does: that of the reply ends turns.
            if names.get("eos") != Some(last)
                && let Some(eos) = names.insert("eos", last.clone())
            {
                names.insert("eot", eos);
            }
            self.added.insert("eos", true);
        }
        // Between two texts: `A [sep] [eos] B`.
        let pair = list("pair");
        let skip = usize::from(first.is_some() && special(pair.first()) == first);
        let skip_last = usize::from(last.is_some() && special(pair.last()) == last);
        let Some(pair) = pair.get(skip..pair.len().saturating_sub(skip_last)) else { return };
        let [begin, between @ .., end] = pair else { return };
        let are_texts =
            sequence(Some(begin)).as_deref() == Some("A") && sequence(Some(end)).as_deref() == Some("B");
        if !are_texts || between.is_empty() {
            return;
        }
        let ends = |at: usize| {
            let token = special(between.get(at));
            token.is_some() && ["sep", "eos"].iter().any(|role| names.get(role) == token.as_ref())
        };
        let is_added = ends(0) && last.is_none() || between.len() == 2 && ends(1);
        self.added.insert("sep", is_added);
        if is_added && let Some(eos) = names.get("eos").cloned() {
            names.entry("sep").or_insert(eos);
        }
    }

    /// Writes ids and whether they are added. There are `count` tokens.
    pub(super) fn write(&self, metadata: &mut Metadata, count: usize, config: &Config) -> Result<()> {
        for (role, key) in ROLES {
            let Some(&id) = self.ids.get(role) else { continue };
            match u32::try_from(id) {
                Ok(id) if (id as usize) < count => {
                    metadata.insert(&format!("tokenizer.ggml.{key}"), id);
                }
                _ => {
                    let expected = format!("the id of one of {count} tokens");
                    return Err(config.mismatch(&format!("{role}_token_id"), &expected, &id.into()));
                }
            }
        }
        for role in ["bos", "eos", "sep"] {
            if let Some(added) = self.added.get(role) {
                metadata.insert(&format!("tokenizer.ggml.add_{role}_token"), *added);
            }
        }
        Ok(())
    }
}

/// Writes the chat template, or several with their names. Returns a note for the user if there was a choice.
///
/// Like `transformers`, prefers chat_template.jinja to the template in tokenizer_config.json, which older
/// folders have and which may be out of date.
pub(super) fn template(
    metadata: &mut Metadata,
    folder: &Path,
    settings: &Config,
) -> Result<Option<&'static str>> {
    let (jinja, json) = (folder.join("chat_template.jinja"), folder.join("chat_template.json"));
    let mut named = settings_templates(settings)?;
    let mut said = None;
    if jinja.exists() {
        let template = read_text(&jinja, MAX_SETTINGS)?;
        if !named.is_empty() && !named.iter().any(|(name, own)| name == DEFAULT && *own == template) {
            said = Some("chat_template.jinja is taken, and not the other template in tokenizer_config.json");
        }
        named = vec![(DEFAULT.into(), template)];
    }
    for (name, template) in additional_templates(folder)? {
        named.retain(|(known, _)| *known != name);
        named.push((name, template));
    }
    if named.is_empty() && json.exists() {
        let file = Config::read(&json, MAX_SETTINGS)?;
        named.extend(file.str("chat_template")?.map(|template| (DEFAULT.into(), template.to_owned())));
    }
    write_templates(metadata, named);
    Ok(said)
}

/// The name of the template that is used where none is named.
const DEFAULT: &str = "default";

/// The template in tokenizer_config.json, or several with their names.
fn settings_templates(settings: &Config) -> Result<Vec<(String, String)>> {
    match settings.value("chat_template") {
        None => Ok(Vec::new()),
        Some(Value::String(template)) => Ok(vec![(DEFAULT.into(), template.clone())]),
        Some(Value::Array(list)) => {
            let text = |choice: &Value, key: &str| Some(choice.get(key)?.as_str()?.to_owned());
            let named =
                list.iter().filter_map(|choice| Some((text(choice, "name")?, text(choice, "template")?)));
            Ok(named.collect())
        }
        Some(found) => Err(settings.mismatch("chat_template", "a template, or a list of them", found)),
    }
}

/// The templates in the folder for more of them, by their names.
fn additional_templates(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = fs::read_dir(folder.join("additional_chat_templates")).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jinja"));
    paths.sort();
    let named = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read_text(path, MAX_SETTINGS)?))
    };
    paths.iter().take(MAX_TEMPLATES).map(named).collect()
}

/// Writes templates under the keys that llama.cpp's converter gives them.
fn write_templates(metadata: &mut Metadata, named: Vec<(String, String)>) {
    let mut names = Strings::default();
    for (name, template) in named {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(letter).collect();
        if name == DEFAULT {
            metadata.insert("tokenizer.chat_template", template);
        } else if !name.is_empty()
            && metadata.insert(&format!("tokenizer.chat_template.{name}"), template).is_none()
        {
            names.push(name);
        }
    }
    if !names.is_empty() {
        metadata.insert("tokenizer.chat_templates", names);
    }
}
