//! Gemma 4's tokenizer: SentencePiece's pieces in tokenizer.json, which merge by a list.

use serde_json::Value;
use weft_gguf::{Metadata, Strings};

use super::merges::merges;
use super::special::Added;
use super::types::{BYTE, CONTROL, NORMAL, UNUSED, USER_DEFINED};
use crate::config::Config;
use crate::error::{Result, refuse};

/// The score that llama.cpp's converter gives all tokens; nobody reads it.
const SCORE: f32 = -1000.0;

/// Special tokens that are part of the text of replies: they mark thoughts and calls, which are read from it.
const VISIBLE: [&str; 7] = [
    "<|channel>",
    "<channel|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    "<|\"|>",
];

/// Writes the tokens and their merges. Returns how many tokens there are.
///
/// # Errors
///
/// If the tokenizer is of another kind, or changes text in a way in which no reader of GGUF files does.
pub(super) fn write(
    metadata: &mut Metadata,
    tokenizer: &Config,
    config: &Config,
    added: &[Added],
) -> Result<usize> {
    let path = tokenizer.path();
    let model = tokenizer.object("model")?;
    let is_bpe = model.str("type")?.is_none_or(|kind| kind == "BPE");
    if !is_bpe || model.bool("byte_fallback")? != Some(true) {
        let problem = "expected BPE with `byte_fallback`, which tokenizers of Gemma 4 are";
        return Err(refuse(path, problem));
    }
    if let Some(found) = tokenizer.value("normalizer").filter(|found| !spells_spaces(found)) {
        let expected = "one that replaces each space by ▁: readers do nothing else";
        return Err(tokenizer.mismatch("normalizer", expected, found));
    }
    let count = config.require_u32("vocab_size")? as usize;
    let mut tokens: Vec<Option<(&str, i32)>> = vec![None; count];
    let beyond = |text: &str, id: &dyn std::fmt::Display| {
        let problem =
            format!("token {text:?} has the id {id}, but config.json has a `vocab_size` of {count}");
        refuse(path, problem)
    };
    let Some(vocab) = model.value("vocab").and_then(Value::as_object) else {
        return Err(refuse(path, "`model.vocab` is not an object with the id of each token"));
    };
    for (text, id) in vocab {
        let slot = id.as_u64().and_then(|id| tokens.get_mut(usize::try_from(id).ok()?));
        *slot.ok_or_else(|| beyond(text, id))? = Some((text, if is_byte(text) { BYTE } else { NORMAL }));
    }
    for Added { id, text, is_special } in added {
        let slot = tokens.get_mut(*id).ok_or_else(|| beyond(text, id))?;
        let kind = match slot {
            _ if VISIBLE.contains(&&**text) => USER_DEFINED,
            _ if *is_special => CONTROL,
            // Merges make it.
            Some((_, kind)) => *kind,
            None => USER_DEFINED,
        };
        *slot = Some((text, kind));
    }
    let (mut spellings, mut types) = (Strings::default(), Vec::with_capacity(count));
    for (id, token) in tokens.into_iter().enumerate() {
        match token {
            Some((text, kind)) => {
                spellings.push(text);
                types.push(kind);
            }
            None => {
                spellings.push(format!("[PAD{id}]"));
                types.push(UNUSED);
            }
        }
    }
    metadata.insert("tokenizer.ggml.model", "gemma4");
    metadata.insert("tokenizer.ggml.tokens", spellings);
    metadata.insert("tokenizer.ggml.scores", vec![SCORE; count]);
    metadata.insert("tokenizer.ggml.token_type", types);
    metadata.insert("tokenizer.ggml.merges", merges(path, model.list("merges")?.unwrap_or_default())?);
    metadata.insert("tokenizer.ggml.add_space_prefix", false);
    Ok(count)
}

/// Whether a token stands for a byte, as `<0x0A>`.
fn is_byte(text: &str) -> bool {
    let digits = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && u8::from_str_radix(digits, 16).is_ok())
}

/// Whether a normalizer replaces spaces as SentencePiece spells them.
fn spells_spaces(normalizer: &Value) -> bool {
    let is = |key: &str, value: &str| normalizer.get(key).is_some_and(|found| found == value);
    let pattern = normalizer.get("pattern").and_then(|pattern| pattern.get("String"));
    is("type", "Replace") && is("content", "▁") && pattern.is_some_and(|pattern| pattern == " ")
}
