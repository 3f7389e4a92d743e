//! Whether a schema accepts any value that ends.
//!
//! `{"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}` does not. A grammar of it would let a
//! reply begin that can never end.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The names of the definitions that accept a value that ends.
pub(super) fn finite_definitions(definitions: &Map<String, Value>) -> BTreeSet<&str> {
    let mut known = BTreeSet::new();
    loop {
        let before = known.len();
        for (name, schema) in definitions {
            if !known.contains(name.as_str()) && finite(schema, &known) {
                known.insert(name.as_str());
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Whether `schema`, in the form that [`Schemas`](super::Schemas) writes, accepts a finite value, if the definitions of these names do.
pub(super) fn finite(schema: &Value, definitions: &BTreeSet<&str>) -> bool {
    let Value::Object(schema) = schema else { return schema != &Value::Bool(false) };
    let is = |schema: &Value| finite(schema, definitions);
    let conjuncts = schema.iter().all(|(key, value)| match (key.as_str(), value) {
        ("$ref", Value::String(to)) => {
            to.rsplit_once('/').is_some_and(|(_, name)| definitions.contains(name))
        }
        ("anyOf" | "oneOf", Value::Array(options)) => options.iter().any(is),
        ("allOf", Value::Array(all)) => all.iter().all(is),
        _ => true,
    });
    conjuncts && (has_leaf(schema) || array(schema, &is) || object(schema, &is))
}

/// The types that a schema names; none means all.
fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether values without parts are accepted.
fn has_leaf(schema: &Map<String, Value>) -> bool {
    let types = types(schema);
    types.is_empty() || types.iter().any(|name| !matches!(*name, "array" | "object"))
}

fn array(schema: &Map<String, Value>, is: &impl Fn(&Value) -> bool) -> bool {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
    let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let rest = schema.get("items");
    types(schema).contains(&"array")
        && first.iter().take(least).all(is)
        && (least <= first.len() || rest.is_none_or(is))
}

fn object(schema: &Map<String, Value>, is: &impl Fn(&Value) -> bool) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    types(schema).contains(&"object")
        && required.iter().filter_map(Value::as_str).all(|name| {
            match properties.and_then(|properties| properties.get(name)) {
                Some(property) => is(property),
                None => schema.get("additionalProperties").is_none_or(|more| {
                    // Or a pattern accepts the name, or nothing does; the compiler of grammars says so.
                    schema.contains_key("patternProperties") || more == &Value::Bool(false) || is(more)
                }),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn recursion_must_be_able_to_end() {
        let node = |schema: Value| {
            let definitions = json!({ "a": schema });
            let Value::Object(definitions) = definitions else { unreachable!() };
            finite_definitions(&definitions).contains("a")
        };
        let this = json!({"$ref": "#/$defs/a"});
        assert!(!node(this.clone()));
        assert!(!node(json!({"type": "object", "properties": {"n": this}, "required": ["n"]})));
        assert!(node(json!({"type": "object", "properties": {"n": this}})));
        assert!(!node(json!({"type": "array", "items": this, "minItems": 1})));
        assert!(node(json!({"type": "array", "items": this})));
        assert!(node(json!({"anyOf": [this, {"type": "null"}]})));
        assert!(!node(json!({"allOf": [this, {"type": "null"}]})));
        assert!(!node(json!({"type": "array", "prefixItems": [this], "minItems": 1})));
        assert!(!node(json!({"type": "object", "required": ["n"], "additionalProperties": this})));
        assert!(node(json!({"type": ["object", "null"], "required": ["n"], "additionalProperties": this})));
        assert!(!node(json!(false)));
    }
}
