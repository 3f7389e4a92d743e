//! `/v1/chat/completions`.

mod events;
pub(super) mod message;
mod request;
pub(super) mod tools;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::submit::{Conversation, converse, writer};
use super::wire::{self, Calls};
use crate::app::App;
use crate::error::ApiError;
use crate::http::{JsonBody, answer, new_id, sse};
use crate::ignored::Ignored;
use crate::models::Loaded;
use crate::reply::{Collected, Total, collect};
use crate::tenant::Tenant;
use events::ChatEvents;
pub(crate) use message::arguments_of;
pub(crate) use request::{ChatRequest, MESSAGES, MOST_REPLIES};

/// Answers a conversation.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(tenant): Extension<Tenant>,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let model = writer(&app, &body).await?;
    let ignored = Ignored::new(app.strict);
    let request = ChatRequest::read(&body, &model.defaults, model.facts.vocab, &ignored)?;
    let ChatRequest { dialogue, parameters, n, logprobs, streaming, progress, reasoning_shown } = request;
    let Conversation { mut replies, .. } = converse(&app, &tenant, &model, dialogue, parameters, n).await?;
    if !reasoning_shown {
        replies.hide_reasoning();
    }
    if streaming.stream {
        let events = ChatEvents::new(Arc::clone(&model), n, logprobs, streaming.include_usage, progress);
        return Ok(ignored.mark(sse::stream(replies, events)));
    }
    let collected = collect(replies).await?;
    Ok(ignored.mark(answer(&completion(&model, &collected, logprobs))))
}

/// The whole answer.
fn completion(model: &Loaded, replies: &[Collected], logprobs: bool) -> Value {
    let mut total = Total::default();
    replies.iter().filter_map(|reply| reply.outcome.as_ref()).for_each(|outcome| total.add(outcome));
    let choices: Vec<Value> =
        replies.iter().enumerate().map(|(index, reply)| choice(model, index, reply, logprobs)).collect();
    let mut value = json!({
        "id": new_id("chatcmpl-"),
        "object": "chat.completion",
        "created": wire::now(),
        "model": model.name,
        "system_fingerprint": wire::fingerprint(),
        "choices": choices,
        "usage": wire::usage(&total),
    });
    if let [Collected { outcome: Some(outcome), .. }] = replies {
        value["timings"] = wire::timings(outcome);
    }
    value
}

fn choice(model: &Loaded, index: usize, reply: &Collected, logprobs: bool) -> Value {
    let message = message_of(reply);
    let tokenizer = &model.facts.tokenizer;
    let listed =
        || reply.tokens.iter().map(|token| wire::token_logprob(token, tokenizer)).collect::<Vec<_>>();
    let calls =
        Calls { begun: reply.calls.len(), ended: reply.calls.iter().filter(|call| call.whole).count() };
    let reason = reply.outcome.as_ref().map(|outcome| wire::finish_reason(&outcome.finish, calls));
    json!({
        "index": index,
        "message": message,
        "logprobs": if logprobs { json!({ "content": listed() }) } else { Value::Null },
        "finish_reason": reason,
    })
}

/// The message of a reply.
pub(super) fn message_of(reply: &Collected) -> Value {
    let content = if reply.text.is_empty() && !reply.calls.is_empty() {
        Value::Null
    } else {
        reply.text.as_str().into()
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !reply.reasoning.is_empty() {
        message["reasoning_content"] = reply.reasoning.as_str().into();
    }
    if !reply.calls.is_empty() {
        let call = |call: &crate::reply::Call| {
            json!({
                "id": new_id("call_"),
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            })
        };
        message["tool_calls"] = reply.calls.iter().map(call).collect();
    }
    message
}
