//! The grammar of calls of tools, in each form that models write them.

mod arguments;
mod gemma;
mod harmony;
mod json;
mod markup;
mod parts;
mod raw;
mod value;

use serde_json::Value;
use weft_text::Tokenizer;

use crate::error::{GrammarError, Place};
use crate::lark::Lark;
use crate::limits;
use crate::schema::{Mode, Schemas};
use crate::spec::{CallForm, CallSpec, Callable, ToolChoice};
use crate::vocabulary::Mark;
use parts::Tool;
pub(super) use parts::{Calls, Opening};

/// Adds the rules for calls.
///
/// # Errors
/// If a tool's name or schema cannot be expressed, or the chosen tool does not exist.
pub(super) fn rules(lark: &mut Lark, tokenizer: &Tokenizer, spec: &CallSpec) -> Result<Calls, GrammarError> {
    let mut schemas = Schemas::new();
    let tools = tools(&mut schemas, spec)?;
    let mark = |text: &str| Mark::of(text, tokenizer);
    match spec.form {
        CallForm::Hermes => json::hermes(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::Llama3 => json::llama3(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::DeepSeekV3 => json::deepseek(lark, &schemas, &tools, spec.parallel, true, mark),
        CallForm::DeepSeekV31 => json::deepseek(lark, &schemas, &tools, spec.parallel, false, mark),
        CallForm::Harmony => harmony::rules(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::Glm => markup::glm(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::Qwen3Coder => markup::qwen(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::KimiK2 => json::kimi(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::Gemma4 => gemma::rules(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::Mistral => json::mistral(lark, &schemas, &tools, spec.parallel, mark),
        CallForm::MistralList => json::mistral_list(lark, &schemas, &tools, spec.parallel, mark),
    }
}

/// The tools that may be called, their schemas reduced.
fn tools<'s>(schemas: &mut Schemas<'s>, spec: &'s CallSpec) -> Result<Vec<Tool<'s>>, GrammarError> {
    if spec.tools.len() > limits::TOOLS {
        let message = format!("expected at most {} tools, found {}", limits::TOOLS, spec.tools.len());
        return Err(GrammarError::new(Place::Request, "tools", message));
    }
    let chosen = |tool: &Callable| match &spec.choice {
        ToolChoice::Auto | ToolChoice::Required => true,
        ToolChoice::Named(name) => tool.name == *name,
    };
    let mut tools: Vec<Tool<'_>> = Vec::new();
    for (index, tool) in spec.tools.iter().enumerate().filter(|(_, tool)| chosen(tool)) {
        let place = Place::Tool(index);
        if tool.name.is_empty() || tool.name.len() > limits::NAME_BYTES {
            let message =
                format!("expected a name of 1 to {} bytes, found {}", limits::NAME_BYTES, tool.name.len());
            return Err(GrammarError::new(place, "name", message));
        }
        if tools.iter().any(|other| other.name == tool.name) {
            let message = format!("expected each tool once, found `{}` again", tool.name);
            return Err(GrammarError::new(place, "name", message));
        }
        let mode = if tool.strict { Mode::Exact } else { Mode::Relaxed };
        let mut arguments = match &tool.parameters {
            Value::Null => serde_json::json!({"type": "object", "additionalProperties": false}),
            schema => schemas.add(schema, place, mode)?,
        };
        // Arguments are always an object.
        if let Value::Object(schema) = &mut arguments {
            if schema.is_empty() || !schema.contains_key("type") && !schema.contains_key("$ref") {
                schema.shift_insert(0, "type".into(), "object".into());
            }
        } else if arguments == Value::Bool(true) {
            arguments = serde_json::json!({"type": "object"});
        }
        tools.push(Tool { index, name: &tool.name, mode, arguments });
    }
    if tools.is_empty() {
        let message = match &spec.choice {
            ToolChoice::Named(name) => format!("expected the name of one of the tools, found {name:?}"),
            _ => "expected at least one tool".to_owned(),
        };
        return Err(GrammarError::new(Place::Request, "tool_choice", message));
    }
    Ok(tools)
}
