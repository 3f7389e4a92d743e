//! The input of a custom tool: free text, which the model writes as the one string of a JSON object.

use serde_json::Value;

/// The name of the string.
pub(super) const FIELD: &str = "input";

/// The JSON before the text, with white space allowed before each.
const HEAD: [&str; 4] = ["{", "\"input\"", ":", "\""];

/// Reads the text out of fragments of the object, as they come.
#[derive(Clone, Debug)]
pub(super) struct CustomInput {
    /// JSON that was not read yet: the object's head, or an escape that is not complete.
    json: String,
    state: State,
    /// The first half of a character that is written as two escapes.
    high: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// Before the text.
    Head,
    /// In the text.
    Text,
    /// After the text.
    Tail,
    /// The object has another form. It is read when it is complete.
    Other,
}

impl CustomInput {
    /// Begins.
    pub(super) fn new() -> CustomInput {
        CustomInput { json: String::new(), state: State::Head, high: None }
    }

    /// Reads a fragment. Returns what it adds to the text.
    pub(super) fn push(&mut self, json: &str) -> String {
        match self.state {
            State::Tail => return String::new(),
            State::Other => {
                self.json += json;
                return String::new();
            }
            State::Head | State::Text => self.json += json,
        }
        if self.state == State::Head {
            match head(&self.json) {
                Head::Partial => return String::new(),
                Head::Other => {
                    self.state = State::Other;
                    return String::new();
                }
                Head::Complete(length) => {
                    self.json.drain(..length);
                    self.state = State::Text;
                }
            }
        }
        self.text()
    }

    /// Ends the object. Returns what is left of the text.
    pub(super) fn end(&mut self) -> String {
        match self.state {
            State::Text | State::Tail => String::new(),
            State::Head | State::Other => match serde_json::from_str(&self.json) {
                Ok(Value::Object(map)) => match map.get(FIELD) {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => std::mem::take(&mut self.json),
                },
                _ => std::mem::take(&mut self.json),
            },
        }
    }

    /// Takes what is complete of the text.
    fn text(&mut self) -> String {
        let mut text = String::new();
        let mut at = 0;
        while let Some(c) = self.json[at..].chars().next() {
            if c == '\\' {
                let Some((escape, length)) = escape(&self.json[at..]) else { break };
                at += length;
                self.unit(escape, &mut text);
                continue;
            }
            if self.high.take().is_some() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            if c == '"' {
                self.state = State::Tail;
                at = self.json.len();
                break;
            }
            text.push(c);
            at += c.len_utf8();
        }
        self.json.drain(..at);
        text
    }

    /// Adds what an escape stands for, a UTF-16 code unit.
    fn unit(&mut self, unit: u16, text: &mut String) {
        let units = self.high.take().into_iter().chain([unit]);
        if (0xd800..0xdc00).contains(&unit) {
            // The first half of a character. If one was before it, that has no second half.
            if units.count() > 1 {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            self.high = Some(unit);
            return;
        }
        text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
}

enum Head {
    Partial,
    Complete(usize),
    Other,
}

fn head(json: &str) -> Head {
    let mut rest = json;
    for token in HEAD {
        rest = rest.trim_start();
        match rest.strip_prefix(token) {
            Some(after) => rest = after,
            None if token.starts_with(rest) => return Head::Partial,
            None => return Head::Other,
        }
    }
    Head::Complete(json.len() - rest.len())
}

/// The code unit of the escape that a text begins with, and the length of the escape. `None` if it is not complete.
fn escape(json: &str) -> Option<(u16, usize)> {
    let c = json[1..].chars().next()?;
    let unit = match c {
        'n' => 0x0a,
        't' => 0x09,
        'r' => 0x0d,
        'b' => 0x08,
        'f' => 0x0c,
        'u' => {
            if json.len() < 6 {
                return None;
            }
            let unit = json.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok());
            return Some(unit.map_or((0xfffd, 2), |unit| (unit, 6)));
        }
        // A quote, a backslash or a slash stands for itself; nothing else may be escaped.
        c => u16::try_from(u32::from(c)).unwrap_or(0xfffd),
    };
    Some((unit, 1 + c.len_utf8()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The text of fragments, and how much of it came before the end.
    fn read<'a>(fragments: impl IntoIterator<Item = &'a str>) -> (String, usize) {
        let mut input = CustomInput::new();
        let mut text: String = fragments.into_iter().map(|fragment| input.push(fragment)).collect();
        let streamed = text.len();
        text += &input.end();
        (text, streamed)
    }

    #[test]
    fn the_text_is_the_same_wherever_the_json_is_cut() {
        for text in ["", "plain", "a\n\t\"b\"\\ / \u{8}\u{c}\r", "äö 𝄞 \u{0}", "*** Begin Patch\n+\"x\\n\"\n"]
        {
            for json in [
                json!({ "input": text }).to_string(),
                format!(" {{ \"input\" : {} }} ", json!(text)),
                // All of it escaped.
                format!(
                    "{{\"input\":\"{}\"}}",
                    text.encode_utf16().map(|u| format!("\\u{u:04x}")).collect::<String>()
                ),
            ] {
                for (at, _) in json.char_indices() {
                    assert_eq!(
                        read([&json[..at], &json[at..]]),
                        (text.to_string(), text.len()),
                        "{json} at {at}"
                    );
                }
                let pieces: Vec<String> = json.chars().map(String::from).collect();
                assert_eq!(read(pieces.iter().map(String::as_str)), (text.to_string(), text.len()), "{json}");
            }
        }
    }

    #[test]
    fn other_forms_are_not_lost() {
        assert_eq!(read([r#"{"x": 1, "in"#, r#"put": "t"}"#]), ("t".into(), 0));
        assert_eq!(read([r#"{"input": [1]}"#]), ("[1]".into(), 0));
        assert_eq!(read([r#"{"text": "t"}"#]), (r#"{"text": "t"}"#.into(), 0));
        assert_eq!(read(["[]"]), ("[]".into(), 0));
        assert_eq!(read([r#"{"inp"#]), (r#"{"inp"#.into(), 0));
    }

    #[test]
    fn bad_escapes_become_replacement_characters() {
        assert_eq!(
            read([r#"{"input":"\ud834x\udd1e\ud834\ud834\udd1e\ud834"}"#]).0,
            "\u{fffd}x\u{fffd}\u{fffd}𝄞\u{fffd}"
        );
        assert_eq!(read([r#"{"input":"\uzzzz"}"#]).0, "\u{fffd}zzzz");
    }
}
