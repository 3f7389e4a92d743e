//! Calls as GLM writes them: keys and values between tags, strings without quotes, other values as JSON.
//!
//! Arguments come in the order of the schema's `properties`; required ones must come. Where the schema lists none, any key
//! may come.

use serde_json::{Map, Value, json};

use super::super::error::{GrammarError, Place};
use super::super::lark::{Lark, mark, quoted};
use super::super::schema::{Mode, Schemas};
use super::super::vocabulary::Mark;
use super::parts::{Calls, Opening, Tool, plain_name, repeated};
use super::raw;

/// The marks around keys and values.
struct Tags {
    key: (Mark, Mark),
    value: (Mark, Mark),
}

/// `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`
pub(super) fn rules(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tools: &[Tool<'_>],
    parallel: bool,
    of: impl Fn(&str) -> Mark,
) -> Result<Calls, GrammarError> {
    let (begin, end) = (of("<tool_call>"), of("</tool_call>"));
    let tags =
        Tags { key: (of("<arg_key>"), of("</arg_key>")), value: (of("<arg_value>"), of("</arg_value>")) };
    let mut options = Vec::with_capacity(tools.len());
    for tool in tools {
        plain_name(tool)?;
        let arguments = arguments(lark, schemas, tool, &tags)?;
        options.push(lark.rule(&format!("{} {arguments}", quoted(tool.name))));
    }
    let after = lark.rule(&format!("WS? ({}) WS? {}", options.join(" | "), mark(&end)));
    let next = lark.rule(&format!("{} {after}", mark(&begin)));
    let calls = repeated(lark, &after, &next, parallel);
    Ok(Calls { opening: Opening::Mark { begin, never: Vec::new() }, calls })
}

/// The rule of a tool's arguments.
fn arguments(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    tags: &Tags,
) -> Result<String, GrammarError> {
    const KNOWN: &[&str] = &["type", "properties", "required", "additionalProperties"];
    let relaxed = tool.mode == Mode::Relaxed;
    let refuse = |path: &str, message: &str| Err(GrammarError::new(Place::Tool(tool.index), path, message));
    let none = Map::new();
    let schema = match resolve(schemas, &tool.arguments) {
        Value::Object(schema) => schema,
        Value::Bool(false) => return refuse("", "the schema accepts no arguments at all"),
        _ => &none,
    };
    if !relaxed && let Some(key) = schema.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return refuse(
            key,
            "this keyword is not supported for all arguments together: this model writes them one by one",
        );
    }
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let more = schema.get("additionalProperties");
    let unlisted = required.iter().filter(|name| !properties.contains_key(**name));
    if more == Some(&Value::Bool(false))
        && let Some(name) = unlisted.clone().next()
    {
        return refuse("required", &format!("{name:?} is required, but not among `properties`"));
    }
    let any = Value::Bool(true);
    let listed = properties.iter().map(|(key, value)| (key.as_str(), value));
    let mut rule = Vec::new();
    for (key, value) in listed.chain(unlisted.map(|name| (*name, more.unwrap_or(&any)))) {
        let is_required = required.contains(&key);
        if *resolve(schemas, value) == Value::Bool(false) {
            if is_required {
                return refuse(&format!("properties.{key}"), "a required property accepts no value");
            }
            continue;
        }
        let argument = argument(lark, schemas, tool, key, value, tags)?;
        rule.push(format!("(WS? {argument}){}", if is_required { "" } else { "?" }));
    }
    if rule.is_empty() && more != Some(&Value::Bool(false)) {
        let key = lark.ended("/[^<]+/", &tags.key.1, &[]);
        let value = value(lark, schemas, tool, "", more.unwrap_or(&any), tags)?;
        rule.push(format!("(WS? {} {key} WS? {} {value})*", mark(&tags.key.0), mark(&tags.value.0)));
    }
    Ok(if rule.is_empty() { "\"\"".to_owned() } else { lark.rule(&rule.join(" ")) })
}

