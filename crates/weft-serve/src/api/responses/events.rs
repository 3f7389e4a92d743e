//! The events of a response. What is not streamed is the response that the events add up to.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weft_engine::{Finish, Tokenizer};
use weft_text::reply::ReplyPiece;

use super::custom::CustomInput;
use super::item::{Body, Item, ReasoningForm, Status};
use super::tools::Callables;
use crate::api::wire;
use crate::error::{ApiError, Kind};
use crate::http::sse::{Events, Frames};
use crate::reply::{Outcome, Update};

/// The fields of a response that are known before its reply begins.
pub(super) struct Outline {
    /// The random part of the ids of the response and its items.
    pub(super) id: String,
    /// When it was created, in seconds since 1970.
    pub(super) created: u64,
    /// Fields that stay as they are, most of them as the request has them.
    pub(super) fixed: Map<String, Value>,
    /// The tools that the model may call.
    pub(super) callables: Callables,
    /// Where reasoning goes.
    pub(super) reasoning: ReasoningForm,
    /// For the text of log probabilities, if they are wanted.
    pub(super) logprobs: Option<Arc<Tokenizer>>,
    /// The time.
    pub(super) clock: fn() -> u64,
}

/// From updates to events, and to the response.
pub(super) struct ResponseEvents {
    outline: Outline,
    sequence: u64,
    /// The items that are complete.
    output: Vec<Value>,
    /// The item that more comes of.
    open: Option<Item>,
    /// Log probabilities of tokens whose text has not come.
    pending: Vec<Value>,
    outcome: Option<Outcome>,
    /// Whether a call broke off.
    broken: bool,
    error: Option<Value>,
}

impl ResponseEvents {
    pub(super) fn new(outline: Outline) -> ResponseEvents {
        ResponseEvents {
            outline,
            sequence: 0,
            output: Vec::new(),
            open: None,
            pending: Vec::new(),
            outcome: None,
            broken: false,
            error: None,
        }
    }

    /// The response as it is by now.
    pub(super) fn response(&self) -> Value {
        let cut = self.is_cut();
        let status = match (&self.error, &self.outcome) {
            (Some(_), _) => "failed",
            (None, None) => "in_progress",
            (None, Some(_)) if cut => "incomplete",
            (None, Some(_)) => "completed",
        };
        let mut map = self.outline.fixed.clone();
        let mut set = |name: &str, value: Value| map.insert(name.to_string(), value);
        set("id", format!("resp_{}", self.outline.id).into());
        set("object", "response".into());
        set("created_at", self.outline.created.into());
        set("status", status.into());
        set("output", self.output.clone().into());
        set("error", self.error.clone().unwrap_or_default());
        set("incomplete_details", if cut { json!({ "reason": "max_output_tokens" }) } else { Value::Null });
        set("completed_at", if status == "completed" { (self.outline.clock)().into() } else { Value::Null });
        set("usage", self.outcome.as_ref().map_or(Value::Null, usage));
        if let Some(outcome) = &self.outcome {
            set("timings", wire::timings(outcome));
        }
        Value::Object(map)
    }

