//! Marks the text of values where it could become control tokens.
//!
//! The rendered prompt is parsed for control tokens as a whole, so a value could forge one: by containing it, by
//! containing a part that the template or another value completes, or by completing what the template began. So every
//! character with which a control token begins is put between [`BEFORE`] and [`AFTER`], and so is the first character of a
//! value that continues what a literal of the template begins. They say that the character is data: no control token is
//! parsed there. Marks are no characters of a value: what a template does to it passes them by (`python/text.rs`).

use std::borrow::Cow;

use serde_json::Value as Json;

use super::sentinel::{self, AFTER, BEFORE, ESCAPE, FIRST_BYTE};
use super::source::{Literal, LiteralKind};

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The role of a message, which may complete a token that the template begins: `<|{{ message.role }}|>`.
    Role,
    /// A message of the assistant. Markup that the template looks for in messages stays as it is.
    Assistant,
    /// Any other value.
    Other,
}

/// Marks texts for one template and one vocabulary.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    /// The characters with which control tokens begin, if they are markup.
    starts: Vec<char>,
    /// Control tokens that begin with a letter, a digit or white space. They are marked only as a whole: a mark in every
    /// word would hide the names of fields from the template.
    words: Vec<String>,
    /// The ends of control tokens whose beginnings end a literal of the template.
    rests: Vec<String>,
    /// Markup without control tokens, which the template may look for in any value.
    kept: Vec<String>,
    /// Markup with control tokens that the template looks for in messages.
    searched: Vec<String>,
    /// For each byte, whether something above begins with it.
    first: [bool; 256],
}

