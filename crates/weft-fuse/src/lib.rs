//! Compiles graphs to kernels: rewrites them, fuses operations, and lays out memory.
//!
//! ```
//! use weft_fuse::fuse;
//! use weft_ir::{Builder, Dim, Sizes};
//! use weft_quant::GgmlType::F32;
//!
//! // A gated network with a residual: x + down(silu(gate(x)) * up(x)).
//! let mut g = Builder::new("network");
//! let x = g.input("x", F32, [Dim::T, 64.into()]);
//! let [gate, up] = ["gate", "up"].map(|name| g.weight(name, F32, [Dim::Const(96), Dim::Const(64)]));
//! let down = g.weight("down", F32, [Dim::Const(64), Dim::Const(96)]);
//! let (gate, up) = (g.dot(x, gate), g.dot(x, up));
//! let gate = g.silu(gate);
//! let hidden = g.mul(gate, up);
//! let y = g.dot(hidden, down);
//! let y = g.add(x, y);
//! g.output("y", y);
//!
//! let plan = fuse(&g.finish()?, &Sizes { tokens: 4, rows: 1, slots: 1, pages: 1 })?;
//! // Six operations, two kernels: both products of x with what follows them, and the last one with the residual.
//! assert_eq!(plan.calls.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start with [`fuse`]; [`fuse_with`] takes [`Options`], and its [`Fusion`] says what was done and why. Every
//! [`Decision`] has a name, by which it can be switched: [`decisions`] lists them.
//!
//! # Stages
//!
//! The rules of [`weft_ir::rules`] rewrite the graph. Its nodes are grouped, each group to be computed by one kernel
//! (`group.rs`); some groups are computed again by each kernel that reads them (`prologue.rs`). Values that pass
//! between kernels get a format and a place in memory (`place.rs`). Each group is written as a part of a kernel
//! (`emit.rs`), parts that do not depend on each other share a launch (`order.rs`), and the memory between kernels is
//! laid out (`memory.rs`). Decisions that pay on some machines only are made by compiling both ways and comparing costs
//! (`cost.rs`, `choose.rs`).
#![forbid(unsafe_code)]

mod choose;
mod cost;
mod decide;
mod emit;
mod group;
mod memory;
mod order;
mod place;
mod prologue;
mod strided;

use std::sync::Arc;

use weft_ir::{Fired, Graph, Missed, NodeId, Sizes, Switches};
use weft_kern::{Machine, Plan, VerifyError};

pub use choose::Choice;
pub use cost::{Cost, estimate};
pub use decide::{Cut, Why, decision, decisions};
pub use weft_ir::{Decision, Mode};

/// Why a graph could not become a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FuseError {
    /// A node that no kernel can compute.
    #[error("graph `{graph}`, {node} ({op}): {why}")]
    Node {
        /// The graph's name.
        graph: String,
        /// The node.
        node: NodeId,
        /// Its operation.
        op: &'static str,
        /// What stands in the way.
        why: String,
    },
    /// The plan breaks a rule: a bug of this crate.
    #[error("the compiler made a wrong plan, please report it: {0}")]
    Plan(#[from] VerifyError),
}

impl FuseError {
    fn new(graph: &Graph, node: NodeId, why: impl Into<String>) -> FuseError {
        FuseError::Node { graph: graph.name().into(), node, op: graph.node(node).op.name(), why: why.into() }
    }
}

/// What a plan is made for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The largest sizes of a step.
    pub max: Sizes,
    /// Decisions that are set by hand.
    pub switches: Switches,
    /// What decisions by cost are taken by.
    pub costs: CostModel,
    /// Tell the costs of what is left to the user, too.
    pub advise: bool,
}

/// What decisions by cost are taken by: how fast a machine is.
///
/// Two runs may know different numbers of one machine, because it has been measured in between. So that no bit depends on when it was measured,
/// a decision that may change bits is taken for [`fixed`](CostModel::fixed) numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostModel {
    /// As far as it is known: measured, if it has been.
    pub machine: Machine,
    /// Numbers that are the same in every run: those of a table.
    pub fixed: Machine,
    /// Whether the machine sums a product in the same order wherever a rule puts it: then a rule that keeps the bits of values
    /// ([`Keeps::Bits`](weft_ir::Keeps::Bits)) keeps those of the machine.
    pub rules_keep_bits: bool,
}

impl CostModel {
    /// A machine that has not been measured, and whose bits no rule changes that promises to keep them.
    pub const fn fixed(machine: Machine) -> CostModel {
        CostModel { machine, fixed: machine, rules_keep_bits: true }
    }