    /// Whether it has ended before it was complete: at a limit, or with a call that broke off.
    fn is_cut(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| self.broken || is_cut(outcome))
    }

    fn emit(&mut self, kind: &str, mut event: Value, out: &mut Frames) {
        event["type"] = kind.into();
        event["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        out.event(kind, &event);
    }

    fn emit_response(&mut self, kind: &str, out: &mut Frames) {
        let response = self.response();
        self.emit(kind, json!({ "response": response }), out);
    }

    /// An event of an item.
    fn emit_of(&mut self, item: &Item, kind: &str, mut event: Value, out: &mut Frames) {
        event["item_id"] = item.id.as_str().into();
        event["output_index"] = item.index.into();
        self.emit(kind, event, out);
    }

    /// Begins an item.
    fn begin_item(&mut self, prefix: &str, body: Body, out: &mut Frames) {
        let index = self.output.len();
        let item = Item { index, id: format!("{prefix}_{}_{index}", self.outline.id), body };
        let value = item.value(Status::InProgress);
        self.emit("response.output_item.added", json!({ "output_index": index, "item": value }), out);
        if let Some(events) = item.text_events() {
            self.emit_of(&item, events.added, json!({ events.index: 0, "part": item.part() }), out);
        }
        self.open = Some(item);
    }

    /// Ends the open item, if there is one.
    fn end_item(&mut self, status: Status, out: &mut Frames) {
        let Some(mut item) = self.open.take() else { return };
        if let Body::Custom { input, reader, .. } = &mut item.body {
            let rest = reader.end();
            input.push_str(&rest);
            if !rest.is_empty() {
                self.emit_of(&item, "response.custom_tool_call_input.delta", json!({ "delta": rest }), out);
            }
        }
        let value = item.value(status);
        self.output.push(value.clone());
        match &item.body {
            Body::Message { text, logprobs } => {
                let event = json!({ "content_index": 0, "text": text, "logprobs": logprobs });
                self.emit_of(&item, "response.output_text.done", event, out);
            }
            Body::Reasoning { text, .. } => {
                if let Some(events) = item.text_events() {
                    self.emit_of(&item, events.done, json!({ events.index: 0, "text": text }), out);
                }
            }
            Body::Call { callable, arguments, .. } => {
                let event = json!({ "arguments": arguments, "name": callable.name });
                self.emit_of(&item, "response.function_call_arguments.done", event, out);
            }
            // Agents run what is done, and unlike JSON a text does not show that it was cut off.
            Body::Custom { .. } if status == Status::Incomplete => return,
            Body::Custom { input, .. } => {
                self.emit_of(&item, "response.custom_tool_call_input.done", json!({ "input": input }), out);
            }
        }
        if let Some(events) = item.text_events() {
            self.emit_of(&item, events.ended, json!({ events.index: 0, "part": item.part() }), out);
        }
        self.emit("response.output_item.done", json!({ "output_index": item.index, "item": value }), out);
    }

    fn piece(&mut self, piece: ReplyPiece, out: &mut Frames) {
        match piece {
            ReplyPiece::Reasoning(more) => {
                self.pending.clear();
                if !matches!(self.open, Some(Item { body: Body::Reasoning { .. }, .. })) {
                    self.end_for_next(out);
                    let form = self.outline.reasoning;
                    self.begin_item("rs", Body::Reasoning { text: String::new(), form }, out);
                }
                self.text(&more, Vec::new(), out);
            }
            ReplyPiece::Text(more) => {
                let logprobs = std::mem::take(&mut self.pending);
                self.message(out);
                self.text(&more, logprobs, out);
            }
            ReplyPiece::ToolCall { index, name } => {
                self.pending.clear();
                self.end_for_next(out);
                let callable = self.outline.callables.get(&name);
                let call_id = format!("call_{}_{index}", self.outline.id);
                if callable.custom {
                    let (input, reader) = (String::new(), CustomInput::new());
                    self.begin_item("ctc", Body::Custom { callable, call_id, input, reader }, out);
                } else {
                    let arguments = String::new();
                    self.begin_item("fc", Body::Call { callable, call_id, arguments }, out);
                }
            }
            ReplyPiece::Arguments { json, .. } => self.arguments(&json, out),
            ReplyPiece::ToolCallEnd { .. } => self.end_item(Status::Completed, out),
            _ => {}
        }
    }

    /// Begins a message, unless one is open.
    fn message(&mut self, out: &mut Frames) {
        if !matches!(self.open, Some(Item { body: Body::Message { .. }, .. })) {
            self.end_for_next(out);
            self.begin_item("msg", Body::Message { text: String::new(), logprobs: Vec::new() }, out);
        }
    }

    /// Ends the open item because another begins. A call that is open by then was broken off.
    fn end_for_next(&mut self, out: &mut Frames) {
        let call = matches!(self.open, Some(Item { body: Body::Call { .. } | Body::Custom { .. }, .. }));
        self.broken |= call;
        self.end_item(if call { Status::Incomplete } else { Status::Completed }, out);
    }

    /// Adds to the text of the open item.
    fn text(&mut self, more: &str, new: Vec<Value>, out: &mut Frames) {
        let Some(mut item) = self.open.take() else { return };
        let Some(events) = item.text_events() else { return };
        let mut event = json!({ events.index: 0, "delta": more });
        match &mut item.body {
            Body::Message { text, logprobs } => {
                text.push_str(more);
                event["logprobs"] = new.clone().into();
                logprobs.extend(new);
            }
            Body::Reasoning { text, .. } => text.push_str(more),
            Body::Call { .. } | Body::Custom { .. } => {}
        }
        self.emit_of(&item, events.delta, event, out);
        self.open = Some(item);
    }

    /// Adds to the arguments of the open call.
    fn arguments(&mut self, json: &str, out: &mut Frames) {
        let Some(mut item) = self.open.take() else { return };
        let (kind, delta) = match &mut item.body {
            Body::Call { arguments, .. } => {
                arguments.push_str(json);
                ("response.function_call_arguments.delta", json.to_string())
            }
            Body::Custom { input, reader, .. } => {
                let more = reader.push(json);
                input.push_str(&more);
                ("response.custom_tool_call_input.delta", more)
            }
            Body::Message { .. } | Body::Reasoning { .. } => ("", String::new()),
        };
        if !delta.is_empty() {
            self.emit_of(&item, kind, json!({ "delta": delta }), out);
        }
        self.open = Some(item);
    }
}

