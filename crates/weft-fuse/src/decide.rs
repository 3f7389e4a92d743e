//! The decisions of this crate, by name, and the cuts they lead to.

use std::fmt;

use weft_ir::{Decision, Mode, NodeId};

pub(crate) static ROWS: Decision = Decision {
    name: "fuse.rows",
    about: "Elementwise operations and reductions over the same rows are one kernel: a norm, a softmax, a sum of experts.",
    default: Mode::On,
};

pub(crate) static TAIL: Decision = Decision {
    name: "fuse.tail",
    about: "Elementwise operations on what an anchor computes are done in its kernel, while the values are at hand.",
    default: Mode::On,
};

pub(crate) static ROPE: Decision = Decision {
    name: "fuse.rope",
    about: "A product whose rows are the heads rotates its results before it writes them.",
    default: Mode::On,
};

pub(crate) static ROUTER: Decision = Decision {
    name: "fuse.router",
    about: "The product that scores experts also chooses them and weighs the chosen: one worker has all scores of a token.",
    default: Mode::ByCost,
};

pub(crate) static SEVERAL: Decision = Decision {
    name: "fuse.several",
    about: "Products that are combined elementwise are one kernel: gate and up, the routed and the shared experts.",
    default: Mode::On,
};

pub(crate) static PROLOGUE: Decision = Decision {
    name: "fuse.norm_into_dot",
    about: "What only products read, a norm, is computed by each of their workers for itself instead of by a kernel before.",
    default: Mode::ByCost,
};

pub(crate) static ROUND: Decision = Decision {
    name: "fuse.round",
    about: "The kernel that makes a value writes it rounded for the matrices that read it so, instead of a kernel of its own.",
    default: Mode::On,
};

pub(crate) static BESIDE: Decision = Decision {
    name: "fuse.beside",
    about: "What does not depend on each other is one kernel with several parts: q_a and kv_a, the router and the shared expert.",
    default: Mode::On,
};

/// Every decision of fusion, in the order they are taken.
pub(crate) static OWN: [&Decision; 8] = [&ROWS, &TAIL, &ROPE, &ROUTER, &SEVERAL, &PROLOGUE, &ROUND, &BESIDE];

/// Every decision of the compiler: the rules of the graph first, then those of fusion, in the order they are taken.
pub fn decisions() -> impl Iterator<Item = &'static Decision> {
    weft_ir::rules::decisions().chain(OWN)
}

/// The decision of this name.
pub fn decision(name: &str) -> Option<&'static Decision> {
    decisions().find(|d| d.name == name)
}

/// A value that goes from one kernel to another through memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The group that makes the value.
    pub(crate) group: usize,
    /// The node that reads it.
    pub node: NodeId,
    /// Why that node is not computed where the value is made.
    pub why: Why,
}

/// Why a node is not computed in the kernel that makes its operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is an anchor, which reads whole rows.
    Anchor,
    /// It is computed with another of its operands.
    Elsewhere,
    /// It picks values by number, from all over the operand.
    ByNumber,
    /// It reads a part of the operand, or more than a row of it.
    Part,
    /// Its rows are others.
    Rows,
    /// Its columns are others.
    Columns,
    /// It also needs something that cannot be computed before that kernel has run.
    Cycle,
    /// Only elementwise operations on whole rows follow an anchor: its columns are computed apart from each other.
    NotATail,
    /// It is needed for a reduction only, and is computed there.
    ForReduction,
    /// Others need the values in memory, so that nothing is saved by computing them again.
    ReadElsewhere,
    /// This decision is switched off.
    Off(&'static Decision),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Anchor => "it needs whole rows, which many workers make together",
            Why::Elsewhere => "it is computed with another of its operands",
            Why::ByNumber => "it picks values by number",
            Why::Part => "it reads a part of a row, or more than one",
            Why::Rows => "its rows are others",
            Why::Columns => "its columns are others",
            Why::Cycle => "it also needs something that is computed later",
            Why::NotATail => "only elementwise operations follow this anchor",
            Why::ForReduction => "it is computed where it is reduced",
            Why::ReadElsewhere => "others read the values from memory, too",
            Why::Off(decision) if decision.default == Mode::ByCost => {
                return write!(f, "{} is off or does not pay here", decision.name);
            }
            Why::Off(decision) => return write!(f, "{} is off", decision.name),
        })
    }
}
