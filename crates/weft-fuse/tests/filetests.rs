//! Runs the files of `filetests/`; its README tells their format.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use weft_ir::Sizes;

/// What separates the input from the expected output.
const SEPARATOR: &str = "\n---\n";

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "t") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn run(input: &str) -> Result<String, String> {
    let header = input.lines().find(|l| l.starts_with("test ")).ok_or("no line `test …`")?;
    let text = input.replacen(header, "", 1);
    let words: Vec<&str> = header.split_whitespace().collect();
    match words[1..] {
        ["print"] => Ok(weft_ir::parse(&text).map_err(|e| e.to_string())?.to_string()),
        ["error"] => match weft_ir::parse(&text) {
            Ok(_) => Err("no error".into()),
            Err(e) => Ok(format!("{}\n", e.why)),
        },
        ["plan", "error"] => match weft_kern::parse_plan(&text) {
            Ok(_) => Err("no error".into()),
            Err(e) => Ok(format!("{}\n", e.why)),
        },
        ["fuse", ref sizes @ ..] => {
            let graph = weft_ir::parse(&text).map_err(|e| e.to_string())?;
            let plan = weft_fuse::fuse(&graph, &parse_sizes(sizes)?).map_err(|e| e.to_string())?;
            let printed = plan.to_string();
            match weft_kern::parse_plan(&printed) {
                Ok(parsed) if parsed == plan => Ok(printed),
                Ok(_) => Err("the printed plan parses to another one".into()),
                Err(e) => Err(format!("the printed plan does not parse: {e}\n{printed}")),
            }
        }
        _ => Err(format!("no test `{header}`")),
    }
}

fn parse_sizes(words: &[&str]) -> Result<Sizes, String> {
    let get = |key: &str| {
        let found = words.iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        found.map_or(Ok(1), |n| n.parse().map_err(|_| format!("`{key}` must be a number")))
    };
    Ok(Sizes { tokens: get("T")?, rows: get("R")?, slots: get("S")?, pages: get("P")? })
}

#[test]
fn every_file_gives_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let bless = std::env::var_os("UPDATE_EXPECT").is_some();
    let files = files(&root);
    assert!(!files.is_empty(), "no files under {}", root.display());
    let mut failures = String::new();
    for path in files {
        let content = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = content.split_once(SEPARATOR).unwrap_or((content.trim_end(), ""));
        match run(input) {
            Ok(found) if found == expected => {}
            Ok(found) if bless => {
                std::fs::write(&path, format!("{}{SEPARATOR}{found}", input.trim_end())).unwrap();
            }
            Ok(found) => {
                let _ = write!(failures, "{}:\nexpected:\n{expected}\nfound:\n{found}\n", path.display());
            }
            Err(why) => {
                let _ = writeln!(failures, "{}: {why}", path.display());
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
