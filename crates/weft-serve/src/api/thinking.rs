//! Whether the model reasons before it answers, and how much: by the names of several servers.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::json::{Fields, expected_at};

/// The variable of gpt-oss's chat template that says how much the model reasons.
pub(crate) const EFFORT: &str = "reasoning_effort";

/// The efforts that clients may ask for. Most models reason with their own effort or not at all; to them, all but `none` mean the
/// same.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Asks the chat template for reasoning, or for none.
pub(crate) fn set(variables: &mut Map<String, Value>, on: bool) {
    variables.insert("enable_thinking".into(), on.into());
}

/// Asks for this much reasoning.
pub(crate) fn set_effort(variables: &mut Map<String, Value>, effort: Option<&str>) {
    let Some(effort) = effort else { return };
    if effort == "none" {
        set(variables, false);
    }
    variables.insert(EFFORT.into(), effort.into());
}

/// The nearest of the three efforts that gpt-oss knows. It cannot reason not at all.
pub(crate) fn nearest(effort: &str) -> &'static str {
    match effort {
        "none" | "minimal" | "low" => "low",
        "high" | "xhigh" | "max" => "high",
        _ => "medium",
    }
}

/// Reads `chat_template_kwargs` and `reasoning_effort`.
///
/// # Errors
/// If a value is wrong, or a variable of the template may not be set: it could change what the template does with the
/// messages.
pub(crate) fn read(fields: &mut Fields<'_>, variables: &mut Map<String, Value>) -> Result<(), ApiError> {
    const NAMES: [&str; 3] = ["enable_thinking", "clear_thinking", "thinking"];
    if let Some(mut given) = fields.object("chat_template_kwargs")? {
        for name in NAMES {
            if let Some(flag) = given.flag(name)? {
                variables.insert(name.into(), flag.into());
            }
        }
        set_effort(variables, given.choice(EFFORT, EFFORTS)?);
        if let Some(other) = given.rest().find(|_| !fields.ignored().is_strict()) {
            let path = given.at(&crate::error::beginning(other));
            let names = NAMES.map(|name| format!("`{name}`")).join(", ");
            let message = format!("{path} is not supported: requests may set {names} and `{EFFORT}`");
            return Err(ApiError::unsupported(path, message));
        }
        given.end()?;
    }
    set_effort(variables, fields.choice(EFFORT, EFFORTS)?);
    Ok(())
}

/// Reads the fields by which other servers ask for reasoning, of those that the API does not have itself. Returns whether
/// the answer shows the reasoning.
///
/// # Errors
/// If a value is wrong.
pub(crate) fn read_foreign(
    fields: &mut Fields<'_>,
    variables: &mut Map<String, Value>,
) -> Result<bool, ApiError> {
    if fields.ignored().is_strict() {
        return Ok(true);
    }
    if !fields.knows(EFFORT) {
        read(fields, variables)?;
    }
    // Qwen's hosts.
    if let Some(on) = fields.flag("enable_thinking")? {
        set(variables, on);
    }
    // llama.cpp's; what it allows beyond none has no effect.
    match fields.value("reasoning_budget").map(Value::as_i64) {
        None | Some(Some(-1)) => {}
        Some(Some(0)) => set(variables, false),
        Some(_) => fields.leave_out("reasoning_budget"),
    }
    // Ollama's.
    match fields.value("think") {
        None => {}
        Some(Value::Bool(on)) => set(variables, *on),
        Some(value) => {
            let effort = EFFORTS.iter().find(|effort| value.as_str() == Some(**effort));
            let effort = effort
                .ok_or_else(|| expected_at("think", "true, false, `low`, `medium` or `high`", value))?;
            set_effort(variables, Some(effort));
        }
    }
    // Z.ai's and DeepSeek's, after Anthropic's.
    if !fields.knows("thinking") {
        match fields.value("thinking") {
            None => {}
            Some(Value::Bool(on)) => set(variables, *on),
            Some(value) => {
                let mut thinking = Fields::of(value, "thinking", fields.ignored())?;
                let kinds = ["enabled", "disabled", "adaptive", "auto"];
                match thinking.choice("type", &kinds)? {
                    Some("enabled") => set(variables, true),
                    Some("disabled") => set(variables, false),
                    _ => {}
                }
                if let Some(clear) = thinking.flag("clear_thinking")? {
                    variables.insert("clear_thinking".into(), clear.into());
                }
                thinking.end()?;
            }
        }
    }
    // OpenRouter's: one flag, and later an object.
    let mut shown = fields.flag("include_reasoning")?.unwrap_or(true);
    if !fields.knows("reasoning") {
        match fields.value("reasoning") {
            None => {}
            Some(Value::Bool(on)) => set(variables, *on),
            Some(value) => {
                let mut reasoning = Fields::of(value, "reasoning", fields.ignored())?;
                if let Some(on) = reasoning.flag("enabled")? {
                    set(variables, on);
                }
                set_effort(variables, reasoning.choice("effort", EFFORTS)?);
                shown &= !reasoning.flag("exclude")?.unwrap_or(false);
                reasoning.end()?;
            }
        }
    }
    Ok(shown)
}
