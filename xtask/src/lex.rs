//! Enough of Rust's lexical structure to tell code from comments, strings and tests.
//!
//! A rule that greps would fire on a word in a doc comment, and miss a grouped import. These tokens avoid both.

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An identifier, keyword, lifetime or number.
    Word,
    /// One character of punctuation.
    Punct,
    /// A comment, doc comments included.
    Comment,
    /// A string, byte string or character literal.
    Literal,
}

/// A token of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line it starts on, from 1.
    pub(crate) line: usize,
    /// Whether it is compiled only for tests.
    pub(crate) test: bool,
}

impl Token<'_> {
    fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }
}

/// Splits a source file into tokens, and marks the items under `#[cfg(test)]`.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("//") {
            (Some(Kind::Comment), rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Some(Kind::Comment), block_comment(rest))
        } else if let Some(length) = raw_string(rest) {
            (Some(Kind::Literal), length)
        } else if first == '"' {
            (Some(Kind::Literal), quoted(rest))
        } else if let Some(length) = character(rest) {
            (Some(Kind::Literal), length)
        } else if is_word(first) || first == '\'' {
            (Some(Kind::Word), first.len_utf8() + word(&rest[first.len_utf8()..]))
        } else {
            (Some(Kind::Punct), first.len_utf8())
        };
        let (text, after) = rest.split_at(length);
        tokens.extend(kind.map(|kind| Token { kind, text, line, test: false }));
        line += text.matches('\n').count();
        rest = after;
    }
    mark_tests(&mut tokens);
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// The length of a block comment, which may contain others.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        match (rest[at..].find("/*"), rest[at..].find("*/")) {
            (Some(open), Some(close)) if open < close => (at, depth) = (at + open + 2, depth + 1),
            (_, Some(close)) => (at, depth) = (at + close + 2, depth - 1),
            (_, None) => return rest.len(),
        }
    }
    at
}

/// The length of `r#"…"#` with any number of hashes, or of its byte and C forms.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
    })?;
    let body = rest.find('"')? + 1;
    let close = format!("\"{}", &rest[prefix.len()..body - 1]);
    Some(rest[body..].find(&close).map_or(rest.len(), |end| body + end + close.len()))
}

/// The length of `"…"` with its escapes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of `'x'` or `'\n'`; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.strip_prefix('\'')?.chars();
    let first = chars.next()?;
    if first == '\\' {
        let body = 2 + chars.next()?.len_utf8();
        return Some(rest[body..].find('\'').map_or(rest.len(), |end| body + end + 1));
    }
    (chars.next()? == '\'').then_some(first.len_utf8() + 2)
}

/// All tokens except comments.
pub(crate) fn code<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t Token<'a>> {
    tokens.iter().filter(|token| token.kind != Kind::Comment).collect()
}

