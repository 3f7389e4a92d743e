//! The experiment: everything that equals a graph, the best of it, and what the compiler makes of the same graph by its rules.

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

/// Launches that an anchor counts for where the search begins: as it is, none, and many.
const LAUNCHES: [f64; 3] = [1.0, 0.0, 10.0];

/// The largest sizes of a step that writes a reply: one token, a page of memory.
const DECODE: Sizes = Sizes { tokens: 1, rows: 1, slots: 32, pages: 1 };

/// What a graph was found to equal.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The graph's name.
    pub graph: String,
    /// The e-graph.
    pub growth: Growth,
    /// With weights as they are stored, and with products of weights allowed.
    pub results: [Comparison; 2],
}

/// The best graph that was found beside the one that the rules lead to.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Whether products of weights, rounded a second time, were allowed.
    pub products: bool,
    /// What the rules come to: those that are on by default, with products those by cost too.
    pub rules: Cost,
    /// Replacements by each rule on the way there.
    pub fired: BTreeMap<&'static str, usize>,
    /// What products of weights cost, where they are allowed and have a place. The compiler decides this first: what it decides after is in
    /// neither of the two costs.
    pub folds: Vec<Decided>,
    /// Whether the e-graph holds that graph. If it is saturated it must.
    pub holds_rules: bool,
    /// What the best graph comes to.
    pub best: Cost,
    /// How many graphs were compiled to find it.
    pub compiled: usize,
    /// Whether these are all that single changes of form lead to.
    pub all: bool,
    /// How long that took.
    pub time: Duration,
    /// The best graph.
    pub graph: Graph,
    /// How far what it computes is from what the graph that was given does.
    pub difference: Difference,
    /// Operations that only the rules' graph has, and only the best one. Sources and movement are left out.
    pub only_rules: Vec<String>,
    /// The same for the best.
    pub only_best: Vec<String>,
}

/// Why a graph could not be explored.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// It does not compile as it is.
    #[error(transparent)]
    Fuse(#[from] FuseError),
    /// Two graphs could not be compared.
    #[error("a graph that was found could not be checked against the one that was given: {0}")]
    Eval(#[from] EvalError),
    /// The library refused a law: a bug of this crate.
    #[error("a law is not well formed, please report it: {0}")]
    Law(String),
    /// No graph of the e-graph compiles, although the one given does: a bug of this crate.
    #[error("nothing in the e-graph of `{0}` compiles, please report it")]
    Nothing(String),
}

/// Looks for the graph that costs least on a machine, in a step of one token, among all that equal this one.
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

/// Whether a decision is a rule that rounds weights a second time.
fn makes_products(decision: &Decision) -> bool {
    RULES.iter().any(|rule| rule.decision == *decision && rule.keeps == Keeps::Value)
}

fn count(fired: &[Fired]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    fired.iter().for_each(|fired| *counts.entry(fired.rule.decision.name).or_default() += 1);
    counts
}

/// How often a graph has each operation, with its type and the parameter it reads.
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

/// A parameter as people know it: its name, and which part of it.
fn read(graph: &Graph, id: NodeId) -> String {
    let base = graph.node(graph.base(id));
    let name = match &base.op {
        Op::Weight { name } => name.as_str(),
        op => op.name(),
    };
    let ty = &graph.node(id).ty;
    if base.ty.shape == ty.shape { name.into() } else { format!("{name} as {}", ty.shape) }
}

/// What `a` has and `b` has not, or not as often.
fn more(a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>) -> Vec<String> {
    let extra = |(name, n): (&String, &usize)| {
        let n = n.saturating_sub(b.get(name).copied().unwrap_or(0));
        (n > 0).then(|| format!("{n}x {name}"))
    };
    a.iter().filter_map(extra).collect()
}
