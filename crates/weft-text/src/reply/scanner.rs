//! A JSON value read character by character.

/// How deep objects and arrays may nest: less than `serde_json` reads, and less than a request may have with which they come back.
const DEPTH: usize = 48;

/// The meaning of a character to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// It belongs to the value, which continues.
    More,
    /// It is the last character of the value.
    Done,
    /// The value, a number, ended before it.
    Past,
    /// No JSON value continues like that.
    Invalid,
}

/// Reads one JSON value, and copies it byte for byte.
///
/// Three things within strings are repaired, since models often write them in code and text: a control character becomes
/// its escape, a backslash that begins no escape (`\d`) becomes an escaped one, and half of a surrogate pair becomes
/// U+FFFD. A number that is too large for a 64-bit float, such as `1e999`, becomes the largest of its sign: other readers
/// would refuse the whole value, or read infinity. So what is copied can always be read. Numbers are copied when they end.
pub(crate) struct Scanner {
    /// The open objects (true) and arrays (false).
    open: Vec<bool>,
    state: State,
    /// The beginning of an escape within a string, perhaps after the first half of a surrogate pair.
    escape: String,
    /// The number being read.
    number: String,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a value.
    Value,
    /// After `[`.
    FirstItem,
    /// After `{`.
    FirstKey,
    /// After a comma in an object.
    Key,
    Colon,
    /// After a value in an object or array.
    AfterValue,
    String {
        key: bool,
    },
    /// The rest of `true`, `false` or `null`.
    Literal(&'static str),
    Number(Number),
    End,
}

/// The length of `\u0000`, and the replacement for half of a surrogate pair.
const UNICODE: usize = 6;
const REPLACEMENT: &str = "\\ufffd";

#[derive(Clone, Copy, Debug)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    ESign,
    Exponent,
}

impl Scanner {
    /// Before a value; white space before it is copied too.
    pub(crate) fn new() -> Scanner {
        Scanner { open: Vec::new(), state: State::Value, escape: String::new(), number: String::new() }
    }

    /// Whether the next character is within a string.
    pub(crate) fn in_string(&self) -> bool {
        matches!(self.state, State::String { .. })
    }

    /// Whether the next character, but white space, begins a key or ends the object.
    pub(crate) fn expects_key(&self) -> bool {
        matches!(self.state, State::FirstKey | State::Key)
    }

    /// The brackets that close the value, if it is in an object or array in which every value is whole.
    pub(crate) fn missing(&self) -> Option<String> {
        let whole = matches!(self.state, State::AfterValue | State::FirstKey);
        let close = |object: &bool| if *object { '}' } else { ']' };
        whole.then(|| self.open.iter().rev().map(close).collect())
    }

    /// Copies a number that ends where the text does.
    pub(crate) fn finish(&mut self, out: &mut String) {
        let largest =
            if self.number.starts_with('-') { "-1.7976931348623157e308" } else { "1.7976931348623157e308" };
        let complete = matches!(self.state, State::Number(number) if number.is_complete());
        let too_large = complete && serde_json::from_str::<serde_json::Number>(&self.number).is_err();
        out.push_str(if too_large { largest } else { &self.number });
        self.number.clear();
    }

    /// Reads the next character and appends it to `out`, unless it is past the value or invalid.
    pub(crate) fn push(&mut self, c: char, out: &mut String) -> Scan {
        let next = match self.state {
            State::String { key } => return self.string(c, key, out),
            State::Number(number) => match number.next(c) {
                Some(number) => State::Number(number),
                None if !number.is_complete() => return Scan::Invalid,
                None if self.open.is_empty() => {
                    self.finish(out);
                    self.state = State::End;
                    return Scan::Past;
                }
                None => {
                    self.finish(out);
                    self.state = State::AfterValue;
                    return self.push(c, out);
                }
            },
            State::Literal(rest) => match rest.strip_prefix(c) {
                Some("") => self.after_value(),
                Some(rest) => State::Literal(rest),
                None => return Scan::Invalid,
            },
            State::End => return Scan::Past,
            state if is_space(c) => state,
            State::Value => match self.begin(c) {
                Some(state) => state,
                None => return Scan::Invalid,
            },
            State::FirstItem if c == ']' => self.close(),
            State::FirstItem => match self.begin(c) {
                Some(state) => state,
                None => return Scan::Invalid,
            },
            State::FirstKey if c == '}' => self.close(),
            State::FirstKey | State::Key if c == '"' => State::String { key: true },
            State::Colon if c == ':' => State::Value,
            State::AfterValue => match (c, self.open.last()) {
                (',', Some(true)) => State::Key,
                (',', Some(false)) => State::Value,
                ('}', Some(true)) | (']', Some(false)) => self.close(),
                _ => return Scan::Invalid,
            },
            State::FirstKey | State::Key | State::Colon => return Scan::Invalid,
        };
        if matches!(next, State::Number(_)) {
            self.number.push(c);
        } else {
            out.push(c);
        }
        self.state = next;
        if matches!(next, State::End) { Scan::Done } else { Scan::More }
    }

