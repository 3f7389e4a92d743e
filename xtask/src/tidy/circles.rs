//! The files of a room do not import each other in circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Finding, Rule};
use crate::lex;
use crate::rooms::room;
use crate::tree::{Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "circles",
    says: "No file of a room imports, directly or through others, a file that imports it.",
    why: "Files that import each other in a circle are one thing in several pieces: none can be read, tested or \
          moved without all the others.",
    fix: "Move what they share to a file below them. A file may declare `mod` of files that import it, and may \
          re-export their names with `pub use`: neither is an import.",
    check,
};

/// The files of a room by their modules, such as `["attend", "plan"]`; the root is empty.
type Modules<'a> = BTreeMap<Vec<&'a str>, File<'a>>;

/// A file, and the paths that it names.
struct File<'a> {
    path: &'a str,
    /// The paths within the room that its code names, with their lines.
    names: Vec<(Vec<String>, usize)>,
    /// The names that it imports or re-exports, with their paths; `None` for other crates.
    aliases: BTreeMap<String, Option<Vec<String>>>,
}

/// For each file, the files that it imports and the lines.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, usize>>;

fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources();
    let mut found = Vec::new();
    for package in tree.packages() {
        if room(package.name).is_none() {
            continue;
        }
        let folder = format!("{}/src/", package.folder);
        let own = sources.iter().filter_map(|source| Some((source, source.path.strip_prefix(&folder)?)));
        let imports = imports(&modules(own));
        let mut reported: BTreeSet<&str> = BTreeSet::new();
        for file in imports.keys() {
            // One finding per circle, and none through a file of an earlier one.
            if let Some(circle) = circle(&imports, file)
                && circle.iter().all(|(file, _)| !reported.contains(file))
            {
                let line = circle[0].1;
                let mut files: Vec<&str> = circle.iter().map(|(file, _)| *file).collect();
                reported.extend(&files);
                files.push(file);
                let names: Vec<&str> = files.iter().map(|f| f.strip_prefix(&folder).unwrap_or(f)).collect();
                found.push(Finding::new(*file, line, format!("a circle: {}", names.join(" → "))));
            }
        }
    }
    found
}

/// The modules of the files, given with their paths within `src/`. Files that are compiled only for tests are left out.
fn modules<'a>(sources: impl Iterator<Item = (&'a Source<'a>, &'a str)>) -> Modules<'a> {
    let tests = |source: &Source<'_>| source.tokens.iter().all(|token| token.test);
    let module = |place: &'a str| -> Vec<&'a str> {
        let place = place.trim_end_matches(".rs").trim_end_matches("/mod");
        if ["lib", "main"].contains(&place) { Vec::new() } else { place.split('/').collect() }
    };
    let files: Vec<_> = sources.filter(|(source, _)| !tests(source)).collect();
    let known: BTreeSet<Vec<&str>> = files.iter().map(|(_, place)| module(place)).collect();
    let file = |(source, place): &(&'a Source<'a>, &'a str)| {
        let module = module(place);
        let file = File::new(source, &module, &known);
        (module, file)
    };
    files.iter().map(file).collect()
}

impl<'a> File<'a> {
    fn new(source: &'a Source<'a>, module: &[&str], known: &BTreeSet<Vec<&str>>) -> File<'a> {
        let code = lex::code(&source.tokens);
        let code: Vec<_> = code.into_iter().filter(|token| !token.test).collect();
        let children: Vec<&str> = known
            .iter()
            .filter(|other| other.len() == module.len() + 1 && other.starts_with(module))
            .filter_map(|other| other.last().copied())
            .collect();
        let absolute = |path: &str| absolute(path, module, &children);
        let imports = lex::imports(&code);
        let aliases = imports.iter().map(|import| (import.name.clone(), absolute(&import.path)));
        // This file does not depend on names that it only re-exports.
        let taken = imports.iter().filter(|import| !import.public);
        let mut names: Vec<_> =
            taken.filter_map(|import| Some((absolute(&import.path)?, import.line))).collect();
        for root in ["crate", "super", "self"].into_iter().chain(children.iter().copied()) {
            let paths = lex::paths(&code, root).into_iter();
            let outside = paths.filter(|(_, token)| !imports.iter().any(|import| import.holds(token)));
            names.extend(outside.filter_map(|(path, token)| Some((absolute(&path)?, token.line))));
        }
        File { path: source.path, names, aliases: aliases.collect() }
    }
}

/// A path from the room's root; `None` if it leads to another crate.
fn absolute(path: &str, module: &[&str], children: &[&str]) -> Option<Vec<String>> {
    let mut parts = path.split("::").peekable();
    let mut from: Vec<String> = module.iter().map(ToString::to_string).collect();
    match *parts.peek()? {
        "crate" => {
            parts.next();
            from.clear();
        }
        "self" => drop(parts.next()),
        "super" => {
            while parts.next_if(|part| *part == "super").is_some() {
                from.pop()?;
            }
        }
        child if children.contains(&child) => {}
        _ => return None,
    }
    from.extend(parts.map(String::from));
    Some(from)
}

