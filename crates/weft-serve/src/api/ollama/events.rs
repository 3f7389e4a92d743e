//! The lines of a reply in Ollama's API, and the answer they add up to.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weft_engine::{Finish, Token, Tokenizer};
use weft_text::reply::ReplyPiece;

use crate::api::wire;
use crate::error::ApiError;
use crate::http::new_id;
use crate::http::sse::{Events, Frames};
use crate::json::object_prefix;
use crate::reply::{Outcome, Update};
use crate::time::timestamp;

/// The route, whose lines have a form of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `/api/chat`: a message.
    Chat,
    /// `/api/generate`: a text.
    Generate,
}

/// The fields of an answer that are known before its reply begins.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    /// The route.
    pub(super) form: Form,
    /// The model as the client calls it.
    pub(super) model: String,
    /// When the request came.
    pub(super) since: Instant,
    /// How long the model took to load.
    pub(super) loading: Duration,
    /// Whose tokens' log probabilities are wanted.
    pub(super) logprobs: Option<Arc<Tokenizer>>,
}

impl Outline {
    /// An answer with this text and more.
    pub(super) fn answer(&self, said: &Said) -> Value {
        let mut value = json!({ "model": self.model, "created_at": now() });
        let Said { text, thinking, calls } = said;
        match self.form {
            Form::Chat => {
                let mut message = json!({ "role": "assistant", "content": text });
                if !thinking.is_empty() {
                    message["thinking"] = thinking.as_str().into();
                }
                if !calls.is_empty() {
                    message["tool_calls"] = calls.clone().into();
                }
                value["message"] = message;
            }
            Form::Generate => {
                value["response"] = text.as_str().into();
                if !thinking.is_empty() {
                    value["thinking"] = thinking.as_str().into();
                }
            }
        }
        value["done"] = false.into();
        value
    }

    /// An answer without a reply: the model was loaded, or unloaded.
    pub(super) fn without_reply(&self, reason: &str) -> Value {
        let mut value = self.answer(&Said::default());
        value["done"] = true.into();
        value["done_reason"] = reason.into();
        value
    }
}

/// The content of a reply, or of a part of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Said {
    text: String,
    thinking: String,
    calls: Vec<Value>,
}

/// From updates to lines, and to the answer.
pub(super) struct OllamaEvents {
    outline: Outline,
    /// All that was said, and all log probabilities, if the reply is not streamed.
    whole: Option<(Said, Vec<Value>)>,
    /// The name and the arguments of the call that more comes of.
    call: Option<(usize, String, String)>,
    calls: wire::Calls,
    /// Tokens whose log probabilities were not sent.
    tokens: Vec<Token>,
    /// Those that no line had before the last.
    rest: Vec<Value>,
    outcome: Option<Outcome>,
}

impl OllamaEvents {
    /// The lines of a reply that is streamed.
    pub(super) fn streamed(outline: Outline) -> OllamaEvents {
        let (calls, tokens) = (wire::Calls::default(), Vec::new());
        OllamaEvents { outline, whole: None, call: None, calls, tokens, rest: Vec::new(), outcome: None }
    }

    /// The answer of a reply that is not streamed.
    pub(super) fn collected(outline: Outline) -> OllamaEvents {
        OllamaEvents { whole: Some(Default::default()), ..OllamaEvents::streamed(outline) }
    }

    /// The whole answer.
    pub(super) fn whole(&mut self) -> Value {
        let (said, listed) = self.whole.take().unwrap_or_default();
        let mut value = self.last(&said);
        if self.outline.logprobs.is_some() {
            value["logprobs"] = listed.into();
        }
        value
    }

    /// The last line, with this text.
    fn last(&self, said: &Said) -> Value {
        let mut value = self.outline.answer(said);
        value["done"] = true.into();
        let Some(Outcome { finish, usage, timings, .. }) = &self.outcome else { return value };
        let cut_off =
            matches!(finish, Finish::Length | Finish::Context) || self.calls.begun > self.calls.ended;
        value["done_reason"] = if cut_off { "length" } else { "stop" }.into();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        value["total_duration"] = nanoseconds(self.outline.since.elapsed()).into();
        value["load_duration"] = nanoseconds(self.outline.loading).into();
        value["prompt_eval_count"] = usage.prompt_tokens.into();
        value["prompt_eval_duration"] = nanoseconds(timings.prompt).into();
        value["eval_count"] = usage.tokens.into();
        value["eval_duration"] = nanoseconds(timings.decode).into();
        value
    }

