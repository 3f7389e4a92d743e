//! The repository's text in memory, so that a rule is a function and its tests need no disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::lex::{self, Token};
use crate::manifest;
use crate::rooms::{self, Room};

/// The text files of a repository, by their paths from its root with `/` as the separator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

/// A package of the workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package<'a> {
    pub(crate) name: &'a str,
    /// Its folder, such as `crates/weft-ir`.
    pub(crate) folder: &'a str,
    /// The text of its `Cargo.toml`.
    pub(crate) manifest: &'a str,
}

impl Package<'_> {
    /// The path of its `Cargo.toml`.
    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// A Rust source file split into tokens, of which those compiled only for tests are marked.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) tokens: Vec<Token<'a>>,
}

impl Tree {
    /// Reads every text file under `root` that the root's `.gitignore` does not name.
    pub(crate) fn read(root: &Path) -> io::Result<Tree> {
        let ignored = Ignored::parse(&fs::read_to_string(root.join(".gitignore"))?)?;
        let mut tree = Tree::default();
        tree.read_folder(root, "", &ignored)?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str, ignored: &Ignored) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if path == ".git" || ignored.matches(&path) {
                continue;
            } else if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"), ignored)?;
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
                && !text.contains('\0')
            {
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// All files, by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every package of this workspace, by folder. A package that is a separate workspace (the fuzz targets, which need
    /// another toolchain) is exempt from the rules.
    pub(crate) fn packages(&self) -> impl Iterator<Item = Package<'_>> {
        self.files().filter_map(|(path, manifest)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            if manifest.lines().any(|line| line.trim() == "[workspace]") {
                return None;
            }
            Some(Package { name: manifest::package_name(manifest)?, folder, manifest })
        })
    }

    /// The room of a file, and the file's path from the room's folder, such as `src/lib.rs`.
    pub(crate) fn room_of<'p>(&self, path: &'p str) -> Option<(&'static Room, &'p str)> {
        self.packages().find_map(|package| {
            let local = path.strip_prefix(package.folder)?.strip_prefix('/')?;
            Some((rooms::room(package.name)?, local))
        })
    }

    /// All Rust sources, by path.
    pub(crate) fn sources(&self) -> Vec<Source<'_>> {
        let mut sources: Vec<Source<'_>> = self
            .files()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| Source { path, tokens: lex::tokens(text) })
            .collect();
        let modules: Vec<String> = sources.iter().flat_map(test_modules).collect();
        let folders: Vec<String> = self
            .packages()
            .flat_map(|p| ["tests", "benches", "examples"].map(|kind| format!("{}/{kind}/", p.folder)))
            .collect();
        for source in &mut sources {
            let stem = source.path.trim_end_matches(".rs");
            let in_module = modules.iter().any(|m| stem.strip_prefix(m.as_str()).is_some_and(is_end_of_part));
            if in_module || folders.iter().any(|folder| source.path.starts_with(folder)) {
                source.tokens.iter_mut().for_each(|token| token.test = true);
            }
        }
        sources
    }
}

fn is_end_of_part(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// The paths, without `.rs`, of the modules that a file declares as `#[cfg(test)] mod name;`.
fn test_modules(source: &Source<'_>) -> Vec<String> {
    let code = lex::code(&source.tokens);
    let stem = source.path.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    };
    let starts = (0..code.len()).filter(|&at| lex::starts_test(&code, at));
    starts
        .filter_map(|at| {
            let item = &code[at..lex::item_end(&code, at)];
            let is_module = item.len() > 3 && lex::reads(item, item.len() - 3, &["mod"]);
            (is_module && lex::reads(item, item.len() - 1, &[";"]))
                .then(|| format!("{folder}/{}", item[item.len() - 2].text))
        })
        .collect()
}

/// The supported forms of a `.gitignore` line: `/path`, `path/path`, `name` and `*.extension`.
#[derive(Debug)]
struct Ignored {
    lines: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> io::Result<Ignored> {
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.trim().trim_end_matches('/').to_string())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        match lines.iter().find(|line| line.trim_start_matches("*.").contains(['*', '?', '[', '!', '\\'])) {
            None => Ok(Ignored { lines }),
            Some(line) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("unsupported line `{line}` in .gitignore: use `/path`, `name` or `*.extension`"),
            )),
        }
    }

    fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.lines.iter().any(|line| match (line.strip_prefix('*'), line.contains('/')) {
            (Some(extension), _) => name.ends_with(extension),
            (None, true) => path == line.trim_start_matches('/'),
            (None, false) => name == line,
        })
    }
}

#[cfg(test)]
impl Tree {
    /// This tree with files added or replaced.
    pub(crate) fn with(mut self, files: &[(&str, &str)]) -> Tree {
        self.files.extend(files.iter().map(|(path, text)| (path.to_string(), text.to_string())));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_paths_follow_the_forms() {
        let ignored = Ignored::parse("# words\n/target\n/.venv/\n*.raw\nfuzz/corpus\nnode\n").unwrap();
        for path in ["target", ".venv", "a/b.raw", "fuzz/corpus", "a/node"] {
            assert!(ignored.matches(path), "{path}");
        }
        for path in ["a/target", "targets", "raw", "a/fuzz/corpus", "nodes"] {
            assert!(!ignored.matches(path), "{path}");
        }
    }

    #[test]
    fn an_unsupported_gitignore_line_is_an_error() {
        for line in ["!keep", "a*b", "**/x", "[ab]"] {
            assert!(Ignored::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn ignored_and_binary_files_are_not_read() {
        let root = std::env::temp_dir().join(format!("weft-xtask-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for folder in ["a/b", ".git", "target"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (path, bytes) in [
            (".gitignore", b"/target\n".as_slice()),
            ("a/b/c.rs", "é".as_bytes()),
            ("a/zero.bin", b"\0"),
            ("a/latin.txt", b"\xe9"),
            (".git/config", b"x"),
            ("target/x.rs", b"x"),
        ] {
            fs::write(root.join(path), bytes).unwrap();
        }
        let tree = Tree::read(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(tree.files().collect::<Vec<_>>(), [(".gitignore", "/target\n"), ("a/b/c.rs", "é")]);
    }

    #[test]
    fn packages_are_folders_with_a_named_manifest() {
        let tree = Tree::default().with(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"one\"\n"),
            ("crates/a/src/lib.rs", ""),
            ("fuzz/Cargo.toml", "[package]\nname = \"apart\"\n\n[workspace]\n"),
        ]);
        let packages: Vec<_> = tree.packages().map(|package| (package.name, package.folder)).collect();
        assert_eq!(packages, [("one", "crates/a")]);
    }

    #[test]
    fn test_code_is_found_by_folder_or_declaration() {
        let tree = Tree::default().with(&[
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/src/lib.rs", "#[cfg(test)]\npub(crate) mod checks; mod b;"),
            ("a/src/checks.rs", "x"),
            ("a/src/checks/deep.rs", "x"),
            ("a/src/checks_not.rs", "x"),
            ("a/src/b.rs", "#[cfg(test)] mod tests;"),
            ("a/src/b/tests.rs", "x"),
            ("a/src/tests.rs", "x"),
            ("a/tests/it.rs", "x"),
        ]);
        let sources = tree.sources();
        let test = sources.iter().filter(|source| source.tokens.iter().all(|token| token.test));
        let test: Vec<_> = test.map(|source| source.path).collect();
        assert_eq!(
            test,
            ["a/src/b.rs", "a/src/b/tests.rs", "a/src/checks.rs", "a/src/checks/deep.rs", "a/tests/it.rs"]
        );
    }
}
