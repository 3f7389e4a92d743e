//! Rules keep their promises on random graphs and on graphs of models: each rule alone, the defaults, and all
//! together.

use std::collections::BTreeMap;

use weft_ir::rules::RULES;
use weft_ir::{Graph, Keeps, Mode, Op, Rule, Switches, parse, rewrite, verify};
use weft_quant::GgmlType;

use crate::grower::random_graph;
use crate::patterns::layers;
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
    for hostile in [false, true] {
        for ((name, before), (_, after)) in
            outputs(graph, hostile).iter().zip(outputs(&rewritten.graph, hostile))
        {
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
        ["split.heads", "split.columns", "moe.sum_in_down"].into_iter().map(rule).collect();
    check_all(layers(GgmlType::F32), &expected, 2);
}
