//! The rewrite engine: rules are tried on every node, over and over, until none matches.
//!
//! A round tries the rules in the order of their table, each in a pass over the whole graph. Within a pass a rule sees the graph as
//! it was before the pass, and what it builds goes into a new graph that is made node by node in the same order. So a replacement can
//! only use what comes before the node it stands for, no pass can loop, and matches that overlap do not disturb each other: each
//! gives the value of the node it replaces.

use std::fmt;

use crate::build::Builder;
use crate::decision::{Decision, Switches};
use crate::graph::{Graph, Node, NodeId, Type};
use crate::op::Op;
use crate::rules::RULES;
use crate::shape::Shape;
use crate::verify::verify;

/// Rounds after which rewriting ends in any case. Rules shrink something and so end by themselves, most graphs after three rounds; a
/// graph stopped half-way is as right as any.
const ROUNDS: usize = 64;

/// A way to say the same in another form. See [`crate::rules`] for what a rule must hold to.
#[derive(Debug)]
pub struct Rule {
    /// Its name, what it does, and whether it does so by default.
    pub decision: Decision,
    /// What its replacements have in common with what they replace.
    pub keeps: Keeps,
    /// The replacement of a node, if the rule's premise holds there.
    pub(crate) apply: fn(&mut Rewriter<'_>, NodeId) -> Option<Built>,
}

/// What a rule promises of the values it replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// Every bit, for every input, in the arithmetic of [`crate::eval`]. (Which of several NaNs comes out is nobody's promise.)
    Bits,
    /// The value, up to rounding: sums are taken in another order, or rounded to another type in between.
    Value,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.decision == other.decision
    }
}

impl Eq for Rule {}

/// A graph after the rules, and what happened.
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
    /// The node of the graph given to [`rewrite`] that was replaced, or whose replacement was replaced again.
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
    /// It is not switched on.
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

