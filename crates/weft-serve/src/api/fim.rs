//! `/infill`: writes what stands between two texts, as llama.cpp's server does.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Finish, GenerateOptions};
use weft_text::reply::ReplyPiece;

use super::constraints;
use super::dialogue::OutputFormat;
use super::foreign;
use super::gap::Gap;
use super::plain::{Continuation, Plain, continued};
use super::sampling::{self, Parameters};
use super::streaming::{self, Streaming};
use super::submit::writer;
use super::wire;
use crate::app::App;
use crate::error::ApiError;
use crate::http::sse::{Events, Frames};
use crate::http::{JsonBody, answer, sse};
use crate::ignored::Ignored;
use crate::json::Fields;
use crate::models::Loaded;
use crate::reply::{Collected, Outcome, Update, collect};
use crate::tenant::Tenant;

/// The most other files of a request.
const EXTRA: usize = 256;

/// A request of `/infill`.
pub(crate) struct InfillRequest {
    gap: Gap,
    parameters: Parameters,
    format: Option<OutputFormat>,
    stream: bool,
}

impl InfillRequest {
    /// Reads a request for a model with this many tokens.
    ///
    /// # Errors
    /// If a field is missing, wrong or not supported.
    pub(crate) fn read(
        body: &Value,
        defaults: &GenerateOptions,
        vocab: usize,
        ignored: &Ignored,
    ) -> Result<InfillRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        fields.text("model")?;
        let prefix = fields.text("input_prefix")?;
        let suffix = fields.text("input_suffix")?;
        if prefix.is_none() && suffix.is_none() {
            let message = "input_prefix is missing: expected the text before the gap, or `input_suffix`";
            return Err(ApiError::invalid("input_prefix", message));
        }
        // The written beginning of the middle.
        let prompt = fields.text("prompt")?.unwrap_or_default();
        let mut files = Vec::new();
        for (i, value) in fields.array("input_extra", EXTRA)?.unwrap_or_default().iter().enumerate() {
            let mut file = Fields::of(value, format!("input_extra[{i}]"), ignored)?;
            let text = file.required_text("text")?.to_string();
            let name = file.text("filename")?.unwrap_or("file").to_string();
            files.push((name, text));
            file.end()?;
        }
        let mut parameters = sampling::read(&mut fields, defaults, vocab)?;
        let most = sampling::most_tokens(&mut fields, &["n_predict", "max_tokens"], 0)?;
        parameters.options.max_tokens = most.unwrap_or(parameters.options.max_tokens);
        let mut format = None;
        constraints::read(&mut fields, &mut format)?;
        let Streaming { stream, .. } = Streaming::read(&mut fields)?;
        streaming::read_cache(&mut fields, &mut parameters.options)?;
        foreign::read(&mut fields)?;
        fields.end()?;
        let prefix = [prefix.unwrap_or_default(), prompt].concat();
        let gap = Gap { files, prefix, suffix: suffix.unwrap_or_default().to_string() };
        Ok(InfillRequest { gap, parameters, format, stream })
    }
}

/// Fills in the middle, as llama.cpp's server does.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = InfillRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let InfillRequest { gap, parameters, format, stream } = request;
    let texts = vec![Plain::Gap(gap, "input_prefix")];
    let what = Continuation { texts, n: 1, format, parameters, fields: ["input_prefix", "response_format"] };
    let replies = continued(&app, &tenant, &model, what).await?;
    let events = InfillEvents { model };
    if stream {
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    let Collected { text, outcome, .. } = collect(replies).await?.remove(0);
    Ok(ignored.mark(answer(&events.part(&text, outcome.as_ref()))))
}

/// From updates to events.
struct InfillEvents {
    model: Arc<Loaded>,
}

impl InfillEvents {
    /// A part of the text, and with the last how it ended.
    fn part(&self, text: &str, outcome: Option<&Outcome>) -> Value {
        let mut value = json!({ "index": 0, "content": text, "stop": outcome.is_some() });
        let Some(outcome) = outcome else { return value };
        let (kind, word) = match &outcome.finish {
            Finish::Stop(word) => ("word", word.as_str()),
            Finish::Length | Finish::Context => ("limit", ""),
            _ => ("eos", ""),
        };
        value["model"] = self.model.name.as_str().into();
        value["stop_type"] = kind.into();
        value["stopping_word"] = word.into();
        value["truncated"] = false.into();
        value["tokens_predicted"] = outcome.usage.tokens.into();
        value["tokens_evaluated"] = outcome.usage.prompt_tokens.into();
        value["tokens_cached"] = outcome.usage.cached_tokens.into();
        value["timings"] = wire::timings(outcome);
        value
    }
}

impl Events for InfillEvents {
    fn begin(&mut self, _: &mut Frames) {}

    fn update(&mut self, _: usize, update: Update, out: &mut Frames) {
        match update {
            Update::Piece(ReplyPiece::Text(text)) => out.data(&self.part(&text, None)),
            Update::Finished(outcome) => out.data(&self.part("", Some(&outcome))),
            _ => {}
        }
    }

    fn end(&mut self, _: &mut Frames) {}

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.data(&error.openai());
    }
}
