//! The prose of the repository: comments, and paragraphs of Markdown pages.

use crate::lex::{self, Kind};

/// A line of prose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line<'a> {
    /// The path of its file.
    pub(crate) path: &'a str,
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The line of the file.
    pub(crate) whole: &'a str,
    /// The prose in it: of a comment, without the mark that begins it.
    pub(crate) text: &'a str,
}

/// The lines of prose of a file, without tables and blocks of code. A file that is neither Rust nor Markdown has none.
pub(crate) fn lines<'a>(path: &'a str, text: &'a str) -> Vec<Line<'a>> {
    let whole = text.lines().enumerate().map(|(at, whole)| Line { path, number: at + 1, whole, text: whole });
    if path.ends_with(".md") {
        return without_blocks(whole);
    }
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let whole: Vec<Line<'_>> = whole.collect();
    let comments = lex::tokens(text).into_iter().filter(|token| token.kind == Kind::Comment);
    let lines = comments.flat_map(|comment| comment.text.lines().zip(comment.line..));
    without_blocks(lines.map(|(comment, number)| {
        let text = comment.trim_start().trim_start_matches(['/', '!', '*']).trim_start();
        Line { text, ..whole[number - 1] }
    }))
}

/// Leaves out tables and blocks of code. A block of code ends with the comment that it is in.
fn without_blocks<'a>(lines: impl Iterator<Item = Line<'a>>) -> Vec<Line<'a>> {
    let (mut in_code, mut last) = (false, 0);
    let mut kept = Vec::new();
    for line in lines {
        let is_fence = ["```", "~~~"].iter().any(|fence| line.text.trim_start().starts_with(fence));
        in_code &= line.number == last + 1;
        last = line.number;
        if is_fence {
            in_code = !in_code;
        } else if !in_code && !line.text.trim_start().starts_with('|') {
            kept.push(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        lines(path, text).iter().map(|line| (line.number, line.text.to_string())).collect()
    }

    #[test]
    fn pages_have_paragraphs_beside_tables_and_code() {
        let text = "# Title\n\n| a | b |\n|---|---|\n```sh\ncode\n```\nwords\n";
        let expected = [(1, "# Title"), (2, ""), (8, "words")].map(|(at, text)| (at, text.to_string()));
        assert_eq!(found("a.md", text), expected);
        assert_eq!(found("a.txt", text), []);
    }

    #[test]
    fn sources_have_comments() {
        let text = "//! One.\n\nfn a() {} // two `\n/// ```\n/// code\n/// ```\n/* three\n * four */\nlet x = \"// no\";\n";
        let expected = [(1, "One."), (3, "two `"), (7, "three"), (8, "four */")];
        assert_eq!(found("a.rs", text), expected.map(|(at, text)| (at, text.to_string())));
        assert_eq!(lines("a.rs", text)[1].whole, "fn a() {} // two `");
    }

    #[test]
    fn a_block_of_code_ends_with_its_comment() {
        assert_eq!(found("a.rs", "/// ```\n/// code\nfn a() {}\n/// words\n"), [(4, "words".to_string())]);
    }
}
