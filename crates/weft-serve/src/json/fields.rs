//! Reads the fields of a JSON object, and knows where it is, so that errors name the field at fault.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::error::{ApiError, Kind, beginning};
use crate::ignored::Ignored;

/// A JSON object whose fields are read one after the other. `null` counts as absent, as SDKs send it. Whatever was not
/// read is listed as ignored at the [`end`](Fields::end), or refused if the request is read strictly.
pub(crate) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
    known: Vec<&'static str>,
    ignored: &'a Ignored,
}

impl<'a> Fields<'a> {
    /// The fields of a value, which is at `path`; the body itself has an empty path.
    ///
    /// # Errors
    /// If it is not an object.
    pub(crate) fn of(
        value: &'a Value,
        path: impl Into<String>,
        ignored: &'a Ignored,
    ) -> Result<Fields<'a>, ApiError> {
        let path = path.into();
        let Value::Object(map) = value else {
            let whole = path.is_empty();
            let place = if whole { "the body" } else { path.as_str() };
            let message = format!("{place}: expected an object, found {}", kind(value));
            return Err(ApiError {
                param: (!whole).then(|| path.clone()),
                ..ApiError::new(Kind::Invalid, message)
            });
        };
        Ok(Fields { path, map, known: Vec::new(), ignored })
    }

    /// The parts of the request that are left out.
    pub(crate) fn ignored(&self) -> &'a Ignored {
        self.ignored
    }

    /// Lists a field as ignored.
    pub(crate) fn leave_out(&self, name: &str) {
        self.ignored.add(unnumbered(&self.at(name)));
    }

    /// Returns whether a field was read.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.known.contains(&name)
    }

    /// The path of a field.
    pub(crate) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    fn know(&mut self, name: &'static str) {
        #[cfg(test)]
        record::add(self.at(name));
        self.known.push(name);
    }

    /// A field of any type.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.know(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// An error about a field: what was expected there, and what was found.
    pub(crate) fn expected(&self, name: &str, expected: &str, found: &Value) -> ApiError {
        expected_at(&self.at(name), expected, found)
    }

    /// A field that must be there.
    ///
    /// # Errors
    /// If it is absent.
    pub(crate) fn required(&mut self, name: &'static str, expected: &str) -> Result<&'a Value, ApiError> {
        let path = self.at(name);
        self.value(name)
            .ok_or_else(|| ApiError::invalid(path.clone(), format!("{path} is missing: expected {expected}")))
    }

    /// A text.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.expected(name, "a string", value))
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// If it is absent or not a text.
    pub(crate) fn required_text(&mut self, name: &'static str) -> Result<&'a str, ApiError> {
        let value = self.required(name, "a string")?;
        value.as_str().ok_or_else(|| self.expected(name, "a string", value))
    }

    /// A boolean.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.expected(name, "true or false", value))
    }

    /// An integer in a range.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn integer(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        // Some clients write 1.0 for 1.
        let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
        let integer = value.as_i64().or_else(|| whole.map(|number| number as i64));
        let expected = || match (*range.start(), *range.end()) {
            (start, i64::MAX) => format!("an integer of at least {start}"),
            (start, end) => format!("an integer from {start} to {end}"),
        };
        match integer.filter(|integer| range.contains(integer)) {
            Some(integer) => Ok(Some(integer)),
            None => Err(self.expected(name, &expected(), value)),
        }
    }

    /// The most tokens of a reply: a count of at least `least`, or -1 for no limit, which is `Some(None)`.
    ///
    /// # Errors
    /// If it is neither.
    pub(crate) fn limit(
        &mut self,
        name: &'static str,
        least: usize,
    ) -> Result<Option<Option<usize>>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        if value.as_f64() == Some(-1.0) {
            return Ok(Some(None));
        }
        self.count(name, least..=usize::MAX).map(|count| count.map(Some)).map_err(|_| {
            self.expected(name, &format!("an integer of at least {least}, or -1 for no limit"), value)
        })
    }

    /// A seed: the bits of any integer of 64 bits, with a sign or without. -1 means a random one, as with other servers.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn seed(&mut self, name: &'static str) -> Result<Option<u64>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        if let Some(seed) = value.as_u64() {
            return Ok(Some(seed));
        }
        let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
        match value.as_i64().or_else(|| whole.map(|number| number as i64)) {
            Some(-1) => Ok(None),
            Some(seed) => Ok(Some(seed.cast_unsigned())),
            None => Err(self.expected(name, "an integer from -2^63 to 2^64 - 1", value)),
        }
    }

    /// A count: an integer in a range of counts.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn count(
        &mut self,
        name: &'static str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, ApiError> {
        let bound = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let integer = self.integer(name, bound(*range.start())..=bound(*range.end()))?;
        Ok(integer.and_then(|integer| usize::try_from(integer).ok()))
    }

    /// A number in a range.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        match value.as_f64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.expected(name, &expected(), value)),
        }
    }

    /// An array of at most `most` elements.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn array(&mut self, name: &'static str, most: usize) -> Result<Option<&'a [Value]>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let Value::Array(items) = value else { return Err(self.expected(name, "an array", value)) };
        if items.len() > most {
            let path = self.at(name);
            let message = format!("{path}: expected at most {most} elements, found {}", items.len());
            return Err(ApiError::invalid(path, message));
        }
        Ok(Some(items))
    }

    /// An object.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn object(&mut self, name: &'static str) -> Result<Option<Fields<'a>>, ApiError> {
        let path = self.at(name);
        self.value(name).map(|value| Fields::of(value, path, self.ignored)).transpose()
    }

    /// One of several texts.
    ///
    /// # Errors
    /// If it is another one.
    pub(crate) fn choice(
        &mut self,
        name: &'static str,
        choices: &[&'static str],
    ) -> Result<Option<&'static str>, ApiError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let chosen = choices.iter().find(|choice| value.as_str() == Some(**choice));
        let expected = || {
            let quoted: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            if quoted.len() > 1 { format!("one of {}", quoted.join(", ")) } else { quoted.concat() }
        };
        chosen.map(|chosen| Some(*chosen)).ok_or_else(|| self.expected(name, &expected(), value))
    }

    /// Accepts fields that are part of the API and have no effect on this server.
    pub(crate) fn ignore(&mut self, names: &[&'static str]) {
        names.iter().for_each(|name| self.know(name));
    }

    /// Refuses a field, unless it is absent or has this value, which asks for nothing.
    ///
    /// # Errors
    /// If it asks for something.
    pub(crate) fn refuse(
        &mut self,
        name: &'static str,
        harmless: &[Value],
        why: &str,
    ) -> Result<(), ApiError> {
        let path = self.at(name);
        match self.value(name).filter(|value| !harmless.contains(value)) {
            None => Ok(()),
            Some(_) => Err(ApiError::unsupported(path.clone(), format!("{path} is not supported: {why}"))),
        }
    }

    /// The names of the fields that were not read.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str).filter(|name| !self.known.contains(name))
    }

    /// Ends the object. What was not read has no effect, and is listed.
    ///
    /// # Errors
    /// If there is such a field, and the request is read strictly.
    pub(crate) fn end(self) -> Result<(), ApiError> {
        if !self.ignored.is_strict() {
            let asks = |name: &&str| !self.map[*name].is_null();
            self.rest().filter(asks).for_each(|name| self.leave_out(&short(name)));
            return Ok(());
        }
        match self.rest().next() {
            None => Ok(()),
            Some(name) => {
                let path = self.at(&short(name));
                let message = format!("{path}: this server does not know this parameter; remove it");
                Err(ApiError { code: Some("unknown_parameter"), ..ApiError::invalid(path, message) })
            }
        }
    }
}

