//! Tools with the fields that some templates require.
//!
//! gpt-oss's template writes `"// " + tool.description` and, of parameters with an `enum` or `oneOf`, `"default: " +
//! parameter.default`. It fails on tools without a description and on defaults that are no strings, although both are valid.

use serde_json::{Map, Value as Json};

/// The tools with empty descriptions where there are none, and with JSON text in place of defaults of choices that are not strings;
/// `None` if nothing needs to change.
pub(super) fn completed(tools: &Json) -> Option<Json> {
    let mut changed = tools.clone();
    for tool in changed.as_array_mut()? {
        let function = match tool.get_mut("function") {
            Some(function) => function,
            None => tool,
        };
        let Some(function) = function.as_object_mut() else { continue };
        if !function.get("description").is_some_and(Json::is_string) {
            function.insert("description".to_owned(), "".into());
        }
        function.get_mut("parameters").into_iter().for_each(defaults_as_text);
    }
    (changed != *tools).then_some(changed)
}

/// Replaces defaults of choices in a schema. JSON in requests is nested at most 128 deep.
fn defaults_as_text(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            let is_choice = |fields: &Map<String, Json>| {
                ["enum", "oneOf"].iter().any(|key| fields.get(*key).is_some_and(Json::is_array))
            };
            if is_choice(fields)
                && let Some(default) = fields.get_mut("default").filter(|default| !default.is_string())
            {
                *default = Json::String(default.to_string());
            }
            fields.values_mut().for_each(defaults_as_text);
        }
        Json::Array(items) => items.iter_mut().for_each(defaults_as_text),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::completed;

    #[test]
    fn only_what_is_missing_changes() {
        let parameters = json!({"properties": {
            "a": {"enum": [1, 2], "default": 1},
            "b": {"enum": ["x"], "default": null},
            "c": {"oneOf": [{"type": "boolean"}], "default": true},
            "d": {"type": "integer", "default": 5},
            "e": {"enum": ["x"], "default": "x"},
            "default": {"type": "string"},
        }});
        let tools =
            json!([{"type": "function", "function": {"name": "f", "parameters": parameters}}, {"name": "g"}]);
        let found = completed(&tools).unwrap();
        assert_eq!(found[0]["function"]["description"], "");
        assert_eq!(found[1]["description"], "");
        let properties = &found[0]["function"]["parameters"]["properties"];
        let default = |name: &str| properties[name]["default"].clone();
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(default),
            [json!("1"), json!("null"), json!("true"), json!(5), json!("x")]
        );
        assert_eq!(properties["default"], json!({"type": "string"}));
        assert!(completed(&found).is_none());
        assert!(completed(&json!({})).is_none());
    }
}
