//! Runs the files of `filetests/`; its README describes their format.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::include::included;
use weft_fuse::{CostModel, Options};
use weft_ir::rules::RULES;
use weft_ir::{Graph, Mode, NodeId, Sizes, Switches};
use weft_kern::Machine;

/// The line that separates the input from the expected output.
const SEPARATOR: &str = "\n---\n";

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // `weft-render` checks the texts of kernels.
            if path.file_name().is_none_or(|name| name != "wgsl" && name != "cuda") {
                found.extend(files(&path));
            }
        } else if path.extension().is_some_and(|e| e == "t") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The output of a file's tests: of one, or of several on the same input, each under its header.
fn run(input: &str) -> Result<String, String> {
    let (headers, rest): (Vec<&str>, Vec<&str>) = input.lines().partition(|l| l.starts_with("test "));
    let text = rest.join("\n");
    match headers[..] {
        [] => Err("expected a line `test …`".into()),
        [header] => run_one(header, &text),
        _ => {
            headers.into_iter().map(|header| Ok(format!("# {header}\n{}", run_one(header, &text)?))).collect()
        }
    }
}

fn run_one(header: &str, text: &str) -> Result<String, String> {
    let words: Vec<&str> = header.split_whitespace().collect();
    match words[1..] {
        ["print"] => Ok(weft_ir::parse(text).map_err(|e| e.to_string())?.to_string()),
        ["error"] => match weft_ir::parse(text) {
            Ok(_) => Err("expected an error".into()),
            Err(e) => Ok(format!("{}\n", e.why)),
        },
        ["rewrite", ref names @ ..] => rewritten(&weft_ir::parse(text).map_err(|e| e.to_string())?, names),
        ["hoist", ref inputs @ ..] => {
            let graph = weft_ir::parse(text).map_err(|e| e.to_string())?;
            Ok(match weft_ir::hoist(&graph, inputs) {
                Some(hoisted) => format!("{}{}", hoisted.prelude, hoisted.rest),
                None => "nothing\n".into(),
            })
        }
        ["kernels", ref sizes @ ..] => {
            let graph = weft_ir::parse(text).map_err(|e| e.to_string())?;
            kernels(&graph, parse_sizes(sizes)?, number(sizes, "workers")? as u64)
        }
        ["plan", "error"] => match weft_kern::parse_plan(text) {
            Ok(_) => Err("expected an error".into()),
            Err(e) => Ok(format!("{}\n", e.why)),
        },
        ["fuse", ref sizes @ ..] => {
            let graph = weft_ir::parse(text).map_err(|e| e.to_string())?;
            let plan = weft_fuse::fuse(&graph, &parse_sizes(sizes)?).map_err(|e| e.to_string())?;
            let printed = plan.to_string();
            match weft_kern::parse_plan(&printed) {
                Ok(parsed) if parsed == plan => Ok(printed),
                Ok(_) => Err("the printed plan parses to a different one".into()),
                Err(e) => Err(format!("the printed plan does not parse: {e}\n{printed}")),
            }
        }
        _ => Err(format!("unknown test `{header}`")),
    }
}

/// The graph after the named rules, or after the default ones if none is named, and how often each one fired.
fn rewritten(graph: &Graph, names: &[&str]) -> Result<String, String> {
    let mut switches = Switches::default();
    if !names.is_empty() {
        weft_ir::rules::decisions().for_each(|decision| switches.set(decision, Mode::Off));
    }
    for name in names {
        let rule = RULES.into_iter().find(|rule| rule.decision.name == *name);
        switches.set(&rule.ok_or_else(|| format!("no rule `{name}`"))?.decision, Mode::On);
    }
    let rewritten = weft_ir::rewrite(graph, &switches);
    let mut printed = rewritten.graph.to_string();
    for rule in RULES {
        let times = rewritten.fired.iter().filter(|fired| fired.rule == rule).count();
        if times > 0 {
            let _ = writeln!(printed, "# fired: {} ×{times}", rule.decision.name);
        }
    }
    Ok(printed)
}

/// The kernels that a graph becomes on a machine, what each computes, and why its values pass through memory.
fn kernels(graph: &Graph, max: Sizes, workers: u64) -> Result<String, String> {
    let machine = Machine { workers, ..Machine::default() };
    let options = Options { max, costs: CostModel::fixed(machine), ..Options::default() };
    let fusion = weft_fuse::fuse_with(graph, &options).map_err(|e| e.to_string())?;
    let named = |id: &NodeId| format!("{} {id}", fusion.graph.node(*id).op.name());
    let mut out = format!("kernels {}\n", fusion.calls.len());
    for (call, computed) in fusion.plan.calls.iter().zip(&fusion.calls) {
        let _ = writeln!(out, "{}", fusion.plan.kernels[call.kernel].name);
        for nodes in &computed.parts {
            let nodes: Vec<String> = nodes.iter().map(named).collect();
            let _ = writeln!(out, "  {}", nodes.join(", "));
        }
        for cut in &computed.cuts {
            let _ = writeln!(out, "  not {}: {}", named(&cut.node), cut.why);
        }
    }
    for choice in fusion.choices.iter().filter(|c| c.differs()) {
        let taken = if choice.pays() { "taken" } else { "not taken" };
        let with = choice.with.as_ref().map_err(|e| format!("{}: {e}", choice.decision.name))?;
        let _ = writeln!(out, "{} {taken}: {with} with, {} without", choice.decision.name, choice.without);
    }
    Ok(out)
}

fn number(words: &[&str], key: &str) -> Result<usize, String> {
    let found = words.iter().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
    found.map_or(Ok(1), |n| n.parse().map_err(|_| format!("`{key}` must be a number")))
}

fn parse_sizes(words: &[&str]) -> Result<Sizes, String> {
    let get = |key: &str| number(words, key);
    let sizes = Sizes::of(get("T")?).rows(get("R")?).slots(get("S")?).pages(get("P")?);
    // Most graphs have no states of whole sequences.
    let has_sequences = words.iter().any(|word| word.starts_with("Q="));
    Ok(if has_sequences { sizes.sequences(get("Q")?) } else { sizes })
}

#[test]
fn every_file_gives_its_expected_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests");
    let bless = std::env::var_os("UPDATE_EXPECT").is_some();
    let files = files(&root);
    assert!(!files.is_empty(), "no files under {}", root.display());
    let mut failures = String::new();
    for path in files {
        let content = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = content.split_once(SEPARATOR).unwrap_or((content.trim_end(), ""));
        match run(&included(input)) {
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