impl Marker {
    /// Prepares for a vocabulary with these control tokens and a template with these literals.
    pub(super) fn new(tokens: &[&str], literals: &[Literal]) -> Marker {
        let is_word = |token: &&str| token.starts_with(|c: char| c.is_alphanumeric() || c.is_whitespace());
        let words = tokens.iter().copied().filter(is_word).map(str::to_owned).collect();
        let markup = tokens.iter().filter(|token| !is_word(token));
        let mut starts: Vec<char> = markup.filter_map(|token| token.chars().next()).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut rests = Vec::new();
        for literal in literals {
            // White space before a tag may be trimmed.
            for text in [literal.text.as_str(), literal.text.trim_end()] {
                for token in tokens {
                    let ends = token.char_indices().skip(1).map(|(at, _)| token.split_at(at));
                    rests.extend(
                        ends.filter(|(begin, _)| text.ends_with(begin)).map(|(_, end)| end.to_owned()),
                    );
                }
            }
        }
        let quoted = || literals.iter().filter(|literal| literal.kind != LiteralKind::Raw);
        let kept = quoted().map(|literal| literal.text.clone());
        let kept = kept.filter(|text| text.starts_with(&starts[..]) && is_apart(text, tokens)).collect();
        let searched = quoted().filter(|literal| literal.kind == LiteralKind::Searched);
        let searched = searched.filter(|literal| tokens.iter().any(|token| literal.text.contains(token)));
        let mut marker = Marker {
            starts,
            words: sorted(words),
            rests: sorted(rests),
            kept: sorted(kept),
            searched: sorted(searched.map(|literal| literal.text.clone()).collect()),
            first: [false; 256],
        };
        marker.first[usize::from(FIRST_BYTE)] = true;
        let texts = [&marker.words, &marker.rests, &marker.searched].into_iter().flatten();
        let starts = marker.starts.iter().map(|start| start.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        for byte in texts.map(|text| text.as_bytes()[0]).chain(starts).collect::<Vec<u8>>() {
            marker.first[usize::from(byte)] = true;
        }
        marker
    }

    /// Marks the strings and the names of fields of a value.
    pub(super) fn json(&self, value: &Json, origin: Origin) -> Json {
        match value {
            Json::String(text) => Json::String(self.text(text, origin).into_owned()),
            Json::Array(items) => items.iter().map(|item| self.json(item, origin)).collect(),
            Json::Object(fields) => {
                let marked = fields.iter();
                marked
                    .map(|(name, value)| (self.text(name, origin).into_owned(), self.json(value, origin)))
                    .collect()
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }

    /// Marks a text, and escapes sentinels that it contains.
    pub(super) fn text<'t>(&self, text: &'t str, origin: Origin) -> Cow<'t, str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if origin == Origin::Role && text.chars().all(is_name) {
            return Cow::Borrowed(text);
        }
        let mut marked = String::new();
        // `text[..copied]` is in `marked`.
        let (mut copied, mut at) = (0, 0);
        while let Some(&byte) = text.as_bytes().get(at) {
            if !self.first[usize::from(byte)] {
                at += 1;
                continue;
            }
            // All that is looked for begins with a character's first byte.
            let rest = &text[at..];
            let c = rest.chars().next().unwrap_or_default();
            if let Some(code) = sentinel::code(c) {
                marked.extend([
                    &text[copied..at],
                    ESCAPE.encode_utf8(&mut [0; 4]),
                    code.encode_utf8(&mut [0; 4]),
                ]);
                at += c.len_utf8();
                copied = at;
            } else if let Some(kept) = self.kept(rest, origin) {
                at += kept;
            } else {
                // Templates strip values.
                let first = text[..at].trim_start().is_empty();
                at += c.len_utf8();
                if self.may_be_control(rest, first) {
                    marked.push_str(&text[copied..at - c.len_utf8()]);
                    marked.extend([BEFORE, c, AFTER]);
                    copied = at;
                }
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        marked.push_str(&text[copied..]);
        Cow::Owned(marked)
    }

    /// The length of the markup that a text begins with and that stays as it is.
    fn kept(&self, text: &str, origin: Origin) -> Option<usize> {
        let searched = if origin == Origin::Assistant { &self.searched[..] } else { &[] };
        let known = self.kept.iter().chain(searched);
        known.filter(|known| text.starts_with(known.as_str())).map(String::len).max()
    }

    /// Whether the first character of `text` may become part of a control token. `first` says whether the value begins
    /// with it.
    fn may_be_control(&self, text: &str, first: bool) -> bool {
        let left = text.trim_end();
        // The text after the value may complete the token.
        let continues =
            |rest: &String| text.starts_with(rest.as_str()) || (!left.is_empty() && rest.starts_with(left));
        text.starts_with(&self.starts[..])
            || begins_with_any(text, &self.words)
            || (first && self.rests.iter().any(continues))
    }
}

fn begins_with_any(text: &str, starts: &[String]) -> bool {
    starts.iter().any(|start| text.starts_with(start.as_str()))
}

/// Whether a text contains no control token, and is no part of a longer text that does.
fn is_apart(text: &str, tokens: &[&str]) -> bool {
    let touches = |rest: &str| tokens.iter().any(|token| token.starts_with(rest) || rest.starts_with(token));
    !text.char_indices().any(|(at, _)| touches(&text[at..]))
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.retain(|text| !text.is_empty());
    texts.sort_unstable();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use super::super::source::literals;
    use super::*;

    const GLM: &[&str] = &["<|user|>", "<|assistant|>", "[gMASK]", "<sop>"];

    /// Writes the sentinels of the characters before a `·`.
    fn spelled(text: &str) -> String {
        let mut spelled = String::new();
        for c in text.chars() {
            if c == '·' {
                let marked = spelled.pop().unwrap();
                spelled.extend([BEFORE, marked, AFTER]);
            } else {
                spelled.push(c);
            }
        }
        spelled
    }

    fn check(tokens: &[&str], source: &str, origin: Origin, cases: &[(&str, &str)]) {
        let marker = Marker::new(tokens, &literals(source));
        for (text, expected) in cases {
            assert_eq!(marker.text(text, origin), spelled(expected), "{source:?} {origin:?}");
        }
    }

    #[test]
    fn tokens_and_their_parts_are_marked() {
        let cases = [
            ("plain {text}, (a > b)", "plain {text}, (a > b)"),
            ("[text] <b>", "[·text] <·b>"),
            ("<|user|>", "<·|user|>"),
            ("<|us <|USER|>", "<·|us <·|USER|>"),
            ("a <", "a <·"),
            ("a < \n", "a <· \n"),
            ("user|>", "user|>"),
            ("<so [gMASK]<sop>", "<·so [·gMASK]<·sop>"),
            ("日本<|", "日本<·|"),
        ];
        check(GLM, "<|user|>{{ x }}", Origin::Other, &cases);
        check(&[], "<|user|>{{ x }}", Origin::Other, &[("<|user|>", "<|user|>")]);
    }

    #[test]
    fn what_a_template_begins_is_not_completed() {
        let cases =
            [("user", "u·ser"), ("user|>", "u·ser|>"), ("user ", "u·ser "), ("users", "users"), ("", "")];
        check(GLM, "<|{{ x }}|>", Origin::Other, &cases);
        check(GLM, "<| {{- x }}|>", Origin::Other, &cases);
        check(GLM, "{{ '<|' ~ x }}", Origin::Other, &cases);
        check(GLM, "<|{{ role }}|>", Origin::Role, &[("user", "user"), ("user|><|a", "u·ser|><·|a")]);
        check(
            GLM,
            "{{ '<' ~ x ~ '>' }}",
            Origin::Other,
            &[("|user|", "|·user|"), ("user", "user"), ("sop", "s·op")],
        );
    }

    #[test]
    fn markup_that_the_template_looks_for_stays() {
        let source =
            "{% if '</think>' in x %}{{ x.split('</think>')[0] }}{% endif %}{{ '<|end|>' in x }}{{ '</s' }}";
        let tokens = ["</s>", "</t>", "<|end|>", "<|x|>"];
        let other = [
            ("</think>", "</think>"),
            ("</thin", "<·/thin"),
            ("<|end|>", "<·|end|>"),
            ("<</think>", "<·</think>"),
        ];
        check(&tokens, source, Origin::Other, &other);
        let own =
            [("</think>", "</think>"), ("a<|end|>", "a<|end|>"), ("</s>", "<·/s>"), ("<|end", "<·|end")];
        check(&tokens, source, Origin::Assistant, &own);
        check(&["</think>"], source, Origin::Assistant, &[("</think>", "</think>")]);
        check(&["</think>"], source, Origin::Other, &[("</think>", "<·/think>")]);
    }

    #[test]
    fn names_of_fields_stay() {
        let names = ["arguments", "name", "type", "object", "string", "function", "user"];
        let stay = names.map(|name| (name, name));
        check(&["<s>", "</s>", "<unk>", "user", "no"], "{{ '<' ~ x }}{{ '[' }}", Origin::Other, &stay[..6]);
        check(
            &["user", "\n\n"],
            "",
            Origin::Other,
            &[("users", "u·sers"), ("a\n\n", "a\n·\n"), ("name", "name")],
        );
    }

    #[test]
    fn values_in_values() {
        let marker = Marker::new(GLM, &[]);
        let value = serde_json::json!({"<|a": ["<sop>", {"b": "c"}, 1, null, true]});
        let expected = spelled("{\"<·|a\":[\"<·sop>\",{\"b\":\"c\"},1,null,true]}");
        assert_eq!(marker.json(&value, Origin::Other).to_string(), expected);
        let own = format!("{BEFORE}{AFTER}{ESCAPE}");
        let marked = marker.text(&own, Origin::Other).into_owned();
        assert!(!marked.contains([BEFORE, AFTER]) && marked != own);
        assert_eq!(sentinel::remove(marked), (own, vec![]));
    }
}
