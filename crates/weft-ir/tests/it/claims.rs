//! Rules keep their promises on random graphs and on graphs of models: each rule alone, the defaults, and all
//! together.

use std::collections::BTreeMap;

use weft_ir::rules::RULES;
use weft_ir::{Builder, Graph, Keeps, Mode, NodeId, Op, Rule, Switches, Type, parse, rewrite, verify};
use weft_quant::GgmlType;

use crate::grower::random_graph;
use crate::patterns::{File, layer, layers};
use crate::support::{only, outputs, relative_l2, rule, same_bits};

/// How often each rule fired, by name.
type Counts = BTreeMap<&'static str, usize>;

/// The number of weight values that a step reads for one token, for its chosen experts only.
fn read(graph: &Graph) -> usize {
    let count = |node: &weft_ir::Node| {
        let w = graph.node(*node.inputs.get(1)?).ty.shape.clone();
        let per_expert = || w.known_count().map(|n| n / w.dims()[0].known().unwrap_or(1));
        match node.op {
            Op::Dot | Op::HeadDot { .. } => w.known_count(),
            Op::SelectDot | Op::SelectSum => {
                Some(per_expert()? * graph.node(node.inputs[2]).ty.shape.last()?)
            }
            _ => None,
        }
    };
    graph.nodes().iter().filter_map(count).sum()
}

/// The same graph with products of weights kept in `f32`, so that only the order of sums differs.
fn unrounded(graph: &Graph) -> Graph {
    let mut g = Builder::new(graph.name());
    let mut map: Vec<NodeId> = Vec::new();
    for node in graph.nodes() {
        let inputs: Vec<NodeId> = node.inputs.iter().map(|i| map[i.index()]).collect();
        let dtype = match node.op {
            Op::Product { .. } => GgmlType::F32,
            Op::Reshape => g.ty(inputs[0]).unwrap().dtype,
            _ => node.ty.dtype,
        };
        map.push(g.push(node.op.clone(), inputs, Some(Type { dtype, ..node.ty.clone() })));
    }
    graph.outputs().iter().for_each(|(name, id)| g.output(name, map[id.index()]));
    g.finish().unwrap()
}

fn check(graph: &Graph, switches: &Switches, counts: &mut Counts) {
    let rewritten = rewrite(graph, switches);
    verify(&rewritten.graph).unwrap();
    assert_eq!(parse(&rewritten.graph.to_string()), Ok(rewritten.graph.clone()));
    assert_eq!(rewrite(&rewritten.graph, switches).fired, [], "rules still match\n{}", rewritten.graph);
    let names = |g: &Graph| g.outputs().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(graph), names(&rewritten.graph));

    let fired = |rule: &&Rule| rewritten.fired.iter().any(|f| f.rule == *rule);
    assert_eq!(RULES.into_iter().filter(fired).count() + rewritten.missed.len(), RULES.len());
    let exact = rewritten.fired.iter().all(|f| f.rule.keeps == Keeps::Bits);
    let by_default = rewritten.fired.iter().all(|f| f.rule.decision.default == Mode::On);
    assert!(!by_default || read(&rewritten.graph) <= read(graph), "reads more\n{}", rewritten.graph);
    let after = if exact { rewritten.graph.clone() } else { unrounded(&rewritten.graph) };
    for hostile in [false, true] {
        for ((name, before), (_, after)) in outputs(graph, hostile).iter().zip(outputs(&after, hostile)) {
            let context = || format!("`{name}`, {:?}\n{graph}\n{}", rewritten.fired, rewritten.graph);
            if exact {
                assert!(same_bits(before, &after), "{}", context());
            } else if !hostile {
                let error = relative_l2(&after, before);
                assert!(error < 1e-5, "{error:e} {}", context());
            }
        }
    }
    rewritten.fired.iter().for_each(|f| *counts.entry(f.rule.decision.name).or_default() += 1);
}

/// Checks each rule alone, the defaults, and all rules. Each expected rule must have fired, or it was not tested.
fn check_all(graphs: impl Iterator<Item = Graph>, expected: &[&'static Rule], at_least: usize) {
    let mut alone = Counts::new();
    for graph in graphs {
        RULES.into_iter().for_each(|rule| check(&graph, &only(&[rule]), &mut alone));
        check(&graph, &Switches::default(), &mut Counts::new());
        check(&graph, &only(&RULES), &mut Counts::new());
    }
    for rule in expected {
        let fired = alone.get(rule.decision.name).copied().unwrap_or(0);
        assert!(fired >= at_least, "{} fired {fired} times", rule.decision.name);
    }
}

#[test]
fn rules_keep_their_promises_on_random_graphs() {
    check_all((0..300).map(random_graph), &RULES, 20);
}

#[test]
fn rules_keep_their_promises_on_graphs_of_models() {
    let expected: Vec<_> =
        ["split.heads", "split.columns", "moe.sum_in_down", "fold.output"].into_iter().map(rule).collect();
    check_all(layers(GgmlType::F32), &expected, 2);
}

/// In absorbed attention both folds match once the query is split by heads and into parts.
#[test]
fn folded_weights_are_stored_as_q8_0_or_f16() {
    for (ty, stored, bound) in [
        // Q8_0 keeps a value to 1/256 of the largest of its block, F16 to 1/2048 of itself.
        (GgmlType::Q4_0, GgmlType::Q8_0, 1.0 / 256.0),
        (GgmlType::IQ4_NL, GgmlType::Q8_0, 1.0 / 256.0),
        (GgmlType::F32, GgmlType::F16, 1.0 / 2048.0),
    ] {
        let graph = layer(File { ty, joined_kv: false, joined_gate_up: true });
        let rewritten = rewrite(&graph, &only(&RULES));
        for name in ["fold.query", "fold.output"] {
            let fired = rewritten.fired.iter().filter(|f| f.rule == rule(name)).count();
            assert_eq!(fired, 1, "{name}\n{}", rewritten.graph);
        }
        let products = rewritten.graph.nodes().iter().filter(|n| matches!(n.op, Op::Product { .. }));
        assert_eq!(products.map(|n| n.ty.dtype).collect::<Vec<_>>(), [stored, stored]);
        for ((_, before), (_, after)) in outputs(&graph, false).iter().zip(outputs(&rewritten.graph, false)) {
            let error = relative_l2(&after, before);
            assert!(error < bound, "{error:e}");
        }
    }
}