/// Whether the code at `at` reads `words`, each one token.
pub(crate) fn reads(code: &[&Token<'_>], at: usize, words: &[&str]) -> bool {
    code.get(at..at + words.len())
        .is_some_and(|code| code.iter().zip(words).all(|(token, word)| token.is(word)))
}

/// Whether one of the macros `names` is called at `at`.
pub(crate) fn calls_macro(code: &[&Token<'_>], at: usize, names: &[&str]) -> bool {
    let opens = ["(", "[", "{"];
    names.iter().any(|name| reads(code, at, &[name, "!"]))
        && opens.iter().any(|open| code.get(at + 2).is_some_and(|token| token.is(open)))
}

/// Marks the item after each `#[cfg(test)]` or `#[cfg(all(test, …))]`, including the attribute.
fn mark_tests(tokens: &mut [Token<'_>]) {
    let places: Vec<usize> = (0..tokens.len()).filter(|&i| tokens[i].kind != Kind::Comment).collect();
    let code: Vec<Token<'_>> = places.iter().map(|&place| tokens[place]).collect();
    let code: Vec<&Token<'_>> = code.iter().collect();
    let mut at = 0;
    while at < code.len() {
        if starts_test(&code, at) {
            let end = item_end(&code, at);
            tokens[places[at]..=places[end - 1]].iter_mut().for_each(|token| token.test = true);
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Whether a `cfg(test)` attribute starts at `at`.
pub(crate) fn starts_test(code: &[&Token<'_>], at: usize) -> bool {
    reads(code, at, &["#", "[", "cfg", "(", "test"])
        || reads(code, at, &["#", "[", "cfg", "(", "all", "(", "test"])
}

/// The position after the item whose attributes start at `at`.
pub(crate) fn item_end(code: &[&Token<'_>], mut at: usize) -> usize {
    while reads(code, at, &["#", "["]) {
        at = group_end(code, at + 1);
    }
    while at < code.len() {
        if code[at].is(";") {
            return at + 1;
        } else if code[at].is("{") {
            return group_end(code, at);
        } else if code[at].is("}") {
            return at;
        } else if code[at].is("(") || code[at].is("[") {
            at = group_end(code, at);
        } else {
            at += 1;
        }
    }
    at
}

/// The position after the bracket that closes the one at `at`.
fn group_end(code: &[&Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (here, token) in code.iter().enumerate().skip(at) {
        if ["(", "[", "{"].iter().any(|open| token.is(open)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|close| token.is(close)) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return here + 1;
            }
        }
    }
    code.len()
}

/// Every path that begins with `root`, a crate or a module, with grouped imports expanded:
/// `use std::{fs, io::Write}` gives `std::fs` and `std::io::Write`. Each comes with its last token. The path of a visibility,
/// such as `pub(in crate::a)`, does not count.
pub(crate) fn paths<'t, 'a>(code: &[&'t Token<'a>], root: &str) -> Vec<(String, &'t Token<'a>)> {
    let mut found = Vec::new();
    for at in 0..code.len() {
        let visibility = at > 2 && reads(code, at - 3, &["pub", "(", "in"]);
        if reads(code, at, &[root, ":", ":"]) && !continues(code, at) && !visibility {
            path(code, at + 3, root.to_string(), &mut found);
        } else if reads(code, at, &["use", root, "as"]) || reads(code, at, &["crate", root, "as"]) {
            found.push((root.to_string(), code[at + 1]));
        }
    }
    found
}

/// Whether the word at `at` continues a path: `::std` begins one, `other::std` continues one.
fn continues(code: &[&Token<'_>], at: usize) -> bool {
    at > 2 && reads(code, at - 2, &[":", ":"]) && code[at - 3].kind == Kind::Word
}

/// A name that a `use` imports.
#[derive(Debug)]
pub(crate) struct Import {
    /// Its name in the file; `*` for all names.
    pub(crate) name: String,
    /// The path it is imported from, such as `crate::a::B`.
    pub(crate) path: String,
    /// Whether it is re-exported.
    pub(crate) public: bool,
    /// The line of the import.
    pub(crate) line: usize,
    /// The last word of the path, by its address.
    end: *const u8,
}

impl Import {
    /// Whether `token` is the last word of the path.
    pub(crate) fn holds(&self, token: &Token<'_>) -> bool {
        self.end == token.text.as_ptr()
    }
}

/// Every name that a `use` imports, with groups expanded.
pub(crate) fn imports(code: &[&Token<'_>]) -> Vec<Import> {
    let mut imports = Vec::new();
    for at in (0..code.len()).filter(|at| code[*at].is("use")) {
        let before = at.checked_sub(1).map(|at| code[at]);
        let public = before.is_some_and(|token| token.is("pub") || token.is(")"));
        let from = if reads(code, at + 1, &[":", ":"]) { at + 3 } else { at + 1 };
        let mut found = Vec::new();
        path(code, from, String::new(), &mut found);
        for (path, token) in found {
            let path = path.trim_start_matches(':').to_string();
            let here = code.iter().position(|other| std::ptr::eq(*other, token)).unwrap_or(at);
            let name = match code.get(here + 2) {
                Some(renamed) if reads(code, here + 1, &["as"]) => renamed.text.to_string(),
                // `use a::b::{self}` imports `b`.
                _ => path.rsplit("::").next().unwrap_or(&path).to_string(),
            };
            imports.push(Import { name, path, public, line: token.line, end: token.text.as_ptr() });
        }
    }
    imports
}

/// Reads one path or group from `at` and returns the position after it.
fn path<'t, 'a>(
    code: &[&'t Token<'a>],
    at: usize,
    prefix: String,
    found: &mut Vec<(String, &'t Token<'a>)>,
) -> usize {
    let Some(&token) = code.get(at) else { return at };
    if token.is("{") {
        let mut at = at + 1;
        while at < code.len() && !code[at].is("}") {
            at = path(code, at, prefix.clone(), found);
            at += code[at..].iter().take_while(|token| !token.is(",") && !token.is("}")).count();
            at += usize::from(code.get(at).is_some_and(|token| token.is(",")));
        }
        return at + 1;
    }
    let here = match token.text {
        "self" if !prefix.is_empty() => prefix,
        name => format!("{prefix}::{name}"),
    };
    if token.kind == Kind::Word && reads(code, at + 1, &[":", ":"]) {
        return path(code, at + 3, here, found);
    }
    found.push((here, token));
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).into_iter().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let source = r####"
            /// unsafe in a doc /* not a block
            /* unsafe /* nested */ unsafe */
            fn a<'life>(b: &'life str) { x("unsafe \" unsafe", r#"unsafe " unsafe"#, b"unsafe") }
            const Q: [char; 3] = ['u', '\'', '"'];
        "####;
        assert_eq!(
            words(source),
            ["fn", "a", "'life", "b", "'life", "str", "x", "b", "const", "Q", "char", "3"]
        );
    }

    #[test]
    fn unfinished_tokens_end_with_the_file() {
        for source in ["/* a", "\"a", "r##\"a\"#", "'\\", "'", "b'", "/*/* */", "\"\\", "é'é", "r#"] {
            let again: String = tokens(source).iter().map(|token| token.text).collect();
            assert_eq!(again, source);
        }
    }

    #[test]
    fn lines_are_counted_through_long_tokens() {
        let source = "/* a\nb */ one \"c\nd\" two\nthree";
        let lines: Vec<_> = tokens(source).iter().map(|token| (token.text.len(), token.line)).collect();
        assert_eq!(lines, [(9, 1), (3, 2), (5, 2), (3, 3), (5, 4)]);
    }

    #[test]
    fn items_under_cfg_test_are_marked_and_the_next_is_not() {
        let source = "
            fn before() {}
            #[cfg(test)] #[allow(unused)] fn one(x: [u8; 2]) -> Y { inside }
            #[cfg(all(test, unix))] mod two;
            #[cfg(not(test))] fn after() {}
        ";
        let test: Vec<_> = tokens(source)
            .into_iter()
            .filter(|token| token.test && token.kind == Kind::Word)
            .map(|token| token.text)
            .collect();
        assert_eq!(
            test,
            [
                "cfg", "test", "allow", "unused", "fn", "one", "x", "u8", "2", "Y", "inside", "cfg", "all",
                "test", "unix", "mod", "two"
            ]
        );
    }

    #[test]
    fn imports_are_expanded_with_their_names() {
        let source =
            "use a::{b::{self, C as D}, e::*}; pub(crate) use super::F; pub use ::g; use self::h::I;";
        let tokens = tokens(source);
        let imports = imports(&code(&tokens));
        let found: Vec<_> = imports.iter().map(|i| (i.name.as_str(), i.path.as_str(), i.public)).collect();
        assert_eq!(
            found,
            [
                ("b", "a::b", false),
                ("D", "a::b::C", false),
                ("*", "a::e::*", false),
                ("F", "super::F", true),
                ("g", "g", true),
                ("I", "self::h::I", false),
            ]
        );
    }

    #[test]
    fn paths_are_expanded() {
        let source =
            "use std::{fs, io::{self, Write as W}, *}; let a = ::std::env::args(); b::<std::time::Instant>();
            use std as s; let c = std as f32 / other::std(d); pub(in std::net) fn e() {}";
        let tokens = tokens(source);
        let paths: Vec<_> = paths(&code(&tokens), "std").into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            ["std::fs", "std::io", "std::io::Write", "std::*", "std::env::args", "std::time::Instant", "std"]
        );
    }
}
