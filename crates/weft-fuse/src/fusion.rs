//! A plan, and how it was made.

use std::sync::Arc;

use weft_ir::{Decision, Fired, Graph, Missed, NodeId};
use weft_kern::{Plan, Replacement};

use crate::cost::Cost;
use crate::decide::Cut;
use crate::error::FuseError;

/// A plan, and how it was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fusion {
    /// The graph after the rules.
    pub graph: Arc<Graph>,
    /// Every replacement that a rule made, in order.
    pub fired: Vec<Fired>,
    /// The rules that replaced nothing, with the reason.
    pub missed: Vec<Missed>,
    /// The decisions whose cost was estimated, in order.
    pub choices: Vec<Choice>,
    /// Parameters that the plan reads and no file has, which must be computed before it runs: their names in the plan, and nodes
    /// of the graph.
    pub parameters: Vec<(String, NodeId)>,
    /// The kernels.
    pub plan: Arc<Plan>,
    /// Its cost on the machine that it is compiled for.
    pub cost: Cost,
    /// The nodes that each call of the plan computes, in order.
    pub calls: Vec<Computed>,
    /// The users' kernels, where the plan has them.
    pub replaced: Vec<Replaced>,
}

/// A user's kernel in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// Its index in [`Plan::kernels`].
    pub kernel: usize,
    /// The name of the kernel that the compiler made.
    pub before: String,
    /// Both kernels.
    pub replacement: Arc<Replacement>,
}

/// The nodes that one call of a plan computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Computed {
    /// For each part of its kernel, the nodes of the rewritten graph; none if it only moves or rounds values.
    pub parts: Vec<Vec<NodeId>>,
    /// The nodes that read its values but are not among them, and why.
    pub cuts: Vec<Cut>,
}

/// A decision by cost, and the cost of the plan either way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The decision.
    pub decision: &'static Decision,
    /// The plan's cost without it, on the [machine that it is decided for](crate::CostModel::decides) and with the decisions
    /// taken before.
    pub without: Cost,
    /// The plan's cost with it. An error is a fault of the decision, since the graph compiles without it.
    pub with: Result<Cost, FuseError>,
}

impl Choice {
    /// Returns whether it pays, and so was taken. It does not if it makes no difference or does not compile.
    pub fn pays(&self) -> bool {
        self.with.as_ref().is_ok_and(|with| with.ns < self.without.ns)
    }

    /// Returns whether it makes a difference.
    pub fn differs(&self) -> bool {
        self.with.as_ref() != Ok(&self.without)
    }
}
