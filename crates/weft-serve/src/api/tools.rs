//! The tools of a request, as far as the APIs have them in common.

use serde_json::{Value, json};
use weft_text::reply::Tool;

use super::dialogue::{Dialogue, ToolChoice};
use crate::error::ApiError;
use crate::json::Fields;

/// The most tools of a request.
pub(crate) const TOOLS: usize = 256;
/// The most bytes of a tool's name.
pub(crate) const NAME_BYTES: usize = 128;

/// Reads the name of a tool.
///
/// # Errors
/// If it is missing, too long, or has other characters than names have.
pub(crate) fn name(fields: &mut Fields<'_>) -> Result<String, ApiError> {
    let name = fields.required_text("name")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(plain) {
        let place = fields.at("name");
        let message = format!("{place}: expected 1 to {NAME_BYTES} letters, digits, `_`, `-` and `.`");
        return Err(ApiError::invalid(place, message));
    }
    Ok(name.to_string())
}

/// Reads a function: its name, description and parameters.
///
/// # Errors
/// If one is missing or wrong.
pub(crate) fn function(fields: &mut Fields<'_>) -> Result<Tool, ApiError> {
    let name = name(fields)?;
    let description = fields.text("description")?.map(str::to_string);
    let parameters = match fields.value("parameters") {
        None => json!({ "type": "object", "properties": {} }),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(other) => return Err(fields.expected("parameters", "a JSON schema", other)),
    };
    let strict = fields.flag("strict")?.unwrap_or(false);
    Ok(Tool { name, description, parameters, strict })
}

/// Adds a tool.
///
/// # Errors
/// If there is one of this name.
pub(crate) fn add(dialogue: &mut Dialogue, tool: Tool, path: &str) -> Result<(), ApiError> {
    if dialogue.tools.iter().any(|other| other.name == tool.name) {
        return Err(ApiError::invalid(path, format!("{path}: two tools are named {:?}", tool.name)));
    }
    dialogue.tools.push(tool);
    Ok(())
}

/// Checks that the tools that have to be called are there.
///
/// # Errors
/// If they are not.
pub(crate) fn check_choice(dialogue: &Dialogue) -> Result<(), ApiError> {
    let wrong = |message: String| Err(ApiError::invalid("tool_choice", message));
    match &dialogue.choice {
        ToolChoice::Required if dialogue.tools.is_empty() => {
            wrong("tool_choice requires a call, and there are no tools".into())
        }
        ToolChoice::Named(name) if !dialogue.tools.iter().any(|tool| tool.name == *name) => {
            wrong(format!("tool_choice names {name:?}, which is not among the tools"))
        }
        _ => Ok(()),
    }
}
