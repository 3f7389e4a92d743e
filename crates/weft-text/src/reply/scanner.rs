//! A JSON value read character by character.

/// How deep objects and arrays may nest: less than `serde_json` reads.
const DEPTH: usize = 100;

/// What a character is to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// It belongs to the value, which goes on.
    More,
    /// It is the last character of the value.
    Done,
    /// The value, a number, ended before it.
    Past,
    /// No JSON value goes on like that.
    Invalid,
}

/// Reads one JSON value, and copies it byte for byte.
///
/// One thing is repaired, since models often write it in code and text: a control character within a string is copied as
/// its escape.
pub(crate) struct Scanner {
    /// The open objects (true) and arrays (false).
    open: Vec<bool>,
    state: State,
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
        escape: Escape,
    },
    /// What is left of `true`, `false` or `null`.
    Literal(&'static str),
    Number(Number),
    End,
}

#[derive(Clone, Copy, Debug)]
enum Escape {
    None,
    Backslash,
    /// So many hexadecimal digits are left.
    Hex(u8),
}

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
        Scanner { open: Vec::new(), state: State::Value }
    }

    /// Reads the next character and appends it to `out`, unless it is past the value or invalid.
    pub(crate) fn push(&mut self, c: char, out: &mut String) -> Scan {
        let next = match self.state {
            State::String { key, escape } => return self.string(c, key, escape, out),
            State::Number(number) => match number.next(c) {
                Some(number) => State::Number(number),
                None if !number.is_complete() => return Scan::Invalid,
                None if self.open.is_empty() => {
                    self.state = State::End;
                    return Scan::Past;
                }
                None => {
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
            State::FirstKey | State::Key if c == '"' => State::String { key: true, escape: Escape::None },
            State::Colon if c == ':' => State::Value,
            State::AfterValue => match (c, self.open.last()) {
                (',', Some(true)) => State::Key,
                (',', Some(false)) => State::Value,
                ('}', Some(true)) | (']', Some(false)) => self.close(),
                _ => return Scan::Invalid,
            },
            State::FirstKey | State::Key | State::Colon => return Scan::Invalid,
        };
        out.push(c);
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
            '"' => Some(State::String { key: false, escape: Escape::None }),
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

    fn string(&mut self, c: char, key: bool, escape: Escape, out: &mut String) -> Scan {
        let escape = match (escape, c) {
            (Escape::None, '"') => {
                self.state = if key { State::Colon } else { self.after_value() };
                out.push(c);
                return if matches!(self.state, State::End) { Scan::Done } else { Scan::More };
            }
            (Escape::None, '\\') => Escape::Backslash,
            (Escape::None, _) => Escape::None,
            (Escape::Backslash, 'u') => Escape::Hex(4),
            (Escape::Backslash, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => Escape::None,
            (Escape::Hex(1), c) if c.is_ascii_hexdigit() => Escape::None,
            (Escape::Hex(left), c) if c.is_ascii_hexdigit() => Escape::Hex(left - 1),
            _ => return Scan::Invalid,
        };
        if c < ' ' {
            escape_into(c, out);
        } else {
            out.push(c);
        }
        self.state = State::String { key, escape };
        Scan::More
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
            ("\"a\nb\u{1}\"", "\"a\\nb\\u0001\""),
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
        assert_eq!(scan(&format!("{}{}", "[".repeat(100), "]".repeat(100))).unwrap().1, 200);
        assert_eq!(scan(&format!("{}{}", "[".repeat(101), "]".repeat(101))), None);
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}:,\"\\\\ aeultrfsn019.+-]{0,12}") {
            let found = scan(&format!("{text} "));
            match serde_json::from_str::<Value>(&text) {
                Ok(_) => {
                    let copy = found.map(|(copy, _)| copy.trim_end().to_owned());
                    prop_assert_eq!(copy, Some(text.trim_end().to_owned()));
                }
                // Invalid, or more follows, or a number is too large.
                Err(error) => {
                    let rest = found.map(|(_, read)| text.chars().skip(read).collect::<String>());
                    let more = rest.is_none_or(|rest| !rest.trim().is_empty());
                    prop_assert!(more || error.to_string().contains("out of range"));
                }
            }
        }

        #[test]
        fn reads_what_serde_json_writes(text in any::<String>(), number in any::<f64>()) {
            let value = serde_json::json!({"a": [text, number, {text.clone(): null}]}).to_string();
            prop_assert_eq!(scan(&format!("{value}x")).unwrap().0, value);
        }
    }
}
