//! The messages of a conversation.

use serde_json::{Map, Value as Json};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// `"system"`, `"user"`, `"assistant"`, `"tool"`, or another role that the template knows.
    pub role: String,
    /// A string, `null`, or the list of parts that some templates take.
    pub content: Json,
    /// More fields, as in HF `transformers`: `tool_calls`, `reasoning_content`, `name`. They do not override `role` and
    /// `content`.
    pub extra: Map<String, Json>,
}

impl Message {
    /// Creates a message without extra fields.
    pub fn new(role: impl Into<String>, content: impl Into<Json>) -> Message {
        Message { role: role.into(), content: content.into(), extra: Map::new() }
    }
}
