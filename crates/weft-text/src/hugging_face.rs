//! Tokenizers as Hugging Face's `tokenizer.json`, for programs that read no GGUF.
//!
//! The format is that of the `tokenizers` library: a BPE model with its vocabulary and merges, one `Split` for each
//! pattern of the pre-tokenizer, and special tokens as added tokens.

use serde_json::{Map, Value, json};

use crate::bpe::split_pair;
use crate::error::TokenizerError;
use crate::pre;
use crate::vocab::{TokenKind, TokenizerSpec, utf8};

impl TokenizerSpec<'_> {
    /// Returns the tokenizer as the contents of a `tokenizer.json`, which encodes text alike.
    ///
    /// Unused tokens are left out, and so are merges that can never apply.
    ///
    /// # Errors
    /// If a [`Tokenizer`](crate::Tokenizer) could not be made of it, or the format cannot express it: [`TokenizerError::Json`].
    pub fn hugging_face(&self) -> Result<String, TokenizerError> {
        if self.is_pieces() {
            return Err(TokenizerError::Json("its model is SentencePiece".to_owned()));
        }
        if self.is_spelled_as_pieces() {
            return Err(TokenizerError::Json(format!("its model is {}", self.model)));
        }
        if self.model != "gpt2" {
            return Err(TokenizerError::Model { found: self.model.to_owned() });
        }
        let family = pre::family(self.pre)?;
        if family.merge_by_token_id {
            let why = format!("pre-tokenizer {:?} merges by token id, not by a list of merges", self.pre);
            return Err(TokenizerError::Json(why));
        }
        self.check_types()?;
        let (mut vocab, mut added) = (Map::new(), Vec::new());
        for (id, token) in self.tokens.iter().enumerate() {
            let spelling = utf8("tokens", id, token)?;
            let kind = self.kind(id as u32, family.turn_markers)?;
            if kind == TokenKind::Unused {
                continue;
            }
            if vocab.insert(spelling.to_owned(), id.into()).is_some() {
                return Err(TokenizerError::Json(format!("two tokens are spelled {spelling:?}")));
            }
            let special = matches!(kind, TokenKind::Control | TokenKind::Unknown);
            if special || kind == TokenKind::UserDefined {
                added.push(json!({
                    "id": id, "content": spelling, "special": special,
                    "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
                }));
            }
        }
        let mut merges = Vec::new();
        for (index, pair) in self.merges.iter().flatten().enumerate() {
            let pair = utf8("merges", index, pair)?;
            let (left, right) =
                split_pair(pair).ok_or_else(|| TokenizerError::Merge { index, found: pair.to_owned() })?;
            let merged = format!("{left}{right}");
            if [left, right, &merged].iter().all(|part| vocab.contains_key(*part)) {
                merges.push(json!([left, right]));
            }
        }
        let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false });
        let splits = family.patterns.iter().map(|pattern| {
            let pattern = json!({ "Regex": pattern.replace(r"\u{", r"\x{") });
            json!({ "type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": false })
        });
        let pre: Vec<Value> = splits.chain([byte_level.clone()]).collect();
        let bos = self.bos.filter(|_| self.add_bos.unwrap_or(family.add_bos));
        let bos = bos.and_then(|id| Some((id, std::str::from_utf8(self.tokens.get(id as usize)?).ok()?)));
        let tokenizer = json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": { "type": "Sequence", "pretokenizers": pre },
            "post_processor": bos.map(|(id, text)| begins_with(id, text)),
            "decoder": byte_level,
            "model": {
                "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
                "ignore_merges": self.ignore_merges.unwrap_or(family.ignore_merges),
                "vocab": vocab, "merges": merges,
            },
        });
        Ok(tokenizer.to_string())
    }
}

/// A post-processor that puts a token before each text.
fn begins_with(id: u32, text: &str) -> Value {
    let token = |type_id: u32| json!({ "SpecialToken": { "id": text, "type_id": type_id } });
    let sequence = |id: &str, type_id: u32| json!({ "Sequence": { "id": id, "type_id": type_id } });
    let mut tokens = Map::new();
    tokens.insert(text.to_owned(), json!({ "id": text, "ids": [id], "tokens": [text] }));
    json!({
        "type": "TemplateProcessing",
        "single": [token(0), sequence("A", 0)],
        "pair": [token(0), sequence("A", 0), token(1), sequence("B", 1)],
        "special_tokens": tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TokenizerSpec<'static> {
        TokenizerSpec {
            model: "gpt2",
            pre: "llama-bpe",
            tokens: vec![b"h", b"i", "Ġ".as_bytes(), b"hi", b"<s>", b"<think>", b"", b""],
            token_types: Some(vec![1, 1, 1, 1, 3, 4, 5, 5]),
            // The second merge makes no token.
            merges: Some(vec![b"h i", b"i h"]),
            bos: Some(4),
            ..TokenizerSpec::default()
        }
    }

    #[test]
    fn everything_is_where_the_library_looks_for_it() {
        let found: Value = serde_json::from_str(&spec().hugging_face().unwrap()).unwrap();
        let model = &found["model"];
        let vocab = json!({ "h": 0, "i": 1, "Ġ": 2, "hi": 3, "<s>": 4, "<think>": 5 });
        assert_eq!((&model["vocab"], &model["merges"]), (&vocab, &json!([["h", "i"]])));
        assert_eq!(model["ignore_merges"], true);
        let added = found["added_tokens"].as_array().unwrap();
        let added: Vec<_> = added.iter().map(|token| (&token["id"], &token["special"])).collect();
        assert_eq!(added, [(&json!(4), &json!(true)), (&json!(5), &json!(false))]);
        assert_eq!(found["post_processor"]["single"][0]["SpecialToken"]["id"], "<s>");
        let pre = found["pre_tokenizer"]["pretokenizers"].as_array().unwrap();
        assert_eq!((pre.len(), &pre[0]["type"], &pre[1]["type"]), (2, &json!("Split"), &json!("ByteLevel")));
        let without = TokenizerSpec { add_bos: Some(false), ..spec() }.hugging_face().unwrap();
        assert!(without.contains(r#""post_processor":null"#), "{without}");
    }

    /// The library reads regular expressions of another dialect.
    #[test]
    fn characters_are_written_in_hexadecimal_digits() {
        let found = TokenizerSpec { pre: "deepseek-v3", ..spec() }.hugging_face().unwrap();
        assert!(found.contains(r"\\x{4E00}") && !found.contains(r"\\u{"), "{found}");
    }

    #[test]
    fn what_cannot_be_expressed_is_refused() {
        let twice = TokenizerSpec { tokens: vec![b"a", b"a"], token_types: None, ..spec() };
        let twice = TokenizerSpec { bos: None, ..twice }.hugging_face().unwrap_err();
        assert_eq!(
            twice.to_string(),
            "the tokenizer cannot be written as tokenizer.json: two tokens are spelled \"a\""
        );
        let kimi = TokenizerSpec { pre: "kimi-k2", ..spec() }.hugging_face();
        assert!(matches!(kimi, Err(TokenizerError::Json(_))), "{kimi:?}");
        let pieces = TokenizerSpec { model: "llama", ..spec() }.hugging_face();
        assert!(matches!(pieces, Err(TokenizerError::Json(_))), "{pieces:?}");
        let unigram = TokenizerSpec { model: "t5", ..spec() }.hugging_face();
        assert!(matches!(unigram, Err(TokenizerError::Model { .. })), "{unigram:?}");
    }
}