/// The rule of one argument.
fn argument(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    key: &str,
    schema: &Value,
    tags: &Tags,
) -> Result<String, GrammarError> {
    if key.is_empty() || key.trim() != key || key.contains('<') {
        return Err(GrammarError::new(
            Place::Tool(tool.index),
            format!("properties.{key}"),
            "expected a name that this model can write between tags: not empty, without whitespace around it and \
             without <",
        ));
    }
    let value = value(lark, schemas, tool, key, schema, tags)?;
    let [begin, end, begin_value] = [&tags.key.0, &tags.key.1, &tags.value.0].map(mark);
    Ok(lark.rule(&format!("{begin} {} {end} WS? {begin_value} {value}", quoted(key))))
}

/// The rule of a value and the tag that ends it.
fn value(
    lark: &mut Lark,
    schemas: &Schemas<'_>,
    tool: &Tool<'_>,
    key: &str,
    schema: &Value,
    tags: &Tags,
) -> Result<String, GrammarError> {
    let relaxed = tool.mode == Mode::Relaxed;
    let end = &tags.value.1;
    let at = |keyword: &str, why: String| {
        let path = format!("properties.{key}.{keyword}");
        GrammarError::new(Place::Tool(tool.index), path.trim_end_matches('.'), why)
    };
    let schema = resolve(schemas, schema);
    let alone = [schema.clone()];
    let branches = match schema {
        Value::Object(members) if members.len() == 1 => {
            members.get("anyOf").and_then(Value::as_array).map_or(&alone[..], Vec::as_slice)
        }
        _ => &alone[..],
    };
    let mut options = Vec::new();
    // What is written as JSON.
    let mut others = Vec::new();
    for branch in branches {
        let branch = match resolve(schemas, branch) {
            Value::Object(branch) => branch.clone(),
            Value::Bool(false) => continue,
            _ => Map::new(),
        };
        let types: Vec<&str> = match branch.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec!["string", "null", "boolean", "number", "array", "object"],
        };
        if !types.contains(&"string") {
            others.push(Value::Object(branch));
            continue;
        }
        if let Some(keyword) =
            ["$ref", "allOf", "anyOf", "oneOf"].iter().find(|key| branch.contains_key(**key))
        {
            if !relaxed {
                let why = "this keyword is not supported for arguments that may be strings, which this model writes \
                           without quotes; use anyOf alone, or give them another type";
                return Err(at(keyword, why.to_owned()));
            }
            options.push(raw::string(lark, &Map::new(), end, true).map_err(|(key, why)| at(key, why))?);
            continue;
        }
        if let Some(values) = listed(&branch) {
            if !relaxed && let Some(key) = ["pattern", "format"].iter().find(|key| branch.contains_key(**key))
            {
                return Err(at(key, "this keyword is not supported beside `enum` and `const`".to_owned()));
            }
            let length = |key: &str| branch.get(key).and_then(Value::as_u64);
            let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(u64::MAX));
            let fits = |text: &&str| (least..=most).contains(&(text.chars().count() as u64));
            let texts: Vec<&str> = values.iter().filter_map(|value| value.as_str()).filter(fits).collect();
            options.extend(raw::one_of(lark, &texts, end));
            let rest: Vec<&Value> = values.into_iter().filter(|value| !value.is_string()).collect();
            if !rest.is_empty() {
                let mut rest = json!({ "enum": rest });
                if let Some(types) = branch.get("type") {
                    rest["type"] = types.clone();
                }
                others.push(rest);
            }
            continue;
        }
        options.push(raw::string(lark, &branch, end, relaxed).map_err(|(key, why)| at(key, why))?);
        let rest = json!(types.into_iter().filter(|name| *name != "string").collect::<Vec<_>>());
        if rest != json!([]) {
            let mut branch = branch;
            branch.insert("type".into(), rest);
            others.push(Value::Object(branch));
        }
    }
    if !others.is_empty() {
        let schema = if others.len() == 1 { others.remove(0) } else { json!({ "anyOf": others }) };
        let json = lark.json(|| schemas.document(&schema));
        options.push(lark.rule(&format!("WS? {json} WS? {}", mark(end))));
    }
    match options.len() {
        0 => Err(at("", "the schema accepts no value that this model can write".into())),
        1 => Ok(options.remove(0)),
        _ => Ok(lark.rule(&options.join(" | "))),
    }
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
fn resolve<'s>(schemas: &'s Schemas<'_>, mut schema: &'s Value) -> &'s Value {
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
