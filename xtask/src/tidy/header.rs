//! Every source file begins by saying what it is.

use super::{Finding, Rule};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "header",
    says: "Every Rust file begins with a `//!` comment.",
    why: "The first line should tell a reader what a file does and why it exists.",
    fix: "Begin the file with `//! ` and a sentence on what it does and why.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files().filter(|(path, _)| path.ends_with(".rs"));
    let bare = rust.filter(|(_, text)| text.lines().next().is_none_or(|line| !says_something(line)));
    bare.map(|(path, _)| Finding::new(path, 1, "the file does not begin with a `//!` comment")).collect()
}

fn says_something(line: &str) -> bool {
    line.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/weft/src/a.rs", "use std::fmt;\n\n//! Late.\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_first_line_must_be_a_doc_comment() {
        for source in ["", "\n//! x", "//!\n//! x", "// x", "/// x"] {
            let found = findings(&RULE, &[("crates/weft/src/a.rs", source)]);
            let expected = "crates/weft/src/a.rs:1: the file does not begin with a `//!` comment";
            assert_eq!(found, [expected], "{source:?}");
        }
        assert!(findings(&RULE, &[("crates/weft/src/a.rs", "//! x\n")]).is_empty());
    }
}
