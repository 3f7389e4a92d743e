//! JSON that was cut off.

use serde_json::{Map, Value};

/// The object that a text begins, with the values that had come when the text was cut off.
///
/// A value counts once it is certain to be whole: a string at its closing quote, a number at what follows it. Objects and
/// arrays that were open are closed. A text that is not the beginning of an object gives an empty one.
pub fn object_prefix(text: &str) -> Map<String, Value> {
    if let Ok(whole) = serde_json::from_str(text) {
        return whole;
    }
    // The brackets that are open, as those that would close them, where `kept` ends. They change only where it moves.
    let mut open = Vec::new();
    let mut kept = 0;
    let mut string = false;
    let mut escaped = false;
    // Whether what comes next is a value, not a key.
    let mut value = true;
    for (at, byte) in text.bytes().enumerate() {
        if string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    string = false;
                    if value {
                        kept = at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = true,
            b':' => value = true,
            b'{' | b'[' => {
                open.push(if byte == b'{' { '}' } else { ']' });
                value = byte == b'[';
                kept = at + 1;
            }
            b'}' | b']' => {
                open.pop();
                kept = at + 1;
            }
            b',' => {
                value = open.last() == Some(&']');
                kept = at;
            }
            _ => {}
        }
    }
    let mut closed = text[..kept].to_string();
    closed.extend(open.iter().rev());
    serde_json::from_str(&closed).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_values_are_kept() {
        let cases = [
            ("", json!({})),
            ("nonsense", json!({})),
            ("[1, 2", json!({})),
            ("{", json!({})),
            (r#"{"a"#, json!({})),
            (r#"{"a": "b"#, json!({})),
            (r#"{"a": "b""#, json!({ "a": "b" })),
            (r#"{"a": "b\""#, json!({})),
            (r#"{"a": 12"#, json!({})),
            (r#"{"a": 12,"#, json!({ "a": 12 })),
            (r#"{"a": 12, "b""#, json!({ "a": 12 })),
            (r#"{"a": 12, "b":"#, json!({ "a": 12 })),
            (r#"{"a": [1, 2"#, json!({ "a": [1] })),
            (r#"{"a": [{"b": true}, {"c": "}", "d"#, json!({ "a": [{ "b": true }, { "c": "}" }] })),
            (r#"{"a": "x, {", "b": nul"#, json!({ "a": "x, {" })),
            (r#"{"a": 1}"#, json!({ "a": 1 })),
            (r#"{"a": 1}}"#, json!({})),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::Object(object_prefix(text)), expected, "{text}");
        }
    }

    #[test]
    fn every_prefix_of_an_object_gives_less_of_it() {
        let whole =
            r#" {"a": "ä\u00e9\"", "b": [1, {"c": [], "d": -2.5e3}, "x"], "e": {"f": null}, "g": false} "#;
        let all = object_prefix(whole);
        assert_eq!(all.len(), 4);
        let mut before = 0;
        for (at, _) in whole.char_indices() {
            let some = object_prefix(&whole[..at]);
            assert!(some.keys().all(|key| all.contains_key(key)) && some.len() >= before, "{}", &whole[..at]);
            before = some.len();
        }
    }
}
