//! How many patterns can constrain one string together.
//!
//! The compiler decides whether any string satisfies them all, which takes time exponential in their number.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::limits;

/// The most patterns and formats that can meet at one string of `schema`, as [`Schemas`](super::Schemas) writes it: an
/// upper bound, and not more than one above the limit.
pub(super) fn patterns(schema: &Value, definitions: &Map<String, Value>) -> usize {
    // Definitions refer to each other, perhaps in circles: their counts grow until they fit together.
    let mut counts = BTreeMap::new();
    loop {
        let mut grown = false;
        for (name, schema) in definitions {
            let count = of(schema, &counts);
            grown |= counts.insert(name.as_str(), count).unwrap_or(0) < count;
        }
        if !grown {
            return of(schema, &counts);
        }
    }
}

fn of(schema: &Value, definitions: &BTreeMap<&str, usize>) -> usize {
    let Value::Object(members) = schema else { return 0 };
    let each = |schemas: &[Value]| schemas.iter().map(|schema| of(schema, definitions)).collect::<Vec<_>>();
    // Alternatives and parts are different strings; all else meets.
    let (mut together, mut parts) = (0, 0);
    for (key, value) in members {
        match (key.as_str(), value) {
            ("pattern" | "format", _) => together += 1,
            ("$ref", Value::String(to)) => {
                together += definitions.get(to.strip_prefix("#/$defs/").unwrap_or_default()).unwrap_or(&0);
            }
            ("allOf", Value::Array(all)) => together += each(all).iter().sum::<usize>(),
            ("anyOf" | "oneOf", Value::Array(all)) => together += each(all).into_iter().max().unwrap_or(0),
            ("prefixItems", Value::Array(items)) => parts = each(items).into_iter().fold(parts, usize::max),
            ("properties" | "patternProperties", Value::Object(schemas)) => {
                parts = schemas.values().map(|schema| of(schema, definitions)).fold(parts, usize::max);
            }
            ("items" | "additionalProperties", schema) => parts = parts.max(of(schema, definitions)),
            _ => {}
        }
    }
    (together + parts).min(limits::PATTERNS_TOGETHER + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_meets_is_counted() {
        let p = json!({"type": "string", "pattern": "a"});
        let definitions = json!({
            "two": {"allOf": [p, p]},
            "spiral": {"allOf": [p, {"$ref": "#/$defs/spiral"}]},
            "circle": {"type": "object", "properties": {"name": p, "next": {"$ref": "#/$defs/circle"}}},
        });
        let Value::Object(definitions) = definitions else { unreachable!() };
        let count = |schema: Value| patterns(&schema, &definitions);
        assert_eq!(count(p.clone()), 1);
        assert_eq!(count(json!({"anyOf": [p, p]})), 1);
        assert_eq!(count(json!({"properties": {"a": p, "b": p}})), 1);
        assert_eq!(count(json!({"allOf": [{"properties": {"a": p}}, {"properties": {"a": p}}]})), 2);
        assert_eq!(count(json!({"$ref": "#/$defs/two", "pattern": "b", "format": "date"})), 4);
        assert_eq!(count(json!({"$ref": "#/$defs/circle"})), 1);
        assert_eq!(count(json!({"$ref": "#/$defs/spiral"})), limits::PATTERNS_TOGETHER + 1);
        assert_eq!(count(json!(true)), 0);
    }
}
