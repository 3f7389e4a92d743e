//! Texts with marks: what a template does to a string counts characters and keeps the marks beside their characters.
//!
//! Sentinels are no characters of the text. A [`Text`] takes them out, so that it can be searched, measured and cut, and
//! puts them back into every piece of it.

use std::borrow::Cow;
use std::ops::Range;

use crate::template::sentinel::{self, AFTER, BEFORE, ESCAPE};

/// White space of Python's `str.split` and `strip`.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c)
}

/// A string without its sentinels, which it remembers.
pub(super) struct Text<'t> {
    plain: Cow<'t, str>,
    /// Where the marked characters begin, in bytes and ascending.
    marks: Vec<usize>,
    /// Whether the text has characters that are sentinels themselves.
    escapes: bool,
}

impl<'t> Text<'t> {
    pub(super) fn new(encoded: &'t str) -> Text<'t> {
        let mut text = Text { plain: Cow::Borrowed(encoded), marks: Vec::new(), escapes: false };
        if !is_marked(encoded) {
            return text;
        }
        let mut plain = String::with_capacity(encoded.len());
        let mut next_is_marked = false;
        // Where the last character begins.
        let mut last = None;
        let mut chars = encoded.chars().peekable();
        while let Some(mut c) = chars.next() {
            match c {
                BEFORE => {
                    next_is_marked = true;
                    continue;
                }
                AFTER => {
                    if let Some(last) = last
                        && text.marks.last() != Some(&last)
                    {
                        text.marks.push(last);
                    }
                    continue;
                }
                ESCAPE => {
                    if let Some(escaped) = chars.peek().and_then(|&code| sentinel::of_code(code)) {
                        chars.next();
                        c = escaped;
                    }
                    text.escapes = true;
                }
                _ => {}
            }
            last = Some(plain.len());
            if std::mem::take(&mut next_is_marked) {
                text.marks.push(plain.len());
            }
            plain.push(c);
        }
        text.plain = Cow::Owned(plain);
        text
    }

    /// The characters.
    pub(super) fn plain(&self) -> &str {
        &self.plain
    }

    /// Whether nothing has to be put back.
    fn is_plain(&self) -> bool {
        self.marks.is_empty() && !self.escapes
    }

    /// A piece, by the bytes of [`plain`](Text::plain), with its marks. After a mark that is cut off, its first character is
    /// marked too: the template may write the same character itself.
    pub(super) fn piece(&self, range: Range<usize>) -> String {
        let mut piece = String::with_capacity(range.len());
        self.push_piece(&mut piece, range);
        piece
    }

    /// Appends a piece.
    pub(super) fn push_piece(&self, out: &mut String, range: Range<usize>) {
        if self.is_plain() {
            out.push_str(&self.plain[range]);
            return;
        }
        let start = range.start;
        let cut = self.marks.first().is_some_and(|&mark| mark < start);
        let mut marks = self.marks[self.marks.partition_point(|&mark| mark < start)..].iter().peekable();
        for (at, c) in self.plain[range].char_indices() {
            let marked = marks.next_if(|&&mark| mark == start + at).is_some();
            push_char(out, c, marked || (cut && at == 0));
        }
    }

    /// Whether a piece has marks.
    pub(super) fn has_marks(&self, range: Range<usize>) -> bool {
        let from = self.marks.partition_point(|&mark| mark < range.start);
        self.marks.get(from).is_some_and(|&mark| mark < range.end)
    }

    /// The text with every character replaced by the output of `change` for it.
    pub(super) fn map(&self, mut change: impl FnMut(usize, char, &mut String)) -> String {
        let mut out = String::with_capacity(self.plain.len());
        let mut changed = String::new();
        let mut marks = self.marks.iter().peekable();
        for (at, c) in self.plain.char_indices() {
            if self.is_plain() {
                change(at, c, &mut out);
                continue;
            }
            let marked = marks.next_if(|&&mark| mark == at).is_some();
            changed.clear();
            change(at, c, &mut changed);
            if marked {
                out.push(BEFORE);
            }
            for c in changed.chars() {
                push_char(&mut out, c, false);
            }
            if marked {
                out.push(AFTER);
            }
        }
        out
    }

    /// The characters, each as a string of its own.
    pub(super) fn chars(&self) -> impl Iterator<Item = String> + '_ {
        let mut marks = self.marks.iter().peekable();
        self.plain.char_indices().map(move |(at, c)| {
            let mut out = String::new();
            push_char(&mut out, c, marks.next_if(|&&mark| mark == at).is_some());
            out
        })
    }

    /// The number of characters.
    pub(super) fn len(&self) -> usize {
        if self.plain.is_ascii() { self.plain.len() } else { self.plain.chars().count() }
    }

    /// Where the character with this number begins, in bytes; the end from the last on.
    pub(super) fn offset(&self, index: usize) -> usize {
        if self.plain.is_ascii() {
            return index.min(self.plain.len());
        }
        self.plain.char_indices().nth(index).map_or(self.plain.len(), |(at, _)| at)
    }

    /// The number of the character that begins at a byte.
    pub(super) fn index(&self, offset: usize) -> usize {
        self.plain[..offset].chars().count()
    }
}

/// Appends a text with marks at all its characters.
pub(super) fn push_marked(out: &mut String, encoded: &str) {
    Text::new(encoded).plain.chars().for_each(|c| push_char(out, c, true));
}

/// Whether a string has sentinels.
pub(super) fn is_marked(encoded: &str) -> bool {
    encoded.as_bytes().contains(&sentinel::FIRST_BYTE) && encoded.contains([BEFORE, AFTER, ESCAPE])
}

/// The characters of a string without its sentinels.
pub(super) fn plain(encoded: &str) -> Cow<'_, str> {
    Text::new(encoded).plain
}

fn push_char(out: &mut String, c: char, marked: bool) {
    if marked {
        out.push(BEFORE);
    }
    match sentinel::code(c) {
        Some(code) => out.extend([ESCAPE, code]),
        None => out.push(c),
    }
    if marked {
        out.push(AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_marks() {
        let code = sentinel::code(BEFORE).unwrap();
        let encoded = format!("é{BEFORE}<{AFTER}a{ESCAPE}{code}{AFTER}");
        let text = Text::new(&encoded);
        assert_eq!(text.plain(), format!("é<a{BEFORE}"));
        assert_eq!(text.len(), 4);
        assert_eq!(
            text.piece(0..text.plain().len()),
            format!("é{BEFORE}<{AFTER}a{BEFORE}{ESCAPE}{code}{AFTER}")
        );
        assert_eq!(text.piece(2..4), format!("{BEFORE}<{AFTER}a"));
        assert_eq!(text.piece(3..4), format!("{BEFORE}a{AFTER}"));
        assert_eq!(text.piece(0..2), "é");
        assert!(text.has_marks(0..3) && !text.has_marks(0..2) && !text.has_marks(3..4));
        assert_eq!(text.offset(1), 2);
        assert_eq!(text.index(3), 2);
        assert_eq!(text.map(|_, c, out| out.extend([c, 'x'])).matches(AFTER).count(), 2);
        let chars: Vec<String> = text.chars().collect();
        assert_eq!(chars[1], format!("{BEFORE}<{AFTER}"));
    }

    #[test]
    fn cut_sentinels_are_read() {
        assert_eq!(plain(&format!("{AFTER}a{BEFORE}")), "a");
        assert_eq!(plain(&format!("{ESCAPE}a")), format!("{ESCAPE}a"));
        assert!(!is_marked("😀"));
    }
}
