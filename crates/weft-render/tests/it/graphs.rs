//! The test graphs, and their plans.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::include::included;
use weft_fuse::{CostModel, Mode, Options, decisions, fuse_with};
use weft_gguf::Gguf;
use weft_ir::{Graph, Op, Sizes, Switches};
use weft_kern::{Format, Machine, Plan, Source};
use weft_models::{BuildOptions, build};
use weft_quant::GgmlType;
use weft_render::{Bound, Content, Slots, releases_early, stable};

/// A path in the repository.
pub(super) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The graph of a file test.
pub(super) fn graph_of(path: &Path) -> Graph {
    graph_in(&std::fs::read_to_string(path).unwrap())
}

/// The graph of a file's text.
pub(super) fn graph_in(content: &str) -> Graph {
    let input = included(content.split("\n---\n").next().unwrap());
    let graph: Vec<&str> = input.lines().filter(|l| !l.starts_with("test ")).collect();
    weft_ir::parse(&graph.join("\n")).unwrap()
}

/// The graphs of the file tests.
pub(super) fn file_tests() -> Vec<Arc<Graph>> {
    let mut graphs = Vec::new();
    for folder in ["kernels", "fuse"] {
        let entries = std::fs::read_dir(root("filetests").join(folder)).unwrap();
        graphs.extend(entries.map(|entry| Arc::new(graph_of(&entry.unwrap().path()))));
    }
    assert!(graphs.len() > 10, "{} graphs", graphs.len());
    graphs
}

/// Fixtures that together have each kind of attention and of experts.
const SOME: [&str; 5] =
    ["ds2-tiny-q4_0", "gemma3-odd-q8_0", "glm-tiny-q4_k_m", "gpt-oss-tiny-mxfp4", "qwen3moe-tiny-q4_k_m"];

/// The distinct graphs of some fixtures, each fixture with another format of the KV cache, and the graph of candidates.
pub(super) fn some_fixtures() -> Vec<Arc<Graph>> {
    graphs_of(|name| SOME.contains(&name))
}

/// The distinct graphs of all fixtures.
pub(super) fn fixtures() -> Vec<Arc<Graph>> {
    graphs_of(|_| true)
}

fn graphs_of(is_wanted: impl Fn(&str) -> bool) -> Vec<Arc<Graph>> {
    let types = [GgmlType::F16, GgmlType::BF16, GgmlType::F32, GgmlType::Q8_0];
    let entries = std::fs::read_dir(root("fixtures")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "gguf")).collect();
    paths.sort();
    assert!(paths.len() >= types.len(), "{paths:?}");
    let mut graphs: Vec<Arc<Graph>> = Vec::new();
    for (path, kv) in paths.iter().zip(types.into_iter().cycle()) {
        if !is_wanted(path.file_stem().and_then(|stem| stem.to_str()).unwrap()) {
            continue;
        }
        let gguf = Gguf::open(path).unwrap();
        let model = build(&gguf, &BuildOptions { kv, ..BuildOptions::default() }).unwrap();
        for segment in model.segments {
            // Scans are tested by `weft-check`, on the emulator.
            let scans = segment.graph.nodes().iter().any(|node| matches!(node.op, Op::Scan { .. }));
            if !scans && !graphs.iter().any(|graph| Arc::ptr_eq(graph, &segment.graph)) {
                graphs.push(segment.graph);
            }
        }
    }
    graphs.extend(weft_models::candidates(154_880, 64).map(|segment| segment.graph));
    graphs
}

/// A graph's plans for steps of one token, a few and many.
pub(super) struct Plans {
    /// Plans for a machine of many workers, with all decisions at their defaults.
    usual: Vec<Arc<Plan>>,
    /// Plans for a machine of few workers, and plans with all decisions off.
    others: Vec<Arc<Plan>>,
}

impl Plans {
    /// The plans that a GPU gets.
    pub(super) fn usual(&self) -> impl Iterator<Item = &Plan> {
        self.usual.iter().map(|plan| &**plan)
    }

    /// All plans.
    pub(super) fn all(&self) -> impl Iterator<Item = &Plan> {
        self.usual.iter().chain(&self.others).map(|plan| &**plan)
    }
}

/// The plans of a graph.
pub(super) fn plans(graph: &Graph) -> Plans {
    let mut all_off = Switches::default();
    decisions().for_each(|d| all_off.set(d, Mode::Off));
    let mut plans = Plans { usual: Vec::new(), others: Vec::new() };
    for (switches, usual) in [(Switches::default(), true), (all_off, false)] {
        for tokens in [1, 16, 300] {
            for workers in [2, 64] {
                let max = Sizes::of(tokens).rows(4).slots(4096).pages(128).sequences(2);
                let costs = CostModel::fixed(Machine { workers, ..Machine::default() });
                let options = Options { max, costs, switches: switches.clone(), ..Options::default() };
                let into = if usual && workers > 2 { &mut plans.usual } else { &mut plans.others };
                into.extend(fuse_with(graph, &options).map(|fusion| fusion.plan));
            }
        }
    }
    plans
}

/// The slots of a call. Arguments in the arena share a buffer. `early` says whether launches begin before the previous one has ended.
pub(super) fn slots(plan: &Plan, call: usize, early: bool) -> Slots {
    bound_slots(plan, call, early).0
}

/// The slots of a call, with the buffer of each slot.
pub(super) fn bound_slots(plan: &Plan, call: usize, early: bool) -> (Slots, Vec<Option<usize>>) {
    // The number of a buffer outside the arena. Inputs that are indices share one buffer, as in the engine.
    let place = |arg: usize| match &plan.buffers[arg].source {
        Source::Arena(at) => (None, *at),
        Source::Input(_) if plan.buffers[arg].format == Format::I32 => (Some(plan.buffers.len()), arg << 20),
        _ => (Some(arg), 0),
    };
    let launch = |call: usize| {
        let bound = |arg: &usize| {
            let (buffer, at) = place(*arg);
            let bytes = plan.buffers[*arg].bytes(&plan.max).unwrap();
            Bound { buffer, bytes: at..at + bytes }
        };
        let call = &plan.calls[call];
        (&plan.kernels[call.kernel], call.args.iter().map(bound).collect())
    };
    let args = plan.calls[call].args.iter().zip(stable(launch, call));
    let content = |(arg, stable): (&usize, bool)| {
        let content = match plan.buffers[*arg].source {
            Source::Weight(_) => Content::Weight,
            _ if early && stable => Content::Stable,
            _ => Content::Open,
        };
        (place(*arg).0, content)
    };
    let releases_early = early && releases_early(launch, call, plan.calls.len());
    let (slots, buffers) = Slots::new(args.map(content));
    (Slots { releases_early, ..slots }, buffers)
}
