//! Phrases that read badly are written in another way.

use super::{Finding, Rule};
use crate::prose::{self, Line};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "phrases",
    says: "No comment and no Markdown page has a phrase of the list in `xtask/src/tidy/phrases.txt`.",
    why: "A word of the field, and a sentence with a subject that acts, are read once; a coined word or a detour is read twice.",
    fix: "Write it as the list says, or in a better way. Inline code is exempt.",
    check,
};

/// The list: a phrase, an arrow, and the better form, a line each.
const LIST: &str = include_str!("phrases.txt");

/// A phrase, as words, and the better form.
type Phrase = (Vec<&'static str>, &'static str);

fn phrases() -> Vec<Phrase> {
    let entries = LIST.lines().filter(|line| !line.starts_with('#'));
    let pairs = entries.filter_map(|line| line.split_once(" → "));
    pairs.map(|(phrase, better)| (phrase.split(' ').collect(), better)).collect()
}

fn check(tree: &Tree) -> Vec<Finding> {
    let phrases = phrases();
    tree.files().flat_map(|(path, text)| of_file(path, &prose::lines(path, text), &phrases)).collect()
}

/// Phrases may be broken over lines that follow each other.
fn of_file(path: &str, lines: &[Line<'_>], phrases: &[Phrase]) -> Vec<Finding> {
    let mut found = Vec::new();
    for block in lines.chunk_by(|a, b| a.number + 1 == b.number && !b.text.trim().is_empty()) {
        let words: Vec<(String, usize)> = words(block).collect();
        for (phrase, better) in phrases {
            let is_here = |at: &&[(String, usize)]| at.iter().map(|(word, _)| word).eq(phrase);
            for at in words.windows(phrase.len()).filter(is_here) {
                let what = format!("\"{}\": {better}", phrase.join(" "));
                found.push(Finding::new(path, at[0].1, what));
            }
        }
    }
    found
}

/// The words of lines in lower case, without punctuation, and their lines. Inline code is a word that no phrase has.
fn words<'a>(block: &'a [Line<'_>]) -> impl Iterator<Item = (String, usize)> + 'a {
    let mut in_code = false;
    block.iter().flat_map(move |line| {
        let mut words = Vec::new();
        for (at, part) in line.text.split('`').enumerate() {
            in_code ^= at > 0;
            if in_code {
                words.push(("`".into(), line.number));
                continue;
            }
            let plain = part.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
            words.extend(plain.filter(|word| !word.is_empty()).map(|word| (word.to_lowercase(), line.number)));
        }
        words
    })
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[("crates/weft/src/a.rs", concat!("//! A text that a pers", "on gave.\n"))];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn every_line_of_the_list_is_a_phrase_and_a_better_form() {
        let entries = LIST.lines().filter(|line| !line.starts_with('#')).count();
        let phrases = phrases();
        assert_eq!(phrases.len(), entries, "a line has no ` → `");
        for (phrase, better) in phrases {
            let words: Vec<String> = phrase.iter().map(|word| word.to_lowercase()).collect();
            assert!(words == phrase && !better.is_empty(), "{phrase:?} is not in lower case, or has no better form");
            let is_in_it = findings(&RULE, &[("a.md", better)]);
            assert!(is_in_it.is_empty(), "{phrase:?}: the better form is no better: {is_in_it:?}");
        }
    }

    #[test]
    fn phrases_are_found_over_lines_and_not_in_code() {
        let phrase = phrases()[0].0.join(" ");
        let (first, rest) = phrase.split_once(' ').unwrap();
        let page = format!("Words, {first}\n{rest}, words.\n`{phrase}`\n```\n{phrase}\n```\n{first}\n\n{rest}\n");
        let found = findings(&RULE, &[("a.md", &page), ("a.rs", &format!("let a = \"{phrase}\"; // {phrase}.\n"))]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.md:1: ") && found[1].starts_with("a.rs:1: "), "{found:?}");
    }
}
