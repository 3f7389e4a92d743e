//! The `tojson` filter: Python's `json.dumps`, as chat templates expect it.
//!
//! HF `transformers` replaces Jinja's own filter with `json.dumps(ensure_ascii=False)`: nothing is escaped for HTML, and
//! keys keep their order. Every byte matters, because models were trained on this output.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use super::number::write_float;
use super::python;
use super::sentinel::{self, AFTER, BEFORE, ESCAPE};

/// The deepest nesting allowed, to prevent a stack overflow. Parsed JSON has at most 128.
const MAX_DEPTH: usize = 200;

/// `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`. Only the first argument may be
/// positional.
pub(super) fn tojson(value: &Value, ensure_ascii: Option<bool>, options: Kwargs) -> Result<String, Error> {
    let ensure_ascii = match ensure_ascii {
        None => options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        Some(given) => given,
    };
    let indent = match options.get::<Option<Value>>("indent")? {
        None => None,
        Some(indent) => match (indent.as_str(), indent.as_i64()) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(spaces)) => Some(" ".repeat(spaces.clamp(0, MAX_INDENT) as usize)),
            (None, None) => {
                return Err(invalid(format!("indent is {indent:?}: expected a number or string")));
            }
        },
    };
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let [item_separator, key_separator] = match separators {
        None => [if indent.is_some() { "," } else { ", " }, ": "].map(str::to_owned),
        Some(given) => given
            .try_into()
            .map_err(|given| invalid(format!("separators are {given:?}: expected two strings")))?,
    };
    let mut writer = Writer {
        text: String::new(),
        ensure_ascii,
        sort_keys: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        depth: 0,
    };
    options.assert_all_used()?;
    writer.value(value)?;
    Ok(writer.text)
}

/// The widest indentation given as a number.
const MAX_INDENT: i64 = 64;

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::BadSerialization, format!("tojson: {message}"))
}

struct Writer {
    text: String,
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    depth: usize,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq if python::is_json(value) => {
                self.container('[', value.try_iter()?.collect(), ']', |writer, item| writer.value(&item))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                self.container('{', keys, '}', |writer, key| {
                    writer.key(&key)?;
                    writer.text.push_str(&writer.key_separator);
                    writer.value(&value.get_item(&key)?)
                })?;
            }
            kind => return Err(invalid(format!("a value of type {kind} has no JSON form"))),
        }
        Ok(())
    }

    fn container(
        &mut self,
        open: char,
        items: Vec<Value>,
        close: char,
        item: impl Fn(&mut Writer, Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(invalid(format!("values are nested more than {MAX_DEPTH} deep")));
        }
        self.text.push(open);
        let empty = items.is_empty();
        self.depth += 1;
        for (place, value) in items.into_iter().enumerate() {
            if place > 0 {
                self.text.push_str(&self.item_separator);
            }
            self.new_line();
            item(self, value)?;
        }
        self.depth -= 1;
        if !empty {
            self.new_line();
        }
        self.text.push(close);
        Ok(())
    }

    fn new_line(&mut self) {
        if let Some(indent) = &self.indent {
            self.text.push('\n');
            for _ in 0..self.depth {
                self.text.push_str(indent);
            }
        }
    }

    /// As in Python, keys that are not strings become strings.
    fn key(&mut self, key: &Value) -> Result<(), Error> {
        match key.kind() {
            ValueKind::String => self.value(key),
            ValueKind::None | ValueKind::Bool | ValueKind::Number => {
                self.text.push('"');
                self.value(key)?;
                self.text.push('"');
                Ok(())
            }
            kind => Err(invalid(format!("a value of type {kind} cannot be a key"))),
        }
    }

    fn number(&mut self, value: &Value) {
        if value.is_integer() {
            let _ = write!(self.text, "{value}");
        } else {
            write_float(
                &mut self.text,
                f64::try_from(value.clone()).unwrap_or(f64::NAN),
                ["NaN", "Infinity"],
            );
        }
    }

    fn string(&mut self, string: &str) {
        self.text.push('"');
        let mut chars = string.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                // Sentinels are no part of the text.
                BEFORE | AFTER => self.text.push(c),
                ESCAPE if self.ensure_ascii => match chars.next_if(|&c| sentinel::of_code(c).is_some()) {
                    Some(code) => self.escape(sentinel::of_code(code).unwrap_or(code)),
                    None => self.escape(c),
                },
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{C}' => self.text.push_str("\\f"),
                '\0'..='\u{1F}' => self.escape(c),
                '\u{7F}'.. if self.ensure_ascii => self.escape(c),
                _ => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    fn escape(&mut self, c: char) {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(self.text, "\\u{unit:04x}");
        }
    }
}
