//! Few files name the same anchor.

use std::collections::BTreeMap;

use super::{Finding, Rule};
use crate::tree::Tree;

/// The most files that may name a variant of `Anchor`, tests among them.
const MOST: usize = 25;

pub(super) const RULE: Rule = Rule {
    name: "anchors",
    says: "No more than 25 files name the same variant of `Anchor`.",
    why: "A new kind of layer should cost a room, so other rooms ask an anchor instead of matching on it.",
    fix: "Ask the anchor (`weft-kern/src/anchor.rs`), or `Part::products` and `Part::attention`.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut naming: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs") && !path.starts_with("xtask/")) {
        for (line, variant) in text.lines().enumerate().flat_map(|(at, line)| variants(line).map(move |v| (at, v))) {
            let files = naming.entry(variant).or_default();
            if files.last().is_none_or(|(last, _)| *last != path) {
                files.push((path, line + 1));
            }
        }
    }
    let crowded = naming.into_iter().filter(|(_, files)| files.len() > MOST);
    let finding = |(variant, files): (&str, Vec<(&str, usize)>)| {
        let what = format!("{} files name `Anchor::{variant}`", files.len());
        files.get(MOST).map(|(path, line)| Finding::new(*path, *line, what))
    };
    crowded.filter_map(finding).collect()
}

/// The variants that a line names.
fn variants(line: &str) -> impl Iterator<Item = &str> {
    // Types whose names end alike are others.
    let own = |(at, _): &(usize, &str)| !line[..*at].ends_with(char::is_alphanumeric);
    let named = line.match_indices("Anchor::").filter(own).map(|(at, found)| {
        let rest = &line[at + found.len()..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())]
    });
    // Methods begin with a small letter.
    named.filter(|name| name.starts_with(|c: char| c.is_uppercase()))
}

#[cfg(test)]
macro_rules! naming {
    ($text:literal: $($name:literal)*) => { &[$((concat!("crates/weft/src/", $name, ".rs"), $text),)*] };
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = naming!("//! A file.\nmatches!(a, Anchor::Map);\n":
    "a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k" "l" "m" "n" "o" "p" "q" "r" "s" "t" "u" "v" "w" "x" "y" "z");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(findings(&RULE, BROKEN), ["crates/weft/src/z.rs:2: 26 files name `Anchor::Map`"]);
        assert!(findings(&RULE, &BROKEN[1..]).is_empty());
        assert!(RULE.says.contains(&MOST.to_string()));
    }

    #[test]
    fn variants_of_other_types_and_methods_do_not_count() {
        let found: Vec<_> = variants("PreparedAnchor::Rows | Anchor::parse(x) | weft_kern::Anchor::Dot(_)").collect();
        assert_eq!(found, ["Dot"]);
    }
}
