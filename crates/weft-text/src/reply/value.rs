//! The value of an argument that a model wrote as raw text, as JSON of a type that the schema allows.
//!
//! - If the schema allows a string, the text is one, unless it is JSON of another type that the schema allows. `"5"` with
//!   its quotes is a string of three characters, since strings are written raw.
//! - If not, the text is JSON as it stands. Python's `True`, `False` and `None` are read too.
//! - What is not JSON is a string in any case.
//!
//! A string is sent as it comes, as soon as it can be nothing else.

use serde_json::Value;

use super::call::Sink;
use super::scanner::{Scan, Scanner, escape_into};
use super::schema::Types;

/// The words of Python that models write, and the JSON for them.
const PYTHON: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];

/// Writes one value.
pub(crate) struct ValueWriter {
    /// The types that are read as JSON.
    types: Types,
    /// Whether the schema allows a string.
    string: bool,
    state: State,
    /// The text that may still be JSON; in a string, room for an escape.
    text: String,
}

enum State {
    /// Only white space so far.
    Space,
    /// The beginning of JSON.
    Json(Scanner, String),
    /// JSON, and perhaps white space after it.
    AfterJson(String),
    /// The rest of one of Python's words, and the JSON for it.
    Python(&'static str, &'static str),
    /// It is a string, whose beginning has been sent.
    String,
}

impl ValueWriter {
    pub(crate) fn new(types: Types, sink: &mut Sink<'_, '_>) -> ValueWriter {
        let string = types.meets(Types::STRING);
        let types = if string { types.without(Types::STRING) } else { Types::ANY };
        let mut value = ValueWriter { types, string, state: State::Space, text: String::new() };
        if types == Types::NONE {
            value.begin_string(sink);
        }
        value
    }

    /// Takes the next character of the text.
    pub(crate) fn push(&mut self, c: char, sink: &mut Sink<'_, '_>) {
        if let State::String = self.state {
            self.text.clear();
            escape_into(c, &mut self.text);
            return sink.arguments(&self.text);
        }
        self.text.push(c);
        let possible = match &mut self.state {
            State::Space if c.is_whitespace() => true,
            State::Space => {
                let mut copy = String::new();
                let mut scanner = Scanner::new();
                let python = PYTHON.iter().find_map(|(word, json)| Some((word.strip_prefix(c)?, json)));
                if self.types.meets(beginning(c)) && scanner.push(c, &mut copy) == Scan::More {
                    self.state = State::Json(scanner, copy);
                    true
                } else if let Some((rest, json)) = python.filter(|_| !self.string) {
                    self.state = State::Python(rest, json);
                    true
                } else {
                    false
                }
            }
            State::Json(scanner, copy) => match scanner.push(c, copy) {
                Scan::More => true,
                Scan::Done => {
                    self.state = State::AfterJson(std::mem::take(copy));
                    true
                }
                Scan::Past => {
                    self.state = State::AfterJson(std::mem::take(copy));
                    c.is_whitespace()
                }
                Scan::Invalid => false,
            },
            State::AfterJson(_) | State::Python("", _) => c.is_whitespace(),
            State::Python(rest, json) => match rest.strip_prefix(c) {
                Some(rest) => {
                    self.state = State::Python(rest, json);
                    true
                }
                None => false,
            },
            State::String => true,
        };
        if !possible {
            self.begin_string(sink);
        }
    }

    /// The length of the text, if its last character is within a string of JSON.
    pub(crate) fn in_json_string(&self) -> Option<usize> {
        matches!(&self.state, State::Json(scanner, _) if scanner.in_string()).then_some(self.text.len())
    }

    /// Takes the next character of JSON. If no JSON continues like that, [`cut`](ValueWriter::cut) must follow.
    pub(crate) fn push_json(&mut self, c: char) -> Scan {
        let State::Json(scanner, copy) = &mut self.state else { return Scan::Invalid };
        self.text.push(c);
        let scan = scanner.push(c, copy);
        if scan == Scan::Done {
            self.state = State::AfterJson(std::mem::take(copy));
        }
        scan
    }

    /// The text ended after `length` bytes, in the middle of JSON.
    pub(crate) fn cut(&mut self, length: usize, sink: &mut Sink<'_, '_>) {
        self.text.truncate(length);
        self.begin_string(sink);
        sink.arguments("\"");
    }

    /// The text is complete.
    pub(crate) fn finish(&mut self, sink: &mut Sink<'_, '_>) {
        if let State::Json(scanner, copy) = &mut self.state {
            scanner.finish(copy);
        }
        let json = match &self.state {
            State::String => return sink.arguments("\""),
            State::Space => None,
            State::Python(rest, json) => rest.is_empty().then_some(*json),
            // The JSON may be incomplete, and its type another.
            State::Json(_, copy) | State::AfterJson(copy) => match serde_json::from_str::<Value>(copy) {
                // A number that is too large was replaced, and is better kept as a string.
                Ok(Value::Number(_)) if *copy != self.text.trim() => None,
                Ok(value) if self.types.meets(Types::of(&value)) => Some(copy.as_str()),
                _ => None,
            },
        };
        match json {
            Some(json) => sink.arguments(json),
            None => {
                self.begin_string(sink);
                sink.arguments("\"");
            }
        }
    }

    fn begin_string(&mut self, sink: &mut Sink<'_, '_>) {
        let mut json = String::from("\"");
        self.text.chars().for_each(|c| escape_into(c, &mut json));
        sink.arguments(&json);
        self.state = State::String;
    }
}

/// The types of the values that begin with a character.
fn beginning(c: char) -> Types {
    match c {
        '{' => Types::OBJECT,
        '[' => Types::ARRAY,
        '"' => Types::STRING,
        't' | 'f' => Types::BOOLEAN,
        'n' => Types::NULL,
        '-' | '0'..='9' => Types::NUMBER,
        _ => Types::NONE,
    }
}
