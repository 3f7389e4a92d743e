//! The texts that a template writes or looks for, read from its source without running it.

/// A text of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    pub(super) text: String,
    pub(super) kind: LiteralKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralKind {
    /// Text outside tags, which is written as it is.
    Raw,
    /// A string within a tag.
    Quoted,
    /// A string within a tag that is looked for in another: `'…' in x` or `x.split('…')`.
    Searched,
}

/// All literals of a template, in their order. `{% raw %}` is not known here: what it contains is read as tags.
pub(super) fn literals(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(begin) = next_tag(rest) {
        raw(&rest[..begin], &mut found);
        let tag = &rest[begin + 2..];
        let length = match &rest[begin + 1..begin + 2] {
            "#" => tag.find("#}").map_or(tag.len(), |end| end + 2),
            "%" => quoted(tag, "%}", &mut found),
            _ => quoted(tag, "}}", &mut found),
        };
        rest = &tag[length..];
    }
    raw(rest, &mut found);
    found
}

/// Where the next tag begins.
fn next_tag(text: &str) -> Option<usize> {
    text.match_indices('{')
        .map(|(at, _)| at)
        .find(|at| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')))
}

fn raw(text: &str, found: &mut Vec<Literal>) {
    if !text.is_empty() {
        found.push(Literal { text: text.to_owned(), kind: LiteralKind::Raw });
    }
}

/// Reads the strings of a tag. Returns its length, with its end.
fn quoted(tag: &str, end: &str, found: &mut Vec<Literal>) -> usize {
    let mut at = 0;
    while at < tag.len() {
        let rest = &tag[at..];
        if rest.starts_with(end) {
            return at + end.len();
        }
        let Some(first) = rest.chars().next() else { break };
        if first != '\'' && first != '"' {
            at += first.len_utf8();
            continue;
        }
        let (text, length) = string(&rest[1..], first);
        let (before, after) = (&tag[..at], tag[at + 1 + length..].trim_start());
        let searched = before.trim_end().ends_with("split(") || after.starts_with("in ");
        let kind = if searched { LiteralKind::Searched } else { LiteralKind::Quoted };
        found.push(Literal { text, kind });
        at += 1 + length;
    }
    tag.len()
}

/// Reads a string up to its closing quote. Returns its value, and its length with the quote.
fn string(text: &str, quote: char) -> (String, usize) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return (value, at + c.len_utf8());
        }
        match (c == '\\').then(|| chars.next()).flatten() {
            Some((_, 'n')) => value.push('\n'),
            Some((_, 't')) => value.push('\t'),
            Some((_, 'r')) => value.push('\r'),
            Some((_, other)) => value.push(other),
            None => value.push(c),
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_text_and_strings() {
        let source = "a{{ 'b' + \"c's\" }}<|{%- if '</t>' in x.split('d\\n') -%}{# 'no' }} #} e\n{% endif";
        let found = literals(source);
        let texts: Vec<(&str, LiteralKind)> = found.iter().map(|l| (l.text.as_str(), l.kind)).collect();
        use LiteralKind::{Quoted, Raw, Searched};
        assert_eq!(
            texts,
            [
                ("a", Raw),
                ("b", Quoted),
                ("c's", Quoted),
                ("<|", Raw),
                ("</t>", Searched),
                ("d\n", Searched),
                (" e\n", Raw)
            ]
        );
        for broken in ["{", "{{", "{{ 'a", "{{ 'a\\", "{#", "é{{é'é", "}}"] {
            literals(broken);
        }
    }
}
