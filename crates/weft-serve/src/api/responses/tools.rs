//! The tools of a response. The model knows them all as functions; the client knows some as custom tools or by the name
//! of a namespace.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weft_text::reply::Tool;

use super::custom::FIELD;
use crate::api::dialogue::{Dialogue, ToolChoice};
use crate::api::tools::{self, TOOLS};
use crate::error::{ApiError, beginning};
use crate::ignored::Ignored;
use crate::json::{Fields, expected_at};

/// The namespace of tools that have none.
const NO_NAMESPACE: &str = "functions";

/// How the client knows a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Callable {
    /// Its name.
    pub(super) name: String,
    /// Its namespace.
    pub(super) namespace: Option<String>,
    /// Whether its input is text and not JSON.
    pub(super) custom: bool,
}

/// The tools of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Callables {
    /// By the names that the model knows.
    by_name: BTreeMap<String, Callable>,
    /// As the client declared them.
    pub(super) declared: Vec<Value>,
}

impl Callables {
    /// How the client knows the tool that the model calls by this name.
    pub(super) fn get(&self, name: &str) -> Callable {
        let unknown = || Callable { name: name.to_string(), namespace: None, custom: false };
        self.by_name.get(name).cloned().unwrap_or_else(unknown)
    }

    /// Reads `tools`.
    ///
    /// # Errors
    /// If a tool is malformed, or two functions have the same name.
    pub(super) fn read(
        &mut self,
        fields: &mut Fields<'_>,
        dialogue: &mut Dialogue,
        ignored: &Ignored,
    ) -> Result<(), ApiError> {
        let path = fields.at("tools");
        for (i, value) in fields.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
            let before = dialogue.tools.len();
            self.declare(value, &format!("{path}[{i}]"), None, dialogue, ignored)?;
            if dialogue.tools.len() > before {
                self.declared.push(echo(value));
            }
        }
        Ok(())
    }

    /// Reads a tool. Tools that only their vendor's servers have are left out.
    fn declare(
        &mut self,
        value: &Value,
        path: &str,
        namespace: Option<&str>,
        dialogue: &mut Dialogue,
        ignored: &Ignored,
    ) -> Result<(), ApiError> {
        let mut fields = Fields::of(value, path, ignored)?;
        let kind = fields.required_text("type")?;
        let tool = match kind {
            "function" => {
                let tool = tools::function(&mut fields)?;
                fields.ignore(&["allowed_callers", "async", "defer_loading", "output_schema"]);
                tool
            }
            "custom" => custom(&mut fields)?,
            "namespace" if namespace.is_none() => {
                let name = tools::name(&mut fields)?;
                fields.ignore(&["description"]);
                for (i, value) in fields.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
                    self.declare(value, &format!("{path}.tools[{i}]"), Some(&name), dialogue, ignored)?;
                }
                ignored.fields("tools[]", fields.rest());
                return Ok(());
            }
            other => {
                ignored.add(format!("{path} ({})", beginning(other)));
                return Ok(());
            }
        };
        ignored.fields("tools[]", fields.rest());
        let namespace = namespace.filter(|namespace| *namespace != NO_NAMESPACE).map(str::to_string);
        let known = model_name(namespace.as_deref(), &tool.name);
        if known.len() > tools::NAME_BYTES {
            ignored.add(format!("{path} (its name and its namespace's are too long)"));
            return Ok(());
        }
        let callable = Callable { name: tool.name.clone(), namespace, custom: kind == "custom" };
        // Items may bring the same tools again and again.
        if path.starts_with("input") && self.by_name.get(&known) == Some(&callable) {
            return Ok(());
        }
        tools::add(dialogue, Tool { name: known.clone(), ..tool }, path)?;
        self.by_name.insert(known, callable);
        Ok(())
    }

    /// Reads `tool_choice`.
    ///
    /// # Errors
    /// If it is malformed, or asks for a tool that is not there.
    pub(super) fn choose(
        &self,
        fields: &mut Fields<'_>,
        dialogue: &mut Dialogue,
        ignored: &Ignored,
    ) -> Result<(), ApiError> {
        let expected = "`none`, `auto`, `required`, a tool or a list of allowed tools";
        dialogue.choice = match fields.value("tool_choice") {
            None => ToolChoice::Auto,
            Some(Value::String(mode)) => mode_of(mode)
                .ok_or_else(|| expected_at("tool_choice", expected, &Value::String(mode.clone())))?,
            Some(value @ Value::Object(_)) => {
                let mut choice = Fields::of(value, "tool_choice", ignored)?;
                let chosen = match choice.required_text("type")? {
                    "allowed_tools" => self.allow(&mut choice, dialogue, ignored)?,
                    kind => match self.named(kind, &mut choice)? {
                        Some(name) => ToolChoice::Named(name),
                        None => {
                            let kind = beginning(kind);
                            let message =
                                format!("tool_choice: this server does not run tools of the type {kind:?}");
                            return Err(ApiError::unsupported("tool_choice", message));
                        }
                    },
                };
                ignored.fields("tool_choice", choice.rest());
                chosen
            }
            Some(other) => return Err(expected_at("tool_choice", expected, other)),
        };
        tools::check_choice(dialogue)
    }

    /// Reads a list of allowed tools, and takes the others from the model.
    fn allow(
        &self,
        choice: &mut Fields<'_>,
        dialogue: &mut Dialogue,
        ignored: &Ignored,
    ) -> Result<ToolChoice, ApiError> {
        let mode = choice.choice("mode", &["auto", "required", "none"])?;
        let mut allowed = Vec::new();
        for (i, value) in choice.array("tools", TOOLS)?.unwrap_or_default().iter().enumerate() {
            let path = format!("tool_choice.tools[{i}]");
            let mut fields = Fields::of(value, path.as_str(), ignored)?;
            let kind = fields.required_text("type")?;
            match self.named(kind, &mut fields)? {
                Some(name) => allowed.push(name),
                None => ignored.add(format!("{path} ({})", beginning(kind))),
            }
            ignored.fields("tool_choice.tools[]", fields.rest());
        }
        if let Some(missing) = allowed.iter().find(|name| !self.by_name.contains_key(*name)) {
            let message =
                format!("tool_choice allows {:?}, which is not among the tools", beginning(missing));
            return Err(ApiError::invalid("tool_choice", message));
        }
        dialogue.tools.retain(|tool| allowed.contains(&tool.name));
        Ok(mode.and_then(mode_of).unwrap_or_default())
    }

    /// The name by which the model knows a tool that `tool_choice` names. `None` if it is of a type that models cannot call.
    fn named(&self, kind: &str, fields: &mut Fields<'_>) -> Result<Option<String>, ApiError> {
        if !matches!(kind, "function" | "custom") {
            fields.ignore(&["name", "server_label"]);
            return Ok(None);
        }
        let name = fields.required_text("name")?;
        let namespace = fields.text("namespace")?;
        Ok(Some(model_name(namespace, name)))
    }
}

