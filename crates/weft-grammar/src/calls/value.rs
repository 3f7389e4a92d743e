//! A value of a GLM call: a string as it is, or JSON.
//!
//! Where a schema allows both, the parser of replies reads JSON of a type that the schema allows as that, and all else as a
//! string. So a string must not look like such JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::parts::Tool;
use super::raw;
use crate::error::{GrammarError, Place};
use crate::lark::{Lark, mark};
use crate::schema::{Mode, Schemas};
use crate::vocabulary::Mark;

/// The values that a schema allows, by how they are written.
#[derive(Default)]
struct Forms {
    /// Strings by these schemas.
    strings: Vec<Map<String, Value>>,
    /// These strings.
    listed: Vec<String>,
    /// JSON by these schemas.
    json: Vec<Value>,
}

/// Adds the rule of a value and the tag that ends it, `end`. `key` is its place, for errors.
///
/// # Errors
/// If the schema cannot be expressed.
pub(super) fn value(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    key: &str,
    schema: &Value,
    end: &Mark,
) -> Result<String, GrammarError> {
    let relaxed = tool.mode == Mode::Relaxed;
    let at = |(keyword, why): (&str, String)| {
        let path = format!("properties.{key}.{keyword}");
        GrammarError::new(Place::Tool(tool.index), path.trim_end_matches('.'), why)
    };
    let Forms { strings, listed, mut json } = split(schemas, schema, relaxed).map_err(at)?;
    // Neither strings nor JSON of these types are constrained: any text is valid.
    let only_types =
        |schema: &Value| schema.as_object().is_some_and(|schema| schema.keys().all(|key| key == "type"));
    if let Some(free) = strings.iter().find(|schema| schema.is_empty())
        && json.iter().all(only_types)
    {
        return raw::string(lark, free, &BTreeSet::new(), end, relaxed).map_err(at);
    }
    let others = json.iter().flat_map(types).collect();
    let mut options = Vec::new();
    for schema in &strings {
        options.push(raw::string(lark, schema, &others, end, relaxed).map_err(at)?);
    }
    let listed: Vec<&str> =
        listed.iter().map(String::as_str).filter(|text| !reads_as(text, &others)).collect();
    options.extend(raw::one_of(lark, &listed, end));
    if !json.is_empty() {
        let schema = if json.len() == 1 { json.remove(0) } else { json!({ "anyOf": json }) };
        let json = lark.json(|| schemas.document(&schema));
        options.push(lark.rule(&format!("WS? {json} WS? {}", mark(end))));
    }
    match options.len() {
        0 => Err(at(("", "the schema accepts no value that this model can write".into()))),
        1 => Ok(options.remove(0)),
        _ => Ok(lark.rule(&options.join(" | "))),
    }
}

/// Splits what a schema allows by how it is written.
///
/// # Errors
/// The keyword that cannot be expressed, and why.
fn split(schemas: &Schemas<'_>, schema: &Value, relaxed: bool) -> Result<Forms, (&'static str, String)> {
    let mut forms = Forms::default();
    let mut seen = BTreeSet::new();
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        let branch = match resolve(schemas, schema) {
            // A circle of references adds nothing new.
            schema if !seen.insert(std::ptr::from_ref(schema)) => continue,
            Value::Object(branch) => branch.clone(),
            Value::Bool(false) => continue,
            _ => Map::new(),
        };
        if let (1, Some(Value::Array(options))) = (branch.len(), resolve(schemas, schema).get("anyOf")) {
            pending.extend(options.iter().rev());
            continue;
        }
        let types: Vec<&str> = match branch.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec!["string", "null", "boolean", "number", "array", "object"],
        };
        if !types.contains(&"string") {
            forms.json.push(Value::Object(branch));
            continue;
        }
        let combined = ["$ref", "allOf", "anyOf", "oneOf"];
        if let Some(keyword) = combined.into_iter().find(|key| branch.contains_key(*key)) {
            if relaxed {
                forms.strings.push(Map::new());
                continue;
            }
            let why = "this keyword is not supported for arguments that may be strings, which this model writes \
                       without quotes; use anyOf alone, or give them another type";
            return Err((keyword, why.to_owned()));
        }
        if let Some(values) = listed(&branch) {
            let constrained = ["pattern", "format"].into_iter().find(|key| branch.contains_key(*key));
            if let Some(keyword) = constrained.filter(|_| !relaxed) {
                return Err((keyword, "this keyword is not supported beside `enum` and `const`".to_owned()));
            }
            let length = |key: &str| branch.get(key).and_then(Value::as_u64);
            let lengths = length("minLength").unwrap_or(0)..=length("maxLength").unwrap_or(u64::MAX);
            let texts = values.iter().filter_map(|value| value.as_str());
            let fit = texts.filter(|text| lengths.contains(&(text.chars().count() as u64)));
            forms.listed.extend(fit.map(str::to_owned));
            let rest: Vec<&Value> = values.into_iter().filter(|value| !value.is_string()).collect();
            if !rest.is_empty() {
                let mut rest = json!({ "enum": rest });
                if let Some(types) = branch.get("type") {
                    rest["type"] = types.clone();
                }
                forms.json.push(rest);
            }
            continue;
        }
        let rest = json!(types.into_iter().filter(|name| *name != "string").collect::<Vec<_>>());
        let of_strings = |(key, _): &(&String, &Value)| raw::OF_STRINGS.contains(&key.as_str());
        forms
            .strings
            .push(branch.iter().filter(of_strings).map(|(key, of)| (key.clone(), of.clone())).collect());
        if rest != json!([]) {
            let mut branch = branch;
            branch.insert("type".into(), rest);
            forms.json.push(Value::Object(branch));
        }
    }
    Ok(forms)
}

/// The types of the JSON that a schema allows, none of them a string.
fn types(schema: &Value) -> Vec<&'static str> {
    const ALL: [&str; 6] = ["null", "boolean", "integer", "number", "array", "object"];
    let named = |name: &str| ALL.into_iter().find(|each| *each == name);
    match (schema.get("type"), schema.get("enum")) {
        (_, Some(Value::Array(values))) => values.iter().filter_map(of_value).collect(),
        (Some(Value::String(one)), _) => named(one).into_iter().collect(),
        (Some(Value::Array(several)), _) => {
            several.iter().filter_map(Value::as_str).filter_map(named).collect()
        }
        _ => ALL.to_vec(),
    }
}

/// The type of a value that is not a string.
fn of_value(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => return None,
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    })
}

/// Whether a text is JSON of one of these types.
fn reads_as(text: &str, types: &BTreeSet<&str>) -> bool {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let number = |name: &str| name == "number" && types.contains("integer");
    value.as_ref().and_then(of_value).is_some_and(|name| types.contains(name) || number(name))
}

/// The values that a schema lists.
fn listed(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), None) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        (Some(value), Some(Value::Array(values))) => {
            Some(values.iter().filter(|each| *each == value).collect())
        }
        _ => None,
    }
}

/// The schema that a reference stands for, if it is nothing but a reference.
pub(super) fn resolve<'s>(schemas: &'s Schemas<'_>, mut schema: &'s Value) -> &'s Value {
    // A circle of references accepts nothing and has been refused.
    for _ in 0..64 {
        let Value::Object(members) = schema else { return schema };
        let target = match members.get("$ref") {
            Some(Value::String(to)) if members.len() == 1 => schemas.definition(to),
            _ => None,
        };
        match target {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}
