//! Cargo features are tested in one place.

use super::{Finding, Rule};
use crate::lex::{self, Kind};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "features",
    says: "Only crates/weft-runtime/src/devices/backends.rs and crates/weft-hub/src/glm_small.rs test cargo features.",
    why: "Code behind features is compiled in many ways and tested in few. A file that leaves one thing out is \
          read in a minute; conditions all over the tree are not.",
    fix: "Put optional code into a separate crate, make that crate an optional dependency, and choose it in that \
          file.",
    check,
};

/// The files that may test features: one for the devices, one for the model in the program.
const PLACES: [&str; 2] = ["crates/weft-runtime/src/devices/backends.rs", "crates/weft-hub/src/glm_small.rs"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources().into_iter().filter(|source| !PLACES.contains(&source.path)) {
        let code = lex::code(&source.tokens);
        for at in (0..code.len()).filter(|&at| lex::reads(&code, at, &["feature", "="])) {
            if let Some(name) = code.get(at + 2).filter(|token| token.kind == Kind::Literal) {
                found.push(Finding::new(source.path, name.line, format!("the feature {}", name.text)));
            }
        }
    }
    found
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[("crates/weft/src/a.rs", "//! x\n#[cfg(feature = \"gpu\")]\nfn a() {}\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn attributes_and_macros_that_ask_for_a_feature_are_found() {
        let source = "//! x\n#[cfg(all(unix, not(feature=\"a\")))] fn a() {}\n#[cfg_attr(feature = \"b\", c)]\n\
                      fn d() -> bool { cfg!(feature = \"e\") }\n";
        assert_eq!(
            findings(&RULE, &[("crates/weft/src/a.rs", source)]),
            [
                "crates/weft/src/a.rs:2: the feature \"a\"",
                "crates/weft/src/a.rs:3: the feature \"b\"",
                "crates/weft/src/a.rs:4: the feature \"e\""
            ]
        );
        for place in PLACES {
            assert!(findings(&RULE, &[(place, source)]).is_empty());
        }
    }

    #[test]
    fn target_features_are_not_cargo_features() {
        let source = "//! feature = \"x\"\n#[cfg(target_feature = \"neon\")]\nfn a(feature: u8) { let b = feature == 1; }\n";
        assert!(findings(&RULE, &[("crates/weft-cpu/src/a.rs", source)]).is_empty());
    }
}
