//! The properties that a schema does not list.

use serde_json::{Map, Value};

/// Writes `additionalProperties` as a pattern that matches every name.
///
/// The compiler lets additional names have any escapes. `"\u0061"` would then pass as another name than a listed `"a"`,
/// with a value that is not valid for it. Names that match patterns have one spelling only.
pub(super) fn name_all_properties(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(name_all_properties),
        Value::Object(members) => {
            let listed = ["properties", "required"].iter().any(|key| members.contains_key(*key));
            if listed && members.get("additionalProperties") != Some(&Value::Bool(false)) {
                let more = members.insert("additionalProperties".into(), false.into());
                let all = Map::from_iter([(String::new(), more.unwrap_or(Value::Bool(true)))]);
                members.insert("patternProperties".into(), all.into());
                // Before the keywords that combine schemas.
                for key in ["$ref", "const", "enum", "allOf", "anyOf", "oneOf", "$defs"] {
                    if let Some(value) = members.shift_remove(key) {
                        members.insert(key.into(), value);
                    }
                }
            }
            for (key, value) in members.iter_mut() {
                match key.as_str() {
                    "properties" | "patternProperties" | "$defs" => {
                        if let Value::Object(schemas) = value {
                            schemas.values_mut().for_each(name_all_properties);
                        }
                    }
                    "const" | "enum" | "required" => {}
                    _ => name_all_properties(value),
                }
            }
        }
        _ => {}
    }
}
