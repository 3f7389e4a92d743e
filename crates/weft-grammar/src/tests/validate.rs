//! A validator of JSON by schema, small and obvious: the oracle for what grammars let through.

use llguidance::derivre::RegexBuilder;
use serde_json::Value;

/// Whether `value` is valid by `schema`, part of the document `root`. Panics at keywords it does not know.
pub(super) fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let members = match schema {
        Value::Bool(all) => return *all,
        Value::Object(members) => members,
        other => panic!("not a schema: {other}"),
    };
    let is = |schema: &Value, value: &Value| valid(root, schema, value);
    let count = |limit: &Value| limit.as_u64().unwrap() as usize;
    let list = |schemas: &Value| schemas.as_array().unwrap().clone();
    members.iter().all(|(key, of)| match (key.as_str(), value) {
        ("$defs" | "definitions" | "title" | "description", _) => true,
        ("type", _) => match of {
            Value::Array(names) => names.iter().any(|name| has_type(name.as_str().unwrap(), value)),
            name => has_type(name.as_str().unwrap(), value),
        },
        ("const", _) => same(of, value),
        ("enum", _) => list(of).iter().any(|each| same(each, value)),
        ("anyOf", _) => list(of).iter().any(|each| is(each, value)),
        ("allOf", _) => list(of).iter().all(|each| is(each, value)),
        ("oneOf", _) => list(of).iter().filter(|each| is(each, value)).count() == 1,
        ("$ref", _) => {
            let target = root.pointer(of.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
            is(target, value)
        }
        ("properties", Value::Object(has)) => of
            .as_object()
            .unwrap()
            .iter()
            .all(|(name, schema)| has.get(name).is_none_or(|value| is(schema, value))),
        ("patternProperties", Value::Object(has)) => {
            of.as_object().unwrap().iter().all(|(pattern, schema)| {
                has.iter().filter(|(name, _)| found(pattern, name)).all(|(_, value)| is(schema, value))
            })
        }
        ("additionalProperties", Value::Object(has)) => has.iter().all(|(name, value)| {
            let listed = members.get("properties").is_some_and(|properties| properties.get(name).is_some());
            let patterns = members.get("patternProperties").and_then(Value::as_object);
            let matched =
                patterns.is_some_and(|patterns| patterns.keys().any(|pattern| found(pattern, name)));
            listed || matched || is(of, value)
        }),
        ("required", Value::Object(has)) => {
            list(of).iter().all(|name| has.contains_key(name.as_str().unwrap()))
        }
        ("minProperties", Value::Object(has)) => has.len() >= count(of),
        ("maxProperties", Value::Object(has)) => has.len() <= count(of),
        ("prefixItems", Value::Array(items)) => {
            list(of).iter().zip(items).all(|(schema, item)| is(schema, item))
        }
        ("items", Value::Array(items)) => {
            let first = members.get("prefixItems").map_or(0, |first| list(first).len());
            items.iter().skip(first).all(|item| is(of, item))
        }
        ("minItems", Value::Array(items)) => items.len() >= count(of),
        ("maxItems", Value::Array(items)) => items.len() <= count(of),
        ("minLength", Value::String(text)) => text.chars().count() >= count(of),
        ("maxLength", Value::String(text)) => text.chars().count() <= count(of),
        ("pattern", Value::String(text)) => found(of.as_str().unwrap(), text),
        ("minimum", Value::Number(number)) => number.as_f64() >= of.as_f64(),
        ("maximum", Value::Number(number)) => number.as_f64() <= of.as_f64(),
        ("exclusiveMinimum", Value::Number(number)) => number.as_f64() > of.as_f64(),
        ("exclusiveMaximum", Value::Number(number)) => number.as_f64() < of.as_f64(),
        ("multipleOf", Value::Number(number)) => {
            let parts = number.as_f64().unwrap() / of.as_f64().unwrap();
            (parts - parts.round()).abs() < 1e-9
        }
        (
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "prefixItems"
            | "items"
            | "minItems"
            | "maxItems"
            | "minLength"
            | "maxLength"
            | "pattern"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf",
            _,
        ) => true,
        (other, _) => panic!("the validator does not know `{other}`"),
    })
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

/// Equality by which 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn found(pattern: &str, text: &str) -> bool {
    let mut builder = RegexBuilder::new();
    let expression = builder.mk_regex_for_serach(&llguidance::regex_to_lark(pattern, "dw")).unwrap();
    builder.to_regex(expression).is_match(text)
}
