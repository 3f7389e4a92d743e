//! `/infill`: writes what stands between two texts, as llama.cpp's server does.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Finish, GenerateOptions, LineLimits};
use weft_text::reply::ReplyPiece;

use super::chat::MOST_REPLIES;
use super::constraints;
use super::dialogue::OutputFormat;
use super::foreign;
use super::gap::Gap;
use super::plain::{Continuation, Plain, continued};
use super::sampling::{self, Parameters};
use super::streaming::{self, Streaming};
use super::submit::{model, model_named, writes};
use super::wire;
use crate::app::App;
use crate::error::ApiError;
use crate::http::sse::{Events, Frames};
use crate::http::{JsonBody, answer, sse};
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};
use crate::models::Loaded;
use crate::reply::{Collected, Outcome, Update, collect};
use crate::tenant::Tenant;

/// The most other files of a request.
const EXTRA: usize = 256;
/// The most names in `response_fields`.
const NAMES: usize = 64;
/// The most spaces and tabs that `n_indent` asks for.
const INDENT: usize = 1000;

/// A request of `/infill`.
pub(crate) struct InfillRequest {
    gap: Gap,
    parameters: Parameters,
    format: Option<OutputFormat>,
    n: usize,
    /// The fields of the answer, if not all are wanted.
    wanted: Option<Vec<String>>,
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
        parameters.options.lines = line_limits(&mut fields)?;
        // The second is OpenAI's name.
        let n = [fields.count("n_cmpl", 1..=MOST_REPLIES)?, fields.count("n", 1..=MOST_REPLIES)?];
        let n = n.into_iter().flatten().next().unwrap_or(1);
        let wanted = match fields.array("response_fields", NAMES)? {
            Some(names) => Some(names.iter().map(field_name).collect::<Result<_, _>>()?),
            None => None,
        };
        let Streaming { stream, .. } = Streaming::read(&mut fields)?;
        streaming::read_cache(&mut fields, &mut parameters.options)?;
        foreign::read(&mut fields)?;
        fields.end()?;
        let prefix = [prefix.unwrap_or_default(), prompt].concat();
        let gap = Gap { files, prefix, suffix: suffix.unwrap_or_default().to_string() };
        Ok(InfillRequest { gap, parameters, format, n, wanted, stream })
    }
}

/// Fills in the middle, as llama.cpp's server does.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let ignored = Ignored::new(app.strict);
    let named = is_named(&app, &body);
    let model = if named { model(&app, &body).await? } else { model_named(&app, None).await? };
    writes(&model)?;
    if !named {
        ignored.add("model");
    }
    let request = InfillRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let InfillRequest { gap, parameters, format, n, wanted, stream } = request;
    let texts = vec![Plain::Gap(gap, "input_prefix")];
    let what = Continuation { texts, n, format, parameters, fields: ["input_prefix", "response_format"] };
    let replies = continued(&app, &tenant, &model, what).await?;
    let events = InfillEvents { model, wanted };
    if stream {
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    let whole = |(index, reply): (usize, &Collected)| events.part(index, &reply.text, reply.outcome.as_ref());
    let mut all: Vec<Value> = collect(replies).await?.iter().enumerate().map(whole).collect();
    let value = if n == 1 { all.remove(0) } else { Value::Array(all) };
    Ok(ignored.mark(answer(&value)))
}

/// Whether the model that a request names counts. The only model of a server also answers a request for another one, because llama.vscode
/// names one of another service unless it is told otherwise, and llama.cpp's server does not read the name.
fn is_named(app: &App, body: &Value) -> bool {
    let name = body.get("model").and_then(Value::as_str);
    let known = name.is_none_or(|name| name.is_empty() || app.models.named(name).is_some());
    known || app.strict || app.models.all().len() > 1
}

/// Reads where a reply ends besides: before a line that is indented less than `n_indent`, or after a time.
fn line_limits(fields: &mut Fields<'_>) -> Result<LineLimits, ApiError> {
    let indent = fields.count("n_indent", 0..=INDENT)?.unwrap_or(0);
    let time = fields.integer("t_max_predict_ms", -1..=i64::MAX)?.filter(|ms| *ms > 0);
    let time = time.map(|ms| Duration::from_millis(ms.unsigned_abs()));
    // How long the prompt may take: llama.cpp's server reads it and does nothing with it, too.
    fields.ignore(&["t_max_prompt_ms"]);
    Ok(LineLimits { indent, time })
}

/// Reads a name of `response_fields`.
fn field_name(name: &Value) -> Result<String, ApiError> {
    let wrong = || expected_at("response_fields", "an array of names of fields", name);
    name.as_str().map(str::to_string).ok_or_else(wrong)
}

/// The fields of an answer with these names. A name with a slash is that of a field in another, and stays the name of what it names. Names
/// of fields that the answer does not have are left out.
fn chosen(value: &Value, names: &[String]) -> Value {
    let found = |name: &String| {
        let mut parts = name.split('/');
        let first = value.get(parts.next()?)?;
        Some((name.clone(), parts.try_fold(first, |at, part| at.get(part))?.clone()))
    };
    Value::Object(names.iter().filter_map(found).collect())
}

/// From updates to events.
struct InfillEvents {
    model: Arc<Loaded>,
    wanted: Option<Vec<String>>,
}

impl InfillEvents {
    /// A part of the text of a reply, and with the last how it ended: the fields that are wanted.
    fn part(&self, index: usize, text: &str, outcome: Option<&Outcome>) -> Value {
        let whole = self.whole(index, text, outcome);
        match &self.wanted {
            Some(names) => chosen(&whole, names),
            None => whole,
        }
    }

    fn whole(&self, index: usize, text: &str, outcome: Option<&Outcome>) -> Value {
        let mut value = json!({ "index": index, "content": text, "stop": outcome.is_some() });
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

    fn update(&mut self, index: usize, update: Update, out: &mut Frames) {
        match update {
            Update::Piece(ReplyPiece::Text(text)) => out.data(&self.part(index, &text, None)),
            Update::Finished(outcome) => out.data(&self.part(index, "", Some(&outcome))),
            _ => {}
        }
    }

    fn end(&mut self, _: &mut Frames) {}

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.data(&error.openai());
    }
}
