//! The `tokenizer.*` keys, from tokenizer.json and its companions.

mod merged;
mod merges;
mod pieces;
mod ranks;
mod reachable;
mod special;
mod types;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use weft_gguf::{Metadata, Strings};
use weft_text::pre_tokenizers_like;

use crate::config::{Config, MAX_LIST};
use crate::error::{Result, refuse};
use merges::merges;
use reachable::unreachable;
pub(crate) use special::Kind;
use special::{Added, Roles, looks_special, template};
use types::{CONTROL, NORMAL, UNUSED, USER_DEFINED};

/// The number of tokens by which llama.cpp knows models of this family whose texts begin with no token: Granite's and SmolLM's.
const NO_BOS: usize = 49152;

/// Writes the keys. Returns what a person should know about a choice between files.
pub(crate) fn write(
    metadata: &mut Metadata,
    folder: &Path,
    config: &Config,
    kind: Kind,
) -> Result<Option<&'static str>> {
    let [path, model, ranked] =
        ["tokenizer.json", "tokenizer.model", "tiktoken.model"].map(|name| folder.join(name));
    let settings = Config::read_if_any(&folder.join("tokenizer_config.json"), MAX_LIST)?;
    let tokenizer = Config::read_if_any(&path, MAX_LIST)?;
    if !path.exists() && !model.exists() {
        if !ranked.exists() {
            return Err(refuse(folder, "expected tokenizer.json or tokenizer.model, found neither"));
        }
        if kind != Kind::Kimi && !ranks::is_kimi(&settings) {
            let problem = "a program splits the text for these tokens, and only Kimi's, `tokenization_kimi`, is known: \
                           expected a tokenizer.json beside it";
            return Err(refuse(&ranked, problem));
        }
        let (count, end) = ranks::write(metadata, &ranked, config, &settings)?;
        Roles::read(&tokenizer, &settings, config, &[], kind)?.write(metadata, count, config)?;
        if let Some(end) = end {
            metadata.insert("tokenizer.ggml.eos_token_id", end);
        }
        return template(metadata, folder, &settings);
    }
    let added = added(&tokenizer)?;
    if kind == Kind::Gemma4 {
        let count = merged::write(metadata, &tokenizer, config, &added)?;
        Roles::read(&tokenizer, &settings, config, &added, kind)?.write(metadata, count, config)?;
        metadata.insert("tokenizer.ggml.add_bos_token", true);
        return template(metadata, folder, &settings);
    }
    // Files that have both have the same tokenizer twice.
    let is_pieces = model.exists() && Bpe::read(&tokenizer, config, &added).is_err();
    let count = if is_pieces {
        pieces::write(metadata, &model, config, &settings, &added, kind)?
    } else {
        Bpe::read(&tokenizer, config, &added)?.write(metadata, kind)?
    };
    Roles::read(&tokenizer, &settings, config, &added, kind)?.write(metadata, count, config)?;
    if kind == Kind::Gemma && is_pieces {
        metadata.insert("tokenizer.ggml.add_space_prefix", false);
    }
    if kind == Kind::Llama {
        if let Some(prefix) = settings.bool("add_prefix_space")? {
            metadata.insert("tokenizer.ggml.add_space_prefix", prefix);
        }
        if count == NO_BOS {
            metadata.insert("tokenizer.ggml.add_bos_token", false);
        }
    }
    template(metadata, folder, &settings)
}

/// The tokens of tokenizer.json that are found in text before all others.
fn added(tokenizer: &Config) -> Result<Vec<Added>> {
    let token = |(at, token): (usize, &Value)| {
        let id = token.get("id").and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let text = token.get("content").and_then(Value::as_str);
        let (Some(id), Some(text)) = (id, text) else {
            let problem = format!("`added_tokens[{at}]` has no `id` or no `content`");
            return Err(refuse(tokenizer.path(), problem));
        };
        let is_special = token.get("special").and_then(Value::as_bool).unwrap_or(false);
        Ok(Added { id, text: text.into(), is_special })
    };
    tokenizer.list("added_tokens")?.unwrap_or_default().iter().enumerate().map(token).collect()
}

/// Whether a normalizer can be left out, as all readers of GGUF files do.
fn is_neglected(normalizer: &Value) -> bool {
    match normalizer.get("type").and_then(Value::as_str) {
        Some("NFC") => true,
        Some("Sequence") => normalizer
            .get("normalizers")
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().all(is_neglected)),
        _ => false,
    }
}

/// A tokenizer.json with byte-level BPE.
struct Bpe<'a> {
    path: &'a Path,
    pre_tokenizer: &'a Value,
    model: &'a serde_json::Map<String, Value>,
    added: &'a [Added],
    /// How many tokens the model has, with those that have no name.
    count: usize,
}

