//! Parses a request body.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{ApiError, Kind, beginning};

/// The deepest nesting of objects and arrays in a request. A JSON schema of a tool rarely needs 20.
pub(crate) const MAX_DEPTH: usize = 64;

/// Parses a body as JSON.
///
/// # Errors
/// If it is not UTF-8 or JSON, is nested deeper than [`MAX_DEPTH`], or repeats a field of an object. (Other readers take the
/// last of the values, and drop the first in silence.)
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let not_json = |why: &str| ApiError::new(Kind::Invalid, format!("the body is not valid JSON: {why}"));
    // Windows programs write this mark at the beginning of a file, which curl then sends.
    let body = body.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(body);
    if body.is_empty() {
        return Err(not_json("it is empty"));
    }
    let [depth, colons] = outside_strings(body);
    if depth > MAX_DEPTH {
        return Err(not_json(&format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    let value = serde_json::from_slice(body).map_err(|error| not_json(&error.to_string()))?;
    if colons == members(&value) {
        return Ok(value);
    }
    let name = repeated(body).unwrap_or_default();
    Err(not_json(&format!("the field {:?} is repeated", beginning(&name))))
}

/// A request without `extra_body`, which belongs to SDKs: its members are fields of the request. Those that the request
/// has itself stay in it.
pub(crate) fn merged(mut body: Value) -> Value {
    let Value::Object(map) = &mut body else { return body };
    if !map.get("extra_body").is_some_and(Value::is_object) {
        return body;
    }
    let Some(Value::Object(extra)) = map.shift_remove("extra_body") else { return body };
    let mut rest = Map::new();
    for (name, value) in extra {
        if name == "extra_body" || map.contains_key(&name) {
            rest.insert(name, value);
        } else {
            map.insert(name, value);
        }
    }
    if !rest.is_empty() {
        map.insert("extra_body".into(), rest.into());
    }
    body
}

/// The number of members of all objects of a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// The first name that an object has twice, in valid JSON.
fn repeated(body: &[u8]) -> Option<String> {
    // The names of each open object; arrays have none.
    let mut open: Vec<BTreeSet<String>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'{' | b'[' => open.push(BTreeSet::new()),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                while body.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if body[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                let is_name =
                    body[at.min(body.len())..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                let name = serde_json::from_slice(&body[begin..at.min(body.len())]).ok();
                if let Some(name) = name.filter(|_: &String| is_name)
                    && let Some(names) = open.last_mut()
                    && !names.insert(name.clone())
                {
                    return Some(name);
                }
            }
            _ => {}
        }
    }
    None
}

/// The deepest nesting of brackets outside strings, whether they match or not, and the number of colons there.
fn outside_strings(body: &[u8]) -> [usize; 2] {
    let (mut depth, mut deepest, mut colons, mut in_string, mut escaped) = (0usize, 0, 0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    [deepest, colons]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(outside_strings(br#"{"a": [1, {"b": "[[[\":[["}], "c": []}"#), [3, 3]);
        let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert!(parse(&deep(MAX_DEPTH)).is_ok());
        assert!(parse(&deep(MAX_DEPTH + 1)).unwrap_err().message.contains("64 levels"));
    }

    #[test]
    fn members_of_extra_body_are_fields() {
        for (body, expected) in [
            (r#"{"extra_body": {}}"#, "{}"),
            (r#"{"a": 1, "extra_body": {"b": 2}}"#, r#"{"a": 1, "b": 2}"#),
            (
                r#"{"a": 1, "extra_body": {"a": 3, "extra_body": {"c": 1}, "b": 2}}"#,
                r#"{"a": 1, "extra_body": {"a": 3, "extra_body": {"c": 1}}, "b": 2}"#,
            ),
            ("[]", "[]"),
        ] {
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(merged(parse(body.as_bytes()).unwrap()), expected, "{body}");
        }
        // A value that is no object stays a field, which is unknown.
        assert_eq!(merged(parse(br#"{"extra_body": 3}"#).unwrap()), parse(br#"{"extra_body": 3}"#).unwrap());
    }

    #[test]
    fn repeated_fields_are_refused() {
        for (body, name) in [
            (r#"{"a": 1, "b": {"a": ":", "c:": [{"a": 1}, {"a": 2}]}}"#, None),
            (r#"{"a": 1, "b": 2, "a": 1}"#, Some("a")),
            (r#"[{"x": [{"\u0061\"" : {}, "a\"": []}]}, {"x": 1, "x": 1}]"#, Some("a\"")),
            (r#"{"tools": [{"a:": {"q": 1 , "r": ["q", {"q": 2}], "q" : "q"}}]}"#, Some("q")),
        ] {
            let expected =
                name.map(|name: &str| format!("the body is not valid JSON: the field {name:?} is repeated"));
            assert_eq!(parse(body.as_bytes()).err().map(|error| error.message), expected, "{body}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(parse("\u{FEFF}{\"a\": 1}".as_bytes()).unwrap(), serde_json::json!({ "a": 1 }));
        assert!(parse("\u{FEFF}".as_bytes()).is_err());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for body in [&b""[..], b"{", b"{}x", b"\xff", b"nul", b"{\"a\":1,}"] {
            assert_eq!(parse(body).unwrap_err().kind, Kind::Invalid, "{body:?}");
        }
    }
}
