//! The arguments of a tool, for models that write them one by one.

use serde_json::{Map, Value};

use super::parts::Tool;
use super::value::resolve;
use crate::error::{GrammarError, Place};
use crate::schema::Schemas;

/// The schema of values that no schema restricts.
static ANY: Value = Value::Bool(true);

/// The arguments of a tool.
pub(super) struct Arguments<'a> {
    /// In the order in which they come: those of `properties`, then required ones that are not among these.
    pub(super) named: Vec<Argument<'a>>,
    /// The schema of any others; `None` if there may be none.
    pub(super) more: Option<&'a Value>,
}

/// An argument.
pub(super) struct Argument<'a> {
    pub(super) key: &'a str,
    pub(super) schema: &'a Value,
    /// Whether it must come.
    pub(super) required: bool,
}

impl<'a> Arguments<'a> {
    /// Reads the schema of a tool's arguments. Optional ones that accept no value are left out.
    ///
    /// # Errors
    /// If it accepts no arguments at all.
    pub(super) fn of(schemas: &'a Schemas<'_>, tool: &'a Tool<'_>) -> Result<Arguments<'a>, GrammarError> {
        let refuse =
            |path: &str, message: &str| Err(GrammarError::new(Place::Tool(tool.index), path, message));
        let schema = match resolve(schemas, &tool.arguments) {
            Value::Object(schema) => schema,
            Value::Bool(false) => return refuse("", "the schema accepts no arguments at all"),
            _ => return Ok(Arguments { named: Vec::new(), more: Some(&ANY) }),
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let more = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(more) => Some(more),
            None => Some(&ANY),
        };
        let is_listed =
            |name: &str| properties.is_some_and(|properties: &Map<_, _>| properties.contains_key(name));
        let mut named: Vec<Argument<'_>> = Vec::new();
        for (key, schema) in properties.into_iter().flatten() {
            let required = required.contains(&key.as_str());
            if *resolve(schemas, schema) != Value::Bool(false) {
                named.push(Argument { key, schema, required });
            } else if required {
                return refuse(&format!("properties.{key}"), "a required property accepts no value");
            }
        }
        for (i, key) in required.iter().enumerate().filter(|(_, key)| !is_listed(key)) {
            let Some(schema) = more else {
                return refuse("required", &format!("{key:?} is required, but not among `properties`"));
            };
            if *resolve(schemas, schema) == Value::Bool(false) {
                return refuse(
                    "required",
                    &format!("{key:?} is required, but `additionalProperties` accepts no value"),
                );
            }
            if !required[..i].contains(key) {
                named.push(Argument { key, schema, required: true });
            }
        }
        Ok(Arguments { named, more })
    }
}
