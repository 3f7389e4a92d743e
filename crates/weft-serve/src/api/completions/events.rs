//! The chunks of a streamed completion.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_engine::Token;
use weft_text::reply::ReplyPiece;

use super::lists::{Offset, Usage, token_lists};
use crate::api::wire;
use crate::error::ApiError;
use crate::http::new_id;
use crate::http::sse::{Events, Frames};
use crate::models::Loaded;
use crate::reply::Update;

/// From updates to chunks.
pub(super) struct TextEvents {
    model: Arc<Loaded>,
    id: String,
    created: u64,
    n: usize,
    logprobs: bool,
    include_usage: bool,
    usage: Usage,
    choices: Vec<Choice>,
}

struct Choice {
    /// The prompt, if the first chunk repeats it.
    echo: String,
    /// Where the next token begins.
    offset: Offset,
    /// Tokens whose log probabilities were not sent.
    tokens: Vec<Token>,
}

impl TextEvents {
    pub(super) fn new(
        model: Arc<Loaded>,
        echoes: Vec<String>,
        n: usize,
        logprobs: bool,
        include_usage: bool,
    ) -> TextEvents {
        let choice =
            |echo: String| Choice { offset: Offset::after(echo.chars().count()), echo, tokens: Vec::new() };
        TextEvents {
            model,
            id: new_id("cmpl-"),
            created: wire::now(),
            n,
            logprobs,
            include_usage,
            usage: Usage::default(),
            choices: echoes.into_iter().map(choice).collect(),
        }
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut value = json!({
            "id": self.id,
            "object": "text_completion",
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

    fn text(&mut self, index: usize, text: &str, finish: Option<&str>) -> Value {
        let choice = &mut self.choices[index];
        let tokens = std::mem::take(&mut choice.tokens);
        let listed = (self.logprobs && !tokens.is_empty())
            .then(|| token_lists(&self.model.facts.tokenizer, &tokens, &mut choice.offset));
        self.chunk(json!([{ "index": index, "text": text, "logprobs": listed, "finish_reason": finish }]))
    }
}

impl Events for TextEvents {
    fn begin(&mut self, out: &mut Frames) {
        for index in 0..self.choices.len() {
            let echo = std::mem::take(&mut self.choices[index].echo);
            if !echo.is_empty() {
                let chunk = self.text(index, &echo, None);
                out.data(&chunk);
            }
        }
    }

    fn update(&mut self, index: usize, update: Update, out: &mut Frames) {
        match update {
            Update::PromptToken(token) => {
                let choice = &mut self.choices[index];
                if choice.tokens.is_empty() {
                    choice.offset = Offset::default();
                }
                choice.tokens.push(token);
            }
            Update::Token(token) if self.logprobs => self.choices[index].tokens.push(token),
            Update::Piece(ReplyPiece::Text(text)) => {
                let chunk = self.text(index, &text, None);
                out.data(&chunk);
            }
            Update::Finished(outcome) => {
                self.usage.add(index.is_multiple_of(self.n), &outcome);
                let mut chunk =
                    self.text(index, "", Some(wire::finish_reason(&outcome.finish, wire::Calls::default())));
                if self.choices.len() == 1 {
                    chunk["timings"] = wire::timings(&outcome);
                }
                out.data(&chunk);
            }
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Frames) {
        if self.include_usage {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = wire::usage(&self.usage.0);
            out.data(&chunk);
        }
        out.raw("[DONE]");
    }

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.data(&error.openai());
        out.raw("[DONE]");
    }
}
