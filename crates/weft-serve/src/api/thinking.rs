//! Whether the model reasons before it answers, and how much.

use serde_json::{Map, Value};

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
