//! No function of the renderer has more than 80 lines.

use super::{Finding, Rule};
use crate::lex::{self, Kind, Token};
use crate::tree::Tree;

/// The most lines of a function, from `fn` to its closing brace.
const MOST: usize = 80;

/// The rooms that are held to it.
const HELD: [&str; 2] = ["weft-render", "weft-shader"];

pub(super) const RULE: Rule = Rule {
    name: "functions",
    says: "No function of `weft-render` and `weft-shader` has more than 80 lines.",
    why: "The renderer grew by measurements, each of which added a branch to a function until only its author could follow it.",
    fix: "Find the step of the function that has a name, and give it a function. The texts of all kernels stay the same to the byte \
          if the new function takes its fresh names in the same order.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources();
    let held = sources.iter().filter(|source| {
        let room = tree.room_of(source.path);
        room.is_some_and(|(room, _)| HELD.contains(&room.name))
    });
    held.flat_map(|source| long_functions(source.path, &source.tokens)).collect()
}

/// The functions that are too long.
fn long_functions(path: &str, tokens: &[Token<'_>]) -> Vec<Finding> {
    let code = lex::code(tokens);
    // A type such as `fn(u8)` has no name.
    let named = |at: &usize| code[*at].text == "fn" && code.get(at + 1).is_some_and(|name| name.kind == Kind::Word);
    let long = (0..code.len()).filter(named).filter_map(|at| {
        let last = code[lex::item_end(&code, at) - 1];
        let lines = last.line + 1 - code[at].line;
        let what = || format!("`{}` has {lines} lines", code[at + 1].text);
        (lines > MOST).then(|| Finding::new(path, code[at].line, what()))
    });
    long.collect()
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[("crates/weft-shader/src/long.rs", LONG)];

/// A function of 81 lines.
#[cfg(test)]
const LONG: &str = {
    const HEAD: &[u8] = b"//! A file.\nfn long(a: [u8; 2]) {";
    static TEXT: [u8; HEAD.len() + MOST + 2] = {
        let mut text = [b'\n'; HEAD.len() + MOST + 2];
        let mut at = 0;
        while at < HEAD.len() {
            text[at] = HEAD[at];
            at += 1;
        }
        text[HEAD.len() + MOST] = b'}';
        text
    };
    match std::str::from_utf8(&TEXT) {
        Ok(text) => text,
        Err(_) => unreachable!(),
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(findings(&RULE, BROKEN), ["crates/weft-shader/src/long.rs:2: `long` has 81 lines"]);
        let shorter = LONG.replacen("{\n", "{", 1);
        assert!(findings(&RULE, &[("crates/weft-shader/src/long.rs", &shorter)]).is_empty());
        assert!(RULE.says.contains(&MOST.to_string()));
    }

    #[test]
    fn other_rooms_and_declarations_are_exempt() {
        let declared = format!("//! A file.\ntrait A {{ fn a(b: [u8; 2]);\n{}\nfn c() {{}} }}\n", "\n".repeat(MOST));
        for (path, text) in [
            ("crates/weft-gguf/src/long.rs", LONG),
            ("crates/weft-render/src/long.rs", &declared),
        ] {
            assert_eq!(findings(&RULE, &[(path, text)]), [""; 0], "{path}: {text}");
        }
    }

    #[test]
    fn functions_in_functions_and_types_of_functions_are_told_apart() {
        let inner = LONG.replace("//! A file.\n", "");
        let nested = format!("//! A file.\nfn outer(f: fn(u8)) {{\n{inner}}}\n");
        let found = findings(&RULE, &[("crates/weft-shader/src/long.rs", &nested)]);
        assert_eq!(
            found,
            [
                "crates/weft-shader/src/long.rs:2: `outer` has 83 lines",
                "crates/weft-shader/src/long.rs:3: `long` has 81 lines"
            ]
        );
    }
}
