//! An item of a response's output: a message, reasoning or a call.

use serde_json::{Value, json};

use super::custom::CustomInput;
use super::tools::Callable;
use crate::api::opaque;

/// How far an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// More of it comes.
    InProgress,
    /// It is complete.
    Completed,
    /// The reply was cut off within it.
    Incomplete,
}

impl Status {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Status::InProgress => "in_progress",
            Status::Completed => "completed",
            Status::Incomplete => "incomplete",
        }
    }
}

/// Where clients look for reasoning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReasoningForm {
    /// In the summary instead of the content.
    pub(super) summary: bool,
    /// Whether the item also has it in the form that clients return unread.
    pub(super) encrypted: bool,
}

/// An item.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Its place in the output.
    pub(super) index: usize,
    /// Its id.
    pub(super) id: String,
    /// Its content.
    pub(super) body: Body,
}

/// The content of an item.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// A message to the user.
    Message {
        /// The text so far.
        text: String,
        /// The log probabilities of its tokens.
        logprobs: Vec<Value>,
    },
    /// Reasoning.
    Reasoning {
        /// The text so far.
        text: String,
        /// Where it goes.
        form: ReasoningForm,
    },
    /// A call of a function.
    Call {
        /// The function.
        callable: Callable,
        /// The id by which the client returns what came of it.
        call_id: String,
        /// The arguments so far.
        arguments: String,
    },
    /// A call of a custom tool.
    Custom {
        /// The tool.
        callable: Callable,
        /// The id by which the client returns what came of it.
        call_id: String,
        /// Its input so far.
        input: String,
        /// Reads the input.
        reader: CustomInput,
    },
}

/// The names that the events of a kind of text have.
pub(super) struct TextEvents {
    /// The field that counts the parts of an item.
    pub(super) index: &'static str,
    /// A part begins.
    pub(super) added: &'static str,
    /// More text.
    pub(super) delta: &'static str,
    /// The text is complete.
    pub(super) done: &'static str,
    /// The part is complete.
    pub(super) ended: &'static str,
}

const OUTPUT: TextEvents = TextEvents {
    index: "content_index",
    added: "response.content_part.added",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    ended: "response.content_part.done",
};

const REASONING: TextEvents =
    TextEvents { delta: "response.reasoning_text.delta", done: "response.reasoning_text.done", ..OUTPUT };

const SUMMARY: TextEvents = TextEvents {
    index: "summary_index",
    added: "response.reasoning_summary_part.added",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    ended: "response.reasoning_summary_part.done",
};

impl Item {
    /// The item as JSON.
    pub(super) fn value(&self, status: Status) -> Value {
        let begun = status == Status::InProgress;
        let parts = || if begun { Vec::new() } else { vec![self.part()] };
        let mut value = match &self.body {
            Body::Message { .. } => json!({ "type": "message", "role": "assistant", "content": parts() }),
            Body::Reasoning { text, form } => {
                let (summary, content) =
                    if form.summary { (parts(), Vec::new()) } else { (Vec::new(), parts()) };
                let mut value = json!({ "type": "reasoning", "summary": summary, "content": content });
                if form.encrypted && !begun {
                    value["encrypted_content"] = opaque::conceal(text).into();
                }
                value
            }
            Body::Call { callable, call_id, arguments } => {
                let mut value = call("function_call", callable, call_id);
                value["arguments"] = arguments.as_str().into();
                value
            }
            Body::Custom { callable, call_id, input, .. } => {
                let mut value = call("custom_tool_call", callable, call_id);
                value["input"] = input.as_str().into();
                value
            }
        };
        value["id"] = self.id.as_str().into();
        value["status"] = status.name().into();
        value
    }

    /// The one part that an item with text has.
    pub(super) fn part(&self) -> Value {
        match &self.body {
            Body::Message { text, logprobs } => {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": logprobs })
            }
            Body::Reasoning { text, form } => {
                json!({ "type": if form.summary { "summary_text" } else { "reasoning_text" }, "text": text })
            }
            Body::Call { .. } | Body::Custom { .. } => Value::Null,
        }
    }

    /// The names of its events, if it is text.
    pub(super) fn text_events(&self) -> Option<&'static TextEvents> {
        match &self.body {
            Body::Message { .. } => Some(&OUTPUT),
            Body::Reasoning { form, .. } if form.summary => Some(&SUMMARY),
            Body::Reasoning { .. } => Some(&REASONING),
            Body::Call { .. } | Body::Custom { .. } => None,
        }
    }
}

fn call(kind: &str, callable: &Callable, call_id: &str) -> Value {
    let mut value = json!({ "type": kind, "call_id": call_id, "name": callable.name });
    if let Some(namespace) = &callable.namespace {
        value["namespace"] = namespace.as_str().into();
    }
    value
}
