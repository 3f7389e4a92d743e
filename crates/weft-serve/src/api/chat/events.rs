//! The chunks of a streamed chat completion.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use weft_engine::Token;
use weft_text::reply::ReplyPiece;

use crate::api::wire::{self, Calls};
use crate::error::ApiError;
use crate::http::new_id;
use crate::http::sse::{Events, Frames};
use crate::models::Loaded;
use crate::reply::{Total, Update};

/// From updates to chunks.
pub(crate) struct ChatEvents {
    model: Arc<Loaded>,
    id: String,
    created: u64,
    logprobs: bool,
    include_usage: bool,
    progress: bool,
    begun: Instant,
    /// How many tokens of the prompt came from the prefix cache, once it has begun.
    cached: Option<usize>,
    total: Total,
    choices: Vec<Choice>,
}

#[derive(Clone, Default)]
struct Choice {
    /// Whether the first chunk was sent, which names the role.
    begun: bool,
    calls: Calls,
    /// Tokens whose log probabilities were not sent.
    tokens: Vec<Token>,
}

impl ChatEvents {
    pub(crate) fn new(
        model: Arc<Loaded>,
        n: usize,
        logprobs: bool,
        include_usage: bool,
        progress: bool,
    ) -> ChatEvents {
        ChatEvents {
            model,
            id: new_id("chatcmpl-"),
            created: wire::now(),
            logprobs,
            include_usage,
            progress,
            begun: Instant::now(),
            cached: None,
            total: Total::default(),
            choices: vec![Choice::default(); n],
        }
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut value = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model.name,
            "system_fingerprint": wire::fingerprint(),
            "choices": choices,
        });
        if self.include_usage {
            value["usage"] = Value::Null;
        }
        value
    }

    /// A chunk of one reply. The first carries the role.
    fn delta(&mut self, index: usize, mut delta: Value, finish: Option<&str>) -> Value {
        let choice = &mut self.choices[index];
        if !choice.begun {
            choice.begun = true;
            delta["role"] = "assistant".into();
        }
        let tokens = std::mem::take(&mut choice.tokens);
        let logprobs = if self.logprobs && !tokens.is_empty() {
            let tokenizer = &self.model.facts.tokenizer;
            let content: Vec<Value> =
                tokens.iter().map(|token| wire::token_logprob(token, tokenizer)).collect();
            json!({ "content": content })
        } else {
            Value::Null
        };
        let choice = json!({ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
        self.chunk(json!([choice]))
    }
}

impl Events for ChatEvents {
    fn begin(&mut self, out: &mut Frames) {
        for index in 0..self.choices.len() {
            let chunk = self.delta(index, json!({ "content": "" }), None);
            out.data(&chunk);
        }
    }

    fn update(&mut self, index: usize, update: Update, out: &mut Frames) {
        let delta = match update {
            // Completions have them, chats do not.
            Update::PromptToken(_) => return,
            Update::Prompt { done, total } => {
                // All replies have the same prompt.
                if self.progress && index == 0 {
                    let cache = *self.cached.get_or_insert(done);
                    let time = self.begun.elapsed().as_millis() as u64;
                    let mut chunk = self.chunk(json!([]));
                    chunk["prompt_progress"] =
                        json!({ "total": total, "cache": cache, "processed": done, "time_ms": time });
                    out.data(&chunk);
                }
                return;
            }
            Update::Token(token) => {
                if self.logprobs {
                    self.choices[index].tokens.push(token);
                }
                return;
            }
            Update::Piece(ReplyPiece::Reasoning(text)) => json!({ "reasoning_content": text }),
            Update::Piece(ReplyPiece::Text(text)) => json!({ "content": text }),
            Update::Piece(ReplyPiece::ToolCall { index: at, name }) => {
                self.choices[index].calls.begun += 1;
                let function = json!({ "name": name, "arguments": "" });
                json!({ "tool_calls": [{ "index": at, "id": new_id("call_"), "type": "function", "function": function }] })
            }
            Update::Piece(ReplyPiece::Arguments { index: at, json: text }) => {
                json!({ "tool_calls": [{ "index": at, "function": { "arguments": text } }] })
            }
            Update::Piece(ReplyPiece::ToolCallEnd { .. }) => {
                self.choices[index].calls.ended += 1;
                return;
            }
            Update::Piece(_) => return,
            Update::Finished(outcome) => {
                self.total.add(&outcome);
                let reason = wire::finish_reason(&outcome.finish, self.choices[index].calls);
                let mut chunk = self.delta(index, json!({}), Some(reason));
                if self.choices.len() == 1 {
                    chunk["timings"] = wire::timings(&outcome);
                }
                out.data(&chunk);
                return;
            }
        };
        let chunk = self.delta(index, delta, None);
        out.data(&chunk);
    }

    fn end(&mut self, out: &mut Frames) {
        if self.include_usage {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = wire::usage(&self.total);
            out.data(&chunk);
        }
        out.raw("[DONE]");
    }

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.data(&error.openai());
        out.raw("[DONE]");
    }
}
