//! The tools of a chat completion.

use serde_json::Value;

use crate::api::dialogue::{Dialogue, ToolChoice};
use crate::api::tools::{self, TOOLS};
use crate::error::{ApiError, beginning};
use crate::json::{Fields, expected_at};

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
///
/// # Errors
/// If one of them is wrong, or a tool is chosen that is not there.
pub(in crate::api) fn read(fields: &mut Fields<'_>, dialogue: &mut Dialogue) -> Result<(), ApiError> {
    for (i, value) in fields.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
        let path = format!("tools[{i}]");
        let mut outer = Fields::of(value, path.as_str(), fields.ignored())?;
        let kind = outer.required_text("type")?;
        if kind != "function" && !fields.ignored().is_strict() {
            fields.ignored().add(format!("{path} ({})", beginning(kind)));
            continue;
        }
        if kind != "function" {
            let place = outer.at("type");
            let message =
                format!("{place}: expected `function`, found {kind:?}: this server runs no tools itself");
            return Err(ApiError::unsupported(place, message));
        }
        let function = outer.required("function", "an object")?;
        let mut function = Fields::of(function, outer.at("function"), fields.ignored())?;
        let tool = tools::function(&mut function)?;
        function.end()?;
        outer.end()?;
        tools::add(dialogue, tool, &path)?;
    }
    if let Some(choice) = fields.value("tool_choice") {
        dialogue.choice = match choice {
            Value::String(text) => named_mode(text, choice)?,
            Value::Object(_) => {
                let mut outer = Fields::of(choice, "tool_choice", fields.ignored())?;
                outer.choice("type", &["function"])?;
                let function = outer.required("function", "an object")?;
                let mut function = Fields::of(function, "tool_choice.function", fields.ignored())?;
                let name = function.required_text("name")?.to_string();
                function.end()?;
                outer.end()?;
                ToolChoice::Named(name)
            }
            other => return Err(expected_at("tool_choice", CHOICES, other)),
        };
    }
    tools::check_choice(dialogue)?;
    dialogue.parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
    Ok(())
}

const CHOICES: &str = "`none`, `auto`, `required` or a function";

fn named_mode(text: &str, value: &Value) -> Result<ToolChoice, ApiError> {
    match text {
        "none" => Ok(ToolChoice::None),
        "auto" => Ok(ToolChoice::Auto),
        // Mistral's name is the second.
        "required" | "any" => Ok(ToolChoice::Required),
        _ => Err(expected_at("tool_choice", CHOICES, value)),
    }
}
