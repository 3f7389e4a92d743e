//! A message of a conversation, as OpenAI's chat API writes it.

use serde_json::{Map, Value, json};
use weft_engine::Message;

use crate::api::unread;
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};

/// The most tool calls of a message: more than a reply has room for.
pub(in crate::api) const CALLS: usize = 16384;
/// The most parts of a message.
const PARTS: usize = 4096;

/// Reads a message at `path`.
///
/// # Errors
/// If it is not one, or has something other than text.
pub(super) fn read(value: &Value, path: &str, ignored: &Ignored) -> Result<Message, ApiError> {
    let mut fields = Fields::of(value, path, ignored)?;
    let roles = ["system", "developer", "user", "assistant", "tool", "function"];
    let Some(role) = fields.choice("role", &roles)? else {
        let path = fields.at("role");
        let message = format!("{path} is missing: expected `system`, `user`, `assistant` or `tool`");
        return Err(ApiError::invalid(path, message));
    };
    let content = match fields.value("content") {
        None => Value::Null,
        Some(content) => {
            // What the user or the program says now must not get lost; what tools and models said stays in the history.
            let history = matches!(role, "assistant" | "tool" | "function");
            text_of(content, &fields.at("content"), history, ignored)?.into()
        }
    };
    let mut extra = Map::new();
    if let Some(name) = fields.text("name")? {
        extra.insert("name".into(), name.into());
    }
    if role == "assistant" {
        // vLLM's clients say `reasoning`.
        let reasoning = fields.text("reasoning_content")?;
        let reasoning = reasoning.or(fields.text("reasoning")?);
        if let Some(reasoning) = reasoning {
            extra.insert("reasoning_content".into(), reasoning.into());
        }
        let calls = fields.array("tool_calls", CALLS)?.unwrap_or_default();
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(i, call)| tool_call(call, &format!("{path}.tool_calls[{i}]"), ignored))
            .collect::<Result<_, _>>()?;
        if !calls.is_empty() {
            extra.insert("tool_calls".into(), calls.into());
        }
        fields.refuse("audio", &[], "only text is")?;
        fields.refuse("function_call", &[], "use `tool_calls`")?;
        // A reply that comes back may have these.
        fields.ignore(&["refusal", "annotations", "prefix"]);
    } else if role == "user" {
        // Ollama's clients put them here.
        fields.refuse("images", &[Value::Array(Vec::new())], "this model reads text only")?;
    }
    if role != "assistant" && content.is_null() {
        let path = fields.at("content");
        return Err(ApiError::invalid(path.clone(), format!("{path} is missing: expected a string")));
    }
    if role == "tool" {
        let id = fields.required_text("tool_call_id")?;
        extra.insert("tool_call_id".into(), id.into());
    }
    fields.end()?;
    Ok(Message { extra, ..Message::new(role, content) })
}

/// The text of a content: a string, or parts. Parts that are not text are refused, unless they belong to the `history`.
fn text_of(content: &Value, path: &str, history: bool, ignored: &Ignored) -> Result<String, ApiError> {
    let parts = match content {
        Value::String(text) => return Ok(text.clone()),
        Value::Array(parts) if parts.len() <= PARTS => parts,
        _ => {
            let expected = format!("a string or an array of at most {PARTS} parts");
            return Err(expected_at(path, &expected, content));
        }
    };
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let mut fields = Fields::of(part, path.as_str(), ignored)?;
        let kind = fields.required_text("type")?;
        if kind == "refusal" && history {
            text += fields.required_text("refusal")?;
            fields.end()?;
            continue;
        }
        if !matches!(kind, "text" | "input_text" | "output_text") && history {
            unread::replace(&mut text, part, kind, &path, ignored);
            continue;
        }
        if !matches!(kind, "text" | "input_text" | "output_text") {
            let place = fields.at("type");
            let message = format!("{place}: this model reads text only, so expected `text`, found {kind:?}");
            return Err(ApiError::unsupported(place, message));
        }
        text += fields.required_text("text")?;
        fields.ignore(&["annotations", "cache_control", "logprobs"]);
        fields.end()?;
    }
    Ok(text)
}

/// The arguments of a call of an earlier reply. Models write what is no JSON, and clients return it: history is not refused.
pub(crate) fn arguments_of(value: Option<&Value>) -> String {
    match value {
        None => "{}".to_string(),
        Some(Value::String(text)) => text.clone(),
        // Ollama's clients send the object itself.
        Some(other) => other.to_string(),
    }
}

/// A tool call of an earlier reply.
fn tool_call(value: &Value, path: &str, ignored: &Ignored) -> Result<Value, ApiError> {
    let mut fields = Fields::of(value, path, ignored)?;
    let id = fields.text("id")?.unwrap_or_default().to_string();
    fields.choice("type", &["function"])?;
    fields.ignore(&["index"]);
    let function = fields.required("function", "an object")?;
    let mut function = Fields::of(function, fields.at("function"), ignored)?;
    let name = function.required_text("name")?.to_string();
    let arguments = arguments_of(function.value("arguments"));
    function.end()?;
    fields.end()?;
    Ok(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
}
