//! Filling in the middle: the prompt of models that were trained to write what stands between two texts.
//!
//! The order is prefix, suffix, middle, between tokens that mark them. What the model writes ends with a token that ends its turn. The
//! texts are data: they contain no control tokens.

use weft_engine::{EncodeOptions, Tokenizer};

use crate::error::ApiError;

/// The marks of prefix, suffix and middle, as models call them: Qwen, StarCoder, DeepSeek, GLM, Code Llama, Codestral.
const MARKS: &[[&str; 3]] = &[
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["<fim-prefix>", "<fim-suffix>", "<fim-middle>"],
    ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
    ["<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"],
    ["▁<PRE>", "▁<SUF>", "▁<MID>"],
    ["<PRE>", "<SUF>", "<MID>"],
];
/// The marks of a repository's name and of a file, of models that have both.
const FILES: &[[&str; 2]] =
    &[["<|repo_name|>", "<|file_sep|>"], ["<reponame>", "<file_sep>"], ["<reponame>", "<filename>"]];

/// The texts before and after the gap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Gap {
    /// Other files: their names and texts.
    pub(super) files: Vec<(String, String)>,
    /// The text before it.
    pub(super) prefix: String,
    /// The text after it.
    pub(super) suffix: String,
}

/// Whether a model fills in the middle.
pub(super) fn fills(tokenizer: &Tokenizer) -> bool {
    marks(tokenizer).is_some()
}

fn marks(tokenizer: &Tokenizer) -> Option<[u32; 3]> {
    MARKS.iter().find_map(|[prefix, suffix, middle]| {
        Some([tokenizer.find(prefix)?, tokenizer.find(suffix)?, tokenizer.find(middle)?])
    })
}

impl Gap {
    /// Refuses texts that have more than `most` tokens together for certain, in less time than it takes to tokenise them.
    ///
    /// # Errors
    /// If they have.
    pub(super) fn check_length(&self, tokenizer: &Tokenizer, most: usize) -> Result<(), ApiError> {
        let files = self.files.iter().flat_map(|(name, text)| [name, text]);
        let texts = || files.clone().chain([&self.prefix, &self.suffix]);
        if texts().map(String::len).sum::<usize>() <= most {
            return Ok(());
        }
        let fewest = texts().map(|text| tokenizer.fewest_tokens(text)).sum();
        if fewest > most { Err(ApiError::context(fewest, most)) } else { Ok(()) }
    }

    /// The tokens of the prompt.
    ///
    /// # Errors
    /// If the model does not fill in the middle. `param` is the field that asks for it.
    pub(super) fn tokens(&self, tokenizer: &Tokenizer, param: &str) -> Result<Vec<u32>, ApiError> {
        let Some([prefix, suffix, middle]) = marks(tokenizer) else {
            let message = format!(
                "{param} is not supported: this model has no tokens to fill in the middle; use one that was trained for it, such \
                 as Qwen2.5-Coder or Qwen3-Coder"
            );
            return Err(ApiError::unsupported(param, message));
        };
        let data =
            |text: &str| tokenizer.encode(text, EncodeOptions { parse_special: false, add_special: false });
        // Only the token at the beginning, of models that have one.
        let mut tokens = tokenizer.encode("", EncodeOptions { parse_special: false, add_special: true });
        tokens.retain(|token| !tokenizer.is_end_of_generation(*token));
        let file = FILES.iter().find_map(|[name, file]| Some((tokenizer.find(name)?, tokenizer.find(file)?)));
        if let Some((name, file)) = file.filter(|_| !self.files.is_empty()) {
            tokens.push(name);
            tokens.extend(data("project\n"));
            for (name, text) in &self.files {
                tokens.push(file);
                tokens.extend(data(&format!("{name}\n{text}\n")));
            }
            tokens.push(file);
            tokens.extend(data("this file\n"));
        } else {
            for (name, text) in &self.files {
                tokens.extend(data(&format!("--- {name}\n{text}\n\n")));
            }
        }
        tokens.push(prefix);
        tokens.extend(data(&self.prefix));
        tokens.push(suffix);
        tokens.extend(data(&self.suffix));
        tokens.push(middle);
        Ok(tokens)
    }
}
