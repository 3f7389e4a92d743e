//! llama.cpp's grammars (GBNF), rewritten in llguidance's dialect of Lark.
//!
//! A GBNF grammar is about characters, and Lark's has a lexer that takes the longest match. So every terminal of the result is one
//! character: then nothing depends on the lexer, and the grammar allows exactly what it says. Rules get names of their own, since those
//! of Lark are more restricted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::{GrammarError, Place};
use crate::lark::{escaped, quoted};
use crate::limits;

/// The largest number of a counted repetition.
const REPEAT: u32 = 10_000;
/// How deep groups may nest.
const DEPTH: usize = 32;

/// Whether a text is a grammar in this form, and not in Lark: it begins with a rule.
pub(super) fn is_gbnf(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.space();
    reader.begins_rule()
}

/// The grammar in Lark; it begins with the rule `start`.
///
/// # Errors
/// Says what is wrong and in which line.
pub(super) fn to_lark(text: &str) -> Result<String, GrammarError> {
    let mut reader = Reader::new(text);
    reader.grammar().map_err(|why| {
        let line = 1 + text[..reader.at.min(text.len())].matches('\n').count();
        GrammarError::new(Place::Request, "", format!("line {line} of the grammar: {why}"))
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The number of each rule, and whether it is defined.
    names: BTreeMap<&'a str, (usize, bool)>,
    /// The number of rules of the result: one for each of the grammar, and one for each group.
    rules: usize,
    out: String,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0, names: BTreeMap::new(), rules: 0, out: String::new() }
    }

    fn grammar(&mut self) -> Result<String, String> {
        loop {
            self.space();
            if self.rest().is_empty() {
                break;
            }
            let name = self.name().ok_or("expected the name of a rule")?;
            self.space();
            if !self.take("::=") {
                return Err(format!("expected `::=` after `{name}`"));
            }
            let number = self.number_of(name, true)?;
            let body = self.alternatives(0)?;
            self.rule(number, &body)?;
        }
        if let Some((name, _)) = self.names.iter().find(|(_, (_, defined))| !defined) {
            return Err(format!("the rule `{name}` is not defined"));
        }
        match self.names.get("root") {
            Some((number, _)) => Ok(format!("start: g{number}\n{}", self.out)),
            None => Err("the rule `root` is not defined".into()),
        }
    }

    /// Writes a rule.
    fn rule(&mut self, number: usize, body: &str) -> Result<(), String> {
        if self.out.len() + body.len() > limits::GRAMMAR_BYTES {
            return Err(format!("the grammar has more than {} bytes", limits::GRAMMAR_BYTES));
        }
        let _ = writeln!(self.out, "g{number}: {body}");
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        self.at += if there { text.len() } else { 0 };
        there
    }

    /// Skips white space and comments.
    fn space(&mut self) {
        loop {
            let trimmed = self.rest().trim_start();
            self.at = self.text.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then_some(&rest[..end])
    }

    fn number_of(&mut self, name: &'a str, defines: bool) -> Result<usize, String> {
        let next = &mut self.rules;
        let (number, defined) = self.names.entry(name).or_insert_with(|| {
            *next += 1;
            (*next - 1, false)
        });
        if defines && std::mem::replace(defined, true) {
            return Err(format!("the rule `{name}` is defined twice"));
        }
        Ok(*number)
    }

    /// Whether a rule begins here.
    fn begins_rule(&mut self) -> bool {
        let at = self.at;
        let begins = self.name().is_some() && {
            self.space();
            self.rest().starts_with("::=")
        };
        self.at = at;
        begins
    }

    fn alternatives(&mut self, depth: usize) -> Result<String, String> {
        if depth > DEPTH {
            return Err(format!("groups nest more than {DEPTH} deep"));
        }
        let mut all = vec![self.sequence(depth)?];
        while self.take("|") {
            all.push(self.sequence(depth)?);
        }
        Ok(all.join(" | "))
    }

    fn sequence(&mut self, depth: usize) -> Result<String, String> {
        let mut items: Vec<String> = Vec::new();
        loop {
            self.space();
            let item = match self.rest().chars().next() {
                None | Some('|' | ')') => break,
                Some('"') => self.literal()?,
                Some('[') => self.class()?,
                Some('.') => {
                    self.at += 1;
                    "/(?s:.)/".to_string()
                }
                Some('(') => {
                    self.at += 1;
                    let inner = self.alternatives(depth + 1)?;
                    self.space();
                    if !self.take(")") {
                        return Err("expected `)`".into());
                    }
                    // A rule of its own, because Lark nests fewer groups.
                    let number = self.rules;
                    self.rules += 1;
                    self.rule(number, &inner)?;
                    format!("g{number}")
                }
                Some('<' | '!') => {
                    return Err("tokens in grammars are not supported: write their text".into());
                }
                Some(_) if self.begins_rule() => break,
                Some(c) => match self.name() {
                    Some(name) => format!("g{}", self.number_of(name, false)?),
                    None => return Err(format!("expected an item of a rule, found {c:?}")),
                },
            };
            items.push(self.repeated(item)?);
        }
        Ok(if items.is_empty() { "\"\"".to_string() } else { items.join(" ") })
    }

    /// An item with its repetition.
    fn repeated(&mut self, item: String) -> Result<String, String> {
        self.space();
        for mark in ["*", "+", "?"] {
            if self.take(mark) {
                return Ok(format!("({item}){mark}"));
            }
        }
        if !self.take("{") {
            return Ok(item);
        }
        let inside = self.rest().split('}').next().unwrap_or_default();
        self.at += inside.len();
        if !self.take("}") {
            return Err("expected `}`".into());
        }
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(number) if number <= REPEAT => Ok(number),
            _ => Err(format!("expected a number from 0 to {REPEAT} in `{{{inside}}}`")),
        };
        let least = number(least)?;
        if most.trim().is_empty() {
            return Ok(if least == 0 { format!("({item})*") } else { format!("({item}){{{least},}}") });
        }
        match number(most)? {
            0 => Ok("\"\"".to_string()),
            most if most < least => Err(format!("the numbers in `{{{inside}}}` are the wrong way round")),
            most => Ok(format!("({item}){{{least},{most}}}")),
        }
    }

    /// A text, as its characters.
    fn literal(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut characters = Vec::new();
        while !self.take("\"") {
            characters.push(quoted(&self.character()?.to_string()));
        }
        Ok(if characters.is_empty() { "\"\"".to_string() } else { format!("({})", characters.join(" ")) })
    }

    /// A class of characters.
    fn class(&mut self) -> Result<String, String> {
        self.at += 1;
        let not = self.take("^");
        let mut class = String::new();
        while !self.take("]") {
            let from = self.character()?;
            let is_range = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let to = if is_range {
                self.at += 1;
                self.character()?
            } else {
                from
            };
            if from > to {
                return Err(format!("the range from {from:?} to {to:?} is empty"));
            }
            class += &escaped(&from.to_string());
            if from != to {
                class += &format!("-{}", escaped(&to.to_string()));
            }
        }
        match (class.is_empty(), not) {
            (true, true) => Ok("/(?s:.)/".to_string()),
            (true, false) => Err("a class has no characters".into()),
            (false, _) => Ok(format!("/[{}{class}]/", if not { "^" } else { "" })),
        }
    }

    /// A character, perhaps escaped.
    fn character(&mut self) -> Result<char, String> {
        let mut chars = self.rest().chars();
        let c = chars.next().ok_or("the grammar ends within a text or a class")?;
        self.at += c.len_utf8();
        if c != '\\' {
            return if c == '\n' { Err("a text or a class does not end in its line".into()) } else { Ok(c) };
        }
        let escape = chars.next().ok_or("the grammar ends within a text or a class")?;
        self.at += escape.len_utf8();
        let digits = match escape {
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            '\\' | '"' | '[' | ']' | '-' | '^' | '/' => return Ok(escape),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => return Err(format!("`\\{other}` is no escape")),
        };
        let hex = self
            .rest()
            .get(..digits)
            .ok_or_else(|| format!("expected {digits} digits after `\\{escape}`"))?;
        let code = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
        self.at += digits;
        code.ok_or_else(|| format!("`\\{escape}{hex}` is no character"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        to_lark(text).unwrap_err().to_string()
    }

    #[test]
    fn grammars_become_lark() {
        let text = "# A list.\nroot ::= \"[\" (item (\",\" item)*)? \"]\" end-mark{0,2}\n\nitem ::= [a-z]+ |\n  \"\\n\\u00e9\" | .\n\
                    end-mark ::= [^\\]\\x41-]{3} | \"\"{2,}\n";
        let expected = "start: g0\n\
            g2: (\",\") g1\n\
            g3: g1 (g2)*\n\
            g0: (\"[\") (g3)? (\"]\") (g4){0,2}\n\
            g1: (/[a-z]/)+ | (\"\\n\" \"é\") | /(?s:.)/\n\
            g4: (/[^\\]A\\-]/){3,3} | (\"\"){2,}\n";
        assert_eq!(to_lark(text).unwrap(), expected);
    }

    #[test]
    fn a_grammar_is_known_by_its_first_rule() {
        for gbnf in ["root ::= \"a\"", "\n# A comment: x\nroot::=[\"]", "an-item ::= \"a\"\nroot ::= an-item"]
        {
            assert!(is_gbnf(gbnf), "{gbnf}");
        }
        for lark in
            ["start: \"a ::= b\"", "// root ::= x\nstart: /::=/", "# ::=\nstart: \"a\"", "", "::= \"a\""]
        {
            assert!(!is_gbnf(lark), "{lark}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, says) in [
            ("root ::= item", "line 1 of the grammar: the rule `item` is not defined"),
            ("item ::= \"a\"", "the rule `root` is not defined"),
            ("root ::= \"a\"\nroot ::= \"b\"", "line 2 of the grammar: the rule `root` is defined twice"),
            ("root ::= (\"a\"", "expected `)`"),
            ("root ::= \"a", "the grammar ends within a text or a class"),
            ("root ::= [z-a]", "the range from 'z' to 'a' is empty"),
            ("root ::= \"\\q\"", "`\\q` is no escape"),
            ("root ::= \"a\"{3,2}", "the wrong way round"),
            ("root ::= \"a\"{99999}", "a number from 0 to 10000"),
            ("root ::= <think>", "tokens in grammars are not supported"),
            ("root ::= ;", "expected an item of a rule, found ';'"),
            ("::= \"a\"", "expected the name of a rule"),
        ] {
            assert!(why(text).contains(says), "{text:?}: {}", why(text));
        }
    }
}
