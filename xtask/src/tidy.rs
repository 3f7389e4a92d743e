//! The repository's own rules. `cargo xtask tidy` runs them, and so does `cargo test --workspace`.
//!
//! A rule is a file under `tidy/` with a `RULE` and, for its tests, `BROKEN`: files that must make it fire. To
//! add one, write the file and add it to the list below; the tests then prove that it can fail.

use std::fmt;

use crate::tree::Tree;

/// Declares the modules of the rules and their list, in the order in which they run.
macro_rules! rules {
    ($($module:ident)*) => {
        $(mod $module;)*

        /// Every rule.
        pub(crate) const RULES: &[Rule] = &[$($module::RULE,)*];

        #[cfg(test)]
        const BROKEN: &[&[(&str, &str)]] = &[$($module::BROKEN,)*];
    };
}

rules! {
    rooms
    imports
    circles
    anchors
    manifests
    pure
    unsafety
    header
    size
    functions
    features
    unfinished
    width
    phrases
    machine
    dependencies
    ci
}

/// A rule of the repository.
pub(crate) struct Rule {
    /// Its name.
    pub(crate) name: &'static str,
    /// The rule, in a sentence.
    pub(crate) says: &'static str,
    /// Why it exists.
    pub(crate) why: &'static str,
    /// Advice if it fires.
    pub(crate) fix: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  why: {}\n  fix: {}", self.name, self.says, self.why, self.fix)
    }
}

/// A place where a rule is broken.
#[derive(Debug)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.into(), line, what: what.into() }
    }
}

/// A finding with its rule, as shown to a person.
pub(crate) struct Violation {
    rule: &'static Rule,
    finding: Finding,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Rule { name, why, fix, .. }, Finding { path, line, what }) = (self.rule, &self.finding);
        write!(f, "{path}:{line}: [{name}] {what}\n  why: {why}\n  fix: {fix}")
    }
}

/// Runs every rule.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let found =
        |rule: &'static Rule| (rule.check)(tree).into_iter().map(move |finding| Violation { rule, finding });
    RULES.iter().flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rooms::ROOMS;

    /// A small repository that keeps every rule.
    fn clean() -> Tree {
        let mut rows = String::new();
        let mut tree = Tree::default();
        for room in ROOMS {
            let name = room.name;
            let folder = if name == "xtask" { "xtask".to_string() } else { format!("crates/{name}") };
            let lone = if room.pure { "" } else { "lone.workspace = true\n" };
            let manifest =
                format!("[package]\nname = \"{name}\"\n[dependencies]\n{lone}[lints]\nworkspace = true\n");
            rows += &format!("| `{name}` | x |\n");
            tree = tree.with(&[
                (&format!("{folder}/Cargo.toml"), &manifest),
                (&format!("{folder}/src/lib.rs"), "//! A crate.\n#![forbid(unsafe_code)]\n"),
            ]);
        }
        let commands =
            "cargo run --release -- run \"What is the capital of France?\"\ncargo test --workspace\n";
        let reasons = "## Dependencies\n| crate | version |\n|---|---|\n| `lone` | 1.2 |\n";
        tree.with(&[
            ("Cargo.toml", "[workspace.dependencies]\nlone = { version = \"1.2\" }\n"),
            ("ARCHITECTURE.md", &format!("## Rooms\n| crate | for |\n|---|---|\n{rows}")),
            ("CONTRIBUTING.md", reasons),
            ("README.md", commands),
            (".ci/run", "#!/usr/bin/env bash\ncargo test --workspace\n"),
        ])
    }

    /// The findings of one rule in the clean repository with some files added or replaced, as
    /// `path:line: what`.
    pub(crate) fn findings(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
        let found = (rule.check)(&clean().with(files));
        found.into_iter().map(|Finding { path, line, what }| format!("{path}:{line}: {what}")).collect()
    }

    #[test]
    fn every_rule_holds_in_the_clean_repository() {
        let violations: Vec<_> = check(&clean()).iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
    }

    #[test]
    fn every_rule_can_fail() {
        for (rule, broken) in RULES.iter().zip(BROKEN) {
            assert!(!findings(rule, broken).is_empty(), "`{}` does not fire on its broken files", rule.name);
        }
    }

    #[test]
    fn rules_have_distinct_names_and_full_sentences() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(
                RULES[..at].iter().all(|other| other.name != rule.name),
                "two rules are called {}",
                rule.name
            );
            for sentence in [rule.says, rule.why, rule.fix] {
                assert!(sentence.ends_with('.'), "{}: `{sentence}` is not a sentence", rule.name);
            }
        }
    }

    #[test]
    fn a_violation_names_its_place_its_rule_the_reason_and_the_remedy() {
        let (rule, finding) = (&RULES[0], Finding::new("a/b.rs", 7, "something"));
        let shown = Violation { rule, finding }.to_string();
        assert!(shown.starts_with(&format!("a/b.rs:7: [{}] something\n", rule.name)), "{shown}");
        assert!(shown.contains(rule.why) && shown.contains(rule.fix), "{shown}");
    }

    #[test]
    fn the_repository_is_tidy() {
        let tree = Tree::read(crate::repository()).unwrap();
        assert!(
            tree.text("Cargo.toml").is_some() && tree.sources().len() > ROOMS.len(),
            "the tree was not read"
        );
        let violations: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{} violations\n\n{}", violations.len(), violations.join("\n\n"));
    }
}
