//! The tools of a chat completion.

use serde_json::{Value, json};
use weft_text::reply::Tool;

use crate::api::dialogue::{Dialogue, ToolChoice};
use crate::error::ApiError;
use crate::json::{Fields, expected_at};

/// The most tools of a request.
pub(crate) const TOOLS: usize = 256;

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
///
/// # Errors
/// If one of them is wrong, or a tool is chosen that is not there.
pub(super) fn read(fields: &mut Fields<'_>, dialogue: &mut Dialogue) -> Result<(), ApiError> {
    for (i, value) in fields.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
        let path = format!("tools[{i}]");
        let mut outer = Fields::of(value, path.as_str())?;
        let kind = outer.required_text("type")?;
        if kind != "function" {
            let place = outer.at("type");
            let message =
                format!("{place}: expected `function`, found {kind:?}: this server runs no tools itself");
            return Err(ApiError::unsupported(place, message));
        }
        let function = outer.required("function", "an object")?;
        let tool = function_tool(function, &outer.at("function"))?;
        outer.end()?;
        add(dialogue, tool, &path)?;
    }
    if let Some(choice) = fields.value("tool_choice") {
        dialogue.choice = match choice {
            Value::String(text) => named_mode(text, choice)?,
            Value::Object(_) => {
                let mut outer = Fields::of(choice, "tool_choice")?;
                outer.choice("type", &["function"])?;
                let function = outer.required("function", "an object")?;
                let mut function = Fields::of(function, "tool_choice.function")?;
                let name = function.required_text("name")?.to_string();
                function.end()?;
                outer.end()?;
                ToolChoice::Named(name)
            }
            other => return Err(expected_at("tool_choice", CHOICES, other)),
        };
    }
    check_choice(dialogue)?;
    dialogue.parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
    Ok(())
}

const CHOICES: &str = "`none`, `auto`, `required` or a function";

fn named_mode(text: &str, value: &Value) -> Result<ToolChoice, ApiError> {
    match text {
        "none" => Ok(ToolChoice::None),
        "auto" => Ok(ToolChoice::Auto),
        "required" => Ok(ToolChoice::Required),
        _ => Err(expected_at("tool_choice", CHOICES, value)),
    }
}

/// Reads a function: its name, description and parameters.
///
/// # Errors
/// If it is not one.
pub(crate) fn function_tool(value: &Value, path: &str) -> Result<Tool, ApiError> {
    let mut fields = Fields::of(value, path)?;
    let name = fields.required_text("name")?.to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > 128 || !name.bytes().all(plain) {
        let place = fields.at("name");
        let message = format!("{place}: expected 1 to 128 letters, digits, `_`, `-` and `.`");
        return Err(ApiError::invalid(place, message));
    }
    let description = fields.text("description")?.map(str::to_string);
    let parameters = match fields.value("parameters") {
        None => json!({ "type": "object", "properties": {} }),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(other) => return Err(fields.expected("parameters", "a JSON schema", other)),
    };
    let strict = fields.flag("strict")?.unwrap_or(false);
    fields.end()?;
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
