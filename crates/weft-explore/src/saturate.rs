//! Turns a graph into the e-graph of everything that equals it.

use std::fmt;
use std::time::Duration;

use egg::{Id, Runner, SimpleScheduler, StopReason};
use weft_ir::{Graph, Op};

use crate::law::Law;
use crate::term::{EGraph, Head, Term, Typing};

/// The most rounds of saturation.
const ROUNDS: usize = 1000;

/// How far an e-graph may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The number of e-nodes. It is checked after each law of a round, so that there may be a few more in the end.
    pub nodes: usize,
    /// The time limit, for saturation and for each search.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 20_000, time: Duration::from_secs(10) }
    }
}

/// How an e-graph grew.
#[derive(Clone, PartialEq, Debug)]
pub struct Growth {
    /// The number of e-nodes.
    pub nodes: usize,
    /// The number of e-classes.
    pub classes: usize,
    /// Rounds in which every law was tried.
    pub rounds: usize,
    /// Why it stopped growing.
    pub stopped: Stopped,
    /// How long it took.
    pub time: Duration,
}

/// Why an e-graph stopped growing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// No law has anything to add: the e-graph holds every form that they lead to.
    Saturated,
    /// The limit on nodes was reached.
    Nodes,
    /// The time limit was reached.
    Time,
    /// The limit on rounds was reached.
    Rounds,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopped::Saturated => "saturated",
            Stopped::Nodes => "node limit",
            Stopped::Time => "time limit",
            Stopped::Rounds => "round limit",
        })
    }
}

/// The e-graph of a graph.
pub(crate) struct Saturated {
    pub(crate) egraph: EGraph,
    /// The class of each node of the graph.
    pub(crate) classes: Vec<Id>,
    pub(crate) growth: Growth,
}

/// Builds the e-graph of a graph and applies laws to it, until a limit is reached or nothing is left to add.
///
/// # Errors
/// If the library refuses a law.
pub(crate) fn saturate(graph: &Graph, laws: &[Law], limits: &Limits) -> Result<Saturated, String> {
    let mut egraph = EGraph::new(Typing);
    let mut classes: Vec<Id> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let operands = node.inputs.iter().map(|input| classes[input.index()]).collect();
        classes.push(egraph.add(Term { head: Head::new(node.op.clone(), node.ty.clone()), operands }));
    }
    let rules = laws.iter().map(|law| law.rewrite()).collect::<Result<Vec<_>, _>>()?;
    // Laws match classes and not terms, so numbers of matches, by which the default scheduler holds rules back, mean
    // nothing.
    let runner = Runner::<Term, Typing, ()>::new(Typing)
        .with_egraph(egraph)
        .with_scheduler(SimpleScheduler)
        .with_node_limit(limits.nodes)
        .with_time_limit(limits.time)
        .with_iter_limit(ROUNDS)
        .run(&rules);
    let stopped = match runner.stop_reason {
        Some(StopReason::Saturated) => Stopped::Saturated,
        Some(StopReason::NodeLimit(_)) => Stopped::Nodes,
        Some(StopReason::TimeLimit(_)) => Stopped::Time,
        _ => Stopped::Rounds,
    };
    let seconds: f64 = runner.iterations.iter().map(|round| round.total_time).sum();
    let egraph = runner.egraph;
    let growth = Growth {
        nodes: egraph.total_number_of_nodes(),
        classes: egraph.number_of_classes(),
        rounds: runner.iterations.len(),
        stopped,
        time: Duration::from_secs_f64(seconds),
    };
    let classes = classes.into_iter().map(|class| egraph.find(class)).collect();
    Ok(Saturated { egraph, classes, growth })
}

/// Returns whether an operation only moves values.
pub(crate) fn is_movement(op: &Op) -> bool {
    matches!(op, Op::Reshape | Op::Slice { .. } | Op::Concat { .. })
}
