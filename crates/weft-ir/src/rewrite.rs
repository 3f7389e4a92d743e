//! The rewrite engine: it tries the rules on every node, over and over, until none matches.
//!
//! A round tries the rules in the order of their table, each in a pass over the whole graph. Within a pass a rule sees the graph
//! as it was before the pass; its replacements go into a new graph, built node by node in the same order. So a replacement can
//! only use what comes before the node that it replaces, no pass can loop, and matches that overlap do not disturb each other,
//! since each gives the value of the node it replaces.
//!
//! Most rules match nothing in most graphs, so a rule is first tried on a graph that is already built, and a pass is made only for one
//! that matches: whether a rule matches depends on the graph before the pass and on types, which no replacement changes.

use std::fmt;

use crate::decision::Switches;
use crate::graph::{Graph, NodeId};
use crate::rule::{Built, Rewriter, Rule};
use crate::rules::RULES;
use crate::verify::verify;

/// The most rounds. Rules shrink something, so rewriting ends well before that, after three rounds for most graphs. A graph is
/// correct after any number of rounds.
const ROUNDS: usize = 64;

/// A graph after the rules, and which of them replaced something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewritten {
    /// The graph, without nodes that no output needs.
    pub graph: Graph,
    /// Every replacement, in order.
    pub fired: Vec<Fired>,
    /// The rules that replaced nothing, in the order of their table.
    pub missed: Vec<Missed>,
}

/// A rule replaced a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fired {
    /// Which rule.
    pub rule: &'static Rule,
    /// The node of the graph given to [`rewrite`] that was replaced, or whose replacement was.
    pub node: NodeId,
    /// The operation that was replaced.
    pub op: &'static str,
}

impl fmt::Display for Fired {
    /// `split.columns at %12 slice`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} {}", self.rule.decision.name, self.node, self.op)
    }
}

/// A rule replaced nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missed {
    /// Which rule.
    pub rule: &'static Rule,
    /// Why.
    pub why: WhyNot,
}

/// Why a rule replaced nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhyNot {
    /// It is off.
    Off,
    /// Its premise holds nowhere.
    NoMatch,
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhyNot::Off => "it is off",
            WhyNot::NoMatch => "nothing in the graph matches it",
        })
    }
}

/// Applies every rule that is on, until none matches any more.
pub fn rewrite(graph: &Graph, switches: &Switches) -> Rewritten {
    let mut fired = Vec::new();
    let (on, off): (Vec<_>, Vec<_>) = RULES.into_iter().partition(|rule| switches.on(&rule.decision));
    let all = Traced { graph: graph.clone(), origin: graph.iter().map(|(id, _)| id).collect() };
    // Merge equal nodes and drop dead ones first: rules ask who else uses a value.
    let mut current = pass(&all, |_, _| None);
    for _ in 0..ROUNDS {
        let mut rest = &on[..];
        while let Some(at) = first_match(&current.graph, rest) {
            let rule = rest[at];
            let known = fired.len();
            current = pass(&current, |rewriter, id| {
                let replacement = replacement(rewriter, rule, id)?;
                let op = rewriter.node(id).op.name();
                fired.push(Fired { rule, node: current.origin[id.index()], op });
                Some(replacement)
            });
            debug_assert!(fired.len() > known, "`{}` matched, and replaced nothing", rule.decision.name);
            rest = &rest[at + 1..];
        }
        if rest.len() == on.len() {
            break;
        }
    }
    let why = |rule: &'static Rule| match off.contains(&rule) {
        true => Some(WhyNot::Off),
        false => (!fired.iter().any(|f| f.rule == rule)).then_some(WhyNot::NoMatch),
    };
    let missed = RULES.into_iter().filter_map(|rule| Some(Missed { rule, why: why(rule)? })).collect();
    Rewritten { graph: current.graph, fired, missed }
}

/// The replacement of a node by a rule, if the rule matches there and its replacement fits.
fn replacement(rewriter: &mut Rewriter<'_>, rule: &Rule, id: NodeId) -> Option<Built> {
    let replacement = (rule.apply)(rewriter, id)?;
    rewriter.accept(id, replacement)
}

/// The first of some rules that replaces a node of a graph.
fn first_match(graph: &Graph, rules: &[&'static Rule]) -> Option<usize> {
    let mut rewriter = Rewriter::of_whole(graph);
    let mut matches = |rule| graph.iter().any(|(id, _)| replacement(&mut rewriter, rule, id).is_some());
    rules.iter().position(|rule| matches(rule))
}

/// A graph, and for each of its nodes the node of the original graph that it came from.
struct Traced {
    graph: Graph,
    origin: Vec<NodeId>,
}

/// Rebuilds a graph node by node, with replacements where `replace` gives one, and drops nodes that are dead then.
fn pass(from: &Traced, mut replace: impl FnMut(&mut Rewriter<'_>, NodeId) -> Option<Built>) -> Traced {
    let mut rewriter = Rewriter::new(&from.graph);
    let mut origin = Vec::new();
    for (id, node) in from.graph.iter() {
        let built = match replace(&mut rewriter, id) {
            Some(replacement) => replacement,
            None => rewriter.copy(node),
        };
        rewriter.advance(built);
        origin.resize(rewriter.built_nodes(), from.origin[id.index()]);
    }
    let swept = sweep(Traced { graph: rewriter.finish(), origin });
    debug_assert_eq!(verify(&swept.graph), Ok(()), "a rule broke the graph");
    swept
}

/// The same graph without dead nodes.
fn sweep(from: Traced) -> Traced {
    let mut live = vec![false; from.graph.nodes.len()];
    from.graph.outputs.iter().for_each(|(_, id)| live[id.index()] = true);
    for (id, node) in from.graph.iter().rev() {
        if live[id.index()] {
            node.inputs.iter().for_each(|i| live[i.index()] = true);
        }
    }
    let mut place = vec![NodeId::FIRST; live.len()];
    let Graph { name, nodes, outputs } = from.graph;
    let mut swept = Traced { graph: Graph { name, nodes: Vec::new(), outputs }, origin: Vec::new() };
    for (i, mut node) in nodes.into_iter().enumerate().filter(|(i, _)| live[*i]) {
        place[i] = NodeId(swept.graph.nodes.len() as u32);
        node.inputs.iter_mut().for_each(|input| *input = place[input.index()]);
        swept.graph.nodes.push(node);
        swept.origin.push(from.origin[i]);
    }
    swept.graph.outputs.iter_mut().for_each(|(_, id)| *id = place[id.index()]);
    swept
}
