//! Whether the model reasons before it answers, how much, and for how many tokens at most: by the names of several servers.

use serde_json::{Map, Value};
use weft_text::PRESERVE;

use crate::error::ApiError;
use crate::json::{Fields, expected_at};

/// The variable of gpt-oss's chat template that says how much the model reasons.
pub(crate) const EFFORT: &str = "reasoning_effort";

/// The efforts that clients may ask for. Most models reason with their own effort or not at all; to them, all but `none` mean the
/// same.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The requested reasoning of a model.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Thinking {
    /// Variables of the chat template, of those that a request may set.
    pub(crate) variables: Map<String, Value>,
    /// The most tokens of reasoning. `None` is no limit.
    pub(crate) budget: Option<usize>,
    /// Whether the prompt keeps the reasoning of earlier turns, where the chat template allows it. `None` leaves it to the model.
    pub(crate) preserve: Option<bool>,
}

/// Asks the chat template for reasoning, or for none.
pub(crate) fn set(asked: &mut Thinking, on: bool) {
    asked.variables.insert("enable_thinking".into(), on.into());
}

/// Closes the reasoning after so many tokens; without any, asks the chat template for none.
pub(crate) fn set_budget(asked: &mut Thinking, most: usize) {
    if most == 0 {
        set(asked, false);
    }
    asked.budget = Some(most);
}

/// Reads a budget of this name; -1 is no limit.
///
/// # Errors
/// If it is no number of tokens.
fn read_budget(fields: &mut Fields<'_>, name: &'static str, asked: &mut Thinking) -> Result<(), ApiError> {
    match fields.integer(name, -1..=i64::MAX)?.map(usize::try_from) {
        None => {}
        Some(Ok(most)) => set_budget(asked, most),
        Some(Err(_)) => asked.budget = None,
    }
    Ok(())
}

/// Asks for this much reasoning.
pub(crate) fn set_effort(asked: &mut Thinking, effort: Option<&str>) {
    let Some(effort) = effort else { return };
    if effort == "none" {
        set(asked, false);
    }
    asked.variables.insert(EFFORT.into(), effort.into());
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
pub(crate) fn read(fields: &mut Fields<'_>, asked: &mut Thinking) -> Result<(), ApiError> {
    const NAMES: [&str; 2] = ["enable_thinking", "thinking"];
    if let Some(mut given) = fields.object("chat_template_kwargs")? {
        // Qwen's hosts have it there too.
        read_budget(&mut given, "thinking_budget", asked)?;
        for name in NAMES {
            if let Some(flag) = given.flag(name)? {
                asked.variables.insert(name.into(), flag.into());
            }
        }
        // By whatever name: that of the model's template is another.
        for (name, keeps) in PRESERVE {
            if let Some(flag) = given.flag(name)? {
                asked.preserve = Some(flag == keeps);
            }
        }
        set_effort(asked, given.choice(EFFORT, EFFORTS)?);
        if let Some(other) = given.rest().find(|_| !fields.ignored().is_strict()) {
            let path = given.at(&crate::error::beginning(other));
            let names = NAMES.into_iter().chain(PRESERVE.map(|(name, _)| name));
            let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("{path} is not supported: requests may set {names} and `{EFFORT}`");
            return Err(ApiError::unsupported(path, message));
        }
        given.end()?;
    }
    set_effort(asked, fields.choice(EFFORT, EFFORTS)?);
    Ok(())
}

/// Reads Ollama's `think`: a flag or an effort.
///
/// # Errors
/// If it is neither.
pub(crate) fn read_think(fields: &mut Fields<'_>, asked: &mut Thinking) -> Result<(), ApiError> {
    match fields.value("think") {
        None => {}
        Some(Value::Bool(on)) => set(asked, *on),
        Some(value) => {
            let effort = EFFORTS.iter().find(|effort| value.as_str() == Some(**effort));
            let effort = effort
                .ok_or_else(|| expected_at("think", "true, false, `low`, `medium` or `high`", value))?;
            set_effort(asked, Some(effort));
        }
    }
    Ok(())
}

/// Reads the fields by which other servers ask for reasoning, of those that the API does not have itself. Returns whether
/// the answer shows the reasoning.
///
/// # Errors
/// If a value is wrong.
pub(crate) fn read_foreign(fields: &mut Fields<'_>, asked: &mut Thinking) -> Result<bool, ApiError> {
    if fields.ignored().is_strict() {
        return Ok(true);
    }
    if !fields.knows(EFFORT) {
        read(fields, asked)?;
    }
    // Qwen's hosts.
    if let Some(on) = fields.flag("enable_thinking")? {
        set(asked, on);
    }
    // llama.cpp's, as its command has it.
    if let Some(keeps) = fields.flag("reasoning_preserve")? {
        asked.preserve = Some(keeps);
    }
    // llama.cpp's, in the command and in requests; vLLM's; Qwen's hosts'.
    for name in [
        "reasoning_budget",
        "reasoning_budget_tokens",
        "thinking_budget_tokens",
        "thinking_token_budget",
        "thinking_budget",
    ] {
        read_budget(fields, name, asked)?;
    }
    if !fields.knows("think") {
        read_think(fields, asked)?;
    }
    // Z.ai's and DeepSeek's, after Anthropic's.
    if !fields.knows("thinking") {
        match fields.value("thinking") {
            None => {}
            Some(Value::Bool(on)) => set(asked, *on),
            Some(value) => {
                let mut thinking = Fields::of(value, "thinking", fields.ignored())?;
                let kinds = ["enabled", "disabled", "adaptive", "auto"];
                match thinking.choice("type", &kinds)? {
                    Some("enabled") => set(asked, true),
                    Some("disabled") => set(asked, false),
                    _ => {}
                }
                if let Some(clear) = thinking.flag("clear_thinking")? {
                    asked.preserve = Some(!clear);
                }
                read_budget(&mut thinking, "budget_tokens", asked)?;
                thinking.end()?;
            }
        }
    }
    // OpenRouter's: one flag, and later an object.
    let mut shown = fields.flag("include_reasoning")?.unwrap_or(true);
    if !fields.knows("reasoning") {
        match fields.value("reasoning") {
            None => {}
            Some(Value::Bool(on)) => set(asked, *on),
            Some(value) => {
                let mut reasoning = Fields::of(value, "reasoning", fields.ignored())?;
                if let Some(on) = reasoning.flag("enabled")? {
                    set(asked, on);
                }
                set_effort(asked, reasoning.choice("effort", EFFORTS)?);
                read_budget(&mut reasoning, "max_tokens", asked)?;
                shown &= !reasoning.flag("exclude")?.unwrap_or(false);
                reasoning.end()?;
            }
        }
    }
    Ok(shown)
}
