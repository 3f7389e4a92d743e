//! How many patterns can constrain one string together.
//!
//! The compiler decides whether any string satisfies them all, which takes time exponential in their number.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The most patterns and formats that can meet at one string of `schema`, as [`Schemas`](super::Schemas) writes it: an
/// upper bound.
pub(super) fn patterns(schema: &Value, definitions: &Map<String, Value>) -> usize {
    let mut walk = Walk { definitions, open: BTreeSet::new(), known: BTreeMap::new() };
    walk.of(schema)
}

struct Walk<'d> {
    definitions: &'d Map<String, Value>,
    /// The definitions that are being counted.
    open: BTreeSet<&'d str>,
    known: BTreeMap<&'d str, usize>,
}

impl<'d> Walk<'d> {
    fn of(&mut self, schema: &'d Value) -> usize {
        let Value::Object(members) = schema else { return 0 };
        // Of the alternatives and parts, each is another string; all else meets.
        let (mut together, mut parts) = (0, 0);
        for (key, value) in members {
            match (key.as_str(), value) {
                ("pattern" | "format", _) => together += 1,
                ("$ref", Value::String(to)) => together += self.definition(to),
                ("allOf", Value::Array(all)) => {
                    together += all.iter().map(|each| self.of(each)).sum::<usize>()
                }
                ("anyOf" | "oneOf", Value::Array(options)) => {
                    together += options.iter().map(|each| self.of(each)).max().unwrap_or(0);
                }
                ("properties" | "patternProperties", Value::Object(schemas)) => {
                    parts = schemas.values().map(|each| self.of(each)).fold(parts, usize::max);
                }
                ("prefixItems", Value::Array(schemas)) => {
                    parts = schemas.iter().map(|each| self.of(each)).fold(parts, usize::max);
                }
                ("items" | "additionalProperties", schema) => parts = parts.max(self.of(schema)),
                _ => {}
            }
        }
        together + parts
    }

    fn definition(&mut self, reference: &'d str) -> usize {
        let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let Some(schema) = self.definitions.get(name) else { return 0 };
        if !self.open.insert(name) {
            return 0;
        }
        let count = self.of(schema);
        self.open.remove(name);
        // Within a circle the count depends on where it was entered.
        if self.open.is_empty() {
            self.known.insert(name, count);
        }
        count
    }
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
        assert_eq!(count(json!(true)), 0);
    }
}