/// Applies every rule that is switched on until none matches any more.
pub fn rewrite(graph: &Graph, switches: &Switches) -> Rewritten {
    let mut fired = Vec::new();
    let (on, off): (Vec<_>, Vec<_>) = RULES.into_iter().partition(|rule| switches.on(&rule.decision));
    let all = Traced { graph: graph.clone(), origin: graph.iter().map(|(id, _)| id).collect() };
    // Equal nodes become one and dead ones go first: rules ask who else uses a value.
    let mut current = pass(&all, |_, _| None);
    for _ in 0..ROUNDS {
        let before = fired.len();
        for rule in &on {
            let known = fired.len();
            let next = pass(&current, |rewriter, id| {
                let replacement = (rule.apply)(rewriter, id)?;
                let replacement = rewriter.accept(id, replacement)?;
                let op = rewriter.node(id).op.name();
                fired.push(Fired { rule, node: current.origin[id.index()], op });
                Some(replacement)
            });
            if fired.len() > known {
                current = next;
            }
        }
        if fired.len() == before {
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

/// A graph, and for each node the one of the first graph that it came from.
struct Traced {
    graph: Graph,
    origin: Vec<NodeId>,
}

/// Builds a graph again node by node, with what `replace` has instead of nodes, and drops what is dead then.
fn pass(from: &Traced, mut replace: impl FnMut(&mut Rewriter<'_>, NodeId) -> Option<Built>) -> Traced {
    let mut rewriter = Rewriter::new(&from.graph);
    let mut origin = Vec::new();
    for (id, node) in from.graph.iter() {
        let built = match replace(&mut rewriter, id) {
            Some(replacement) => replacement,
            None => rewriter.copy(node),
        };
        rewriter.map.push(built);
        origin.resize(rewriter.built.graph().nodes.len(), from.origin[id.index()]);
    }
    let outputs = from.graph.outputs.iter().map(|(name, id)| (name.clone(), rewriter.get(*id).0)).collect();
    let (nodes, name) = (rewriter.built.into_nodes(), from.graph.name.clone());
    let swept = sweep(Traced { graph: Graph { name, nodes, outputs }, origin });
    debug_assert_eq!(verify(&swept.graph), Ok(()), "a rule broke the graph");
    swept
}

/// The same graph without nodes that no output needs.
fn sweep(from: Traced) -> Traced {
    let mut live = vec![false; from.graph.nodes.len()];
    from.graph.outputs.iter().for_each(|(_, id)| live[id.index()] = true);
    for (id, node) in from.graph.iter().rev() {
        if live[id.index()] {
            node.inputs.iter().for_each(|i| live[i.index()] = true);
        }
    }
    let mut place = vec![NodeId::FIRST; live.len()];
    let mut swept = Traced { graph: Graph { nodes: Vec::new(), ..from.graph.clone() }, origin: Vec::new() };
    for (i, node) in from.graph.nodes.into_iter().enumerate().filter(|(i, _)| live[*i]) {
        place[i] = NodeId(swept.graph.nodes.len() as u32);
        let inputs = node.inputs.iter().map(|i| place[i.index()]).collect();
        swept.graph.nodes.push(Node { inputs, ..node });
        swept.origin.push(from.origin[i]);
    }
    swept.graph.outputs.iter_mut().for_each(|(_, id)| *id = place[id.index()]);
    swept
}

/// A node of the graph that is being built. A type of its own, so that it cannot be mistaken for one of the graph that is matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Built(NodeId);

/// What a rule sees and does: it matches nodes of the graph by [`NodeId`], and makes replacements of what is [`Built`].
pub(crate) struct Rewriter<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    built: Builder,
    /// For each node that has been passed, what stands for it now.
    map: Vec<Built>,
}

impl<'a> Rewriter<'a> {
    fn new(graph: &'a Graph) -> Rewriter<'a> {
        Rewriter { graph, users: graph.users(), built: Builder::new(graph.name()), map: Vec::new() }
    }

    /// The graph that is matched.
    pub(crate) fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// A node of the graph that is matched.
    pub(crate) fn node(&self, id: NodeId) -> &'a Node {
        self.graph.node(id)
    }

    /// The sizes of a node's axes.
    pub(crate) fn dims(&self, id: NodeId) -> &'a [crate::shape::Dim] {
        self.node(id).ty.shape.dims()
    }

    /// The nodes that use a node; `None` if it is an output as well.
    pub(crate) fn users(&self, id: NodeId) -> Option<&[NodeId]> {
        let is_output = self.graph.outputs.iter().any(|(_, output)| *output == id);
        (!is_output).then(|| &self.users[id.index()][..])
    }

    /// Whether `user` is all that needs a node.
    pub(crate) fn is_only_for(&self, id: NodeId, user: NodeId) -> bool {
        self.users(id) == Some(&[user])
    }

    /// What stands for a node that comes before the one being replaced.
    pub(crate) fn get(&self, id: NodeId) -> Built {
        self.map[id.index()]
    }

    /// Builds an operation, if it fits its inputs. That is part of a rule's premise: what does not fit has no replacement.
    pub(crate) fn push(&mut self, op: Op, inputs: &[Built]) -> Option<Built> {
        self.push_as(op, inputs, None)
    }

    /// Builds an operation whose type is given.
    pub(crate) fn push_as(&mut self, op: Op, inputs: &[Built], declared: Option<Type>) -> Option<Built> {
        self.built.intern(op, inputs.iter().map(|b| b.0).collect(), declared).ok().map(Built)
    }

    /// Builds a reshape.
    pub(crate) fn reshape(&mut self, x: Built, shape: impl Into<Shape>) -> Option<Built> {
        let dtype = self.built.ty(x.0)?.dtype;
        self.push_as(Op::Reshape, &[x], Some(Type::new(dtype, shape)))
    }

    /// Builds a slice.
    pub(crate) fn slice(&mut self, x: Built, axis: usize, start: usize, len: usize) -> Option<Built> {
        self.push(Op::Slice { axis, start, len }, &[x])
    }

    /// A node as it is, of what its inputs have become.
    fn copy(&mut self, node: &Node) -> Built {
        let inputs = node.inputs.iter().map(|i| self.get(*i).0).collect();
        Built(self.built.add_node(Node { inputs, ..node.clone() }))
    }

    /// A replacement, if it may stand for a node: it has the node's type, and if the node is an output it is computed.
    ///
    /// The second is a rule of [`verify`]: an output that lies in memory already, as a weight does, has nothing that writes it.
    fn accept(&self, id: NodeId, replacement: Built) -> Option<Built> {
        let fits = self.built.ty(replacement.0) == Some(&self.node(id).ty);
        debug_assert!(fits, "{id} would be replaced by something of another type");
        let built = self.built.graph();
        let base = &built.node(built.base(replacement.0)).op;
        let lies_in_memory = base.is_source() || matches!(base, Op::Product { .. } | Op::Store);
        (fits && !(lies_in_memory && self.users(id).is_none())).then_some(replacement)
    }
}
