//! Graphs go in and come out: unchanged without laws, and with them as others that compute the same values.

use weft_ir::rules::RULES;
use weft_ir::{Graph, Mode, Op, Switches, parse, rewrite};
use weft_random::Random;

use super::grower::random_graph;
use super::{forms, small, some_choice};
use crate::check::difference;
use crate::forms::{Choice, Forms};
use crate::laws::LAWS;
use crate::presets::PRESETS;
use crate::saturate::{Limits, Stopped, saturate};

/// The number of random graphs.
const GRAPHS: u64 = 60;

#[test]
fn without_laws_a_graph_comes_back() {
    let presets = PRESETS.iter().map(|preset| parse(preset.text).unwrap());
    for graph in presets.chain((0..GRAPHS).map(random_graph)) {
        let forms = forms(&graph, &[]);
        let choice = forms.choice_of(&graph, &some_choice(&forms)).unwrap();
        assert_eq!(forms.graph(&choice), Some(graph));
    }
}

/// The choice with up to four other forms.
fn changed(forms: &Forms, mut choice: Choice, random: &mut Random) -> Choice {
    for _ in 0..4 {
        let computed = forms.computed(&choice).unwrap_or_default();
        let Some(&class) = computed.get(random.below(computed.len().max(1))) else { break };
        let form = random.below(forms.classes[class].len());
        let kept = std::mem::replace(&mut choice[class], form);
        if forms.graph(&choice).is_none() {
            choice[class] = kept;
        }
    }
    choice
}

/// An operation to look for, and the number of graphs that had it.
type Seen = (fn(&Op) -> bool, usize);

/// Checks that random choices among the forms of a graph compute the same.
fn check_choices(graph: &Graph, forms: &Forms, choices: usize, seen: &mut [Seen]) {
    let start = some_choice(forms);
    let start = forms.choice_of(graph, &start).unwrap_or(start);
    let mut random = Random::new(graph.nodes().len() as u64);
    let mut choice = start;
    for _ in 0..choices {
        choice = changed(forms, choice, &mut random);
        let Some(other) = forms.graph(&choice) else { continue };
        let found = difference(graph, &other).unwrap_or_else(|e| panic!("{e}\n{graph}\n{other}"));
        assert!(found.relative_l2 < 1e-5, "{found:?}\n{graph}\n{other}");
        let product = |op: &Op| matches!(op, Op::Product { .. });
        assert!(found.same_bits || other.nodes().iter().any(|n| product(&n.op)), "{graph}\n{other}");
        for (is, count) in seen.iter_mut() {
            *count += usize::from(other.nodes().iter().any(|n| is(&n.op)));
        }
    }
}

#[test]
fn every_form_of_a_random_graph_computes_the_same() {
    let mut seen: [Seen; 3] = [
        (|op| matches!(op, Op::Product { .. }), 0),
        (|op| matches!(op, Op::HeadDot { .. }), 0),
        (|op| matches!(op, Op::SelectSum), 0),
    ];
    let mut saturated = 0;
    for graph in (0..GRAPHS).map(random_graph) {
        let from = saturate(&graph, &LAWS, &Limits { nodes: 2_000, ..Limits::default() }).unwrap();
        saturated += u64::from(from.growth.stopped == Stopped::Saturated);
        check_choices(&graph, &Forms::new(&graph, &from), 12, &mut seen);
    }
    assert!(saturated > GRAPHS / 2, "only {saturated} of {GRAPHS}");
    assert!(seen.iter().all(|(_, count)| *count > 20), "{:?}", seen.map(|(_, count)| count));
}

#[test]
fn every_form_of_the_blocks_computes_the_same() {
    let mut seen: [Seen; 4] = [
        (|op| matches!(op, Op::Product { joined: false }), 0),
        (|op| matches!(op, Op::Product { joined: true }), 0),
        (|op| matches!(op, Op::SelectSum), 0),
        (|op| matches!(op, Op::SelectDot), 0),
    ];
    for preset in &PRESETS {
        let graph = small(preset.name);
        check_choices(&graph, &forms(&graph, &LAWS), 300, &mut seen);
    }
    assert!(seen.iter().all(|(_, count)| *count >= 5), "{:?}", seen.map(|(_, count)| count));
}

/// The rules are the laws in one direction, so the e-graph holds whatever they lead to.
#[test]
fn the_e_graph_holds_what_the_rules_lead_to() {
    let switches = |mode: fn(usize, usize) -> Mode, at: usize| {
        let mut switches = Switches::default();
        let modes = RULES.iter().enumerate();
        modes.for_each(|(i, rule)| switches.set(&rule.decision, mode(i, at)));
        switches
    };
    let mut found = 0;
    let blocks = PRESETS.iter().map(|preset| small(preset.name));
    for graph in blocks.chain((0..GRAPHS).map(random_graph)) {
        let from = saturate(&graph, &LAWS, &Limits { nodes: 2_000, ..Limits::default() }).unwrap();
        if from.growth.stopped != Stopped::Saturated {
            continue;
        }
        let forms = Forms::new(&graph, &from);
        let any = some_choice(&forms);
        let alone =
            (0..RULES.len()).map(|at| switches(|i, at| if i == at { Mode::On } else { Mode::Off }, at));
        for switches in alone.chain([Switches::default(), switches(|_, _| Mode::On, 0)]) {
            let rewritten = rewrite(&graph, &switches);
            let there = forms.choice_of(&rewritten.graph, &any).is_some();
            assert!(there, "{:?}\n{graph}\n{}", rewritten.fired, rewritten.graph);
            found += rewritten.fired.len();
        }
    }
    assert!(found > 300, "rules fired {found} times");
}
