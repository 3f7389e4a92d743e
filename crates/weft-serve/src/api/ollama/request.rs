//! The requests of `/api/chat` and `/api/generate`.

use std::time::Duration;

use serde_json::Value;
use weft_engine::GenerateOptions;

use super::keep_alive;
use super::message::Reader;
use crate::api::chat::{MESSAGES, tools};
use crate::api::constraints;
use crate::api::dialogue::{Dialogue, OutputFormat};
use crate::api::foreign;
use crate::api::sampling::{self, Parameters};
use crate::api::thinking::{self, Thinking};
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::Fields;

/// The input of a model. Without one, a request loads the model, or unloads it.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Nothing.
    Nothing,
    /// To reply to a conversation.
    Dialogue(Dialogue),
    /// To continue a text as it is, or up to another text, in this form.
    Text(String, Option<String>, Option<OutputFormat>),
}

/// A request of either route.
#[derive(Clone, Debug)]
pub(crate) struct OllamaRequest {
    /// The model's input.
    pub(super) asked: Asked,
    /// How the reply is generated.
    pub(super) parameters: Parameters,
    /// How long the model stays loaded; `Some(None)` is without end.
    pub(super) keep: Option<Option<Duration>>,
    /// Whether the answer has the reasoning.
    pub(super) reasoning_shown: bool,
    /// Whether log probabilities are wanted.
    pub(super) logprobs: bool,
    /// Whether the reply is streamed.
    pub(super) stream: bool,
}

impl OllamaRequest {
    /// Reads a request of `/api/chat`, for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong or not supported.
    pub(crate) fn read_chat(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<OllamaRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let mut dialogue = Dialogue { parallel: true, ..Dialogue::default() };
        let mut reader = Reader::default();
        for (i, value) in fields.array("messages", MESSAGES)?.unwrap_or_default().iter().enumerate() {
            dialogue.messages.push(reader.read(value, &format!("messages[{i}]"), ignored)?);
        }
        if let Some(last) = dialogue.messages.len().checked_sub(1) {
            dialogue.continue_last(&format!("messages[{last}]"))?;
        }
        tools::read(&mut fields, &mut dialogue)?;
        let (mut request, format) = rest(fields, defaults, vocab, &mut dialogue.thinking)?;
        dialogue.format = format;
        if !dialogue.messages.is_empty() {
            request.asked = Asked::Dialogue(dialogue);
        }
        Ok(request)
    }

    /// Reads a request of `/api/generate`, for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong or not supported.
    pub(crate) fn read_generate(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<OllamaRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let mut dialogue = Dialogue { parallel: true, ..Dialogue::default() };
        let prompt = fields.text("prompt")?.unwrap_or_default().to_string();
        let system = fields.text("system")?.filter(|system| !system.is_empty());
        let raw = fields.flag("raw")?.unwrap_or(false);
        let suffix = fields.text("suffix")?.filter(|suffix| !suffix.is_empty()).map(str::to_string);
        fields.refuse("template", &["".into()], "templates come with the model only")?;
        let empty = [Value::Array(Vec::new())];
        fields.refuse("images", &empty, "this model reads text only")?;
        fields.refuse("context", &empty, "nothing is stored; send the conversation to /api/chat")?;
        if raw && system.is_some() {
            return Err(ApiError::invalid(
                "system",
                "system: a raw prompt has no system message; write it in `prompt`",
            ));
        }
        let (mut request, format) = rest(fields, defaults, vocab, &mut dialogue.thinking)?;
        if raw && suffix.is_some() {
            return Err(ApiError::invalid(
                "suffix",
                "suffix: a raw prompt has none; write the model's own marks in `prompt`",
            ));
        }
        if let Some(suffix) = suffix {
            request.asked = Asked::Text(prompt, Some(suffix), format);
        } else if raw && !prompt.is_empty() {
            request.asked = Asked::Text(prompt, None, format);
        } else if !prompt.is_empty() {
            let messages =
                system.map(|system| ("system", system)).into_iter().chain([("user", prompt.as_str())]);
            dialogue.messages = messages.map(|(role, text)| weft_engine::Message::new(role, text)).collect();
            dialogue.format = format;
            request.asked = Asked::Dialogue(dialogue);
        }
        Ok(request)
    }

    /// The conversation.
    pub(crate) fn into_dialogue(self) -> Option<Dialogue> {
        match self.asked {
            Asked::Dialogue(dialogue) => Some(dialogue),
            _ => None,
        }
    }
}

/// Reads what both routes have, to the end.
fn rest(
    mut fields: Fields<'_>,
    defaults: &GenerateOptions,
    vocab: usize,
    asked: &mut Thinking,
) -> Result<(OllamaRequest, Option<OutputFormat>), ApiError> {
    fields.text("model")?;
    let mut format = match fields.value("format") {
        None => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(Value::String(text)) if text == "json" => Some(OutputFormat::JsonObject),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(OutputFormat::JsonSchema(schema.clone())),
        Some(other) => return Err(fields.expected("format", "`json` or a JSON schema", other)),
    };
    constraints::read(&mut fields, &mut format)?;
    let mut parameters = Parameters { options: defaults.clone(), seeded: false };
    let mut reasoning_shown = true;
    if let Some(mut options) = fields.object("options")? {
        parameters = sampling::read(&mut options, defaults, vocab)?;
        sampling::last_tokens(&mut options, &mut parameters)?;
        // Every number below 1 means no limit; clients send -1, and -2 for the rest of the context.
        let most = options.integer("num_predict", -2..=i64::MAX)?;
        let most = most.map(|most| usize::try_from(most).ok().filter(|most| *most > 0));
        let most = most.or(sampling::most_tokens(&mut options, &[], 1)?);
        parameters.options.max_tokens = most.unwrap_or(parameters.options.max_tokens);
        options.refuse("penalize_newline", &[true.into()], "penalties count all tokens alike")?;
        constraints::read(&mut options, &mut format)?;
        reasoning_shown &= thinking::read_foreign(&mut options, asked)?;
        foreign::read(&mut options)?;
        options.end()?;
    }
    let logprobs = fields.flag("logprobs")?.unwrap_or(false);
    let top = fields.count("top_logprobs", 0..=20)?;
    if top.is_some_and(|top| top > 0) && !logprobs {
        return Err(ApiError::invalid("top_logprobs", "top_logprobs needs `logprobs` to be true"));
    }
    parameters.options.logprobs = logprobs.then_some(top.unwrap_or(0));
    let stream = fields.flag("stream")?.unwrap_or(true);
    let keep = keep_alive::read(&mut fields)?;
    thinking::read_think(&mut fields, asked)?;
    reasoning_shown &= thinking::read_foreign(&mut fields, asked)?;
    foreign::read(&mut fields)?;
    fields.end()?;
    let request =
        OllamaRequest { asked: Asked::Nothing, parameters, keep, reasoning_shown, logprobs, stream };
    Ok((request, format))
}
