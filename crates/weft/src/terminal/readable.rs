//! JSON for people: a line for each value, and tables of what has the same parts.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The longest line of several values, in characters.
const LINE: usize = 100;

/// Writes a value as lines of text, each with its line end. Numbers are rounded to six digits.
pub(crate) fn readable(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(entries) => object(entries, 0, &mut text),
        other => named("", other, 0, &mut text),
    }
    text
}

fn object(entries: &Map<String, Value>, indent: usize, text: &mut String) {
    for (name, value) in entries {
        named(&name.replace('_', " "), value, indent, text);
    }
}

/// Writes a value after its name, which may be empty.
fn named(name: &str, value: &Value, indent: usize, text: &mut String) {
    let space = " ".repeat(indent);
    let colon = if name.is_empty() { "" } else { ": " };
    if let Some(short) = short(value).filter(|short| space.len() + name.len() + short.len() < LINE) {
        *text += &format!("{space}{name}{colon}{short}\n");
        return;
    }
    let deeper = if name.is_empty() {
        indent
    } else {
        *text += &format!("{space}{name}:\n");
        indent + 2
    };
    let space = " ".repeat(deeper);
    match value {
        Value::Object(entries) => object(entries, deeper, text),
        Value::Array(items) => match table(items) {
            Some(rows) => rows.iter().for_each(|row| *text += &format!("{space}{row}\n")),
            None if items.iter().all(|item| scalar(item).is_some()) => {
                let words: Vec<String> = items.iter().filter_map(scalar).collect();
                wrapped(&words, LINE.saturating_sub(deeper))
                    .iter()
                    .for_each(|line| *text += &format!("{space}{line}\n"));
            }
            None => {
                for (at, item) in items.iter().enumerate() {
                    named(&(at + 1).to_string(), item, deeper, text);
                }
            }
        },
        other => {
            let said = scalar(other).unwrap_or_default();
            said.lines().for_each(|line| *text += &format!("{space}{line}\n"));
        }
    }
}

/// A value that fits on a line: one number or text, or a few of them.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if items.is_empty() => Some("none".into()),
        Value::Object(entries) if entries.is_empty() => Some("none".into()),
        Value::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| scalar(item).filter(|item| !item.contains('\n'))).collect();
            Some(items?.join(", "))
        }
        Value::Object(entries) => {
            let parts = entries
                .iter()
                .map(|(name, value)| Some(format!("{} {}", name.replace('_', " "), scalar(value)?)));
            Some(parts.collect::<Option<Vec<String>>>()?.join(", "))
        }
        other => scalar(other).filter(|text| !text.contains('\n')),
    }
}

/// A number, a text or a truth value.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("–".into()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.into()),
        Value::Number(number) if number.is_f64() => number.as_f64().map(rounded),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number with six digits, without zeros at its end.
fn rounded(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    if !(-4..=12).contains(&before) {
        return format!("{number:.5e}");
    }
    let text = format!("{number:.*}", usize::try_from(6 - before).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Rows of the same parts as a table; `None` if the items are not such rows, or their lines would be too
/// long.
fn table(items: &[Value]) -> Option<Vec<String>> {
    let rows: Vec<&Map<String, Value>> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let names: Vec<&String> = rows.first()?.keys().collect();
    let same: BTreeSet<&String> = names.iter().copied().collect();
    if rows.len() < 2 || rows.iter().any(|row| row.keys().collect::<BTreeSet<_>>() != same) {
        return None;
    }
    let mut lines = vec![names.iter().map(|name| name.replace('_', " ")).collect::<Vec<String>>()];
    for row in &rows {
        let cells = names.iter().map(|name| scalar(&row[*name]).filter(|cell| !cell.contains('\n')));
        lines.push(cells.collect::<Option<_>>()?);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    if widths.iter().sum::<usize>() + 2 * widths.len() > LINE {
        return None;
    }
    let is_number =
        |column: usize| rows.iter().all(|row| row[names[column]].is_number() || row[names[column]].is_null());
    let aligned = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(column, cell)| match widths[column] {
            width if is_number(column) => format!("{cell:>width$}"),
            width => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    Some(lines.iter().map(aligned).collect())
}

/// Words separated by commas, in lines of at most `width` characters if the words are short enough.
fn wrapped(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "" };
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() + 2 <= width => {
                *line += &format!(" {word}{comma}")
            }
            _ => lines.push(format!("{word}{comma}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_lines_and_rows_are_tables() {
        let samples: Vec<f64> = (0..30).map(|i| 1234.5 + f64::from(i) / 3.0).collect();
        let value = json!({
            "perplexity": 1.043_412_345,
            "whole": false,
            "machine": { "cores": 2, "name": "here" },
            "nothing": [],
            "unknown": null,
            "text": "a line\nand another",
            "short_samples": [1, 2.5],
            "samples": samples,
            "rows": [
                { "name": "decode", "tokens_per_second": 21.123_456_7 },
                { "name": "prefill", "tokens_per_second": 1e-9 },
            ],
            "mixed": [{ "depth": 0, "of": { "a": [1] } }, 3],
        });
        expect![[r#"
            perplexity: 1.04341
            whole: no
            machine: cores 2, name here
            nothing: none
            unknown: –
            text:
              a line
              and another
            short samples: 1, 2.5
            samples:
              1234.5, 1234.83, 1235.17, 1235.5, 1235.83, 1236.17, 1236.5, 1236.83, 1237.17, 1237.5, 1237.83,
              1238.17, 1238.5, 1238.83, 1239.17, 1239.5, 1239.83, 1240.17, 1240.5, 1240.83, 1241.17, 1241.5,
              1241.83, 1242.17, 1242.5, 1242.83, 1243.17, 1243.5, 1243.83, 1244.17
            rows:
              name     tokens per second
              decode             21.1235
              prefill         1.00000e-9
            mixed:
              1:
                depth: 0
                of:
                  a: 1
              2: 3
        "#]]
        .assert_eq(&readable(&value));
        assert_eq!(readable(&json!("one")), "one\n");
        assert_eq!(readable(&json!({})), "");
    }

    #[test]
    fn numbers_keep_six_digits() {
        for (number, text) in
            [(0.0, "0"), (123_456_789.5, "123456790"), (0.000_123_456_78, "0.000123457"), (-2.50, "-2.5")]
        {
            assert_eq!(rounded(number), text);
        }
    }
}
