//! No file has more than 600 lines.

use super::{Finding, Rule};
use crate::tree::Tree;

/// The most lines a Rust file may have.
const MOST: usize = 600;

pub(super) const RULE: Rule = Rule {
    name: "size",
    says: "No Rust file has more than 600 lines.",
    why: "A file is the unit of reading; a longer one is two things under one name.",
    fix: "Find the two things and give each a file; 150 to 350 lines read well. Tests may move to a file beside it.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files().filter(|(path, _)| path.ends_with(".rs"));
    let counted = rust.map(|(path, text)| (path, text.lines().count()));
    let long = counted.filter(|&(_, lines)| lines > MOST);
    long.map(|(path, lines)| Finding::new(path, MOST + 1, format!("the file has {lines} lines"))).collect()
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/weft/src/long.rs", LONG)];

#[cfg(test)]
const LONG: &str = {
    // 601 line ends: the shortest file that is too long.
    static LINES: [u8; MOST + 1] = [b'\n'; MOST + 1];
    match std::str::from_utf8(&LINES) {
        Ok(lines) => lines,
        Err(_) => unreachable!(),
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(findings(&RULE, BROKEN), ["crates/weft/src/long.rs:601: the file has 601 lines"]);
        assert!(findings(&RULE, &[("crates/weft/src/long.rs", &LONG[1..])]).is_empty());
    }

    #[test]
    fn the_sentence_names_the_limit() {
        assert!(RULE.says.contains(&MOST.to_string()));
    }
}