    /// Whether a decision by cost changes no bit: one of fusion, or a rule that keeps the machine's bits.
    pub fn keeps_bits(&self, decision: &Decision) -> bool {
        let rule = weft_ir::rules::RULES.into_iter().find(|rule| rule.decision == *decision);
        rule.is_none_or(|rule| rule.keeps == weft_ir::Keeps::Bits && self.rules_keep_bits)
    }

    /// The numbers that a decision is taken by.
    pub fn decides(&self, decision: &Decision) -> &Machine {
        if self.keeps_bits(decision) { &self.machine } else { &self.fixed }
    }
}

impl Default for CostModel {
    /// A common machine.
    fn default() -> CostModel {
        CostModel::fixed(Machine::default())
    }
}

/// A plan, and how it came about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fusion {
    /// The graph after the rules.
    pub graph: Arc<Graph>,
    /// Every replacement that a rule made, in order.
    pub fired: Vec<Fired>,
    /// The rules that replaced nothing, and why.
    pub missed: Vec<Missed>,
    /// The decisions that cost was asked for, in order.
    pub choices: Vec<Choice>,
    /// Products of weights that the plan reads, to be made before it runs: names in the plan, and nodes of the graph.
    pub products: Vec<(String, NodeId)>,
    /// The kernels.
    pub plan: Arc<Plan>,
    /// What it costs on the machine it is made for.
    pub cost: Cost,
    /// For each call of the plan, in order, what it computes.
    pub calls: Vec<Computed>,
}

/// What one call of a plan computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computed {
    /// For each part of its kernel, the nodes of the graph after the rules; none if it only moves or rounds values.
    pub parts: Vec<Vec<NodeId>>,
    /// Which nodes that read its values are not among them, and why.
    pub cuts: Vec<Cut>,
}

/// Compiles a graph to kernels, every decision at its default, for a common machine.
///
/// # Errors
/// If a node cannot be computed by any kernel.
pub fn fuse(graph: &Graph, max: &Sizes) -> Result<Plan, FuseError> {
    let options = Options { max: *max, ..Options::default() };
    fuse_with(graph, &options).map(|fusion| Arc::unwrap_or_clone(fusion.plan))
}

/// Compiles a graph to kernels, and tells why they are cut as they are.
///
/// # Errors
/// If a node cannot be computed by any kernel.
pub fn fuse_with(graph: &Graph, options: &Options) -> Result<Fusion, FuseError> {
    choose::choose(options, |switches| compile(graph, switches, options))
}

/// Compiles a graph with decisions that are all on or off; those by cost count as off.
fn compile(graph: &Graph, switches: &Switches, options: &Options) -> Result<Fusion, FuseError> {
    let weft_ir::Rewritten { graph, fired, missed } = weft_ir::rewrite(graph, switches);
    let mut groups = group::Groups::new(&graph, switches);
    prologue::absorb(&graph, &mut groups, switches);
    let placed = place::place(&graph, &groups, switches)?;
    let pieces = emit::emit(&graph, &groups, &placed)?;
    let launches = order::order(pieces, switches.on(&decide::BESIDE));
    let calls = launches.iter().map(|launch| computed(&groups, launch)).collect();
    let plan = memory::plan(graph.name(), &options.max, placed.buffers, launches);
    weft_kern::verify(&plan)?;
    let cost = cost::cost(&plan, &options.costs.machine);
    let is_product = |(_, node): &(NodeId, &weft_ir::Node)| matches!(node.op, weft_ir::Op::Product { .. });
    let products = graph.iter().filter(is_product).map(|(id, _)| (place::product_name(id), id)).collect();
    let (graph, plan) = (Arc::new(graph), Arc::new(plan));
    Ok(Fusion { graph, fired, missed, choices: Vec::new(), products, plan, cost, calls })
}

fn computed(groups: &group::Groups, launch: &order::Launch) -> Computed {
    let nodes = |group: &Option<usize>| {
        let group = group.map(|g| &groups.list[g])?;
        let before = group.prologue.map_or(&[][..], |p| &groups.list[p].members);
        Some(before.iter().chain(&group.members).copied().collect())
    };
    let parts: Vec<Vec<NodeId>> = launch.groups.iter().map(|g| nodes(g).unwrap_or_default()).collect();
    let apart = |cut: &&Cut| {
        launch.groups.contains(&Some(cut.group)) && !parts.iter().flatten().any(|n| *n == cut.node)
    };
    let mut cuts: Vec<Cut> = Vec::new();
    for cut in groups.cuts.iter().filter(apart) {
        if !cuts.iter().any(|known| (known.node, known.why) == (cut.node, cut.why)) {
            cuts.push(cut.clone());
        }
    }
    Computed { parts, cuts }
}
