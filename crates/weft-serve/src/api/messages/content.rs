//! The messages of a request: blocks, which become messages as chat templates know them.

use serde_json::{Map, Value, json};
use weft_engine::Message;

use crate::api::chat::arguments_of;
use crate::api::dialogue::Dialogue;
use crate::api::{opaque, unread};
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};

/// The most messages of a request.
const MESSAGES: usize = 16384;
/// The most blocks of a message.
const BLOCKS: usize = 4096;
/// A line that Claude Code puts before its system prompt. It differs from request to request, so that no prompt would
/// begin with an earlier one.
const BILLING: &str = "x-anthropic-billing-header";
/// The beginning of a failed tool's result.
const FAILED: &str = "Error: ";

/// Reads `system` and `messages` into a conversation.
///
/// # Errors
/// If one is malformed, or has something other than text.
pub(super) fn read(
    fields: &mut Fields<'_>,
    dialogue: &mut Dialogue,
    ignored: &Ignored,
) -> Result<(), ApiError> {
    if let Some(system) = fields.value("system") {
        let text = text(system, "system", ignored, Unread::Refuse, |text| !text.starts_with(BILLING))?;
        if !text.is_empty() {
            dialogue.messages.push(Message::new("system", text));
        }
    }
    let value = fields.required("messages", "an array of messages")?;
    let Value::Array(messages) = value else {
        return Err(fields.expected("messages", "an array of messages", value));
    };
    if messages.is_empty() || messages.len() > MESSAGES {
        let message = format!("messages: expected 1 to {MESSAGES} messages, found {}", messages.len());
        return Err(ApiError::invalid("messages", message));
    }
    for (i, value) in messages.iter().enumerate() {
        let path = format!("messages[{i}]");
        let mut fields = Fields::of(value, path.as_str(), ignored)?;
        let Some(role) = fields.choice("role", &["user", "assistant", "system"])? else {
            let path = fields.at("role");
            let message = format!("{path} is missing: expected `user` or `assistant`");
            return Err(ApiError::invalid(path, message));
        };
        let content = fields.required("content", "a string or an array of blocks")?;
        let place = fields.at("content");
        match role {
            "assistant" => assistant(content, &place, dialogue, ignored)?,
            "user" => {
                user(content, &place, dialogue, ignored)?;
                // Ollama's clients put them here.
                fields.refuse("images", &[Value::Array(Vec::new())], "this model reads text only")?;
            }
            _ => {
                let text = text(content, &place, ignored, Unread::Refuse, |_| true)?;
                dialogue.messages.push(Message::new("system", text));
            }
        }
        ignored.fields("messages[]", fields.rest());
    }
    let path = format!("messages[{}]", messages.len() - 1);
    dialogue.continue_last(&path)?;
    Ok(())
}

/// The blocks of a content. A string is one block.
fn blocks<'a>(content: &'a Value, path: &str) -> Result<Blocks<'a>, ApiError> {
    match content {
        Value::String(text) => Ok(Blocks::Text(text)),
        Value::Array(blocks) if blocks.len() <= BLOCKS => Ok(Blocks::List(blocks)),
        Value::Array(blocks) => {
            let message = format!("{path}: expected at most {BLOCKS} blocks, found {}", blocks.len());
            Err(ApiError::invalid(path, message))
        }
        other => Err(expected_at(path, "a string or an array of blocks", other)),
    }
}

enum Blocks<'a> {
    Text(&'a str),
    List(&'a [Value]),
}

/// The treatment of blocks that are not text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unread {
    /// They are errors.
    Refuse,
    /// A line stands in their place.
    Replace,
}

/// The text of a content, each block on lines of its own. Text that `keep` refuses is left out.
fn text(
    content: &Value,
    path: &str,
    ignored: &Ignored,
    unread: Unread,
    keep: impl Fn(&str) -> bool,
) -> Result<String, ApiError> {
    let list = match blocks(content, path)? {
        Blocks::Text(text) => return Ok(text.to_string()),
        Blocks::List(list) => list,
    };
    let mut text = String::new();
    for (i, block) in list.iter().enumerate() {
        let place = format!("{path}[{i}]");
        let mut fields = Fields::of(block, place.as_str(), ignored)?;
        match fields.required_text("type")? {
            "text" => {
                let more = fields.required_text("text")?;
                if keep(more) {
                    join(&mut text, more);
                }
                fields.ignore(&["cache_control", "citations"]);
                ignored.fields("content[]", fields.rest());
            }
            other if unread == Unread::Replace => unread::replace(&mut text, block, other, &place, ignored),
            other => match unread::text_within(block) {
                Some(more) => join(&mut text, &more),
                None => return Err(not_text(&fields, other)),
            },
        }
    }
    Ok(text)
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(more);
}