/// The name by which the model knows a tool of a namespace.
pub(super) fn model_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("" | NO_NAMESPACE) => name.to_string(),
        Some(namespace) if namespace.ends_with("__") => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}

fn mode_of(mode: &str) -> Option<ToolChoice> {
    match mode {
        "none" => Some(ToolChoice::None),
        "auto" => Some(ToolChoice::Auto),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}

/// A custom tool as a function of one string. A grammar of the string is told to the model and not enforced.
fn custom(fields: &mut Fields<'_>) -> Result<Tool, ApiError> {
    let name = tools::name(fields)?;
    let mut description = fields.text("description")?.unwrap_or_default().to_string();
    if let Some(mut format) = fields.object("format")?
        && format.choice("type", &["text", "grammar"])? == Some("grammar")
    {
        let syntax = format.text("syntax")?.unwrap_or("formal");
        let definition = format.required_text("definition")?;
        if !description.is_empty() {
            description += "\n\n";
        }
        description += &format!("The input must follow this {syntax} grammar:\n{definition}");
    }
    fields.ignore(&["allowed_callers", "async", "defer_loading"]);
    let parameters = json!({
        "type": "object",
        "properties": { FIELD: { "type": "string", "description": "The whole input of the tool, as plain text." } },
        "required": [FIELD],
        "additionalProperties": false,
    });
    let description = Some(description).filter(|text| !text.is_empty());
    Ok(Tool { name, description, parameters, strict: false })
}

/// A tool as responses repeat it. Clients expect all fields of a function.
fn echo(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(map) = &mut value
        && map.get("type").and_then(Value::as_str) == Some("function")
    {
        for name in ["description", "parameters"] {
            map.entry(name).or_insert(Value::Null);
        }
        let strict = map.entry("strict").or_insert(Value::Null);
        if strict.is_null() {
            *strict = false.into();
        }
    }
    value
}
