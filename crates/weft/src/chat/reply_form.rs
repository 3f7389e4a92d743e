//! `--schema` and `--grammar`: the form that replies must have.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use weft_engine::{Finish, LogitProcessor, Model};
use weft_grammar::{ReplyForm, ReplyForms};
use weft_text::{ChatTemplate, EncodeOptions};

use crate::cli::args::Args;
use crate::cli::text_file;

/// The form of a model's replies.
pub(crate) struct Form {
    forms: ReplyForms,
    form: ReplyForm,
    /// The option that says it.
    option: &'static str,
}

impl Form {
    /// The form that the arguments name; `None` if replies are free.
    ///
    /// # Errors
    /// If both kinds are given, or a file cannot be read or is not JSON.
    pub(crate) fn of(args: Args<'_>, model: &Model) -> anyhow::Result<Option<Form>> {
        let (form, option) = match (args.path("schema"), args.path("grammar")) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => bail!("--schema and --grammar exclude each other"),
            (Some(schema), None) => (ReplyForm::Schema(schema_of(schema)?), "--schema"),
            (None, Some(path)) => {
                // The text of a grammar itself has rules, which a path does not.
                let own = path.to_str().is_some_and(|text| text.contains(": ") || is_gbnf(text));
                ensure!(
                    !own || path.exists(),
                    "--grammar takes a file: write the grammar to one, and name it"
                );
                let text = text_file::text(path, "the grammar")?;
                (ReplyForm::Grammar(text), "--grammar")
            }
        };
        Ok(Some(Form { forms: ReplyForms::new(Arc::clone(model.tokenizer())), form, option }))
    }

    /// The processor that makes one reply follow it. `prompt` is the template and the text of the prompt, if there is a template.
    ///
    /// # Errors
    /// Says what cannot be enforced.
    pub(crate) fn processor(
        &self,
        prompt: Option<(&ChatTemplate, &str)>,
    ) -> anyhow::Result<Box<dyn LogitProcessor>> {
        let prompt = prompt.map(|(template, prompt)| (template.source(), prompt));
        self.forms.processor(&self.form, prompt).with_context(|| format!("cannot use {}", self.option))
    }
}

impl Form {
    /// Whether replies are JSON, where spaces before the value mean nothing.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.form, ReplyForm::Schema(_))
    }

    /// The option whose form a reply lacks because it ended early; `None` for a whole one, and for one that the user ended.
    pub(crate) fn lacking(&self, text: &str, finish: &Finish, model: &Model) -> Option<&'static str> {
        let early = matches!(finish, Finish::Length | Finish::Context | Finish::Stop(_));
        (early && !self.is_whole(text, model)).then_some(self.option)
    }

    /// Whether a reply may end after this text.
    fn is_whole(&self, text: &str, model: &Model) -> bool {
        let tokenizer = model.tokenizer();
        let plain = EncodeOptions { parse_special: false, add_special: false };
        let tokens = tokenizer.encode(text, plain);
        let mut logits = vec![0.0; model.graph().config.vocab];
        let taken = self
            .processor(None)
            .and_then(|mut processor| processor.process(&tokens, 0, &mut logits).map_err(anyhow::Error::msg));
        let may_end = |&id: &u32| logits.get(id as usize).is_some_and(|logit| logit.is_finite());
        taken.is_ok() && tokenizer.end_of_generation().iter().any(may_end)
    }
}

/// Whether a grammar is llama.cpp's GBNF, whose rules have `::=` after their names.
fn is_gbnf(grammar: &str) -> bool {
    grammar.lines().any(|line| {
        let named = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        line.split_once("::=").is_some_and(|(name, _)| named(name.trim()))
    })
}

/// A schema given as JSON or as a file.
fn schema_of(path: &Path) -> anyhow::Result<serde_json::Value> {
    if let Some(text) = path.to_str().filter(|text| text.trim_start().starts_with('{')) {
        return serde_json::from_str(text).context("--schema is not JSON");
    }
    let json = text_file::text(path, "the schema")?;
    serde_json::from_str(&json).with_context(|| format!("the schema {} is not JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammars_of_llama_cpp_are_recognised() {
        assert!(is_gbnf("# a comment\nroot ::= \"yes\" | \"no\"\n"));
        assert!(is_gbnf("root::=item\nitem-1 ::= [a-z]"));
        assert!(!is_gbnf("start: \"a ::= b\" | NAME\nNAME: /[a-z]+ ::=/"));
        assert!(!is_gbnf("start: \"yes\""));
    }
}
