//! Rooms, `ROOMS` and the table in ARCHITECTURE.md name the same crates.

use super::{Finding, Rule};
use crate::markdown;
use crate::rooms::{ROOMS, room};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "rooms",
    says: "Every package has an entry in xtask/src/rooms.rs and a row in ARCHITECTURE.md, and neither names \
           others.",
    why: "A crate without an entry has no rules, and a document that names missing crates is not trusted.",
    fix: "Add the package to ROOMS and to the table under `## Rooms` in ARCHITECTURE.md, or remove the stale line.",
    check,
};

const DOCUMENT: &str = "ARCHITECTURE.md";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let rows = markdown::table(tree.text(DOCUMENT).unwrap_or(""), "Rooms").unwrap_or_default();
    if rows.is_empty() {
        found.push(Finding::new(DOCUMENT, 1, "no table under the heading `## Rooms`"));
    }
    for package in tree.packages() {
        let (name, manifest) = (package.name, package.manifest_path());
        if room(name).is_none() {
            found.push(Finding::new(&manifest, 1, format!("`{name}` has no entry in ROOMS")));
        }
        if !rows.iter().any(|(_, cells)| cells[0] == name) {
            found.push(Finding::new(&manifest, 1, format!("`{name}` has no row in {DOCUMENT}")));
        }
    }
    let exists = |name: &str| tree.packages().any(|package| package.name == name);
    for (line, cells) in rows.iter().filter(|(_, cells)| !exists(cells[0])) {
        found.push(Finding::new(DOCUMENT, *line, format!("there is no package `{}`", cells[0])));
    }
    for room in ROOMS.iter().filter(|room| !exists(room.name)) {
        found.push(Finding::new("xtask/src/rooms.rs", 1, format!("there is no package `{}`", room.name)));
    }
    found
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/attic/Cargo.toml", "[package]\nname = \"attic\"\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn a_package_must_be_in_both_tables() {
        assert_eq!(
            findings(&RULE, BROKEN),
            [
                "crates/attic/Cargo.toml:1: `attic` has no entry in ROOMS",
                "crates/attic/Cargo.toml:1: `attic` has no row in ARCHITECTURE.md"
            ]
        );
    }

    #[test]
    fn a_row_or_an_entry_without_a_package_is_found() {
        let renamed = ("crates/weft-ir/Cargo.toml", "[package]\nname = \"weft-ri\"\n");
        let found = findings(&RULE, &[renamed]).join("\n");
        // Below the heading and the two lines of the table's header.
        let row = 4 + ROOMS.iter().position(|room| room.name == "weft-ir").unwrap();
        assert!(found.contains(&format!("ARCHITECTURE.md:{row}: there is no package `weft-ir`")), "{found}");
        assert!(found.contains("rooms.rs:1: there is no package `weft-ir`"), "{found}");
    }

    #[test]
    fn a_missing_table_is_reported() {
        let found = findings(&RULE, &[("ARCHITECTURE.md", "# Architecture\n")]);
        assert_eq!(found[0], "ARCHITECTURE.md:1: no table under the heading `## Rooms`");
    }
}
