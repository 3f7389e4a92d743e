//! The input of a response: items, which become the messages of a conversation.

use serde_json::{Map, Value, json};
use weft_engine::Message;

use super::custom::FIELD;
use super::tools::{Callables, model_name};
use crate::api::chat::arguments_of;
use crate::api::dialogue::Dialogue;
use crate::api::{opaque, unread};
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};

/// The most items of a request.
const ITEMS: usize = 16384;
/// The most parts of an item.
const PARTS: usize = 4096;
/// Fields that items have when they come back, and that mean nothing to a model.
const RECORDS: &[&str] = &["id", "status", "phase", "internal_chat_message_metadata_passthrough"];

/// Reads `input` and appends its messages to the conversation. Tools that it brings join the others.
///
/// # Errors
/// If an item is malformed, or has something that this server does not have: an image, a stored item.
pub(super) fn read(
    value: &Value,
    dialogue: &mut Dialogue,
    callables: &mut Callables,
    ignored: &Ignored,
) -> Result<(), ApiError> {
    match value {
        Value::String(text) => dialogue.messages.push(Message::new("user", text.as_str())),
        Value::Array(items) if items.len() <= ITEMS => {
            let mut reader = Reader { dialogue, callables, ignored, turn: Turn::default() };
            for (i, item) in items.iter().enumerate() {
                reader.item(item, &format!("input[{i}]"))?;
            }
            reader.end_turn();
        }
        Value::Array(items) => {
            let message = format!("input: expected at most {ITEMS} items, found {}", items.len());
            return Err(ApiError::invalid("input", message));
        }
        other => return Err(expected_at("input", "a string or an array of items", other)),
    }
    if dialogue.messages.is_empty() {
        return Err(ApiError::invalid("input", "input: expected at least one message, found none"));
    }
    Ok(())
}

struct Reader<'a> {
    dialogue: &'a mut Dialogue,
    callables: &'a mut Callables,
    ignored: &'a Ignored,
    turn: Turn,
}

/// Items of the assistant that are one message to templates: its reasoning, its text, its calls.
#[derive(Default)]
struct Turn {
    reasoning: String,
    text: Option<String>,
    calls: Vec<Value>,
}

