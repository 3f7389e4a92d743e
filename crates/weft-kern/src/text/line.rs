//! The elements of a line of a text form: numbers, words, `key=value`, views.

use crate::program::View;

/// Why a text is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ParseError {
    /// Line number, from 1; 0 for the plan as a whole.
    pub line: usize,
    /// A sentence: what was expected and found.
    pub why: String,
}

/// The value read, or a sentence that says what was expected and found.
pub(crate) type Parsed<T> = Result<T, String>;

/// A number after a prefix.
pub(crate) fn number<T: std::str::FromStr>(text: &str, prefix: &str) -> Parsed<T> {
    let digits = text.trim().strip_prefix(prefix);
    digits
        .and_then(|d| d.parse().ok())
        .ok_or_else(|| format!("expected `{prefix}` and a number, found `{text}`"))
}

/// Splits a line into words. Brackets and what is in them are part of a word.
pub(crate) fn split(text: &str) -> Parsed<Vec<&str>> {
    let mut words = Vec::new();
    let (mut start, mut depth) = (None, 0usize);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1).ok_or("`]` without `[`")?,
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            words.extend(start.take().map(|s| &text[s..i]));
        } else if start.is_none() {
            start = Some(i);
        }
    }
    words.extend(start.map(|s| &text[s..]));
    Ok(words)
}

/// A line's `key=value` words, and the others.
pub(crate) struct Attrs<'a> {
    pub(crate) plain: Vec<&'a str>,
    pub(crate) pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Attrs<'a> {
    /// Reads a line.
    pub(crate) fn new(text: &'a str) -> Parsed<Attrs<'a>> {
        let mut attrs = Attrs { plain: Vec::new(), pairs: Vec::new() };
        for word in split(text)? {
            match word.split_once('=') {
                Some(pair) => attrs.pairs.push(pair),
                None => attrs.plain.push(word),
            }
        }
        Ok(attrs)
    }

    /// The text after `key=`.
    pub(crate) fn get(&self, key: &str) -> Parsed<&'a str> {
        let found = self.pairs.iter().find(|(k, _)| *k == key);
        found.map(|(_, v)| *v).ok_or_else(|| format!("expected `{key}=…`"))
    }

    /// The number after `key=`.
    pub(crate) fn num(&self, key: &str) -> Parsed<usize> {
        number(self.get(key)?, "")
    }
}

/// Reads a view.
pub(crate) fn view(text: &str) -> Parsed<View> {
    let wrong = || format!("expected a view `pN[offset; strides; step]`, found `{text}`");
    let (param, inner) = text.strip_suffix(']').and_then(|t| t.split_once('[')).ok_or_else(wrong)?;
    let parts: Vec<&str> = inner.split(';').map(str::trim).collect();
    let [offset, strides, step] = parts[..] else { return Err(wrong()) };
    let strides = strides.split(',').map(str::trim).filter(|s| !s.is_empty());
    Ok(View {
        param: number(param, "p")?,
        offset: number(offset, "")?,
        strides: strides.map(|s| number(s, "")).collect::<Parsed<_>>()?,
        step: number(step, "")?,
    })
}
