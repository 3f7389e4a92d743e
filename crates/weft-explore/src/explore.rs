//! The experiment: everything that equals a graph, the best of it, and what the compiler's rules make of the same graph.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weft_fuse::{Choice as Decided, Cost, CostModel, FuseError, Options, fuse_with};
use weft_ir::rules::RULES;
use weft_ir::{Decision, EvalError, Fired, Graph, Keeps, Mode, NodeId, Op, Sizes};
use weft_kern::Machine;

use crate::check::{Difference, difference};
use crate::forms::{Choice, Forms};
use crate::greedy::{Prices, greedy};
use crate::laws::LAWS;
use crate::saturate::{Growth, Limits, is_movement, saturate};
use crate::search::search;

/// What an anchor costs where the search begins, in launches: one, none, and many.
const LAUNCHES: [f64; 3] = [1.0, 0.0, 10.0];

/// The largest sizes of a decode step: one token, a page of cache.
const DECODE: Sizes = Sizes { tokens: 1, rows: 1, slots: 32, pages: 1 };

/// The result of exploring a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The graph's name.
    pub graph: String,
    /// How the e-graph grew.
    pub growth: Growth,
    /// The results for weights as they are stored, and with products of weights allowed.
    pub results: [Comparison; 2],
}

/// The best graph found, compared with the one that the rules lead to.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Whether products of weights, which are rounded a second time, were allowed.
    pub products: bool,
    /// The cost of the rules' graph: with the rules that are on by default and, if products are allowed, those by cost.
    pub rules: Cost,
    /// How often each rule fired on the way there.
    pub fired: BTreeMap<&'static str, usize>,
    /// The decisions about products of weights that make a difference, if products are allowed. The compiler takes them first, so
    /// later decisions are in neither of their two costs.
    pub folds: Vec<Decided>,
    /// Whether the e-graph holds the rules' graph. A saturated one must.
    pub holds_rules: bool,
    /// The cost of the best graph.
    pub best: Cost,
    /// The number of graphs compiled to find it.
    pub compiled: usize,
    /// Whether these are all graphs that changing one form at a time leads to.
    pub all: bool,
    /// How long that took.
    pub time: Duration,
    /// The best graph.
    pub graph: Graph,
    /// How much its outputs differ from those of the given graph.
    pub difference: Difference,
    /// Operations that only the rules' graph has, without sources and movement.
    pub only_rules: Vec<String>,
    /// Operations that only the best graph has.
    pub only_best: Vec<String>,
}

/// Why a graph could not be explored.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The graph does not compile.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// Two graphs could not be compared.
    #[error("cannot check a graph that was found against the given one: {0}")]
    Eval(#[from] EvalError),
    /// The library refused a law, which is a bug of this crate.
    #[error("a law is not well formed (this is a bug, please report it): {0}")]
    Law(String),
    /// No graph of the e-graph compiles, although the given one does, which is a bug of this crate.
    #[error("nothing in the e-graph of `{0}` compiles (this is a bug, please report it)")]
    Nothing(String),
}

/// Finds the graph with the least cost on a machine, in a step of one token, among all that equal this one.
///
/// # Errors
/// If the graph does not compile, or cannot be evaluated on random numbers.
pub fn explore(graph: &Graph, machine: &Machine, limits: &Limits) -> Result<Report, ExploreError> {
    let from = saturate(graph, &LAWS, limits).map_err(ExploreError::Law)?;
    let all = Forms::new(graph, &from);
    let options = Options { max: DECODE, costs: CostModel::fixed(*machine), ..Options::default() };
    let mut with_products = options.clone();
    for rule in RULES.iter().filter(|rule| makes_products(&rule.decision)) {
        with_products.switches.set(&rule.decision, Mode::ByCost);
    }
    let results = [
        compare(graph, &all.as_stored(), &options, limits, false)?,
        compare(graph, &all, &with_products, limits, true)?,
    ];
    Ok(Report { graph: graph.name().into(), growth: from.growth, results })
}

fn compare(
    graph: &Graph,
    forms: &Forms,
    options: &Options,
    limits: &Limits,
    products: bool,
) -> Result<Comparison, ExploreError> {
    let rules = fuse_with(graph, options)?;
    let begun = Instant::now();
    let machine = options.costs.machine;
    let mut beginnings: Vec<Choice> =
        LAUNCHES.iter().map(|launches| greedy(forms, Prices { machine, launches: *launches })).collect();
    let by_rules = forms.choice_of(&rules.graph, &beginnings[0]);
    let holds_rules = by_rules.is_some();
    beginnings.extend(forms.choice_of(graph, &beginnings[0]));
    beginnings.extend(by_rules);
    let best = search(forms, options, beginnings, limits.time);
    let best = best.ok_or_else(|| ExploreError::Nothing(graph.name().into()))?;
    let time = begun.elapsed();
    let difference = difference(graph, &best.graph)?;
    let fold = |choice: &Decided| makes_products(choice.decision) && choice.differs();
    let [ours, theirs] = [operations(&rules.graph), operations(&best.graph)];
    Ok(Comparison {
        products,
        rules: rules.cost,
        fired: count(&rules.fired),
        folds: rules.choices.into_iter().filter(fold).collect(),
        holds_rules,
        best: best.cost,
        compiled: best.compiled,
        all: best.all,
        time,
        difference,
        only_rules: more(&ours, &theirs),
        only_best: more(&theirs, &ours),
        graph: best.graph,
    })
}

/// Returns whether a decision is a rule that rounds weights a second time.
fn makes_products(decision: &Decision) -> bool {
    RULES.iter().any(|rule| rule.decision == *decision && rule.keeps == Keeps::Value)
}

fn count(fired: &[Fired]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    fired.iter().for_each(|fired| *counts.entry(fired.rule.decision.name).or_default() += 1);
    counts
}

/// How often a graph has each operation, by its type and the parameters it reads.
fn operations(graph: &Graph) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for node in graph.nodes().iter().filter(|node| !node.op.is_source() && !is_movement(&node.op)) {
        let parameter = |id: &&NodeId| graph.is_parameter(**id);
        let read: Vec<String> = node.inputs.iter().filter(parameter).map(|id| read(graph, *id)).collect();
        let of = if read.is_empty() { String::new() } else { format!(" of {}", read.join(", ")) };
        *counts.entry(format!("{} {}{of}", node.op.name(), node.ty)).or_default() += 1;
    }
    counts
}

/// A parameter in words: its name, and which part of it.
fn read(graph: &Graph, id: NodeId) -> String {
    let base = graph.node(graph.base(id));
    let name = match &base.op {
        Op::Weight { name } => name.as_str(),
        op => op.name(),
    };
    let ty = &graph.node(id).ty;
    if base.ty.shape == ty.shape { name.into() } else { format!("{name} as {}", ty.shape) }
}

/// What `a` has more often than `b`.
fn more(a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>) -> Vec<String> {
    let extra = |(name, n): (&String, &usize)| {
        let n = n.saturating_sub(b.get(name).copied().unwrap_or(0));
        (n > 0).then(|| format!("{n}x {name}"))
    };
    a.iter().filter_map(extra).collect()
}