    fn begin(&mut self, c: char) -> Option<State> {
        let number = |number| Some(State::Number(number));
        match c {
            '{' | '[' if self.open.len() == DEPTH => None,
            '{' => {
                self.open.push(true);
                Some(State::FirstKey)
            }
            '[' => {
                self.open.push(false);
                Some(State::FirstItem)
            }
            '"' => Some(State::String { key: false }),
            't' => Some(State::Literal("rue")),
            'f' => Some(State::Literal("alse")),
            'n' => Some(State::Literal("ull")),
            '-' => number(Number::Minus),
            '0' => number(Number::Zero),
            '1'..='9' => number(Number::Integer),
            _ => None,
        }
    }

    fn close(&mut self) -> State {
        self.open.pop();
        self.after_value()
    }

    fn after_value(&self) -> State {
        if self.open.is_empty() { State::End } else { State::AfterValue }
    }

    fn string(&mut self, c: char, key: bool, out: &mut String) -> Scan {
        if !self.escape.is_empty() && self.escape(c, out) {
            return Scan::More;
        }
        match c {
            '"' => {
                self.state = if key { State::Colon } else { self.after_value() };
                out.push(c);
                if matches!(self.state, State::End) {
                    return Scan::Done;
                }
            }
            '\\' => self.escape.push(c),
            c if c < ' ' => escape_into(c, out),
            c => out.push(c),
        }
        Scan::More
    }

    /// Reads a character of an escape, and copies the escape when it is complete. Returns false, and leaves no escape, if
    /// the character does not belong to it.
    fn escape(&mut self, c: char, out: &mut String) -> bool {
        let half = self.escape.len() >= UNICODE;
        let begun = if half { &self.escape[UNICODE..] } else { self.escape.as_str() };
        let unicode = begun.len() > 1;
        match c {
            '\\' if begun.is_empty() => {}
            'u' if begun == "\\" => {}
            c if unicode && c.is_ascii_hexdigit() => {}
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' if begun == "\\" => {
                out.push_str(if half { REPLACEMENT } else { "" });
                out.push('\\');
                out.push(c);
                self.escape.clear();
                return true;
            }
            _ => {
                out.push_str(if half { REPLACEMENT } else { "" });
                out.push_str(if begun.is_empty() { "" } else { "\\" });
                out.push_str(begun);
                self.escape.clear();
                return false;
            }
        }
        self.escape.push(c);
        if self.escape.len().is_multiple_of(UNICODE) {
            self.unicode_escape(out);
        }
        true
    }

    /// Copies one or two complete `\u` escapes, and keeps the first half of a pair.
    fn unicode_escape(&mut self, out: &mut String) {
        let half = self.escape.len() > UNICODE;
        let last = &self.escape[self.escape.len() - UNICODE..];
        match u32::from_str_radix(&last[2..], 16).unwrap_or(0) {
            0xd800..0xdc00 if half => {
                out.push_str(REPLACEMENT);
                self.escape.drain(..UNICODE);
                return;
            }
            0xd800..0xdc00 => return,
            0xdc00..0xe000 if half => out.push_str(&self.escape),
            0xdc00..0xe000 => out.push_str(REPLACEMENT),
            _ => {
                out.push_str(if half { REPLACEMENT } else { "" });
                out.push_str(last);
            }
        }
        self.escape.clear();
    }
}

