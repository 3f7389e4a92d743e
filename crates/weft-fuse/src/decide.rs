//! The decisions of this crate, by name, and the cuts they lead to.

use std::fmt;

use weft_ir::NodeId;

/// Something the fuser does that can be switched off.
#[derive(PartialEq, Eq, Debug)]
pub struct Decision {
    /// What it is called: `fuse.tail`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
}

pub(crate) static ROWS: Decision = Decision {
    name: "fuse.rows",
    about: "Elementwise operations and reductions over the same rows are one kernel: a norm, a softmax, a sum of experts.",
};

pub(crate) static TAIL: Decision = Decision {
    name: "fuse.tail",
    about: "Elementwise operations on what an anchor computes are done in its kernel, while the values are at hand.",
};

pub(crate) static ROUND: Decision = Decision {
    name: "fuse.round",
    about: "The kernel that makes a value writes it rounded for the matrices that read it so, instead of a kernel of its own.",
};

/// Every decision, in the order they are taken.
pub static DECISIONS: [&Decision; 3] = [&ROWS, &TAIL, &ROUND];

/// The decision of this name.
pub fn decision(name: &str) -> Option<&'static Decision> {
    DECISIONS.iter().copied().find(|d| d.name == name)
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
    /// It is an anchor, and a kernel has one.
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
    /// This decision is switched off.
    Off(&'static Decision),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Anchor => "an anchor begins a kernel",
            Why::Elsewhere => "it is computed with another of its operands",
            Why::ByNumber => "it picks values by number",
            Why::Part => "it reads a part of a row, or more than one",
            Why::Rows => "its rows are others",
            Why::Columns => "its columns are others",
            Why::Cycle => "it also needs something that is computed later",
            Why::NotATail => "only elementwise operations follow an anchor",
            Why::ForReduction => "it is computed where it is reduced",
            Why::Off(decision) => return write!(f, "{} is off", decision.name),
        })
    }
}
