//! `/api/embed`, and the older `/api/embeddings` for one text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::{Request, normalised};

use super::keep_alive;
use super::names::{called, name_of, slot_of};
use crate::api::pooled::{Budget, Input, check_count, compute, embeds, numbers, tokens};
use crate::api::submit::model_named;
use crate::app::App;
use crate::error::{ApiError, Kind};
use crate::http::{JsonBody, answer};
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};
use crate::models::Loaded;
use crate::tenant::Tenant;

/// A request of either route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EmbedRequest {
    inputs: Vec<String>,
    /// Whether tokens that do not fit the context are left out.
    cut: bool,
    /// The number of values that are kept of each embedding.
    dimensions: usize,
    /// How long the model stays loaded; `Some(None)` is without end.
    keep: Option<Option<Duration>>,
}

impl EmbedRequest {
    /// Reads a request of `/api/embed` of at most `most` inputs, for a model whose embeddings have `width` values.
    ///
    /// # Errors
    /// If a field is wrong.
    pub(crate) fn read(
        body: &Value,
        most: usize,
        width: usize,
        ignored: &Ignored,
    ) -> Result<EmbedRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let inputs = match fields.value("input") {
            None => Vec::new(),
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => {
                if !items.is_empty() {
                    check_count("input", items.len(), most)?;
                }
                let text = |(i, item): (usize, &Value)| match item {
                    Value::String(text) => Ok(text.clone()),
                    other => Err(expected_at(&format!("input[{i}]"), "a string", other)),
                };
                items.iter().enumerate().map(text).collect::<Result<Vec<_>, ApiError>>()?
            }
            Some(other) => return Err(fields.expected("input", "a string or an array of strings", other)),
        };
        // The default is Ollama's.
        let cut = fields.flag("truncate")?.unwrap_or(true);
        let dimensions = fields.count("dimensions", 1..=width)?.unwrap_or(width);
        let keep = rest(fields)?;
        Ok(EmbedRequest { inputs, cut, dimensions, keep })
    }

    /// Reads a request of `/api/embeddings`.
    ///
    /// # Errors
    /// If a field is wrong.
    pub(crate) fn read_one(body: &Value, ignored: &Ignored) -> Result<EmbedRequest, ApiError> {
        let mut fields = Fields::of(body, "", ignored)?;
        let prompt = fields.text("prompt")?.filter(|prompt| !prompt.is_empty()).map(str::to_string);
        let keep = rest(fields)?;
        Ok(EmbedRequest { inputs: prompt.into_iter().collect(), cut: true, dimensions: usize::MAX, keep })
    }
}

/// Reads what both routes have, to the end.
fn rest(mut fields: Fields<'_>) -> Result<Option<Option<Duration>>, ApiError> {
    fields.text("model")?;
    let keep = keep_alive::read(&mut fields)?;
    if let Some(options) = fields.object("options")? {
        // How a model runs is said when the server starts.
        options.end()?;
    }
    fields.end()?;
    Ok(keep)
}

/// Computes embeddings of a length of 1. Without an input, loads the model.
pub(super) async fn embed(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let since = Instant::now();
    let ignored = Ignored::new(app.strict);
    let (name, model) = loaded(&app, &body).await?;
    let loading = since.elapsed();
    let request = EmbedRequest::read(&body, app.limits.inputs, model.facts.width, &ignored)?;
    let dimensions = request.dimensions;
    let (outputs, count) = outputs(&app, &tenant, &model, &body, request, "input").await?;
    let embeddings: Vec<Value> =
        outputs.iter().map(|values| numbers(&normalised(values, dimensions))).collect();
    Ok(ignored.mark(answer(&json!({
        "model": name,
        "embeddings": embeddings,
        "total_duration": nanoseconds(since.elapsed()),
        "load_duration": nanoseconds(loading),
        "prompt_eval_count": count,
    }))))
}

/// Computes the embedding of one text, as the model computed it.
pub(super) async fn embeddings(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let ignored = Ignored::new(app.strict);
    let (_, model) = loaded(&app, &body).await?;
    let request = EmbedRequest::read_one(&body, &ignored)?;
    let (outputs, _) = outputs(&app, &tenant, &model, &body, request, "prompt").await?;
    let embedding = numbers(outputs.first().map_or(&[][..], Vec::as_slice));
    Ok(ignored.mark(answer(&json!({ "embedding": embedding }))))
}

/// The model that a request names, as it calls it, if it computes embeddings.
async fn loaded(app: &App, body: &Value) -> Result<(String, Arc<Loaded>), ApiError> {
    let name = name_of(body);
    let slot = slot_of(app, name)?;
    let model = model_named(app, Some(called(slot, name))).await?;
    embeds(&model)?;
    Ok((name.unwrap_or(&slot.source.name).to_string(), model))
}

/// The model's results for the inputs, and the number of their tokens. `param` is the field with the inputs.
async fn outputs(
    app: &App,
    tenant: &Tenant,
    model: &Arc<Loaded>,
    body: &Value,
    request: EmbedRequest,
    param: &'static str,
) -> Result<(Vec<Vec<f32>>, usize), ApiError> {
    let EmbedRequest { inputs, cut, keep, .. } = request;
    if let Some(most) = keep {
        app.models.keep(slot_of(app, name_of(body))?, most);
    }
    if inputs.is_empty() {
        return Ok((Vec::new(), 0));
    }
    let single = inputs.len() == 1;
    let (theirs, mut budget) = (Arc::clone(model), Budget::new(app));
    let encoded = tokio::task::spawn_blocking(move || {
        let one = |(i, text): (usize, String)| {
            let path = if single { param.to_string() } else { format!("{param}[{i}]") };
            let tokens = tokens(&theirs, &path, Input::Text(text), cut)?;
            budget.add(&path, tokens.len())?;
            Ok(Request::pooled(tokens))
        };
        let requests = inputs.into_iter().enumerate().map(one).collect::<Result<Vec<_>, ApiError>>()?;
        Ok::<_, ApiError>((requests, budget.used()))
    });
    let panicked = |_| ApiError::new(Kind::Internal, "the tokenizer panicked");
    let (requests, count) = encoded.await.map_err(panicked)??;
    Ok((compute(app, tenant, model, requests, count).await?, count))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_texts() {
        let read = |body: Value| {
            let read = EmbedRequest::read(&body, 2, 8, &Ignored::default());
            read.map(|request| request.inputs).map_err(|error| error.message)
        };
        assert_eq!(read(json!({ "input": "a" })), Ok(vec!["a".to_string()]));
        assert_eq!(read(json!({ "input": ["a", ""] })), Ok(vec!["a".to_string(), String::new()]));
        // These load the model.
        for nothing in [json!({}), json!({ "input": "" }), json!({ "input": [] })] {
            assert_eq!(read(nothing), Ok(Vec::new()));
        }
        assert_eq!(
            read(json!({ "input": 3 })),
            Err("input: expected a string or an array of strings, found 3".into())
        );
        assert_eq!(
            read(json!({ "input": [[1]] })),
            Err("input[0]: expected a string, found an array".into())
        );
        assert_eq!(
            read(json!({ "input": "a", "dimensions": 9 })),
            Err("dimensions: expected an integer from 1 to 8, found 9".into())
        );
    }
}
