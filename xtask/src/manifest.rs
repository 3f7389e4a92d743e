//! Reads what the rules need of a `Cargo.toml`, line by line: keys with their table, and dependencies.
//!
//! It is not a TOML parser. It reads manifests in the style of this repository, one key with its inline table
//! per line; [`unread`] finds other spellings.

/// `key = value` under `[table]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The table's name as written, without brackets; empty before the first table.
    pub(crate) table: &'a str,
    pub(crate) key: &'a str,
    /// The value as written, without a trailing comment.
    pub(crate) value: &'a str,
}

/// The keys of a manifest in order.
pub(crate) fn entries(manifest: &str) -> Vec<Entry<'_>> {
    let mut table = "";
    let mut entries = Vec::new();
    for (at, line) in manifest.lines().enumerate() {
        let line = without_comment(line).trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name.trim_matches(['[', ']']);
        } else if let Some((key, value)) = line.split_once('=')
            && key.starts_with(|c: char| c.is_ascii_alphanumeric() || ['"', '\''].contains(&c))
        {
            entries.push(Entry { line: at + 1, table, key: key.trim(), value: value.trim() });
        }
    }
    entries
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let end = line.find(|c| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    &line[..end.unwrap_or(line.len())]
}

/// The package's name; `None` for a virtual manifest.
pub(crate) fn package_name(manifest: &str) -> Option<&str> {
    let name = entries(manifest).into_iter().find(|entry| (entry.table, entry.key) == ("package", "name"))?;
    Some(name.value.trim_matches('"'))
}

/// The code that a dependency is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// The package itself, or its build script.
    Code,
    /// Its tests, benches and examples.
    Tests,
}

/// A dependency of a package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency<'a> {
    pub(crate) line: usize,
    pub(crate) reach: Reach,
    pub(crate) name: &'a str,
    /// Whether it is inherited from the workspace.
    pub(crate) from_workspace: bool,
}

/// The dependencies of a member, for every target. Several keys of one dependency are one entry.
pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found: Vec<Dependency<'_>> = Vec::new();
    for Entry { line, table, key, value } in entries(manifest) {
        let Some((reach, after)) = dependency_table(table) else { continue };
        let (name, detail) = match after.strip_prefix('.') {
            Some(name) => (name, key),
            None => key.split_once('.').unwrap_or((key, "")),
        };
        let from_workspace = (detail == "workspace" && value == "true")
            || (detail.is_empty() && value.contains("workspace = true"));
        match found.iter_mut().find(|known| known.name == name && known.reach == reach) {
            Some(known) => known.from_workspace |= from_workspace,
            None => found.push(Dependency { line, reach, name, from_workspace }),
        }
    }
    found
}

/// The code that a table's dependencies are for, and what follows that word in its name: `.half` in
/// `dependencies.half`, nothing in `target.'cfg(unix)'.dependencies`.
fn dependency_table(table: &str) -> Option<(Reach, &str)> {
    let words = [
        ("dev-dependencies", Reach::Tests),
        ("build-dependencies", Reach::Code),
        ("dependencies", Reach::Code),
    ];
    words.into_iter().find_map(|(word, reach)| {
        let (before, after) = table.split_once(word)?;
        let whole =
            (before.is_empty() || before.ends_with('.')) && (after.is_empty() || after.starts_with('.'));
        whole.then_some((reach, after))
    })
}

/// Keys that may declare a dependency in a form that [`dependencies`] does not read: before the first table, in
/// a table spelled differently, or quoted.
pub(crate) fn unread(manifest: &str) -> Vec<Entry<'_>> {
    let mut entries = entries(manifest);
    entries.retain(|entry| match dependency_table(entry.table) {
        Some(_) => entry.key.contains(['"', '\'']),
        None => entry.table.is_empty() || entry.table.contains("dependencies"),
    });
    entries
}

/// A third-party crate that the root manifest lists for all members.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ThirdParty<'a> {
    pub(crate) line: usize,
    pub(crate) name: &'a str,
    /// The version as written, including a leading `=`.
    pub(crate) version: &'a str,
}

/// The entries of `[workspace.dependencies]` that are not paths into this repository.
pub(crate) fn third_party(root: &str) -> Vec<ThirdParty<'_>> {
    entries(root)
        .into_iter()
        .filter(|entry| entry.table == "workspace.dependencies" && !entry.value.contains("path ="))
        .map(|entry| {
            let version = entry.value.split_once("version =").map_or(entry.value, |(_, rest)| rest);
            let version = version.split('"').nth(1).unwrap_or("");
            ThirdParty { line: entry.line, name: entry.key, version }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_table_and_line_and_drop_comments() {
        let manifest = "a = 1\n[one.'cfg(x = \"#\")']\n# b = 2\nc = \"#\" # d\nlist = [\n  \"e\",\n]\n";
        let entries: Vec<_> =
            entries(manifest).into_iter().map(|e| (e.line, e.table, e.key, e.value)).collect();
        let table = "one.'cfg(x = \"#\")'";
        assert_eq!(entries, [(1, "", "a", "1"), (4, table, "c", "\"#\""), (5, table, "list", "[")]);
    }

    #[test]
    fn dependencies_are_found_in_each_form() {
        let manifest = r#"
            [package]
            name = "p"
            [dependencies]
            one.workspace = true
            two = { workspace = true, features = ["x"] }
            three = "1"
            four.workspace = true
            four.features = ["y"]
            [dependencies.five]
            workspace = true
            [target.'cfg(unix)'.dependencies]
            six = { version = "1" }
            [build-dependencies]
            seven.workspace = true
            [dev-dependencies]
            one.workspace = true
            [features]
            eight = []
        "#;
        let found: Vec<_> =
            dependencies(manifest).into_iter().map(|d| (d.name, d.reach, d.from_workspace)).collect();
        assert_eq!(
            found,
            [
                ("one", Reach::Code, true),
                ("two", Reach::Code, true),
                ("three", Reach::Code, false),
                ("four", Reach::Code, true),
                ("five", Reach::Code, true),
                ("six", Reach::Code, false),
                ("seven", Reach::Code, true),
                ("one", Reach::Tests, true),
            ]
        );
        assert_eq!(package_name(manifest), Some("p"));
    }

    #[test]
    fn other_spellings_are_found() {
        for spelling in [
            "dependencies.half.workspace = true",
            "[ dependencies ]\nhalf.workspace = true",
            "[\"dependencies\"]\nhalf.workspace = true",
            "[dependencies . half]\nworkspace = true",
            "[dependencies]\n\"half\".workspace = true",
        ] {
            assert_eq!(unread(spelling).len(), 1, "{spelling}");
        }
        assert_eq!(unread("[package]\nname = \"p\"\n[target.'cfg(unix)'.dependencies]\nhalf = \"1\"\n"), []);
    }

    #[test]
    fn third_party_crates_come_with_their_version() {
        let root = r#"
            [workspace.dependencies]
            ours = { path = "crates/ours" }
            a = "1.2"
            b = { version = "=3", features = ["c"] }
        "#;
        let found: Vec<_> = third_party(root).into_iter().map(|t| (t.line, t.name, t.version)).collect();
        assert_eq!(found, [(4, "a", "1.2"), (5, "b", "=3")]);
    }
}
