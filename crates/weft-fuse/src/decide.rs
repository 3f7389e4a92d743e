//! The decisions of this crate, and the cuts they lead to.

use std::fmt;

use weft_ir::{Decision, Mode, NodeId};

pub(crate) static ROWS: Decision = Decision {
    name: "fuse.rows",
    about: "Computes elementwise operations and reductions over the same rows in one kernel: a norm, a softmax, a sum of experts.",
    default: Mode::On,
};

pub(crate) static TAIL: Decision = Decision {
    name: "fuse.tail",
    about: "Computes elementwise operations on an anchor's results in its kernel.",
    default: Mode::On,
};

pub(crate) static ROPE: Decision = Decision {
    name: "fuse.rope",
    about: "Rotates a product's results before they are written, if its rows are the heads.",
    default: Mode::On,
};

pub(crate) static ROUTER: Decision = Decision {
    name: "fuse.router",
    about: "Chooses and weighs experts in the product that scores them, where one worker has all scores of a token.",
    default: Mode::ByCost,
};

pub(crate) static SEVERAL: Decision = Decision {
    name: "fuse.several",
    about: "Computes products that are combined elementwise in one kernel: gate and up, the routed and the shared experts.",
    default: Mode::On,
};

pub(crate) static PROLOGUE: Decision = Decision {
    name: "fuse.norm_into_dot",
    about: "Computes a norm that only products read again in each of their workers, instead of in a kernel before them.",
    default: Mode::ByCost,
};

pub(crate) static ROUND: Decision = Decision {
    name: "fuse.round",
    about: "Rounds a value for quantised matrices in the kernel that computes it, instead of in a separate one.",
    default: Mode::On,
};

pub(crate) static BESIDE: Decision = Decision {
    name: "fuse.beside",
    about: "Computes parts that do not depend on each other in one kernel: q_a and kv_a, the router and the shared expert.",
    default: Mode::On,
};

pub(crate) static LOOKUP: Decision = Decision {
    name: "fuse.lookup",
    about: "Reads rows of a weight that are picked by number where they are added: the biases of the chosen experts.",
    default: Mode::On,
};

/// Whether users' kernels are used.
pub static REPLACE: Decision = Decision {
    name: "kernel.replace",
    about: "Replaces kernels by those given with --kernel, once they are found to compute the same.",
    default: Mode::On,
};

/// Whether the candidates for the next token are chosen on the device. The crate that compiles a model applies it.
pub static CANDIDATES: Decision = Decision {
    name: "head.candidates",
    about: "Chooses the likeliest tokens on devices whose memory is far from the host's, which then reads these instead of all logits.",
    default: Mode::On,
};

/// Every decision of fusion, in the order in which they are taken.
pub(crate) static OWN: [&Decision; 11] =
    [&ROWS, &TAIL, &ROPE, &ROUTER, &SEVERAL, &PROLOGUE, &ROUND, &BESIDE, &LOOKUP, &REPLACE, &CANDIDATES];

/// Every decision of the compiler: the rules of the graph first, then those of fusion, in the order in which they
/// are taken.
pub fn decisions() -> impl Iterator<Item = &'static Decision> {
    weft_ir::rules::decisions().chain(OWN)
}

/// Finds a decision by its name.
pub fn decision(name: &str) -> Option<&'static Decision> {
    decisions().find(|d| d.name == name)
}

/// A value that passes from one kernel to another through memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The group that computes the value.
    pub(crate) group: usize,
    /// The node that reads it.
    pub node: NodeId,
    /// Why that node is not computed in the same kernel.
    pub why: Why,
}

/// Why a node is not computed in the kernel of its operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is an anchor, which reads whole rows.
    Anchor,
    /// It is computed with another of its operands.
    Elsewhere,
    /// It selects values by index, from anywhere in the operand.
    ByNumber,
    /// It reads a part of a row of the operand, or several rows.
    Part,
    /// It has other rows.
    Rows,
    /// It has other columns.
    Columns,
    /// It also needs a value that can only be computed after that kernel.
    Cycle,
    /// Only elementwise operations on whole rows can follow an anchor, whose columns are computed independently.
    NotATail,
    /// Only a reduction needs it, and computes it.
    ForReduction,
    /// Other kernels need the values in memory, so that computing them again saves nothing.
    ReadElsewhere,
    /// This decision is off.
    Off(&'static Decision),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Anchor => "it needs whole rows, which several workers compute together",
            Why::Elsewhere => "it is computed with another of its operands",
            Why::ByNumber => "it picks values by index",
            Why::Part => "it reads a part of a row, or several rows",
            Why::Rows => "it has other rows",
            Why::Columns => "it has other columns",
            Why::Cycle => "it also needs something that is computed later",
            Why::NotATail => "only elementwise operations follow this anchor",
            Why::ForReduction => "it is computed where it is reduced",
            Why::ReadElsewhere => "other kernels read the values from memory, too",
            Why::Off(decision) if decision.default == Mode::ByCost => {
                return write!(f, "{} is off or does not pay here", decision.name);
            }
            Why::Off(decision) => return write!(f, "{} is off", decision.name),
        })
    }
}
