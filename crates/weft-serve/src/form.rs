//! Replies of a given form, for programs that run an engine themselves: the same grammars as the server's.

use std::sync::Arc;

use serde_json::Value;
use weft_engine::LogitProcessor;
use weft_text::reply::ReplyFormat;
use weft_text::{ChatTemplate, Tokenizer};

use crate::grammar::{GrammarError, GrammarSpec, Grammars, Reasoning, TextSpec};

/// What a reply must look like.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyForm {
    /// JSON that is valid by this schema. Keywords that cannot be enforced are refused.
    Schema(Value),
    /// Text that follows this grammar, in llguidance's dialect of Lark; it begins with the rule `start`.
    Grammar(String),
}

/// Makes the replies of one model follow a form.
///
/// ```no_run
/// use std::sync::Arc;
/// use weft_engine::{Engine, Request};
/// use weft_serve::{ReplyForm, ReplyForms};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut engine = Engine::open("model.gguf")?;
/// let forms = ReplyForms::new(Arc::clone(engine.model().tokenizer()));
/// let form = ReplyForm::Grammar(r#"start: "yes" | "no""#.to_string());
/// let prompt = engine.model().tokens("Is the sky blue? Answer: ");
/// let reply = engine.complete(Request::new(prompt).processor(forms.processor(&form, None)?))?;
/// assert!(["yes", "no"].contains(&reply.text.as_str()));
/// # Ok(())
/// # }
/// ```
pub struct ReplyForms(Grammars);

impl ReplyForms {
    /// Forms for a model with this tokenizer. Costs nothing until the first is compiled.
    pub fn new(tokenizer: Arc<Tokenizer>) -> ReplyForms {
        ReplyForms(Grammars::new(tokenizer))
    }

    /// Compiles a form to a processor for one generation, in milliseconds as a rule and up to seconds in the worst case.
    /// `prompt` is the template and the text of the prompt; with them a model may reason before its reply.
    ///
    /// # Errors
    /// Says what in the form cannot be enforced, and why.
    pub fn processor(
        &self,
        form: &ReplyForm,
        prompt: Option<(&ChatTemplate, &str)>,
    ) -> Result<Box<dyn LogitProcessor>, FormError> {
        let processor = match form {
            ReplyForm::Grammar(text) => Some(self.0.compile_text(text.clone())?),
            ReplyForm::Schema(schema) => {
                let reasoning = prompt.map_or(Reasoning::None, |(template, prompt)| {
                    Reasoning::after(&ReplyFormat::of(template.source()), prompt)
                });
                let text = TextSpec::JsonSchema(schema.clone());
                self.0.compile(&GrammarSpec { reasoning, text, calls: None })?
            }
        };
        processor.ok_or_else(|| FormError("the form allows every reply".to_string()))
    }
}

/// Why a form cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormError(String);

impl From<GrammarError> for FormError {
    fn from(error: GrammarError) -> FormError {
        FormError(error.to_string())
    }
}
