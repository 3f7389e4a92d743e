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
//! let plan = fuse(&g.finish()?, &Sizes::of(4).rows(1).slots(1).pages(1))?;
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
//! laid out (`memory.rs`). Users' kernels take the places of those they replace (`replace.rs`). Decisions
//! that pay on some machines only are made by compiling both ways and comparing costs (`cost.rs`, `choose.rs`).
#![forbid(unsafe_code)]

mod choose;
mod cost;
mod decide;
mod emit;
mod error;
mod fusion;
mod group;
mod memory;
mod options;
mod order;
mod place;
mod prologue;
mod replace;
mod strided;

use std::sync::Arc;

use weft_ir::{Graph, NodeId, Op, Sizes, Switches};
use weft_kern::{MOST_POSITIONS, MOST_VALUES, Plan};

pub use cost::{Cost, estimate};
pub use decide::{CANDIDATES, Cut, REPLACE, Why, decision, decisions};
pub use error::FuseError;
pub use fusion::{Choice, Computed, Fusion, Replaced};
pub use options::{CostModel, Options};
pub use weft_ir::{Decision, Mode};

/// Compiles a graph to kernels, with default decisions, for a common machine.
///
/// # Errors
/// If no kernel can compute a node.
pub fn fuse(graph: &Graph, max: &Sizes) -> Result<Plan, FuseError> {
    let options = Options { max: *max, ..Options::default() };
    fuse_with(graph, &options).map(|fusion| Arc::unwrap_or_clone(fusion.plan))
}

/// Compiles a graph to kernels, and records why they are cut as they are.
///
/// # Errors
/// If no kernel can compute a node.
pub fn fuse_with(graph: &Graph, options: &Options) -> Result<Fusion, FuseError> {
    choose::choose(options, |switches| compile(graph, switches, options))
}

/// Compiles a graph with every decision on or off; decisions by cost count as off.
fn compile(graph: &Graph, switches: &Switches, options: &Options) -> Result<Fusion, FuseError> {
    check_sizes(graph, &options.max)?;
    let weft_ir::Rewritten { graph, fired, missed } = weft_ir::rewrite(graph, switches);
    let mut groups = group::Groups::new(&graph, switches);
    prologue::absorb(&graph, &mut groups, switches);
    let placed = place::place(&graph, &groups, switches)?;
    let mut pieces = emit::emit(&graph, &groups, &placed)?;
    for piece in &mut pieces {
        piece.part.anchor.limit_pages(options.most_pages);
    }
    let launches = order::order(pieces, switches.on(&decide::BESIDE), &placed.buffers);
    let mut calls: Vec<Computed> = launches.iter().map(|launch| computed(&groups, launch)).collect();
    let mut plan = memory::plan(graph.name(), &options.max, placed.buffers, launches);
    weft_kern::verify(&plan)?;
    let replaced = match switches.on(&decide::REPLACE) {
        true => replace::replace(&mut plan, &mut calls, &options.replacements)?,
        false => Vec::new(),
    };
    let cost = cost::cost(&plan, &options.costs.machine);
    let computed = graph.iter().filter(|(_, node)| node.op.is_computed_parameter());
    let parameters = computed.map(|(id, _)| (place::parameter_name(&graph, id), id)).collect();
    let (graph, plan) = (Arc::new(graph), Arc::new(plan));
    Ok(Fusion { graph, fired, missed, choices: Vec::new(), parameters, plan, cost, calls, replaced })
}

/// Checks that no node is too large for a kernel in a step of the largest sizes.
fn check_sizes(graph: &Graph, max: &Sizes) -> Result<(), FuseError> {
    for (id, node) in graph.iter() {
        let too_large = |why: String| Err(FuseError::new(graph, id, why));
        if !node.op.is_source() && node.ty.shape.count(max).is_none_or(|n| n > MOST_VALUES) {
            return too_large(format!("it has more than {MOST_VALUES} values"));
        }
        if let (Op::Indexer { page, .. }, Some(pages)) = (&node.op, node.inputs.get(5)) {
            let pages = graph.node(*pages).ty.shape.count(max);
            if pages.and_then(|pages| pages.checked_mul(*page)).is_none_or(|n| n > MOST_POSITIONS) {
                return too_large(format!("the pages of a step have more than {MOST_POSITIONS} positions"));
            }
        }
    }
    Ok(())
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
