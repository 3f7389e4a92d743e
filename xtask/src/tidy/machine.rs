//! Nothing in the repository refers to the machine it was written on.

use super::{Finding, Rule};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "machine",
    says: "No text file contains an absolute path of a particular machine or the address of a package registry.",
    why: "A clone must build, test and read the same anywhere, with whatever registry its owner has configured.",
    fix: "Write paths relative to the repository, create scratch files in std::env::temp_dir, find user folders at \
          run time, and leave registries to the user's own cargo and pip configuration.",
    check,
};

/// Folders with users' files. Split in two, so that this file keeps its own rule.
const FOLDERS: &[&str] = &[
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/", "home/"),
    concat!("/", "tmp/"),
    concat!("/", "Users/"),
];

/// Addresses of registries, and settings that name one.
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted"),
    concat!("index", "-url"),
    concat!("sparse", "+"),
    concat!("replace", "-with"),
];

/// The name of Cargo's lock files, which contain the public name of each crate's registry.
const LOCK: &str = "Cargo.lock";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        let is_lock = path.rsplit('/').next() == Some(LOCK);
        for (at, line) in text.lines().enumerate() {
            for folder in FOLDERS.iter().filter(|folder| holds_path(line, folder)) {
                found.push(Finding::new(path, at + 1, format!("a path under `{folder}`")));
            }
            for registry in REGISTRIES.iter().filter(|registry| !is_lock && line.contains(*registry)) {
                found.push(Finding::new(path, at + 1, format!("`{registry}`")));
            }
        }
    }
    found
}

/// Whether `line` contains a path that begins with `folder`, rather than one that contains such a name.
fn holds_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !['_', '-', '.', '~', '}', ')', '*'].contains(&c))
    })
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("notes.md", concat!("see /", "home/me/weft\n"))];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn paths_and_registries_are_found_in_any_text() {
        for folder in FOLDERS {
            let text = format!("words\n\"{folder}x\"\n");
            assert_eq!(findings(&RULE, &[("a.txt", &text)]), [format!("a.txt:2: a path under `{folder}`")]);
        }
        for registry in REGISTRIES {
            let found = findings(&RULE, &[(".cargo/config.toml", &format!("x = \"{registry}\"\n"))]);
            assert_eq!(found, [format!(".cargo/config.toml:1: `{registry}`")]);
        }
    }

    #[test]
    fn relative_paths_with_such_folders_are_allowed() {
        let text: String = FOLDERS.iter().map(|f| format!("docs{f}x ~{f} ${{HOME}}{f} .{f}\n")).collect();
        assert!(findings(&RULE, &[("a.md", &text)]).is_empty());
    }

    #[test]
    fn the_lock_file_may_name_its_registry_but_no_path() {
        let text = format!("source = \"{}\"\n", REGISTRIES[0]);
        assert!(findings(&RULE, &[(LOCK, &text), ("distributed/a/Cargo.lock", &text)]).is_empty());
        assert_eq!(findings(&RULE, &[(LOCK, FOLDERS[0])]).len(), 1);
    }
}