fn not_text(fields: &Fields<'_>, found: &str) -> ApiError {
    let place = fields.at("type");
    let found: String = found.chars().take(60).collect();
    let message =
        format!("{place}: this model reads text only, and cannot read a block of the type {found:?}");
    ApiError::unsupported(place, message)
}

/// A user's message: text, and the results of tools, which templates expect in messages of their own.
fn user(content: &Value, path: &str, dialogue: &mut Dialogue, ignored: &Ignored) -> Result<(), ApiError> {
    let list = match blocks(content, path)? {
        Blocks::Text(text) => {
            dialogue.messages.push(Message::new("user", text));
            return Ok(());
        }
        Blocks::List(list) => list,
    };
    let mut said: Option<String> = None;
    for (i, block) in list.iter().enumerate() {
        let place = format!("{path}[{i}]");
        let mut fields = Fields::of(block, place.as_str(), ignored)?;
        match fields.required_text("type")? {
            "text" => {
                join(said.get_or_insert_default(), fields.required_text("text")?);
                fields.ignore(&["cache_control", "citations"]);
            }
            "tool_result" => {
                dialogue.messages.extend(said.take().map(|text| Message::new("user", text)));
                let id = fields.required_text("tool_use_id")?;
                let failed = fields.flag("is_error")?.unwrap_or(false);
                let result = match fields.value("content") {
                    None => String::new(),
                    Some(content) => {
                        text(content, &fields.at("content"), ignored, Unread::Replace, |_| true)?
                    }
                };
                let result = if failed { format!("{FAILED}{result}") } else { result };
                let extra = Map::from_iter([("tool_call_id".to_string(), id.into())]);
                dialogue.messages.push(Message { extra, ..Message::new("tool", result) });
                fields.ignore(&["cache_control"]);
            }
            other => {
                let within = unread::text_within(block).ok_or_else(|| not_text(&fields, other))?;
                join(said.get_or_insert_default(), &within);
                continue;
            }
        }
        ignored.fields("content[]", fields.rest());
    }
    dialogue.messages.extend(said.map(|text| Message::new("user", text)));
    Ok(())
}

/// A message of the assistant: its thinking, its text, its calls.
fn assistant(
    content: &Value,
    path: &str,
    dialogue: &mut Dialogue,
    ignored: &Ignored,
) -> Result<(), ApiError> {
    let list = match blocks(content, path)? {
        Blocks::Text(text) => {
            dialogue.messages.push(Message::new("assistant", text));
            return Ok(());
        }
        Blocks::List(list) => list,
    };
    let (mut thinking, mut said, mut calls) = (String::new(), String::new(), Vec::new());
    for (i, block) in list.iter().enumerate() {
        let place = format!("{path}[{i}]");
        let mut fields = Fields::of(block, place.as_str(), ignored)?;
        match fields.required_text("type")? {
            "text" => {
                said += fields.required_text("text")?;
                fields.ignore(&["citations"]);
            }
            "thinking" => {
                let visible = fields.required_text("thinking")?;
                let signature = fields.text("signature")?.unwrap_or_default();
                let hidden = || opaque::reveal(signature).unwrap_or_default();
                thinking += if visible.is_empty() { hidden() } else { visible };
            }
            "tool_use" => {
                let id = fields.required_text("id")?;
                let name = fields.required_text("name")?;
                let function = json!({ "name": name, "arguments": arguments_of(fields.value("input")) });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
                fields.ignore(&["caller"]);
            }
            // Images, and blocks of Anthropic's own tools and of redacted thinking.
            other => {
                ignored.add(format!("{place} ({})", other.chars().take(60).collect::<String>()));
                continue;
            }
        }
        fields.ignore(&["cache_control"]);
        ignored.fields("content[]", fields.rest());
    }
    let mut message = Message::new("assistant", said);
    if !thinking.is_empty() {
        message.extra.insert("reasoning_content".into(), thinking.into());
    }
    if !calls.is_empty() {
        message.extra.insert("tool_calls".into(), calls.into());
    }
    dialogue.messages.push(message);
    Ok(())
}
