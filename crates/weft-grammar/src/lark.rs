//! Writing grammars in llguidance's dialect of Lark.
//!
//! Everything that comes from a request is quoted here and nowhere else.

use std::fmt::Write as _;

use serde_json::Value;

use crate::error::{GrammarError, Place};
use crate::limits;
use crate::vocabulary::Mark;

/// Whitespace between the parts of a reply: not enough to get lost in.
const SPACE: &str = r"/[ \t\r\n]{1,32}/";

/// A grammar in the making.
pub(super) struct Lark {
    text: String,
    names: usize,
    too_long: bool,
}

impl Lark {
    pub(super) fn new() -> Lark {
        Lark { text: format!("WS: {SPACE}\n"), names: 0, too_long: false }
    }

    /// Adds a rule and returns its name. `body` is in Lark's syntax, on one line.
    pub(super) fn rule(&mut self, body: &str) -> String {
        self.add("r", body)
    }

    /// Adds a rule that refers to itself by the name that `body` is given, and returns that name.
    pub(super) fn recursive(&mut self, body: impl FnOnce(&str) -> String) -> String {
        let name = format!("r{}", self.names);
        self.rule(&body(&name))
    }

    /// Adds a terminal, which is matched by one automaton, and returns its name.
    pub(super) fn terminal(&mut self, body: &str) -> String {
        self.add("T", body)
    }

    /// Adds a rule for JSON that is valid by a schema, and returns its name.
    pub(super) fn json(&mut self, schema: impl FnOnce() -> Value) -> String {
        // The schemas of a GLM tool's arguments can each have all definitions of the tool.
        let body = if self.too_long { String::new() } else { format!("%json {}", schema()) };
        self.add("r", &body)
    }

    /// Adds a rule for what another grammar allows, and returns its name.
    pub(super) fn nested(&mut self, grammar: &str) -> String {
        let body = if self.too_long { String::new() } else { format!("%lark {{\n{grammar}\n}}") };
        self.add("r", &body)
    }

    fn add(&mut self, kind: &str, body: &str) -> String {
        debug_assert!(!body.contains('\n') || body.starts_with("%lark"), "a rule is one line");
        let name = format!("{kind}{}", self.names);
        self.names += 1;
        self.too_long |= self.text.len() + body.len() > limits::GRAMMAR_BYTES;
        if !self.too_long {
            writeln!(self.text, "{name}: {body}").expect("writing to a string cannot fail");
        }
        name
    }

    /// Adds a rule for free text without any of `never`, up to and with `end`.
    pub(super) fn text_until(&mut self, end: &Mark, never: &[&Mark]) -> String {
        let never: Vec<&Mark> = never.iter().copied().chain([end]).collect();
        self.ended("/(?s:.*)/", true, end, &never)
    }

    /// Adds a rule for text by `body`, a terminal's expression, where it contains none of `never`; then `end`. `empty` is
    /// whether the text may be empty by `body`.
    pub(super) fn ended(&mut self, body: &str, empty: bool, end: &Mark, never: &[&Mark]) -> String {
        let body = without(body, never);
        match end.token {
            None => self.terminal(&format!("{body} {}", quoted(&end.text))),
            Some(_) => {
                let text = self.terminal(&body);
                self.rule(&format!("{text}{} {}", if empty { "?" } else { "" }, mark(end)))
            }
        }
    }

    /// Adds a terminal for free text, not empty, without any of `never`.
    pub(super) fn text(&mut self, never: &[&Mark]) -> String {
        self.text_by("/(?s:.+)/", never)
    }

    /// Adds a terminal for text by `body`, a terminal's expression, where it contains none of `never`.
    pub(super) fn text_by(&mut self, body: &str, never: &[&Mark]) -> String {
        self.terminal(&without(body, never))
    }

    /// The whole grammar, which begins with `start`.
    ///
    /// # Errors
    /// If it is too long.
    pub(super) fn finish(self, start: &str) -> Result<String, GrammarError> {
        if self.too_long {
            let message = format!(
                "the grammar has more than {} bytes: offer fewer tools, or smaller schemas",
                limits::GRAMMAR_BYTES
            );
            return Err(GrammarError::new(Place::Request, "", message));
        }
        Ok(format!("start: {start}\n{}", self.text))
    }
}

/// A terminal's expression for text that matches `body` and contains the text of no mark.
///
/// This includes marks that are control tokens: spelled in letters, they look the same to the parser of replies.
fn without(body: &str, marks: &[&Mark]) -> String {
    let mut texts: Vec<String> = marks.iter().map(|mark| escaped(&mark.text)).collect();
    texts.sort();
    texts.dedup();
    if texts.is_empty() {
        return body.to_owned();
    }
    format!("({body} & ~/(?s:.*)({})(?s:.*)/)", texts.join("|"))
}

/// A mark in a rule.
pub(super) fn mark(mark: &Mark) -> String {
    match mark.token {
        None => quoted(&mark.text),
        Some(id) => format!("<[{id}]>"),
    }
}

/// A text as a literal. An empty one is allowed in rules.
pub(super) fn quoted(text: &str) -> String {
    // JSON's form, but Lark's lexer wants DEL escaped as well.
    Value::from(text).to_string().replace('\u{7F}', "\\u007f")
}

/// A text as a regular expression, to go between slashes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '/' | '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$'
            | '#' | '&' | '-' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => write!(out, "\\x{{{:x}}}", u32::from(c)).expect("writing to a string"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("a\"\\\n\u{7F}é"), r#""a\"\\\n\u007fé""#);
        assert_eq!(escaped("</a>.\n\u{7F}é-"), r"<\/a>\.\x{a}\x{7f}é\-");
    }

    #[test]
    fn free_text_stops_before_marks() {
        let mut lark = Lark::new();
        let mark = |text: &str, token| Mark { text: text.into(), token };
        let end = mark("</think>", None);
        lark.text_until(&end, &[&mark("<tool_call>", Some(7))]);
        lark.text_until(&mark("<|end|>", Some(9)), &[]);
        lark.text(&[]);
        assert_eq!(
            lark.finish("T0").unwrap(),
            "start: T0\nWS: /[ \\t\\r\\n]{1,32}/\n\
             T0: (/(?s:.*)/ & ~/(?s:.*)(<\\/think>|<tool_call>)(?s:.*)/) \"</think>\"\n\
             T1: (/(?s:.*)/ & ~/(?s:.*)(<\\|end\\|>)(?s:.*)/)\nr2: T1? <[9]>\nT3: /(?s:.+)/\n"
        );
    }
}
