//! The form of a reply by the names of other servers: a grammar, a pattern, a list of texts, a schema.

use serde_json::Value;

use super::dialogue::OutputFormat;
use super::texts::strings;
use crate::error::ApiError;
use crate::json::Fields;

/// The most texts to choose from.
const CHOICES: usize = 2000;
/// The most bytes of one.
const CHOICE_BYTES: usize = 2000;

/// Forms that Lark allows within a grammar and that would bypass the limits of schemas and patterns, each with its replacement.
const NESTED: [(&str, &str); 2] =
    [("%json", "a schema as `response_format`"), ("%regex", "a pattern as `regex`")];

/// Reads the fields of llama.cpp (`grammar`, `json_schema`), vLLM (`guided_…`, `structured_outputs`) and SGLang (`regex`, `ebnf`),
/// of those that the API does not have itself. `format` is the form that the request has by then.
///
/// # Errors
/// If one is wrong, or there are two.
pub(super) fn read(fields: &mut Fields<'_>, format: &mut Option<OutputFormat>) -> Result<(), ApiError> {
    let mut found: Option<String> = format.as_ref().map(|_| "another field".to_string());
    let mut set = |path: String, wanted: OutputFormat| -> Result<(), ApiError> {
        if let Some(other) = &found {
            let message = format!("{path}: a reply has one form, and {other} asks for another");
            return Err(ApiError::invalid(path, message));
        }
        if let OutputFormat::Grammar(text) = &wanted
            && let Some((word, instead)) = NESTED.iter().find(|(word, _)| text.contains(word))
        {
            let message = format!("{path}: `{word}` is not taken in a grammar; send {instead}");
            return Err(ApiError::invalid(path, message));
        }
        found = Some(format!("`{path}`"));
        *format = Some(wanted);
        Ok(())
    };
    for name in ["grammar", "guided_grammar", "ebnf"] {
        if let Some(text) = fields.text(name)?.filter(|text| !text.is_empty()) {
            set(fields.at(name), OutputFormat::Grammar(text.into()))?;
        }
    }
    for name in ["regex", "guided_regex"] {
        if let Some(text) = fields.text(name)?.filter(|text| !text.is_empty()) {
            set(fields.at(name), OutputFormat::Pattern(text.into()))?;
        }
    }
    if let Some(texts) = fields.value("guided_choice") {
        let texts = strings(&fields.at("guided_choice"), texts, CHOICES, CHOICE_BYTES)?;
        if !texts.is_empty() {
            set(fields.at("guided_choice"), OutputFormat::Choice(texts))?;
        }
    }
    for name in ["json_schema", "guided_json"] {
        if let Some(value) = fields.value(name) {
            set(fields.at(name), OutputFormat::JsonSchema(schema(fields, name, value)?))?;
        }
    }
    let Some(mut outputs) = fields.object("structured_outputs")? else { return Ok(()) };
    if let Some(value) = outputs.value("json") {
        set(outputs.at("json"), OutputFormat::JsonSchema(schema(&outputs, "json", value)?))?;
    }
    if outputs.flag("json_object")? == Some(true) {
        set(outputs.at("json_object"), OutputFormat::JsonObject)?;
    }
    if let Some(text) = outputs.text("regex")? {
        set(outputs.at("regex"), OutputFormat::Pattern(text.into()))?;
    }
    if let Some(texts) = outputs.value("choice") {
        let texts = strings(&outputs.at("choice"), texts, CHOICES, CHOICE_BYTES)?;
        set(outputs.at("choice"), OutputFormat::Choice(texts))?;
    }
    if let Some(text) = outputs.text("grammar")? {
        set(outputs.at("grammar"), OutputFormat::Grammar(text.into()))?;
    }
    outputs.refuse("structural_tag", &[], "use `tools`")?;
    outputs.end()
}

/// A schema: JSON, or a text of it.
fn schema(fields: &Fields<'_>, name: &str, value: &Value) -> Result<Value, ApiError> {
    let parsed = match value {
        Value::String(text) => serde_json::from_str(text).ok(),
        other => Some(other.clone()),
    };
    parsed
        .filter(|schema| schema.is_object() || schema.is_boolean())
        .ok_or_else(|| fields.expected(name, "a JSON schema", value))
}