impl<'a> Bpe<'a> {
    /// Reads a tokenizer, if it is of this kind.
    ///
    /// # Errors
    ///
    /// If it is not, or does something with text that no reader of GGUF files does.
    fn read(tokenizer: &'a Config, config: &Config, added: &'a [Added]) -> Result<Bpe<'a>> {
        let path = tokenizer.path();
        let Some(model) = tokenizer.value("model").and_then(Value::as_object) else {
            return Err(tokenizer.missing("model"));
        };
        let is_bpe = model.get("type").is_none_or(|kind| kind == "BPE");
        let has_fallback = model.get("byte_fallback").is_some_and(|fallback| fallback == true);
        if !is_bpe || has_fallback {
            let found = if has_fallback { "SentencePiece's BPE" } else { "another model than BPE" };
            let problem =
                format!("it is {found}; byte-level BPE can be converted, or SentencePiece's tokenizer.model");
            return Err(refuse(path, problem));
        }
        if let Some(found) = tokenizer.value("normalizer").filter(|normalizer| !is_neglected(normalizer)) {
            let expected = "none, or NFC, which text that is typed has already: readers do not change text";
            return Err(tokenizer.mismatch("normalizer", expected, found));
        }
        for key in ["continuing_subword_prefix", "end_of_word_suffix", "dropout"] {
            let is_none = |value: &&Value| value.is_null() || **value == "" || value.as_f64() == Some(0.0);
            if let Some(found) = model.get(key).filter(|value| !is_none(value)) {
                let expected = "none: readers spell and merge tokens without it";
                return Err(tokenizer.mismatch(&format!("model.{key}"), expected, found));
            }
        }
        let pre_tokenizer = tokenizer.value("pre_tokenizer").unwrap_or(&Value::Null);
        let count = config.require_u32("vocab_size")? as usize;
        Ok(Bpe { path, pre_tokenizer, model, added, count })
    }

    /// Writes the tokens, and returns how many there are.
    fn write(&self, metadata: &mut Metadata, kind: Kind) -> Result<usize> {
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", self.pre(kind)?);
        let (tokens, types) = self.tokens()?;
        metadata.insert("tokenizer.ggml.tokens", tokens);
        metadata.insert("tokenizer.ggml.token_type", types);
        metadata.insert("tokenizer.ggml.merges", merges(self.path, self.merge_list()?)?);
        Ok(self.count)
    }

    /// The name of the pre-tokenizer.
    fn pre(&self, kind: Kind) -> Result<&'static str> {
        let ignores = self.model.get("ignore_merges").is_some_and(|ignores| ignores == true);
        let named = |ignores: bool| {
            let names = pre_tokenizers_like(self.pre_tokenizer, ignores);
            let own = match kind {
                Kind::Glm => Some("glm4"),
                Kind::Ling => Some("bailingmoe2"),
                _ => None,
            };
            let found = names.iter().find(|name| own == Some(**name)).copied();
            found.or_else(|| names.first().copied().filter(|_| kind != Kind::Glm))
        };
        if let Some(name) = named(ignores) {
            return Ok(name);
        }
        let Some(name) = named(!ignores) else {
            let mut found = self.pre_tokenizer.to_string();
            if let Some((end, _)) = found.char_indices().nth(200) {
                found.truncate(end);
                found.push('…');
            }
            let problem =
                format!("`pre_tokenizer` splits text as none of the known tokenizers does: {found}");
            return Err(refuse(self.path, problem));
        };
        self.check_reachable(ignores, name)
    }

    /// Checks that the value of `ignore_merges` does not matter, if it differs from that of the tokenizer `name`.
    fn check_reachable(&self, ignores: bool, name: &'static str) -> Result<&'static str> {
        let list = self.merge_list()?.iter();
        let pairs = list.filter_map(|pair| match pair {
            Value::String(pair) => pair.split_once(' '),
            pair => Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)),
        });
        let added: BTreeSet<&str> = self.added.iter().map(|token| &*token.text).collect();
        let words = self.vocab()?.keys().map(String::as_str).filter(|text| !added.contains(text));
        let Some(token) = unreachable(words, pairs) else { return Ok(name) };
        let problem = format!(
            "`model.ignore_merges` is {ignores}, but readers do the opposite with the pre-tokenizer `{name}`, which differs for the token {token:?}"
        );
        Err(refuse(self.path, problem))
    }

    /// The id of each token.
    fn vocab(&self) -> Result<&'a serde_json::Map<String, Value>> {
        let vocab = self.model.get("vocab").and_then(Value::as_object);
        vocab.ok_or_else(|| refuse(self.path, "`model.vocab` is not an object with the id of each token"))
    }

    /// The pairs that merge.
    fn merge_list(&self) -> Result<&'a [Value]> {
        let list = self.model.get("merges").and_then(Value::as_array);
        list.map(Vec::as_slice).ok_or_else(|| refuse(self.path, "`model.merges` is not a list"))
    }

    /// The spelling and type of each token.
    fn tokens(&self) -> Result<(Strings, Vec<i32>)> {
        let mut tokens: Vec<Option<(&str, i32)>> = vec![None; self.count];
        let beyond = |text: &str, id: &dyn std::fmt::Display| {
            let problem = format!(
                "token {:?} has the id {id}, but config.json has a `vocab_size` of {}",
                text, self.count
            );
            refuse(self.path, problem)
        };
        for (text, id) in self.vocab()? {
            let slot = id.as_u64().and_then(|id| tokens.get_mut(usize::try_from(id).ok()?));
            *slot.ok_or_else(|| beyond(text, id))? = Some((text, NORMAL));
        }
        for Added { id, text, is_special } in self.added {
            let kind = if *is_special || looks_special(text) { CONTROL } else { USER_DEFINED };
            *tokens.get_mut(*id).ok_or_else(|| beyond(text, id))? = Some((text, kind));
        }
        let mut types = Vec::with_capacity(self.count);
        let mut spellings = Strings::default();
        for (id, token) in tokens.into_iter().enumerate() {
            let (text, kind) = token.unwrap_or(("", UNUSED));
            types.push(kind);
            match kind {
                UNUSED => spellings.push(format!("[PAD{id}]")),
                USER_DEFINED => spellings.push(text.replace('▁', " ")),
                _ => spellings.push(text),
            }
        }
        Ok((spellings, types))
    }
}