/// A path without numbers: `messages[].name`.
fn unnumbered(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |path, part| path + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// An error about a value: what was expected there, and what was found.
pub(crate) fn expected_at(path: &str, expected: &str, found: &Value) -> ApiError {
    ApiError::invalid(path, format!("{path}: expected {expected}, found {}", kind(found)))
}

/// A value for an error message: short values themselves, otherwise their type.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => short(&value.to_string()),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// The beginning of a text that a client sent, for an error message.
fn short(text: &str) -> String {
    let shown = beginning(text);
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{more}", shown.escape_debug())
}

#[cfg(test)]
pub(crate) mod record {
    //! Which fields a reader asks for: the test of `openapi.json` compares them with the file.

    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static PATHS: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn add(path: String) {
        PATHS.with_borrow_mut(|paths| paths.insert(path));
    }

    /// The result of reading, and the paths of all fields that were asked for.
    pub(crate) fn recorded<T>(read: impl FnOnce() -> T) -> (T, BTreeSet<String>) {
        PATHS.take();
        let result = read();
        (result, PATHS.take())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_say_where_what_and_what_was_found() {
        let body = json!({
            "n": 9, "t": "warm", "f": 1.5, "messages": [], "stream": 1, "o": 3, "mode": "x", "whole": 2.0, "extra": 1
        });
        let strict = Ignored::new(true);
        let mut fields = Fields::of(&body, "", &strict).unwrap();
        let says = |result: Result<String, ApiError>| result.unwrap_err().message;
        assert_eq!(
            says(fields.count("n", 1..=8).map(|_| String::new())),
            "n: expected an integer from 1 to 8, found 9"
        );
        assert_eq!(
            says(fields.number("t", 0.0..=2.0).map(|_| String::new())),
            "t: expected a number from 0 to 2, found \"warm\""
        );
        assert_eq!(
            says(fields.integer("f", 0..=i64::MAX).map(|_| String::new())),
            "f: expected an integer of at least 0, found 1.5"
        );
        assert_eq!(
            says(fields.flag("stream").map(|_| String::new())),
            "stream: expected true or false, found 1"
        );
        assert_eq!(says(fields.object("o").map(|_| String::new())), "o: expected an object, found 3");
        assert_eq!(
            says(fields.choice("mode", &["a", "b"]).map(|_| String::new())),
            "mode: expected one of `a`, `b`, found \"x\""
        );
        assert_eq!(
            says(fields.required_text("model").map(str::to_string)),
            "model is missing: expected a string"
        );
        assert_eq!(fields.count("whole", 1..=8), Ok(Some(2)));
        assert_eq!(fields.array("messages", 1), Ok(Some(&[][..])));
        assert_eq!(
            fields.end().unwrap_err().message,
            "extra: this server does not know this parameter; remove it"
        );
        let error = Fields::of(&json!([]), "", &strict).err().unwrap();
        assert_eq!(error.message, "the body: expected an object, found an array");
    }

    #[test]
    fn null_counts_as_absent() {
        let body = json!({ "n": null });
        let strict = Ignored::new(true);
        let mut fields = Fields::of(&body, "choices[0]", &strict).unwrap();
        assert_eq!(fields.count("n", 1..=8), Ok(None));
        assert_eq!(fields.required("n", "a number").unwrap_err().param.as_deref(), Some("choices[0].n"));
        assert_eq!(fields.end(), Ok(()));
    }

    #[test]
    fn unknown_fields_are_listed_by_their_place() {
        let body = json!({ "a": 1, "b\u{7}": 2, "known": 3 });
        let ignored = Ignored::default();
        let mut fields = Fields::of(&body, "messages[12].content[3]", &ignored).unwrap();
        fields.ignore(&["known"]);
        assert_eq!(fields.end(), Ok(()));
        let expected = Ignored::default();
        expected.fields("messages[].content[]", ["a", "b\\u{7}"]);
        assert_eq!(ignored, expected);
    }

    #[test]
    fn limits_and_seeds_have_the_values_of_other_servers() {
        let read = |value: Value| {
            let (body, ignored) = (json!({ "x": value }), Ignored::default());
            let mut fields = Fields::of(&body, "", &ignored).unwrap();
            (fields.limit("x", 1), fields.seed("x").map_err(|error| error.message))
        };
        assert_eq!(read(json!(-1)), (Ok(Some(None)), Ok(None)));
        assert_eq!(read(json!(-1.0)).0, Ok(Some(None)));
        assert_eq!(read(json!(3.0)), (Ok(Some(Some(3))), Ok(Some(3))));
        assert_eq!(read(json!(null)), (Ok(None), Ok(None)));
        assert!(read(json!(0)).0.is_err() && read(json!(-2)).0.is_err());
        for (seed, bits) in
            [(json!(u64::MAX), u64::MAX), (json!(1u64 << 63), 1 << 63), (json!(i64::MIN), 1 << 63)]
        {
            assert_eq!(read(seed).1, Ok(Some(bits)));
        }
        for wrong in [json!(1.5), json!(1e300), json!("7")] {
            assert!(
                read(wrong)
                    .1
                    .unwrap_err()
                    .starts_with("x: expected an integer from -2^63 to 2^64 - 1, found")
            );
        }
    }
}
