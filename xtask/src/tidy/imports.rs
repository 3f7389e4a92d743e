//! Imports point down: a room depends only on the rooms that its entry in `ROOMS` names.

use super::{Finding, Rule};
use crate::manifest::{Dependency, Reach, dependencies};
use crate::rooms::{Room, builds_on, room};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "imports",
    says: "A room's code depends only on the rooms that its entry in xtask/src/rooms.rs names; its tests may also \
           use any library room that does not depend on it.",
    why: "Models, rules and devices can be added without touching each other only while none of them knows the \
          others.",
    fix: "Move the shared part down to a room that both may use. Changing the table is a change of architecture, \
          to be justified in ARCHITECTURE.md. A test that needs higher rooms belongs in the highest of them.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in tree.packages() {
        let Some(own) = room(package.name) else { continue };
        for dependency in dependencies(package.manifest) {
            if let Some(target) = room(dependency.name)
                && let Some(what) = refused(own, target, &dependency)
            {
                found.push(Finding::new(package.manifest_path(), dependency.line, what));
            }
        }
    }
    found
}

/// Why `own` may not depend on `target`; `None` if it may.
///
/// Tests may use more, but not everything: a library that depends on `own` would bring a second copy of it, whose
/// types are not those under test.
fn refused(own: &Room, target: &Room, dependency: &Dependency<'_>) -> Option<String> {
    let (own_name, name) = (own.name, target.name);
    match dependency.reach {
        Reach::Code if !own.uses.contains(&name) => Some(format!("`{own_name}` must not know `{name}`")),
        Reach::Tests if builds_on(target, own_name) => {
            Some(format!("the tests of `{own_name}` must not use `{name}`, which depends on it"))
        }
        Reach::Tests if ["weft", "xtask"].contains(&name) => {
            Some(format!("the tests of `{own_name}` must not use `{name}`, which is a program"))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[(
    "crates/weft-device/Cargo.toml",
    "[package]\nname = \"weft-device\"\n[dependencies]\nweft-kern = {}\nweft-models.workspace = true\n",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn code_may_only_use_the_named_rooms() {
        let found = findings(&RULE, BROKEN);
        assert_eq!(found, ["crates/weft-device/Cargo.toml:5: `weft-device` must not know `weft-models`"]);
    }

    #[test]
    fn build_scripts_and_targets_are_checked_too() {
        for table in ["build-dependencies", "target.'cfg(unix)'.dependencies", "dependencies.weft-cpu"] {
            let manifest = format!("[package]\nname = \"weft-ir\"\n[{table}]\nweft-cpu.workspace = true\n");
            assert_eq!(findings(&RULE, &[("crates/weft-ir/Cargo.toml", &manifest)]).len(), 1, "{table}");
        }
    }

    #[test]
    fn tests_may_use_other_rooms_but_not_higher_ones() {
        let with = |name: &str| {
            let manifest = format!("[package]\nname = \"weft-fuse\"\n[dev-dependencies]\n{name} = {{}}\n");
            findings(&RULE, &[("crates/weft-fuse/Cargo.toml", &manifest)])
        };
        assert!(with("weft-models").is_empty() && with("weft-cpu").is_empty());
        assert_eq!(with("weft-engine").len(), 1, "it depends on weft-fuse");
        assert_eq!(with("xtask").len(), 1, "it is a program");
    }
}
