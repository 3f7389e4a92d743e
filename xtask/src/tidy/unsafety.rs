//! `unsafe` appears only in leaves.

use super::{Finding, Rule};
use crate::lex;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "unsafety",
    says: "`unsafe` appears only in the files that xtask/src/rooms.rs names, and every other crate root forbids it.",
    why: "Memory safety must be argued by hand wherever the word appears; that takes few and small places.",
    fix: "Write it in safe Rust, or give the leaf a safe function for it. A crate root without leaves has \
          `#![forbid(unsafe_code)]` after its header.",
    check,
};

/// `#![forbid(unsafe_code)]`
const FORBID: &[&str] = &["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources() {
        let place = tree.room_of(source.path);
        let leaf = place
            .is_some_and(|(room, local)| room.unsafe_in.iter().any(|allowed| local.starts_with(allowed)));
        let code = lex::code(&source.tokens);
        for token in code.iter().filter(|token| !leaf && lex::reads(&[token], 0, &["unsafe"])) {
            found.push(Finding::new(source.path, token.line, "`unsafe` outside the leaves"));
        }
        let forbids = (0..code.len()).any(|at| lex::reads(&code, at, FORBID));
        if let Some((room, local)) = place
            && !room.unsafe_in.iter().any(|allowed| allowed.starts_with("src"))
            && is_crate_root(local)
            && !forbids
        {
            found.push(Finding::new(source.path, 1, "the crate does not forbid `unsafe`"));
        }
    }
    found
}

/// Whether a file, given by its path in the package, is the root of a library or a program.
fn is_crate_root(local: &str) -> bool {
    match local.strip_prefix("src/bin/") {
        Some(program) => !program.contains('/') || program.ends_with("/main.rs"),
        None => ["src/lib.rs", "src/main.rs"].contains(&local),
    }
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[("crates/weft-engine/src/lib.rs", "//! x\nfn a() { unsafe { b() } }\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_word_and_a_missing_forbid_are_both_found() {
        assert_eq!(
            findings(&RULE, BROKEN),
            [
                "crates/weft-engine/src/lib.rs:2: `unsafe` outside the leaves",
                "crates/weft-engine/src/lib.rs:1: the crate does not forbid `unsafe`"
            ]
        );
    }

    #[test]
    fn a_leaf_is_a_file_not_a_crate() {
        let source = "//! x\nfn a() { unsafe { b() } }\n";
        assert!(findings(&RULE, &[("crates/weft-gguf/src/mmap.rs", source)]).is_empty());
        assert_eq!(findings(&RULE, &[("crates/weft-gguf/src/read.rs", source)]).len(), 1);
        assert_eq!(findings(&RULE, &[("crates/weft-gguf/tests/a.rs", source)]).len(), 1);
    }

    #[test]
    fn strings_and_comments_are_allowed() {
        let source = "//! unsafe\n#![forbid(unsafe_code)]\nfn a() { b(\"unsafe\") /* unsafe */ }\n";
        assert!(findings(&RULE, &[("crates/weft-engine/src/lib.rs", source)]).is_empty());
    }

    #[test]
    fn a_second_program_of_a_package_is_a_root_too() {
        assert_eq!(findings(&RULE, &[("crates/weft/src/bin/other.rs", "//! x\n")]).len(), 1);
        assert!(findings(&RULE, &[("crates/weft/src/bin/other/part.rs", "//! x\n")]).is_empty());
    }
}