    /// A line with a part of the reply, and the log probabilities of the tokens so far.
    fn line(&mut self, said: &Said, out: &mut Frames) {
        let mut value = self.outline.answer(said);
        if let Some(listed) = self.list() {
            value["logprobs"] = listed.into();
        }
        out.line(&value);
    }

    /// The log probabilities of the tokens that have come.
    fn list(&mut self) -> Option<Vec<Value>> {
        let tokenizer = self.outline.logprobs.as_ref().filter(|_| !self.tokens.is_empty())?;
        Some(self.tokens.drain(..).map(|token| wire::token_logprob(&token, tokenizer)).collect())
    }
}

impl Events for OllamaEvents {
    const MEDIA: &str = "application/x-ndjson";

    fn begin(&mut self, _: &mut Frames) {}

    fn update(&mut self, _: usize, update: Update, out: &mut Frames) {
        let mut said = Said::default();
        match update {
            Update::Prompt { .. } | Update::PromptToken(_) => return,
            Update::Token(token) => {
                if self.outline.logprobs.is_some() {
                    self.tokens.push(token);
                }
                return;
            }
            Update::Piece(ReplyPiece::Reasoning(text)) => said.thinking = text,
            Update::Piece(ReplyPiece::Text(text)) => said.text = text,
            Update::Piece(ReplyPiece::ToolCall { index, name }) => {
                self.calls.begun += 1;
                self.call = Some((index, name, String::new()));
                return;
            }
            Update::Piece(ReplyPiece::Arguments { json, .. }) => {
                if let Some((_, _, arguments)) = &mut self.call {
                    *arguments += &json;
                }
                return;
            }
            // Calls come whole: clients run them at once.
            Update::Piece(ReplyPiece::ToolCallEnd { .. }) => {
                self.calls.ended += 1;
                let Some((index, name, arguments)) = self.call.take() else { return };
                let arguments = object_prefix(&arguments);
                let function = json!({ "index": index, "name": name, "arguments": arguments });
                // Of every reply another one: clients send calls of several replies back.
                said.calls.push(json!({ "id": new_id("call_"), "function": function }));
            }
            Update::Piece(_) => return,
            Update::Finished(outcome) => {
                // Those of tokens without text, as the last one often is, come with the last line.
                self.rest = self.list().unwrap_or_default();
                if let Some((_, listed)) = &mut self.whole {
                    listed.append(&mut self.rest);
                }
                self.outcome = Some(outcome);
                return;
            }
        }
        if self.whole.is_none() {
            return self.line(&said, out);
        }
        let more = self.list().unwrap_or_default();
        if let Some((all, listed)) = &mut self.whole {
            all.text += &said.text;
            all.thinking += &said.thinking;
            all.calls.append(&mut said.calls);
            listed.extend(more);
        }
    }

    fn end(&mut self, out: &mut Frames) {
        let mut value = self.last(&Said::default());
        if !self.rest.is_empty() {
            value["logprobs"] = std::mem::take(&mut self.rest).into();
        }
        out.line(&value);
    }

    fn error(&mut self, error: &ApiError, out: &mut Frames) {
        out.line(&error.ollama());
    }

    /// A line without text. The form has no other that means nothing.
    fn ping(&mut self, out: &mut Frames) {
        out.line(&self.outline.answer(&Said::default()));
    }
}

/// The time, as Ollama writes it.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = timestamp(since.as_secs());
    format!("{}.{:09}Z", seconds.trim_end_matches('Z'), since.subsec_nanos())
}

