//! `--schema` and `--grammar`: the form that replies must have.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use weft_engine::{LogitProcessor, Model};
use weft_grammar::{ReplyForm, ReplyForms};
use weft_text::ChatTemplate;

use crate::args::Args;

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
        let (form, option) = match (args.text("schema"), args.path("grammar")) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => bail!("--schema and --grammar exclude each other"),
            (Some(schema), None) => (ReplyForm::Schema(schema_of(schema)?), "--schema"),
            (None, Some(path)) => {
                let text = fs::read_to_string(path)
                    .with_context(|| format!("cannot read the grammar {}", path.display()))?;
                (ReplyForm::Grammar(text), "--grammar")
            }
        };
        Ok(Some(Form { forms: ReplyForms::new(Arc::clone(model.tokenizer())), form, option }))
    }

    /// What makes one reply follow it. `prompt` is the template and the text of the prompt, if there is a template.
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

/// A schema given as JSON or as a file.
fn schema_of(text: &str) -> anyhow::Result<serde_json::Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("--schema is not JSON");
    }
    let path = Path::new(text);
    let json =
        fs::read_to_string(path).with_context(|| format!("cannot read the schema {}", path.display()))?;
    serde_json::from_str(&json).with_context(|| format!("the schema {} is not JSON", path.display()))
}
