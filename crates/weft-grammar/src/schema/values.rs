//! Values in schemas: numbers, counts, and what `enum` and `const` list.

use serde_json::Value;

use crate::limits;

/// The kind of a JSON value, for errors.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Checks a number that bounds others.
///
/// # Errors
/// What is wrong with it.
pub(super) fn number(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) if exact(number) => Ok(()),
        Value::Number(number) => Err(inexact(number)),
        other => Err(format!("expected a number, found {}", kind(other))),
    }
}

/// Whether parsers that keep numbers as `f64` read this one exactly, or close enough.
fn exact(number: &serde_json::Number) -> bool {
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => integer.unsigned_abs() <= limits::INTEGER,
        (None, Some(_)) => false,
        (None, None) => number.as_f64().is_some_and(f64::is_finite),
    }
}

fn inexact(number: &serde_json::Number) -> String {
    format!(
        "expected an integer between -2^53 and 2^53, found {number}; larger ones lose digits as JSON numbers"
    )
}

/// Reads a count, such as `minItems`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn count(value: &Value, most: u64) -> Result<u64, String> {
    let count = match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|count| count.fract() == 0.0 && *count >= 0.0);
            number.as_u64().or_else(|| whole.map(|count| count as u64))
        }
        _ => None,
    };
    match count {
        Some(count) if count <= most => Ok(count),
        Some(count) => Err(format!("expected at most {most}, found {count}")),
        None => Err(format!("expected an integer of at least 0, found {value}")),
    }
}

/// `multipleOf` without its decimal point, as the automaton counts it: 25 for 0.25.
///
/// # Errors
/// What is wrong with it.
pub(super) fn multiple(value: &Value) -> Result<u64, String> {
    number(value)?;
    let multiple = value.as_f64().unwrap_or_default();
    if multiple <= 0.0 {
        return Err(format!("expected a number above 0, found {value}"));
    }
    let mut scaled = multiple;
    for _ in 0..6 {
        if (scaled - scaled.round()).abs() <= scaled * 1e-12 {
            break;
        }
        scaled *= 10.0;
    }
    let whole = (scaled - scaled.round()).abs() <= scaled * 1e-12;
    if whole && scaled <= limits::MULTIPLES as f64 {
        return Ok(scaled.round() as u64);
    }
    Err(format!(
        "expected a number with at most 6 decimals and, without its decimal point, at most {}; found {value}",
        limits::MULTIPLES
    ))
}

/// Checks a value that must be written as it is.
///
/// # Errors
/// What is wrong with it.
pub(super) fn literal(value: &Value, depth: usize) -> Result<(), String> {
    if depth > limits::VALUE_DEPTH {
        return Err(format!("expected values nested at most {} deep", limits::VALUE_DEPTH));
    }
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(number) if exact(number) => Ok(()),
        Value::Number(number) => Err(inexact(number)),
        Value::String(text) => name(text),
        Value::Array(items) => items.iter().try_for_each(|item| literal(item, depth + 1)),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            name(key)?;
            literal(value, depth + 1)
        }),
    }
}

/// Checks a name or other text that must be written as it is.
///
/// # Errors
/// If it is too long.
pub(super) fn name(text: &str) -> Result<(), String> {
    if text.len() > limits::NAME_BYTES {
        return Err(format!(
            "expected names and values of at most {} bytes, found {}",
            limits::NAME_BYTES,
            text.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_and_multiples() {
        assert_eq!(count(&json!(3), 10), Ok(3));
        assert_eq!(count(&json!(3.0), 10), Ok(3));
        for wrong in [json!(11), json!(-1), json!(2.5), json!("3"), json!(null)] {
            assert!(count(&wrong, 10).is_err(), "{wrong}");
        }
        for (value, coefficient) in
            [(json!(5), 5), (json!(0.25), 25), (json!(0.01), 1), (json!(10_000), 10_000)]
        {
            assert_eq!(multiple(&value), Ok(coefficient), "{value}");
        }
        for wrong in [json!(0), json!(-2), json!(10_007), json!(1e-9), json!(0.123_456_7), json!("2")] {
            assert!(multiple(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn integers_beyond_floats_are_refused() {
        assert!(literal(&json!([9_007_199_254_740_992_u64, -1, 1.5, 1e300]), 0).is_ok());
        assert!(literal(&json!({"a": [9_007_199_254_740_993_u64]}), 0).is_err());
        assert!(number(&json!(u64::MAX)).is_err());
        assert!(number(&json!("1")).unwrap_err().contains("found a string"));
    }
}