/// The answer that updates add up to.
#[cfg(test)]
pub(crate) fn answered(updates: &[Update]) -> Value {
    let mut events = OllamaEvents::collected(tests::outline(Form::Chat));
    crate::api::scripted::fold(&mut events, updates);
    events.whole()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::scripted::{any_reply, arguments, call, call_end, finished, reasoning, text};

    pub(super) fn outline(form: Form) -> Outline {
        Outline { form, model: "m".into(), since: Instant::now(), loading: Duration::ZERO, logprobs: None }
    }

    /// The lines of a streamed reply, without times.
    fn lines(form: Form, updates: &[Update]) -> Vec<Value> {
        let (mut events, mut frames) = (OllamaEvents::streamed(outline(form)), Frames::default());
        events.begin(&mut frames);
        updates.iter().for_each(|update| events.update(0, update.clone(), &mut frames));
        events.end(&mut frames);
        let lines = frames.text().lines().map(|line| serde_json::from_str(line).unwrap());
        lines.map(without_times).map(without_ids).collect()
    }

    fn without_times(mut value: Value) -> Value {
        let map = value.as_object_mut().unwrap();
        for name in [
            "model",
            "created_at",
            "total_duration",
            "load_duration",
            "prompt_eval_duration",
            "eval_duration",
        ] {
            map.shift_remove(name);
        }
        value
    }

    /// With the index of each call in the place of its id, which differs from reply to reply.
    fn without_ids(mut value: Value) -> Value {
        let calls = value.pointer_mut("/message/tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            assert!(call["id"].as_str().unwrap().len() > 20, "{call}");
            call["id"] = call["function"]["index"].clone();
        }
        value
    }

    #[test]
    fn a_reply_is_lines_and_calls_come_whole() {
        let updates = [
            reasoning("Hm"),
            text("Let me "),
            text("look."),
            call(0, "look"),
            arguments(0, "{\"city\": "),
            arguments(0, "\"Rome\"}"),
            call_end(0),
            finished(Finish::EndOfTurn),
        ];
        let expected = [
            r#"{"message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"Let me "},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"look."},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"","tool_calls":[{"id":0,"function":{"index":0,"name":"look","arguments":{"city":"Rome"}}}]},"done":false}"#,
            r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":7}"#,
        ];
        let found: Vec<String> = lines(Form::Chat, &updates).iter().map(Value::to_string).collect();
        assert_eq!(found, expected);
        let found = lines(Form::Generate, &[reasoning("Hm"), text("Yes"), finished(Finish::Length)]);
        let expected = [
            r#"{"response":"","thinking":"Hm","done":false}"#,
            r#"{"response":"Yes","done":false}"#,
            r#"{"response":"","done":true,"done_reason":"length","prompt_eval_count":30,"eval_count":7}"#,
        ];
        assert_eq!(found.iter().map(Value::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_call_that_broke_off_is_not_told() {
        let updates = [call(0, "look"), arguments(0, "{\"city\": "), finished(Finish::EndOfTurn)];
        let lines = lines(Form::Chat, &updates);
        assert_eq!((lines.len(), &lines[0]["done_reason"]), (1, &json!("length")));
    }

    proptest! {
        #[test]
        fn lines_add_up_to_the_answer(updates in any_reply(&["look", "b"], "k")) {
            let lines = lines(Form::Chat, &updates);
            let (last, before) = lines.split_last().unwrap();
            let text = |name: &str| -> String {
                before.iter().filter_map(|line| line["message"][name].as_str()).collect()
            };
            let calls: Vec<Value> =
                before.iter().filter_map(|line| line["message"]["tool_calls"].as_array()).flatten().cloned().collect();
            let whole = without_ids(without_times(answered(&updates)));
            let message = &whole["message"];
            prop_assert_eq!(&message["content"], &json!(text("content")));
            prop_assert_eq!(message["thinking"].as_str().unwrap_or_default(), text("thinking"));
            prop_assert_eq!(message["tool_calls"].as_array().cloned().unwrap_or_default(), calls);
            prop_assert_eq!(&whole["done_reason"], &last["done_reason"]);
            prop_assert!(before.iter().all(|line| line["done"] == false));
        }
    }
}
