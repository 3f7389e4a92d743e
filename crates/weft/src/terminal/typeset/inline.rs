//! Recognises the marks of Markdown that take a look ahead: links, ends of emphasis, and what begins a line.

/// How far ahead the end of a mark is sought, in bytes: text that is examined is not shown yet.
const FAR: usize = 400;

/// The beginning of a line: the length of its mark in bytes, and the sign that is shown for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineMark {
    Heading(usize),
    Quote(usize),
    /// An item of a list.
    Item(usize, char),
}

/// A link `[text](address)`.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Link<'a> {
    pub(super) text: &'a str,
    pub(super) address: &'a str,
    /// The length of it all in bytes.
    pub(super) length: usize,
}

/// The items of lists, the longest marks first.
const ITEMS: [(&str, char); 9] = [
    ("- [ ] ", '☐'),
    ("* [ ] ", '☐'),
    ("- [x] ", '☑'),
    ("* [x] ", '☑'),
    ("- [X] ", '☑'),
    ("* [X] ", '☑'),
    ("- ", '•'),
    ("* ", '•'),
    ("+ ", '•'),
];

/// The mark that begins a line: `Some(None)` if there is none, `None` if that takes more text. `last` means that no text
/// follows.
#[expect(clippy::option_option, reason = "not known yet, no mark, or a mark")]
pub(super) fn line_mark(rest: &str, last: bool) -> Option<Option<LineMark>> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) {
        return match rest[hashes..].chars().next() {
            None if !last => None,
            Some(' ') => Some(Some(LineMark::Heading(hashes + 1))),
            _ => Some(None),
        };
    }
    if let Some(after) = rest.strip_prefix('>') {
        return match after.chars().next() {
            None if !last => None,
            Some(' ') => Some(Some(LineMark::Quote(2))),
            _ => Some(Some(LineMark::Quote(1))),
        };
    }
    if !last && ITEMS.iter().any(|(mark, _)| mark.len() > rest.len() && mark.starts_with(rest)) {
        return None;
    }
    let item = ITEMS.iter().find(|(mark, _)| rest.starts_with(mark));
    Some(item.map(|(mark, sign)| LineMark::Item(mark.len(), *sign)))
}

/// A link at the beginning: `Some(None)` if there is none, `None` if that takes more text.
#[expect(clippy::option_option, reason = "not known yet, no link, or a link")]
pub(super) fn link(rest: &str, last: bool) -> Option<Option<Link<'_>>> {
    let Some(inner) = rest.strip_prefix('[') else { return Some(None) };
    let line = until_end(inner);
    let is_whole = last || line.len() < inner.len() || inner.len() >= FAR;
    let open = || if is_whole { Some(None) } else { None };
    let Some(end) = line.find([']', '[']) else { return open() };
    let (text, after) = (&line[..end], &line[end..]);
    let Some(address) = after.strip_prefix("](") else {
        return if after == "]" { open() } else { Some(None) };
    };
    match address.find([')', ' ', '(']) {
        None => open(),
        Some(at) if at > 0 && !text.is_empty() && address[at..].starts_with(')') => {
            Some(Some(Link { text, address: &address[..at], length: 1 + end + 2 + at + 1 }))
        }
        Some(_) => Some(None),
    }
}

/// Whether text that follows a mark, up to the end of its line, has the mark that ends it; `None` if that takes more text.
/// The end is a run of `length` such characters, or of two more, which end bold text too.
pub(super) fn is_closed(rest: &str, mark: char, length: usize, last: bool) -> Option<bool> {
    let line = until_end(rest);
    let (mut before, mut at) = (' ', 0);
    while let Some(c) = line[at..].chars().next() {
        if c != mark {
            before = c;
            at += c.len_utf8();
            continue;
        }
        let run = line[at..].len() - line[at..].trim_start_matches(mark).len();
        let after = line[at + run..].chars().next();
        if at + run == line.len() && line.len() == rest.len() && !last && rest.len() < FAR {
            return None;
        }
        let within = mark == '_' && after.is_some_and(char::is_alphanumeric);
        if (run == length || run == length + 2) && !before.is_whitespace() && !within {
            return Some(true);
        }
        before = mark;
        at += run;
    }
    let is_whole = last || line.len() < rest.len() || rest.len() >= FAR;
    if is_whole { Some(false) } else { None }
}

/// A text up to the end of its line, but not much of it.
fn until_end(text: &str) -> &str {
    let line = &text[..text.find('\n').unwrap_or(text.len())];
    let far = (0..=FAR.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
    &line[..far.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_marks() {
        let mark = |text| line_mark(text, false);
        assert_eq!(mark("## T"), Some(Some(LineMark::Heading(3))));
        assert_eq!((mark("#"), mark("#a"), line_mark("#", true)), (None, Some(None), Some(None)));
        assert_eq!(
            (mark("> a"), mark(">a")),
            (Some(Some(LineMark::Quote(2))), Some(Some(LineMark::Quote(1))))
        );
        assert_eq!((mark("- a"), mark("- [")), (Some(Some(LineMark::Item(2, '•'))), None));
        assert_eq!(mark("- [x] a"), Some(Some(LineMark::Item(6, '☑'))));
        assert_eq!((mark("-a"), mark("**a"), mark("a")), (Some(None), Some(None), Some(None)));
    }

    #[test]
    fn links_have_a_text_and_an_address() {
        let found =
            |text| link(text, false).map(|link| link.map(|link| (link.text, link.address, link.length)));
        assert_eq!(found("[a](http://b) c"), Some(Some(("a", "http://b", 13))));
        for (text, last) in [("[a", false), ("[a]", false), ("[a](b", false)] {
            assert_eq!(link(text, last), None, "{text}");
            assert_eq!(link(text, true), Some(None), "{text}");
        }
        for text in ["a", "[a] b", "[a]: b", "[](b) ", "[a]() ", "[a](b c)", "[[a](b)", "[a\n](b)"] {
            assert_eq!(link(text, false), Some(None), "{text}");
        }
        assert_eq!(link(&format!("[{}", "é".repeat(FAR)), false), Some(None), "it is too long");
    }

    #[test]
    fn emphasis_ends_on_its_line() {
        let closed = |text| is_closed(text, '*', 1, false);
        assert_eq!((closed("a* b"), closed("a*\n"), closed("a*")), (Some(true), Some(true), None));
        assert_eq!(
            (closed("a\nb*"), closed("a * b\n"), closed("a ** b\n")),
            (Some(false), Some(false), Some(false))
        );
        assert_eq!((closed("a*** "), closed("a")), (Some(true), None));
        assert_eq!(
            (is_closed("a_b\n", '_', 1, false), is_closed("a_ ", '_', 1, false)),
            (Some(false), Some(true))
        );
        assert_eq!(is_closed("a~~ ", '~', 2, false), Some(true));
    }
}
