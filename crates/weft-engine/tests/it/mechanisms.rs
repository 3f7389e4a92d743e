//! A few fixtures that together have every mechanism of all fixtures, for tests of many combinations.
//!
//! A mechanism is anything that a device computes by its own code: an operation with its variant (a window, sinks, a decay for each
//! channel), a product with weights of a type, a kind of state, and an operation on the result of another one, because such pairs become
//! one kernel. Sizes are not mechanisms: the suites of devices vary them.

use std::collections::{BTreeMap, BTreeSet};

use weft_gguf::Gguf;
use weft_ir::{Dim, Graph, Node, Op};
use weft_models::BuildOptions;

use crate::support::{Fixture, fixtures};

/// They have every mechanism of all fixtures.
const VARIED: [&str; 20] = [
    "cohere2moe-tiny-q4_0",
    "gemma4-odd-q5_0",
    "gemma4-tiny-q4_0",
    "glm-dsa-tiny-q4_0",
    "glm-tiny-q4_k_m",
    "glm-tiny-q8_0",
    "glm5-next-tiny-q4_0",
    "gpt-oss-odd-q4_0",
    "gpt-oss-tiny-mxfp4",
    "kimi-linear-tiny-q4_0",
    "ling-odd-q4_k_m",
    "llama-tiny-few-bits",
    "llama-tiny-iq4_nl",
    "llama-tiny-q5_k_m",
    "ministral-odd-q5_k_m",
    "nemotron_h_moe-tiny-q4_0",
    "phi4-odd-q5_k_m",
    "qwen2moe-tiny-q4_0",
    "qwen35-tiny-q4_k_m",
    "qwen3next-tiny-q4_0",
];

/// Whether a fixture is one of those that have every mechanism.
pub(crate) fn is_varied(name: &str) -> bool {
    VARIED.contains(&name)
}

/// An operation with its variant.
fn operation(graph: &Graph, node: &Node) -> String {
    let inputs: Vec<&Node> = node.inputs.iter().map(|id| graph.node(*id)).collect();
    let name = node.op.name();
    match &node.op {
        Op::State { kind, .. } => format!("{name} {} {}", kind.name(), node.ty.dtype),
        Op::Rows => format!("{name} of {}", inputs[0].ty.dtype),
        Op::Dot | Op::HeadDot { .. } | Op::SelectDot | Op::SelectSum => {
            let transposed = matches!(node.op, Op::HeadDot { transposed: true });
            format!("{name} by {}{}", inputs[1].ty.dtype, if transposed { ", transposed" } else { "" })
        }
        Op::Attend { kv_heads, window, pool, .. } => {
            let shared = match inputs[0].ty.shape.dims()[1] {
                heads if heads == Dim::Const(*kv_heads) => "heads of their own",
                _ if *kv_heads == 1 => "one head of keys",
                _ => "shared heads of keys",
            };
            let window = if window.is_some() { ", a window" } else { "" };
            // Sinks are numbers, and a list has positions.
            let rest: Vec<_> = inputs[6..].iter().map(|input| input.ty.dtype).collect();
            let pools = if *pool > 1 { " in pools" } else { "" };
            format!("{name} with {shared}{window}, {rest:?}{pools}")
        }
        Op::Indexer { pool, .. } if *pool > 1 => format!("{name} of pools"),
        Op::Rope { style } => format!("{name} of {}", style.name()),
        Op::Scan { rule } => {
            let axes: Vec<_> =
                inputs[..rule.operands()].iter().map(|input| input.ty.shape.dims().len()).collect();
            format!("{name} by {} with {axes:?}", rule.name())
        }
        _ => name.to_string(),
    }
}

/// The mechanisms of a fixture.
fn mechanisms(name: &str) -> BTreeSet<String> {
    let file = Gguf::open(&Fixture::load(name).path).unwrap();
    let model = weft_models::build(&file, &BuildOptions::default()).unwrap();
    let mut found = BTreeSet::new();
    for segment in &model.segments {
        let graph = &segment.graph;
        for node in graph.nodes() {
            found.insert(operation(graph, node));
            let pairs = node.inputs.iter().map(|id| graph.node(*id)).filter(|input| !input.op.is_source());
            found.extend(pairs.map(|input| format!("{} on {}", node.op.name(), input.op.name())));
        }
    }
    found
}

#[test]
fn the_varied_fixtures_have_every_mechanism() {
    let mut left: BTreeMap<String, BTreeSet<String>> =
        fixtures().into_iter().map(|(name, _)| (name.clone(), mechanisms(&name))).collect();
    let had: BTreeSet<String> = VARIED.iter().flat_map(|name| left[*name].clone()).collect();
    left.values_mut().for_each(|own| own.retain(|mechanism| !had.contains(mechanism)));
    // The fixtures that have most of the missing mechanisms.
    let mut wanted = Vec::new();
    while let Some((name, own)) =
        left.iter().max_by_key(|(_, own)| own.len()).filter(|(_, own)| !own.is_empty())
    {
        let (name, own) = (name.clone(), own.clone());
        left.values_mut().for_each(|other| other.retain(|mechanism| !own.contains(mechanism)));
        wanted.push((name, own));
    }
    println!("{} fixtures have {} mechanisms", VARIED.len(), had.len());
    assert!(wanted.is_empty(), "add these fixtures, which have what those of `VARIED` have not: {wanted:#?}");
}
