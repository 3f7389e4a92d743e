//! Parses a request body.

use serde_json::Value;

use crate::error::{ApiError, Kind};

/// The deepest nesting of objects and arrays in a request. A JSON schema of a tool rarely needs 20.
pub(crate) const MAX_DEPTH: usize = 64;

/// Parses a body as JSON.
///
/// # Errors
/// If it is not UTF-8 or JSON, or is nested deeper than [`MAX_DEPTH`].
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let not_json = |why: &str| ApiError::new(Kind::Invalid, format!("the body is not valid JSON: {why}"));
    if body.is_empty() {
        return Err(not_json("it is empty"));
    }
    if depth(body) > MAX_DEPTH {
        return Err(not_json(&format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    serde_json::from_slice(body).map_err(|error| not_json(&error.to_string()))
}

/// The deepest nesting of brackets outside strings. It does not check whether they match.
fn depth(body: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
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
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert_eq!(depth(br#"{"a": [1, {"b": "[[[\"[["}], "c": []}"#), 3);
        let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert!(parse(&deep(MAX_DEPTH)).is_ok());
        assert!(parse(&deep(MAX_DEPTH + 1)).unwrap_err().message.contains("64 levels"));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for body in [&b""[..], b"{", b"{}x", b"\xff", b"nul", b"{\"a\":1,}"] {
            assert_eq!(parse(body).unwrap_err().kind, Kind::Invalid, "{body:?}");
        }
    }
}
