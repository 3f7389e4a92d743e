//! Nothing lands unfinished.

use super::{Finding, Rule};
use crate::lex::{self, Kind, Token};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "unfinished",
    says: "No source holds a placeholder macro, a debugging print, or a comment that puts work off.",
    why: "A marker in the code is work that nobody planned; what is missing is either done now or written \
          down where work is planned.",
    fix: "Finish it, or return an error that says what is not supported, and open an issue for the rest.",
    check,
};

/// Macros that stand for code that is not there, or is not meant to stay.
const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Words that put work off.
const WORDS: &[&str] = &["TODO", "FIXME", "XXX"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources() {
        let code = lex::code(&source.tokens);
        for at in (0..code.len()).filter(|&at| lex::calls_macro(&code, at, MACROS)) {
            found.push(Finding::new(source.path, code[at].line, format!("`{}!`", code[at].text)));
        }
        let comments = source.tokens.iter().filter(|token| token.kind == Kind::Comment);
        for (word, line) in comments.flat_map(put_off) {
            found.push(Finding::new(source.path, line, format!("`{word}`")));
        }
    }
    found
}

/// The words in a comment that put work off, with their lines.
fn put_off<'a>(comment: &Token<'a>) -> Vec<(&'a str, usize)> {
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
        let source = "//! x\nfn a() { todo!() }\n/* y\n FIXME: z */ // XXX, TODO\n#[test] fn b() { dbg!(1) }\n";
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
    fn a_word_within_a_word_or_a_string_is_another() {
        let source = "//! IQ2_XXS, TODOS, XXX_L\nfn todo() { a(\"TODO\"); todo != 1; dbg() }\n";
        assert!(findings(&RULE, &[("crates/weft/src/a.rs", source)]).is_empty());
    }
}
