//! Comments and pages have lines that a screen shows whole.

use super::{Finding, Rule};
use crate::prose;
use crate::tree::Tree;

/// The most characters of a line of prose.
const MOST: usize = 140;

pub(super) const RULE: Rule = Rule {
    name: "width",
    says: "No comment and no paragraph of a Markdown page has a line of more than 140 characters.",
    why: "A line that is longer than a screen is not read to its end, and a paragraph that was edited without being wrapped \
          shows as changed as a whole.",
    fix: "Wrap the paragraph. Tables, blocks of code, and lines without a place to break are exempt.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let lines = tree.files().flat_map(|(path, text)| prose::lines(path, text));
    let long = lines.filter_map(|line| {
        let width = line.whole.chars().count();
        let is_long = width > MOST && can_be_broken(line.text);
        is_long.then(|| Finding::new(line.path, line.number, format!("the line has {width} characters")))
    });
    long.collect()
}

/// Whether a line has a space to break at: not within inline code, and not after the mark of a list's item.
fn can_be_broken(text: &str) -> bool {
    let item = text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let item = ["- ", "* ", ". "].into_iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item);
    item.trim().split('`').step_by(2).any(|outside| outside.contains(' '))
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/weft/src/wide.rs", WIDE)];

#[cfg(test)]
const WIDE: &str = "//! A sentence that goes on for longer than a screen is wide, so that whoever reads it has to scroll to the side, and nobody \
                    does that to learn how it ends.\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_sentence_names_the_limit() {
        assert!(RULE.says.contains(&MOST.to_string()));
    }

    #[test]
    fn comments_and_paragraphs_have_the_limit() {
        let page = WIDE.replace("//! ", "");
        let code = format!("let a = 1; {WIDE}let b = \"{}\";\n", page.trim_end());
        let found = findings(&RULE, &[("a.md", &page), ("a.rs", &code)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.md:1: the line has 152"), "{found:?}");
        assert!(found[1].starts_with("a.rs:1: "), "{found:?}");
    }

    #[test]
    fn tables_code_and_what_cannot_be_broken_are_exempt() {
        let words = "word ".repeat(40);
        for text in [
            format!("| {words} |\n"),
            format!("```text\n{words}\n```\n"),
            format!("1. `{words}`\n"),
            format!("  - {}\n", "x".repeat(200)),
        ] {
            assert_eq!(findings(&RULE, &[("a.md", &text)]), [""; 0], "{text}");
            let comment: String = text.lines().map(|line| format!("/// {line}\n")).collect();
            assert_eq!(findings(&RULE, &[("a.rs", &comment)]), [""; 0], "{comment}");
        }
    }
}
