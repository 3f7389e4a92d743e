//! Strings that are written as they are, without quotes, up to a mark.

use std::collections::BTreeSet;

use llguidance::derivre::RegexBuilder;
use serde_json::{Map, Value};

use crate::lark::{Lark, escaped, mark, quoted};
use crate::schema::unanchored;
use crate::vocabulary::Mark;

/// The keywords that constrain strings.
pub(super) const OF_STRINGS: &[&str] = &["minLength", "maxLength", "pattern", "format"];

/// Adds a rule for a string and the mark that ends it. The string satisfies the string keywords of `schema`, and does not read
/// as JSON of the types `others`.
///
/// # Errors
/// The keyword that cannot be expressed, and why. With `relaxed` such keywords are left out instead.
pub(super) fn string(
    lark: &mut Lark,
    schema: &Map<String, Value>,
    others: &BTreeSet<&str>,
    end: &Mark,
    relaxed: bool,
) -> Result<String, (&'static str, String)> {
    let mut parts = Vec::new();
    for key in OF_STRINGS {
        let Some(value) = schema.get(*key) else { continue };
        let part = match (*key, value) {
            ("minLength", Value::Number(least)) => Some(format!("/(?s:.{{{least},}})/")),
            ("maxLength", Value::Number(most)) => Some(format!("/(?s:.{{0,{most}}})/")),
            ("pattern", Value::String(pattern)) => unanchored(pattern).map(|whole| format!("/{whole}/")),
            ("format", Value::String(format)) => format_of(format).map(|whole| format!("/{whole}/")),
            _ => None,
        };
        match part {
            Some(part) => parts.push(part),
            None if relaxed => {}
            None => {
                let why = match *key {
                    "pattern" => "expected anchors only at the beginning and end of the pattern",
                    _ => "this format is not supported for arguments that the model writes without quotes",
                };
                return Err((key, why.to_owned()));
            }
        }
    }
    let json: Vec<&str> = others.iter().map(|name| beginning(name)).collect();
    if !json.is_empty() {
        parts.push(format!(r"~/[ \t\r\n]*({})/", json.join("|")));
    }
    let body = if parts.is_empty() { "/(?s:.*)/".to_owned() } else { parts.join(" & ") };
    let pattern = schema.get("pattern").and_then(Value::as_str).and_then(unanchored);
    let empty = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0) == 0
        && schema.get("format").and_then(Value::as_str).and_then(format_of).is_none()
        && pattern.is_none_or(|pattern| accepts_empty(&pattern));
    Ok(lark.ended(&format!("({body})"), empty, end, &[&ending(end)]))
}

/// The text that the parser of replies takes for the end of a value: the mark, also without the newline before it.
fn ending(end: &Mark) -> Mark {
    Mark { text: end.text.trim_start().to_owned(), token: end.token }
}

/// Adds a rule for one of several strings, and the mark that ends it. `None` if none can be written.
pub(super) fn one_of(lark: &mut Lark, values: &[&str], end: &Mark) -> Option<String> {
    let ending = ending(end).text;
    let possible: Vec<&&str> = values.iter().filter(|value| !value.contains(ending.as_str())).collect();
    if possible.is_empty() {
        return None;
    }
    Some(match end.token {
        None => {
            let all: Vec<String> =
                possible.iter().map(|value| format!("{}{}", escaped(value), escaped(&end.text))).collect();
            lark.terminal(&format!("/{}/", all.join("|")))
        }
        Some(_) => {
            let all: Vec<String> = possible.iter().map(|value| quoted(value)).collect();
            lark.rule(&format!("({}) {}", all.join(" | "), mark(end)))
        }
    })
}

/// Whether a regular expression matches the empty text.
fn accepts_empty(pattern: &str) -> bool {
    let mut builder = RegexBuilder::new();
    let expression = builder.mk_regex(pattern);
    expression.is_ok_and(|expression| builder.is_nullable(expression))
}

/// A regular expression of texts that may read as JSON of a type.
fn beginning(name: &str) -> &'static str {
    match name {
        "null" => r"null[ \t\r\n]*",
        "boolean" => r"(true|false)[ \t\r\n]*",
        "array" => r"\[(?s:.*)",
        "object" => r"\{(?s:.*)",
        _ => r"-?[0-9]+(\.[0-9]+)?([eE][+\-]?[0-9]+)?[ \t\r\n]*",
    }
}

/// The regular expressions of the formats that are supported.
fn format_of(format: &str) -> Option<String> {
    const DATE: &str = "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|\
                        02-(0[1-9]|[12][0-9]))";
    const TIME: &str =
        r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+\-]([01][0-9]|2[0-3]):[0-5][0-9])";
    const BYTE: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    Some(match format {
        "date" => DATE.to_owned(),
        "time" => TIME.to_owned(),
        "date-time" => format!("{DATE}T{TIME}"),
        "uuid" => "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}".to_owned(),
        "ipv4" => format!("({BYTE}\\.){{3}}{BYTE}"),
        _ => return None,
    })
}
