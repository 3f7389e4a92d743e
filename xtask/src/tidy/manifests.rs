//! Members inherit their dependencies and lints from the workspace.

use super::{Finding, Rule};
use crate::manifest::{dependencies, entries, unread};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "manifests",
    says: "Every dependency is `workspace = true` under its own name, and every package inherits the workspace's \
           lints.",
    why: "One list of dependencies can be reviewed, several drift; a package without the lints is unchecked.",
    fix: "Add the crate to [workspace.dependencies] of the root Cargo.toml and write `name.workspace = true` here; \
          end the manifest with `[lints]` and `workspace = true`.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in tree.packages() {
        let path = package.manifest_path();
        for dependency in dependencies(package.manifest).iter().filter(|d| !d.from_workspace) {
            let what = format!("`{}` is not inherited from the workspace", dependency.name);
            found.push(Finding::new(&path, dependency.line, what));
        }
        for entry in unread(package.manifest) {
            let what = format!("`{}` has an unusual spelling", entry.key);
            found.push(Finding::new(&path, entry.line, what));
        }
        let lints = entries(package.manifest);
        if !lints.iter().any(|e| (e.table, e.key, e.value) == ("lints", "workspace", "true")) {
            found.push(Finding::new(&path, 1, "the package does not inherit the workspace's lints"));
        }
    }
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        for entry in entries(text).iter().filter(|e| e.table.contains("dependencies")) {
            if entry.key == "package" || entry.value.contains("package =") {
                found.push(Finding::new(path, entry.line, format!("`{}` renames a crate", entry.key)));
            }
        }
    }
    found
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n[dependencies]\nregex = \"1\"\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn a_separate_version_and_missing_lints_are_found() {
        assert_eq!(
            findings(&RULE, BROKEN),
            [
                "xtask/Cargo.toml:4: `regex` is not inherited from the workspace",
                "xtask/Cargo.toml:1: the package does not inherit the workspace's lints"
            ]
        );
    }

    #[test]
    fn a_spelling_that_other_rules_would_miss_is_found() {
        let manifest = "dependencies.weft-cpu.workspace = true\n[package]\nname = \"weft-ir\"\n";
        let found = findings(&RULE, &[("crates/weft-ir/Cargo.toml", manifest)]);
        let path = "crates/weft-ir/Cargo.toml";
        let what = "`dependencies.weft-cpu.workspace` has an unusual spelling";
        assert_eq!(found[0], format!("{path}:1: {what}"));
    }

    #[test]
    fn renamed_crates_are_found() {
        let root = "[workspace.dependencies]\nharmless = { path = \"x\", package = \"weft-cpu\" }\n";
        assert_eq!(findings(&RULE, &[("Cargo.toml", root)]), ["Cargo.toml:2: `harmless` renames a crate"]);
    }
}
