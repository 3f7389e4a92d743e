//! `keep_alive`: how long a model stays loaded after its last request.

use std::time::Duration;

use serde_json::Value;

use crate::error::ApiError;
use crate::json::Fields;

/// The longest limit: a hundred years. Anything longer counts as no limit.
const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;

/// Reads it. `Some(None)` is without end.
///
/// # Errors
/// If it is no duration.
pub(super) fn read(fields: &mut Fields<'_>) -> Result<Option<Option<Duration>>, ApiError> {
    let Some(value) = fields.value("keep_alive") else { return Ok(None) };
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => seconds(text),
        _ => None,
    };
    let expected = "a number of seconds, or a duration as `5m`, `1h30m` or `-1`";
    let seconds = seconds.ok_or_else(|| fields.expected("keep_alive", expected, value))?;
    Ok(Some(limit(seconds)))
}

/// Reads a duration as Go writes it, such as `10m` or `1h30m`, or a number of seconds. `Some(None)` is without end: what is below zero, or
/// more than a hundred years. `None` is no duration.
pub fn keep_alive(text: &str) -> Option<Option<Duration>> {
    seconds(text).map(limit)
}

fn limit(seconds: f64) -> Option<Duration> {
    (0.0..LONGEST).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// The seconds of a duration as Go writes it: `1h30m`, `-1`, `300ms`. Without a unit it is seconds.
fn seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse::<f64>().ok().filter(|_| plain)
    };
    if let Some(whole) = number(rest) {
        return Some(sign * whole);
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount = number(&rest[..end])?;
        rest = &rest[end..];
        let units =
            [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
        let (unit, factor) = units.into_iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        sum += amount * factor;
    }
    text.ends_with(|c: char| c.is_alphabetic()).then_some(sign * sum)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_those_of_go() {
        for (text, expected) in [
            ("5m", Some(300.0)),
            ("1h30m", Some(5400.0)),
            ("1.5s", Some(1.5)),
            ("300ms", Some(0.3)),
            ("0", Some(0.0)),
            ("-1", Some(-1.0)),
            ("-1m", Some(-60.0)),
            ("10", Some(10.0)),
            ("24h0m0s", Some(86_400.0)),
            ("", None),
            ("-", None),
            ("m", None),
            ("5 m", None),
            ("5x", None),
            ("inf", None),
            ("1e3", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