impl Events for ResponseEvents {
    fn begin(&mut self, out: &mut Frames) {
        self.emit_response("response.created", out);
        self.emit_response("response.in_progress", out);
    }

    fn update(&mut self, _: usize, update: Update, out: &mut Frames) {
        match update {
            Update::Prompt { .. } | Update::PromptToken(_) => {}
            Update::Token(token) => {
                if let Some(tokenizer) = &self.outline.logprobs {
                    self.pending.push(wire::token_logprob(&token, tokenizer));
                }
            }
            Update::Piece(piece) => self.piece(piece, out),
            Update::Finished(outcome) => {
                if self.open.is_none() && self.output.is_empty() {
                    // Clients expect some output.
                    self.message(out);
                }
                if is_cut(&outcome) {
                    self.end_item(Status::Incomplete, out);
                } else {
                    self.end_for_next(out);
                }
                self.outcome = Some(outcome);
            }
        }
    }

    fn end(&mut self, out: &mut Frames) {
        let cut = self.is_cut();
        self.emit_response(if cut { "response.incomplete" } else { "response.completed" }, out);
        out.raw("[DONE]");
    }

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        self.error = Some(json!({ "code": code(error), "message": error.message }));
        self.emit_response("response.failed", out);
        out.raw("[DONE]");
    }

    fn ping(&mut self, out: &mut Frames) {
        // Codex counts events, not comments, to tell whether the server is alive.
        self.emit_response("response.in_progress", out);
    }
}

fn is_cut(outcome: &Outcome) -> bool {
    matches!(outcome.finish, Finish::Length | Finish::Context)
}

fn usage(outcome: &Outcome) -> Value {
    let Outcome { usage, reasoning_tokens, .. } = outcome;
    json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": { "cached_tokens": usage.cached_tokens, "cache_write_tokens": 0 },
        "output_tokens": usage.tokens,
        "output_tokens_details": { "reasoning_tokens": reasoning_tokens },
        "total_tokens": usage.prompt_tokens + usage.tokens,
    })
}

/// The code of an error, of those that clients of this API know.
fn code(error: &ApiError) -> &'static str {
    match error.kind {
        Kind::Busy => "rate_limit_exceeded",
        Kind::Invalid => error.code.unwrap_or("invalid_prompt"),
        _ => "server_error",
    }
}