impl Reader<'_> {
    fn item(&mut self, value: &Value, path: &str) -> Result<(), ApiError> {
        let mut fields = Fields::of(value, path, self.ignored)?;
        let kind = fields.text("type")?;
        fields.ignore(RECORDS);
        match kind {
            None if fields.value("role").is_some() => self.message(&mut fields)?,
            Some("message") => self.message(&mut fields)?,
            Some("reasoning") => self.reasoning(&mut fields)?,
            Some("function_call" | "custom_tool_call") => self.call(&mut fields)?,
            Some("function_call_output" | "custom_tool_call_output") => self.output(&mut fields)?,
            Some("additional_tools") => {
                self.callables.read(&mut fields, self.dialogue, self.ignored)?;
                fields.ignore(&["role"]);
            }
            None | Some("item_reference") => {
                return Err(not_stored(path, "an item of an earlier response"));
            }
            Some("compaction" | "compaction_summary" | "context_compaction" | "compaction_trigger") => {
                return Err(not_stored(path, "a compacted conversation"));
            }
            // Calls of tools that only their vendor's servers have.
            Some(other) => {
                self.ignored.add(format!("{path} ({})", other.chars().take(60).collect::<String>()));
                return Ok(());
            }
        }
        self.ignored.fields("input[]", fields.rest());
        Ok(())
    }

    fn message(&mut self, fields: &mut Fields<'_>) -> Result<(), ApiError> {
        fields.ignore(&["encrypted_content"]);
        let roles = ["user", "assistant", "system", "developer"];
        let Some(role) = fields.choice("role", &roles)? else {
            let path = fields.at("role");
            let message = format!("{path} is missing: expected `user`, `assistant`, `system` or `developer`");
            return Err(ApiError::invalid(path, message));
        };
        let content = fields.required("content", "a string or an array of parts")?;
        let text = self.text(content, &fields.at("content"), role == "assistant")?;
        if role != "assistant" {
            self.end_turn();
            self.dialogue.messages.push(Message::new(role, text));
            return Ok(());
        }
        if self.turn.text.is_some() || !self.turn.calls.is_empty() {
            self.end_turn();
        }
        self.turn.text = Some(text);
        Ok(())
    }

    /// Reasoning that comes back: as its content or its summary, or in the form that only this server reads.
    fn reasoning(&mut self, fields: &mut Fields<'_>) -> Result<(), ApiError> {
        let mut text = String::new();
        for name in ["content", "summary"] {
            let parts = fields.array(name, PARTS)?.unwrap_or_default();
            if text.is_empty() && !parts.is_empty() {
                text = self.text(&Value::Array(parts.to_vec()), &fields.at(name), true)?;
            }
        }
        let encrypted = fields.text("encrypted_content")?;
        if text.is_empty()
            && let Some(encrypted) = encrypted
        {
            match opaque::reveal(encrypted) {
                Some(hidden) => text = hidden.to_string(),
                None => self.ignored.add(fields.at("encrypted_content")),
            }
        }
        if self.turn.text.is_some() || !self.turn.calls.is_empty() {
            self.end_turn();
        }
        self.turn.reasoning += &text;
        Ok(())
    }

    fn call(&mut self, fields: &mut Fields<'_>) -> Result<(), ApiError> {
        fields.ignore(&["caller", "async", "encrypted_content"]);
        let custom = fields.text("type")? == Some("custom_tool_call");
        let id = fields.required_text("call_id")?;
        let name = fields.required_text("name")?;
        let name = model_name(fields.text("namespace")?, name);
        let arguments = if custom {
            json!({ FIELD: fields.text("input")?.unwrap_or_default() }).to_string()
        } else {
            arguments_of(fields.value("arguments"))
        };
        let function = json!({ "name": name, "arguments": arguments });
        self.turn.calls.push(json!({ "id": id, "type": "function", "function": function }));
        Ok(())
    }

    fn output(&mut self, fields: &mut Fields<'_>) -> Result<(), ApiError> {
        fields.ignore(&["caller", "name", "namespace"]);
        let id = fields.required_text("call_id")?;
        let output = fields.required("output", "a string or an array of parts")?;
        let text = self.text(output, &fields.at("output"), true)?;
        self.end_turn();
        let extra = Map::from_iter([("tool_call_id".to_string(), id.into())]);
        self.dialogue.messages.push(Message { extra, ..Message::new("tool", text) });
        Ok(())
    }

    /// The text of a string or of parts. Parts that are not text are refused, unless they belong to the `history`: what
    /// tools and models said.
    fn text(&mut self, content: &Value, path: &str, history: bool) -> Result<String, ApiError> {
        let parts = match content {
            Value::String(text) => return Ok(text.clone()),
            Value::Array(parts) if parts.len() <= PARTS => parts,
            Value::Array(parts) => {
                let message = format!("{path}: expected at most {PARTS} parts, found {}", parts.len());
                return Err(ApiError::invalid(path, message));
            }
            other => return Err(expected_at(path, "a string or an array of parts", other)),
        };
        let mut text = String::new();
        for (i, part) in parts.iter().enumerate() {
            let place = format!("{path}[{i}]");
            let mut fields = Fields::of(part, place.as_str(), self.ignored)?;
            match fields.required_text("type")? {
                "input_text" | "output_text" | "text" | "reasoning_text" | "summary_text" => {
                    text += fields.required_text("text")?;
                }
                "refusal" => text += fields.required_text("refusal")?,
                other if history => {
                    unread::replace(&mut text, part, other, &place, self.ignored);
                    continue;
                }
                other => {
                    let place = fields.at("type");
                    let message = format!(
                        "{place}: this model reads text only, so expected `input_text`, found {other:?}"
                    );
                    return Err(ApiError::unsupported(place, message));
                }
            }
            fields.ignore(&["annotations", "logprobs", "prompt_cache_breakpoint"]);
            self.ignored.fields("input[].content[]", fields.rest());
        }
        Ok(text)
    }

    fn end_turn(&mut self) {
        let Turn { reasoning, text, calls } = std::mem::take(&mut self.turn);
        if reasoning.is_empty() && text.is_none() && calls.is_empty() {
            return;
        }
        let mut message = Message::new("assistant", text.unwrap_or_default());
        if !reasoning.is_empty() {
            message.extra.insert("reasoning_content".into(), reasoning.into());
        }
        if !calls.is_empty() {
            message.extra.insert("tool_calls".into(), calls.into());
        }
        self.dialogue.messages.push(message);
    }
}

fn not_stored(path: &str, what: &str) -> ApiError {
    let message =
        format!("{path} refers to {what}: this server stores nothing; send the items themselves in `input`");
    ApiError::unsupported(path, message)
}
