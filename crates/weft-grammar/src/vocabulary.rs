//! A model's vocabulary as grammars see it.
//!
//! Ordinary and user-defined tokens are text: `<tool_call>` matches both as one token and letter by letter, as it does for
//! the parser of replies. Control tokens are no text. They are never allowed, unless a grammar names them.

use std::sync::Arc;

use llguidance::ParserFactory;
use toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use weft_text::Tokenizer;

use crate::error::GrammarError;
use crate::limits;

/// A piece of markup, such as `<tool_call>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The text that the parser of replies reads.
    pub(super) text: String,
    /// The control token that is shown as this text; `None` if the mark is text like any other.
    pub(super) token: Option<u32>,
}

impl Mark {
    /// The mark that a model writes as `text`.
    pub(super) fn of(text: &str, tokenizer: &Tokenizer) -> Mark {
        let token = tokenizer.find(text).filter(|&id| is_special(tokenizer, id));
        Mark { text: text.to_owned(), token }
    }
}

/// Whether a token is no text for grammars: control tokens, and all that end a reply.
fn is_special(tokenizer: &Tokenizer, id: u32) -> bool {
    tokenizer.is_control(id) || tokenizer.is_end_of_generation(id)
}

/// Sets of tokens that are allowed or not as one, where a grammar allows all texts of the kind.
///
/// The second and third are the larger part of a vocabulary. They have no `<`, so that they can also be allowed in text that
/// must not contain a tag.
const SLICES: [&str; 4] = [
    r"[\x20\x0A\x0D\x09]+",
    r#"[^"\\<\x00-\x1F\x7F]{1,10}"#,
    r#"[^"\\<\x00-\x1F\x7F]+"#,
    r#"[^"\\\x00-\x1F\x7F]+"#,
];

/// Builds what compiles grammars for a tokenizer. Takes about a second and 60 MB for 150,000 tokens.
///
/// # Errors
/// If no token ends a reply, or there are too many tokens.
pub(super) fn factory(tokenizer: &Tokenizer) -> Result<ParserFactory, GrammarError> {
    let ends = tokenizer.end_of_generation();
    let Some(&end) = ends.first() else {
        return Err(GrammarError::server(
            "structured output is not available: the model's file names no token that ends a reply",
        ));
    };
    let words: Vec<Vec<u8>> = (0..tokenizer.vocab_len() as u32).map(|id| word(tokenizer, id)).collect();
    let bytes: usize = words.iter().map(Vec::len).sum();
    if bytes > limits::VOCABULARY_BYTES {
        return Err(GrammarError::server(format!(
            "structured output is not available: the model's tokens have {bytes} bytes, more than {}",
            limits::VOCABULARY_BYTES
        )));
    }
    let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, end), &words).with_eos_tokens(ends);
    drop(words);
    // Not canonical: llguidance then never forces tokens, which would change how a reply is cut into tokens.
    let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let slices = SLICES.map(str::to_owned);
    let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &slices)
        .map_err(|why| GrammarError::server(format!("structured output is not available: {why}")))?;
    factory.quiet();
    *factory.limits_mut() = limits::parser();
    Ok(factory)
}

/// The bytes by which grammars know a token; empty if they cannot use it.
fn word(tokenizer: &Tokenizer, id: u32) -> Vec<u8> {
    const MARKER: u8 = TokTrie::SPECIAL_TOKEN_MARKER;
    let bytes = tokenizer.token_bytes(id);
    if bytes.len() > limits::TOKEN_BYTES {
        return Vec::new();
    }
    if is_special(tokenizer, id) {
        return [&[MARKER], bytes].concat();
    }
    // Not the beginning of any UTF-8 text, and not to be taken for a control token.
    if bytes.first() == Some(&MARKER) { Vec::new() } else { bytes.to_vec() }
}