/// Which files each file imports.
fn imports<'a>(modules: &Modules<'a>) -> Imports<'a> {
    let mut imports = Imports::new();
    for file in modules.values() {
        let own = imports.entry(file.path).or_default();
        for (path, line) in &file.names {
            if let Some(target) = defined_in(modules, path, 0)
                && target != file.path
            {
                own.entry(target).or_insert(*line);
            }
        }
    }
    imports
}

/// The file that defines what a path names. Names that a file re-exports are followed to their origin.
fn defined_in<'a>(modules: &Modules<'a>, path: &[String], followed: usize) -> Option<&'a str> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let depth = (0..=parts.len()).rev().find(|depth| modules.contains_key(&parts[..*depth]))?;
    let file = &modules[&parts[..depth]];
    match parts.get(depth).and_then(|name| file.aliases.get(*name)) {
        // Two names that alias each other are not valid Rust, but must not loop.
        Some(Some(origin)) if followed < modules.len() => {
            let origin = origin.iter().cloned().chain(path[depth + 1..].iter().cloned());
            defined_in(modules, &origin.collect::<Vec<_>>(), followed + 1)
        }
        Some(None) => None,
        _ => Some(file.path),
    }
}

/// The shortest circle through a file, starting with it. Each file comes with the line that imports the next.
fn circle<'a>(imports: &Imports<'a>, start: &'a str) -> Option<Vec<(&'a str, usize)>> {
    let mut from: BTreeMap<&str, (&'a str, usize)> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for (&next, &line) in imports.get(file)? {
            if from.contains_key(next) {
                continue;
            }
            from.insert(next, (file, line));
            queue.push_back(next);
        }
    }
    let mut circle = vec![*from.get(start)?];
    while let Some(&(file, _)) = circle.last()
        && file != start
    {
        circle.push(*from.get(file)?);
    }
    circle.reverse();
    Some(circle)
}

#[cfg(test)]
pub(super) const BROKEN: &[(&str, &str)] = &[
    ("crates/weft-kern/src/a.rs", "//! a\nuse std::fmt;\nuse crate::b::B;\npub(crate) struct A(B);\n"),
    ("crates/weft-kern/src/b.rs", "//! b\nuse crate::c::C;\npub(crate) struct B(C);\n"),
    ("crates/weft-kern/src/c.rs", "//! c\npub(crate) struct C(Option<Box<super::a::A>>);\n"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::findings;

    fn with(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| format!("crates/weft-kern/src/{name}.rs");
        let files: Vec<_> = files.iter().map(|(name, text)| (path(name), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        findings(&RULE, &files)
    }

    #[test]
    fn a_circle_is_reported_at_the_line_where_it_begins() {
        let found = findings(&RULE, BROKEN);
        assert_eq!(found, ["crates/weft-kern/src/a.rs:3: a circle: a.rs → b.rs → c.rs → a.rs"]);
    }

    #[test]
    fn a_file_and_its_submodule_can_be_a_circle() {
        for (outer, inner) in [
            ("mod b;\nuse b::B;\npub struct A(B);\n", "use super::A;\n"),
            ("mod b;\npub struct A(b::B);\n", "pub struct B(Box<super::A>);\n"),
            ("mod b;\npub struct A(Box<self::b::B>);\n", "use crate::{a::{A}};\n"),
            ("mod b;\npub struct A;\nfn f() { b::f::<u8>() }\n", "use super::*;\n"),
        ] {
            assert_eq!(with(&[("a", outer), ("a/b", inner)]).len(), 1, "{outer} {inner}");
        }
    }

    #[test]
    fn declaring_and_re_exporting_are_not_imports() {
        let inner = "use super::A;\nuse crate::a::C;\npub(crate) struct B(A);\n";
        let outer = "mod b;\nmod c;\npub(crate) use b::B;\npub(crate) use c::C;\npub(crate) struct A;\n";
        assert_eq!(with(&[("a", outer), ("a/b", inner), ("a/c", "pub(crate) struct C;\n")]), [""; 0]);
        // Importing a re-exported name counts as an import of the file that defines it.
        let c = "use super::B;\npub(crate) struct C(B);\n";
        let found = with(&[("a", outer), ("a/b", inner), ("a/c", c)]);
        assert_eq!(found, ["crates/weft-kern/src/a/b.rs:2: a circle: a/b.rs → a/c.rs → a/b.rs"]);
    }

    #[test]
    fn other_crates_comments_and_tests_do_not_count() {
        let a = "//! See [`crate::b`].\nuse weft_quant::b::X;\nuse std::b;\n\
                 #[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n";
        assert_eq!(with(&[("a", a), ("b", "use crate::a::A;\n")]), [""; 0]);
        let root = "mod a;\n#[cfg(test)]\nmod tests;\npub use weft_quant::T;\npub fn f() { a::f() }\n";
        let files = [("lib", root), ("a", "use crate::T;\n"), ("tests", "use super::a;\nuse crate::f;\n")];
        assert_eq!(with(&files), [""; 0]);
    }

    #[test]
    fn words_after_a_path_do_not_begin_one() {
        // `b` is not a module of the room here.
        let a = "mod b;\npub struct A;\nfn f() { other::b::g() }\n";
        assert_eq!(with(&[("a", a), ("a/b", "use super::A;\n")]), [""; 0]);
    }
}
