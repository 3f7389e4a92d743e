//! Replies of a given form, for programs that run an engine themselves: the same grammars as the server's.

use std::sync::Arc;

use serde_json::Value;
use weft_engine::LogitProcessor;
use weft_text::Tokenizer;
use weft_text::reply::ReplyFormat;

use crate::{GrammarError, GrammarSpec, Grammars, Place, Reasoning, TextSpec};

/// The required form of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyForm {
    /// JSON that is valid by this schema. Keywords that cannot be enforced are refused.
    Schema(Value),
    /// A text that this regular expression matches as a whole. Look-around and back references are refused.
    Pattern(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// Text that follows this grammar, in llguidance's dialect of Lark, where it begins with the rule `start`, or in llama.cpp's form
    /// (GBNF), where it begins with `root`. It covers the whole reply: a model may not reason before.
    Grammar(String),
}

/// Makes the replies of one model follow a form.
///
/// ```no_run
/// use std::sync::Arc;
/// use weft_engine::{Engine, Request};
/// use weft_grammar::{ReplyForm, ReplyForms};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut engine = Engine::open("model.gguf")?;
/// let forms = ReplyForms::new(Arc::clone(engine.model().tokenizer()));
/// let form = ReplyForm::Choice(vec!["yes".to_string(), "no".to_string()]);
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

    /// Compiles a form to a processor for one generation, in milliseconds as a rule and up to seconds in the worst case: call it
    /// where blocking is allowed. `prompt` is the source of the chat template and the text of the prompt, or its end; with them a
    /// model may reason before its reply.
    ///
    /// # Errors
    /// Says what in the form cannot be enforced, and why.
    pub fn processor(
        &self,
        form: &ReplyForm,
        prompt: Option<(&str, &str)>,
    ) -> Result<Box<dyn LogitProcessor>, GrammarError> {
        let text = match form {
            ReplyForm::Grammar(text) => TextSpec::Grammar(text.clone()),
            ReplyForm::Schema(schema) => TextSpec::JsonSchema(schema.clone()),
            ReplyForm::Pattern(pattern) => TextSpec::Pattern(pattern.clone()),
            ReplyForm::Choice(texts) => TextSpec::Choice(texts.clone()),
        };
        let whole = matches!(form, ReplyForm::Grammar(_));
        let reasoning = prompt.filter(|_| !whole).map_or(Reasoning::None, |(template, prompt)| {
            Reasoning::after(&ReplyFormat::of(template), prompt)
        });
        let processor = self.0.compile(&GrammarSpec { reasoning, text, calls: None })?;
        processor.ok_or_else(|| GrammarError::new(Place::Request, "", "the form allows every reply"))
    }
}
