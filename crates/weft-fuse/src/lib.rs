//! Graph to kernels: where to cut and why, plan reuse and the memory plan.
//!
//! [`fuse`] turns a graph into a [`Plan`]: it cuts the graph into groups (`group.rs`), decides which values are written to memory, in
//! which format and where (`place.rs`), writes each group as a kernel (`emit.rs`), orders the kernels (`order.rs`) and lays out the memory
//! between them (`memory.rs`).
#![forbid(unsafe_code)]

mod decide;
mod emit;
mod group;
mod memory;
mod order;
mod place;
mod strided;

use std::sync::Arc;

use weft_ir::{Graph, NodeId, Sizes};
use weft_kern::{Plan, VerifyError};

pub use decide::{Cut, DECISIONS, Decision, Why, decision};

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
    /// Decisions that are switched off.
    pub off: Vec<&'static Decision>,
}

/// A plan, and how it came about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fusion {
    /// The kernels.
    pub plan: Arc<Plan>,
    /// For each call of the plan, in order, what it computes.
    pub calls: Vec<Computed>,
}

/// What one call of a plan computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computed {
    /// The nodes of the graph; none if the call only moves or rounds values.
    pub nodes: Vec<NodeId>,
    /// Which nodes that read its values are not among them, and why.
    pub cuts: Vec<Cut>,
}

/// Compiles a graph to kernels, with every decision on.
///
/// # Errors
/// If a node cannot be computed by any kernel.
pub fn fuse(graph: &Graph, max: &Sizes) -> Result<Plan, FuseError> {
    fuse_with(graph, &Options { max: *max, off: Vec::new() }).map(|fusion| Arc::unwrap_or_clone(fusion.plan))
}

/// Compiles a graph to kernels, and tells why they are cut as they are.
///
/// # Errors
/// If a node cannot be computed by any kernel.
pub fn fuse_with(graph: &Graph, options: &Options) -> Result<Fusion, FuseError> {
    let groups = group::Groups::new(graph, &options.off);
    let placed = place::place(graph, &groups, &options.off)?;
    let launches = order::order(emit::emit(graph, &groups, &placed)?);
    let computed = |launch: &emit::Launch| Computed {
        nodes: launch.group.map_or(Vec::new(), |g| groups.list[g].members.clone()),
        cuts: groups.cuts.iter().filter(|cut| Some(cut.group) == launch.group).cloned().collect(),
    };
    let calls = launches.iter().map(computed).collect();
    let plan = memory::plan(graph.name(), &options.max, placed.buffers, launches);
    weft_kern::verify(&plan)?;
    Ok(Fusion { plan: Arc::new(plan), calls })
}
