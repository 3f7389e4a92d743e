//! Nothing lands unfinished.

use super::{Finding, Rule};
use crate::lex::{self, Kind, Token};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "unfinished",
    says: "No source contains a placeholder macro, a debug print, or a comment that postpones work.",
    why: "A marker in the code is unplanned work; do what is missing now, or write it down where work is planned.",
    fix: "Finish it, or return an error that names what is not supported, and open an issue for the rest.",
    check,
};

/// Macros for missing code, or for code that is not meant to stay.
const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Words that postpone work.
const WORDS: &[&str] = &["TODO", "FIXME", "XXX"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources() {
        let code = lex::code(&source.tokens);
        for at in (0..code.len()).filter(|&at| lex::calls_macro(&code, at, MACROS)) {
            found.push(Finding::new(source.path, code[at].line, format!("`{}!`", code[at].text)));
        }
        let comments = source.tokens.iter().filter(|token| token.kind == Kind::Comment);
        for (word, line) in comments.flat_map(postponed) {
            found.push(Finding::new(source.path, line, format!("`{word}`")));
        }
    }
    found
}

/// The words in a comment that postpone work, with their lines.
fn postponed<'a>(comment: &Token<'a>) -> Vec<(&'a str, usize)> {
    let lines = comment.text.lines().zip(comment.line..);
    let words = lines.flat_map(|(text, line)| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(move |word| (word, line))
    });
    words.filter(|(word, _)| WORDS.contains(word)).collect()
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/weft/src/a.rs", "//! x\nfn a() { todo!() }\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn macros_and_words_are_found_in_tests_too() {
        let source =
            "//! x\nfn a() { todo!() }\n/* y\n FIXME: z */ // XXX, TODO\n#[test] fn b() { dbg!(1) }\n";
        assert_eq!(
            findings(&RULE, &[("crates/weft/src/a.rs", source)]),
            [
                "crates/weft/src/a.rs:2: `todo!`",
                "crates/weft/src/a.rs:5: `dbg!`",
                "crates/weft/src/a.rs:4: `FIXME`",
                "crates/weft/src/a.rs:4: `XXX`",
                "crates/weft/src/a.rs:4: `TODO`"
            ]
        );
    }

    #[test]
    fn parts_of_words_and_strings_are_allowed() {
        let source = "//! IQ2_XXS, TODOS, XXX_L\nfn todo() { a(\"TODO\"); todo != 1; dbg() }\n";
        assert!(findings(&RULE, &[("crates/weft/src/a.rs", source)]).is_empty());
    }
}
