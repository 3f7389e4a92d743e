//! Fields that are texts, or lists of them.

use serde_json::Value;

use crate::error::ApiError;

/// Strings: one, or an array of at most `most`, each of at most so many bytes.
///
/// # Errors
/// If one is empty, there are too many, or they are too long.
pub(super) fn strings(path: &str, value: &Value, most: usize, bytes: usize) -> Result<Vec<String>, ApiError> {
    let wrong = |why: String| ApiError::invalid(path, format!("{path}: {why}"));
    let texts: Vec<&Value> = match value {
        // An empty field of a form.
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(_) => vec![value],
        Value::Array(items) if items.len() <= most => items.iter().collect(),
        Value::Array(items) => {
            return Err(wrong(format!("expected at most {most} strings, found {}", items.len())));
        }
        _ => return Err(wrong("expected a string or an array of strings".into())),
    };
    let text = |value: &Value| match value.as_str() {
        Some("") => Err(wrong("a string is empty".into())),
        Some(text) if text.len() <= bytes => Ok(text.to_string()),
        Some(text) => Err(wrong(format!("expected strings of at most {bytes} bytes, found {}", text.len()))),
        None => Err(wrong("expected a string or an array of strings".into())),
    };
    texts.into_iter().map(text).collect()
}
