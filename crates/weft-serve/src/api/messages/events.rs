//! The events of a message. What is not streamed is the message that the events add up to.

use serde_json::{Value, json};
use weft_engine::Finish;
use weft_text::reply::ReplyPiece;

use crate::api::opaque;
use crate::api::wire::Calls;
use crate::error::ApiError;
use crate::http::sse::{Events, Frames};
use crate::json::object_prefix;
use crate::reply::{Outcome, Update};

/// The signature of thinking. Clients return it, and drop thinking without one.
const SIGNATURE: &str = "weft";

/// The fields of a message that are known before its reply begins.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// The random part of the ids of the message and its calls.
    pub(super) id: String,
    /// The id of the request.
    pub(super) request_id: String,
    /// The model.
    pub(super) model: String,
    /// The number of tokens of the prompt.
    pub(super) prompt_tokens: usize,
    /// Whether thinking is shown. If not, only its signature carries it.
    pub(super) thinking_shown: bool,
}

/// From updates to events, and to the message.
pub(super) struct MessageEvents {
    outline: Outline,
    /// The blocks that are complete.
    content: Vec<Value>,
    /// The block that more comes of.
    open: Option<Block>,
    /// Its calls.
    calls: Calls,
    outcome: Option<Outcome>,
}

/// A block of the message.
#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, input: String },
}

impl MessageEvents {
    pub(super) fn new(outline: Outline) -> MessageEvents {
        MessageEvents { outline, content: Vec::new(), open: None, calls: Calls::default(), outcome: None }
    }

    /// The message as it is by now.
    pub(super) fn message(&self) -> Value {
        let (reason, stop) = self.stop();
        json!({
            "id": format!("msg_{}", self.outline.id),
            "type": "message",
            "role": "assistant",
            "model": self.outline.model,
            "content": self.content,
            "stop_reason": reason,
            "stop_sequence": stop,
            "usage": self.usage(),
        })
    }

    /// Why the message ended, and the stop sequence that ended it. A message that was cut off says so even if it has a call, and so
    /// does one with a call that broke off.
    fn stop(&self) -> (Option<&'static str>, Option<&str>) {
        let Some(outcome) = &self.outcome else { return (None, None) };
        match &outcome.finish {
            Finish::Length => (Some("max_tokens"), None),
            Finish::Context => (Some("model_context_window_exceeded"), None),
            Finish::Stop(text) => (Some("stop_sequence"), Some(text)),
            _ if self.calls.begun > self.calls.ended => (Some("max_tokens"), None),
            _ if self.calls.begun > 0 => (Some("tool_use"), None),
            _ => (Some("end_turn"), None),
        }
    }

    /// The tokens so far. Those of the prompt that were cached are not among the input tokens.
    fn usage(&self) -> Value {
        let (mut input, mut cached, mut output, mut thinking) = (self.outline.prompt_tokens, 0, 0, 0);
        if let Some(Outcome { usage, reasoning_tokens, .. }) = &self.outcome {
            cached = usage.cached_tokens;
            input = usage.prompt_tokens - cached;
            output = usage.tokens;
            thinking = *reasoning_tokens;
        }
        json!({
            "input_tokens": input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "output_tokens": output,
            "output_tokens_details": { "thinking_tokens": thinking },
        })
    }

    /// Begins a block.
    fn begin_block(&mut self, block: Block, out: &mut Frames) {
        let begun = match &block {
            Block::Text(_) => json!({ "type": "text", "text": "" }),
            Block::Thinking(_) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Block::Call { id, name, .. } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
            }
        };
        let index = self.content.len();
        let event = json!({ "type": "content_block_start", "index": index, "content_block": begun });
        out.event("content_block_start", &event);
        self.open = Some(block);
    }

    /// Ends the open block, if there is one.
    fn end_block(&mut self, out: &mut Frames) {
        let index = self.content.len();
        let block = match self.open.take() {
            None => return,
            Some(Block::Text(text)) => json!({ "type": "text", "text": text }),
            Some(Block::Thinking(text)) => {
                let shown = self.outline.thinking_shown;
                let signature = if shown { SIGNATURE.to_string() } else { opaque::conceal(&text) };
                self.delta(json!({ "type": "signature_delta", "signature": signature }), out);
                let text = if shown { text } else { String::new() };
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            Some(Block::Call { id, name, input }) => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": object_prefix(&input) })
            }
        };
        self.content.push(block);
        out.event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }));
    }

    fn piece(&mut self, piece: ReplyPiece, out: &mut Frames) {
        match piece {
            ReplyPiece::Text(more) => {
                if !matches!(self.open, Some(Block::Text(_))) {
                    self.end_block(out);
                    self.begin_block(Block::Text(String::new()), out);
                }
                self.delta(json!({ "type": "text_delta", "text": more }), out);
                if let Some(Block::Text(text)) = &mut self.open {
                    *text += &more;
                }
            }
            ReplyPiece::Reasoning(more) => {
                if !matches!(self.open, Some(Block::Thinking(_))) {
                    self.end_block(out);
                    self.begin_block(Block::Thinking(String::new()), out);
                }
                if self.outline.thinking_shown {
                    self.delta(json!({ "type": "thinking_delta", "thinking": more }), out);
                }
                if let Some(Block::Thinking(text)) = &mut self.open {
                    *text += &more;
                }
            }
            ReplyPiece::ToolCall { index, name } => {
                self.calls.begun += 1;
                self.end_block(out);
                let id = format!("toolu_{}_{index}", self.outline.id);
                self.begin_block(Block::Call { id, name, input: String::new() }, out);
            }
            ReplyPiece::Arguments { json, .. } => {
                if let Some(Block::Call { input, .. }) = &mut self.open {
                    *input += &json;
                    self.delta(json!({ "type": "input_json_delta", "partial_json": json }), out);
                }
            }
            ReplyPiece::ToolCallEnd { .. } => {
                self.calls.ended += 1;
                self.end_block(out);
            }
            _ => {}
        }
    }

    /// An event of the open block.
    fn delta(&self, delta: Value, out: &mut Frames) {
        let event = json!({ "type": "content_block_delta", "index": self.content.len(), "delta": delta });
        out.event("content_block_delta", &event);
    }
}

impl Events for MessageEvents {
    fn begin(&mut self, out: &mut Frames) {
        out.event("message_start", &json!({ "type": "message_start", "message": self.message() }));
    }

    fn update(&mut self, _: usize, update: Update, out: &mut Frames) {
        match update {
            Update::Prompt { .. } | Update::PromptToken(_) | Update::Token(_) => {}
            Update::Piece(piece) => self.piece(piece, out),
            Update::Finished(outcome) => {
                self.end_block(out);
                self.outcome = Some(outcome);
            }
        }
    }

    fn end(&mut self, out: &mut Frames) {
        let (reason, stop) = self.stop();
        let delta = json!({ "stop_reason": reason, "stop_sequence": stop });
        let event = json!({ "type": "message_delta", "delta": delta, "usage": self.usage() });
        out.event("message_delta", &event);
        out.event("message_stop", &json!({ "type": "message_stop" }));
    }

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.event("error", &error.anthropic(&self.outline.request_id));
    }

    fn ping(&mut self, out: &mut Frames) {
        out.event("ping", &json!({ "type": "ping" }));
    }
}
