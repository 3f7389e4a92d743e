//! The tools of a message.

use weft_text::reply::Tool;

use crate::api::dialogue::{Dialogue, ToolChoice};
use crate::api::tools::{self, TOOLS};
use crate::error::ApiError;
use crate::ignored::Ignored;
use crate::json::Fields;

/// Reads `tools` and `tool_choice`. Tools that only Anthropic's servers have are left out.
///
/// # Errors
/// If one is malformed, or a tool is chosen that is not there.
pub(super) fn read(
    fields: &mut Fields<'_>,
    dialogue: &mut Dialogue,
    ignored: &Ignored,
) -> Result<(), ApiError> {
    for (i, value) in fields.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
        let path = format!("tools[{i}]");
        let mut tool = Fields::of(value, path.as_str(), ignored)?;
        if let Some(kind) = tool.text("type")?.filter(|kind| *kind != "custom") {
            ignored.add(format!("{path} ({})", kind.chars().take(60).collect::<String>()));
            continue;
        }
        let name = tools::name(&mut tool)?;
        let description = tool.text("description")?.map(str::to_string);
        let schema = tool.required("input_schema", "a JSON schema")?;
        if !schema.is_object() {
            return Err(tool.expected("input_schema", "a JSON schema", schema));
        }
        let strict = tool.flag("strict")?.unwrap_or(false);
        tool.ignore(&[
            "allowed_callers",
            "cache_control",
            "defer_loading",
            "eager_input_streaming",
            "input_examples",
        ]);
        ignored.fields("tools[]", tool.rest());
        tools::add(dialogue, Tool { name, description, parameters: schema.clone(), strict }, &path)?;
    }
    dialogue.parallel = true;
    if let Some(mut choice) = fields.object("tool_choice")? {
        let kinds = ["auto", "any", "tool", "none"];
        let Some(kind) = choice.choice("type", &kinds)? else {
            let message = "tool_choice.type is missing: expected one of `auto`, `any`, `tool`, `none`";
            return Err(ApiError::invalid("tool_choice.type", message));
        };
        dialogue.choice = match kind {
            "auto" => ToolChoice::Auto,
            "any" => ToolChoice::Required,
            "none" => ToolChoice::None,
            _ => ToolChoice::Named(choice.required_text("name")?.to_string()),
        };
        dialogue.parallel = !choice.flag("disable_parallel_tool_use")?.unwrap_or(false);
        ignored.fields("tool_choice", choice.rest());
    }
    tools::check_choice(dialogue)
}