impl Number {
    fn next(self, c: char) -> Option<Number> {
        match (self, c) {
            (Number::Minus, '0') => Some(Number::Zero),
            (Number::Minus, '1'..='9') => Some(Number::Integer),
            (Number::Integer, '0'..='9') => Some(Number::Integer),
            (Number::Zero | Number::Integer, '.') => Some(Number::Point),
            (Number::Point | Number::Fraction, '0'..='9') => Some(Number::Fraction),
            (Number::Zero | Number::Integer | Number::Fraction, 'e' | 'E') => Some(Number::E),
            (Number::E, '+' | '-') => Some(Number::ESign),
            (Number::E | Number::ESign | Number::Exponent, '0'..='9') => Some(Number::Exponent),
            _ => None,
        }
    }

    fn is_complete(self) -> bool {
        matches!(self, Number::Zero | Number::Integer | Number::Fraction | Number::Exponent)
    }
}

/// White space as JSON defines it.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\r' | '\t')
}

/// Appends a character as it is written within a JSON string.
pub(crate) fn escape_into(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c < ' ' => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let code = c as usize;
            out.push_str("\\u00");
            out.push(char::from(DIGITS[code >> 4]));
            out.push(char::from(DIGITS[code & 15]));
        }
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The value at the beginning of `text`, as copied, and the number of characters read.
    fn scan(text: &str) -> Option<(String, usize)> {
        let (mut scanner, mut out) = (Scanner::new(), String::new());
        for (at, c) in text.chars().enumerate() {
            match scanner.push(c, &mut out) {
                Scan::More => {}
                Scan::Done => return Some((out, at + 1)),
                Scan::Past => return Some((out, at)),
                Scan::Invalid => return None,
            }
        }
        None
    }

    #[test]
    fn values_end_where_they_end() {
        for (text, value) in [
            ("{} x", "{}"),
            (" [1, -2.5e+3,\ttrue, null,\"\\u00e9\\n\"]]", " [1, -2.5e+3,\ttrue, null,\"\\u00e9\\n\"]"),
            ("{\"a\": {\"b\": []}}}", "{\"a\": {\"b\": []}}"),
            ("12,", "12"),
            ("0.5e7]", "0.5e7"),
            ("00", "0"),
            ("\"é\"\"", "\"é\""),
            ("[1e999, -2E+400,1e308]", "[1.7976931348623157e308, -1.7976931348623157e308,1e308]"),
            ("-1e999 ", "-1.7976931348623157e308"),
            ("\"a\nb\u{1}\"", "\"a\\nb\\u0001\""),
            (r#""\d \u12g \' \"x""#, r#""\\d \\u12g \\' \"x""#),
            (r#""\ud83d\ude00 \uD83D""#, r#""\ud83d\ude00 \ufffd""#),
            (
                r#""\ude00\ud83d\ud83d\ude00\ud83d\n\ud83d\u0041\ud83d\x""#,
                r#""\ufffd\ufffd\ud83d\ude00\ufffd\n\ufffd\u0041\ufffd\\x""#,
            ),
        ] {
            assert_eq!(scan(text).map(|(value, _)| value).as_deref(), Some(value), "{text}");
        }
        for text in [
            "{a",
            "{'",
            "{,",
            "{\"a\",",
            "[1,]",
            "{\"a\":1,}",
            "-x",
            "1.x",
            "1ex",
            "nul ",
            "\"\\x",
            "\"\\u12g",
            "+1",
            "]",
        ] {
            assert_eq!(scan(text), None, "{text}");
        }
        assert_eq!(scan(&format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))).unwrap().1, 2 * DEPTH);
        assert_eq!(scan(&format!("{}{}", "[".repeat(DEPTH + 1), "]".repeat(DEPTH + 1))), None);
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}:,\"\\\\ aeultrfsn019d.+-]{0,12}") {
            let found = scan(&format!("{text} "));
            let value = serde_json::from_str::<Value>(&text);
            if value.is_ok() {
                let copy = found.as_ref().map(|(copy, _)| copy.trim_end());
                prop_assert_eq!(copy, Some(text.trim_end()));
            }
            if let Some((copy, read)) = found {
                prop_assert!(serde_json::from_str::<Value>(&copy).is_ok(), "{}", copy);
                let whole = text.chars().skip(read).all(char::is_whitespace);
                let repaired = !text.starts_with(copy.trim_end());
                prop_assert!(value.is_ok() || !whole || repaired);
            }
        }

        #[test]
        fn reads_what_serde_json_writes(text in any::<String>(), number in any::<f64>()) {
            let value = serde_json::json!({"a": [text, number, {text.clone(): null}]}).to_string();
            prop_assert_eq!(scan(&format!("{value}x")).unwrap().0, value);
        }
    }
}
