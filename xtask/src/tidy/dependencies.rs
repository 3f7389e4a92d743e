//! Every third-party crate is listed with the reason for it.

use super::{Finding, Rule};
use crate::manifest::{ThirdParty, dependencies, third_party};
use crate::markdown;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "dependencies",
    says: "Every third-party crate of the root Cargo.toml is used and has a row with its version under `## \
           Dependencies` in CONTRIBUTING.md, and that table lists no others.",
    why: "We answer for the code of our dependencies; each should be a choice, and be documented as one.",
    fix: "Add the row: crate, version, why it is there, and the alternatives. Remove unused crates.",
    check,
};

const DOCUMENT: &str = "CONTRIBUTING.md";
const ROOT: &str = "Cargo.toml";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let rows = markdown::table(tree.text(DOCUMENT).unwrap_or(""), "Dependencies").unwrap_or_default();
    let listed = third_party(tree.text(ROOT).unwrap_or(""));
    for ThirdParty { line, name, version } in &listed {
        match rows.iter().find(|(_, cells)| cells[0] == *name) {
            None => found.push(Finding::new(ROOT, *line, format!("`{name}` has no row in {DOCUMENT}"))),
            Some((row, cells)) if cells.get(1) != Some(version) => {
                let told = cells.get(1).unwrap_or(&"");
                let what = format!("`{name}` has version {version} in {ROOT}, but {told} here");
                found.push(Finding::new(DOCUMENT, *row, what));
            }
            Some(_) => {}
        }
        if !tree.packages().any(|package| dependencies(package.manifest).iter().any(|d| d.name == *name)) {
            found.push(Finding::new(ROOT, *line, format!("no package uses `{name}`")));
        }
    }
    for (line, cells) in rows.iter().filter(|(_, cells)| !listed.iter().any(|d| d.name == cells[0])) {
        found.push(Finding::new(DOCUMENT, *line, format!("`{}` is not in {ROOT}", cells[0])));
    }
    found
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[(ROOT, "[workspace.dependencies]\nlone = \"1.2\"\nnew = \"2\"\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn a_crate_without_a_row_or_a_user_is_found() {
        assert_eq!(
            findings(&RULE, BROKEN),
            ["Cargo.toml:3: `new` has no row in CONTRIBUTING.md", "Cargo.toml:3: no package uses `new`"]
        );
    }

    #[test]
    fn a_row_must_name_a_crate_and_its_version() {
        let table = "## Dependencies\n| crate | version |\n|---|---|\n| `lone` | 1.1 |\n| gone | 3 |\n";
        assert_eq!(
            findings(&RULE, &[(DOCUMENT, table)]),
            [
                "CONTRIBUTING.md:4: `lone` has version 1.2 in Cargo.toml, but 1.1 here",
                "CONTRIBUTING.md:5: `gone` is not in Cargo.toml"
            ]
        );
    }
}
