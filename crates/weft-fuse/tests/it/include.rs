//! Graphs that several files of `filetests/` share.

use std::path::Path;

/// The input of a file test, in which each line `include NAME` is replaced by `filetests/graphs/NAME.graph`.
pub(super) fn included(input: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/graphs");
    let line = |line: &str| match line.strip_prefix("include ") {
        Some(name) => {
            let path = folder.join(format!("{name}.graph"));
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }
        None => format!("{line}\n"),
    };
    input.lines().map(line).collect()
}
