//! `/v1/completions`: plain text or tokens, continued.

mod events;
mod lists;
mod request;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use weft_engine::Tokenizer;

use super::gap::Gap;
use super::plain::{Continuation, Plain, continued};
use super::submit::writer;
use super::wire;
use crate::app::App;
use crate::error::ApiError;
use crate::http::{JsonBody, answer, new_id, sse};
use crate::ignored::Ignored;
use crate::models::Loaded;
use crate::reply::{Collected, collect};
use crate::tenant::Tenant;
use events::TextEvents;
use lists::{Offset, Usage, token_lists};
pub(crate) use request::CompletionRequest;
use request::PromptText;

/// Continues prompts.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = CompletionRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let CompletionRequest { prompts, suffix, parameters, n, echo, logprobs, format, streaming } = request;
    let count = prompts.len() * n;
    let echo = |prompt: &PromptText| match prompt {
        _ if !echo => String::new(),
        PromptText::Text(text) => text.clone(),
        PromptText::Tokens(tokens) => decode(&model.facts.tokenizer, tokens),
    };
    let echoes: Vec<String> = prompts.iter().map(echo).collect();
    let plain = |prompt: PromptText| match (prompt, &suffix) {
        (PromptText::Tokens(tokens), _) => Plain::Tokens(tokens),
        (PromptText::Text(text), None) => Plain::Text(text),
        (PromptText::Text(prefix), Some(suffix)) => {
            Plain::Gap(Gap { prefix, suffix: suffix.clone(), ..Gap::default() }, "suffix")
        }
    };
    let texts = prompts.into_iter().map(plain).collect();
    let what = Continuation { texts, n, format, parameters, fields: ["prompt", "response_format"] };
    let replies = continued(&app, &tenant, &model, what).await?;
    // Every reply to a prompt repeats it.
    let echoes: Vec<String> = echoes.into_iter().flat_map(|echo| std::iter::repeat_n(echo, n)).collect();
    if streaming.stream {
        let events = TextEvents::new(Arc::clone(&model), echoes, n, logprobs, streaming.include_usage);
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    let collected = collect(replies).await?;
    debug_assert_eq!(collected.len(), count);
    Ok(ignored.mark(answer(&completion(&model, &collected, &echoes, n, logprobs))))
}

/// The text of tokens.
pub(crate) fn decode(tokenizer: &Tokenizer, tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| tokenizer.token_bytes(*token)).copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The whole answer.
fn completion(model: &Loaded, replies: &[Collected], echoes: &[String], n: usize, logprobs: bool) -> Value {
    let mut usage = Usage::default();
    let choice = |(index, (reply, echo)): (usize, (&Collected, &String))| {
        let reason = reply
            .outcome
            .as_ref()
            .map(|outcome| wire::finish_reason(&outcome.finish, wire::Calls::default()));
        let mut offset = Offset::after(if reply.prompt.is_empty() { echo.chars().count() } else { 0 });
        let tokens = reply.prompt.iter().chain(&reply.tokens);
        let listed = logprobs.then(|| token_lists(&model.facts.tokenizer, tokens, &mut offset));
        json!({ "index": index, "text": format!("{echo}{}", reply.text), "logprobs": listed, "finish_reason": reason })
    };
    let choices: Vec<Value> = replies.iter().zip(echoes).enumerate().map(choice).collect();
    for (index, reply) in replies.iter().enumerate() {
        if let Some(outcome) = &reply.outcome {
            usage.add(index % n == 0, outcome);
        }
    }
    let mut value = json!({
        "id": new_id("cmpl-"),
        "object": "text_completion",
        "created": wire::now(),
        "model": model.name,
        "system_fingerprint": wire::fingerprint(),
        "choices": choices,
        "usage": wire::usage(&usage.0),
    });
    if let [Collected { outcome: Some(outcome), .. }] = replies {
        value["timings"] = wire::timings(outcome);
    }
    value
}
