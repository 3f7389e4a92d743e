//! Pure rooms depend on their inputs only.

use super::{Finding, Rule};
use crate::lex::{self, Token};
use crate::manifest::{Reach, dependencies};
use crate::rooms::room;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "pure",
    says: "Outside its tests, a pure room does no IO, reads no clock or environment, and starts no threads or \
           processes.",
    why: "Code that depends only on its inputs can be tested with text, cached, run anywhere, and gives the same bits \
          every time.",
    fix: "Take the value as an argument, and let a room with access to the outside fetch it. Add a third-party crate \
          to PURE_CRATES in xtask/src/tidy/pure.rs once it is known to be pure itself.",
    check,
};

/// The parts of `std` that are not pure.
const IMPURE_STD: &[&str] =
    &["std::env", "std::fs", "std::io", "std::net", "std::os", "std::process", "std::thread", "std::time"];

/// The macros that print.
const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln"];

/// The third-party crates that a pure room may use.
const PURE_CRATES: &[&str] = &["half", "rustc-hash", "thiserror"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in tree.packages().filter(|package| room(package.name).is_some_and(|room| room.pure)) {
        for dependency in dependencies(package.manifest) {
            let name = dependency.name;
            if dependency.reach == Reach::Code && room(name).is_none() && !PURE_CRATES.contains(&name) {
                let what = format!("`{name}` is not known to be pure");
                found.push(Finding::new(package.manifest_path(), dependency.line, what));
            }
        }
    }
    for source in tree.sources() {
        if tree.room_of(source.path).is_some_and(|(room, _)| room.pure) {
            let code = lex::code(&source.tokens);
            let impure = impure_uses(&code);
            found.extend(impure.into_iter().map(|(what, line)| Finding::new(source.path, line, what)));
        }
    }
    found
}

/// The impure uses in `code`, with their lines.
fn impure_uses(code: &[&Token<'_>]) -> Vec<(String, usize)> {
    let paths = lex::paths(code, "std").into_iter().filter(|(path, token)| !token.test && is_impure(path));
    let macros = (0..code.len()).filter(|&at| !code[at].test && lex::calls_macro(code, at, PRINTING));
    let macros = macros.map(|at| (format!("{}!", code[at].text), code[at].line));
    let found = paths.map(|(path, token)| (path, token.line)).chain(macros);
    found.map(|(what, line)| (format!("`{what}` in a pure room"), line)).collect()
}

/// Whether a path of `std` is impure. So is all of `std` under another name, because what is used of it
/// cannot be seen.
fn is_impure(path: &str) -> bool {
    let ends_part = |rest: &str| rest.is_empty() || rest.starts_with("::");
    ["std", "std::*"].contains(&path)
        || IMPURE_STD.iter().any(|part| path.strip_prefix(part).is_some_and(ends_part))
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] =
    &[("crates/weft-ir/src/clock.rs", "//! x\nuse std::{collections::BTreeMap, time::Instant};\n")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    fn in_fuse(source: &str) -> Vec<String> {
        findings(&RULE, &[("crates/weft-fuse/src/a.rs", source)])
    }

    #[test]
    fn grouped_imports_are_seen_through() {
        let found = findings(&RULE, BROKEN);
        assert_eq!(found, ["crates/weft-ir/src/clock.rs:2: `std::time::Instant` in a pure room"]);
    }

    #[test]
    fn every_impure_use_is_found() {
        for way in [
            "use std::fs;",
            "use std::fs as f;",
            "use std::*;",
            "use std as s;",
            "fn a() { ::std::env::var(\"A\"); }",
            "use std::io::{self, Write};",
            "fn a() { std::thread::spawn(b); }",
            "fn a() { println!(); }",
            "fn a() { std::eprintln!(); }",
            "use std::os::fd::AsRawFd;",
            "use std::net::TcpStream;",
            "use std::process::Command;",
        ] {
            assert!(!in_fuse(way).is_empty(), "{way}");
        }
    }

    #[test]
    fn memory_comments_strings_and_tests_are_allowed() {
        let source = "
            //! Not std::fs, nor println!().
            use std::fmt::{self, Write};
            use std::sync::Arc;
            fn a() { b(\"std::env\"); }
            #[cfg(test)] mod tests { use std::fs; fn a() { println!(); } }
        ";
        assert!(in_fuse(source).is_empty(), "{:?}", in_fuse(source));
        assert!(findings(&RULE, &[("crates/weft-fuse/tests/a.rs", "use std::fs;")]).is_empty());
        assert!(findings(&RULE, &[("crates/weft-gguf/src/a.rs", "use std::fs;")]).is_empty());
    }

    #[test]
    fn a_crate_not_known_to_be_pure_is_refused() {
        let manifest = "[package]\nname = \"weft-fuse\"\n[dependencies]\nmemmap2.workspace = true\n";
        let found = findings(&RULE, &[("crates/weft-fuse/Cargo.toml", manifest)]);
        assert_eq!(found, ["crates/weft-fuse/Cargo.toml:4: `memmap2` is not known to be pure"]);
    }
}
