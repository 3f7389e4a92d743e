//! The steps of a program: what each side runs, and when values go from one side to the other.

use std::ops::Range;

use crate::ids::{BufferId, ProgramId};
use crate::placement::Side;
use crate::split::streams::Turn;

/// A program, in steps that begin one after another.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// The buffers that it leaves changed, and on which sides they are then current.
    pub(super) changed: Vec<(BufferId, [bool; 2])>,
}

/// A step of a program.
#[derive(Debug)]
pub(super) enum Step {
    /// Copies the values that the other side has written by then.
    Copy(Copy),
    /// Copies part of this buffer that was there before the program, if only the other side has it.
    Find(BufferId, Copy),
    /// Begins to fetch these parts of a side's buffers, which are copied later.
    Fetch(Side, Vec<(BufferId, Range<usize>)>),
    /// Runs launches on this side.
    Run(Side, ProgramId),
    /// Copies a weight to its slot on the first side, or waits for it.
    Turn(Turn),
}

/// Bytes that are copied from one side to the other.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) to: Side,
    /// The ranges, in buffers of the side that has them.
    pub(super) from: Vec<(BufferId, Range<usize>)>,
    /// The same in buffers of the other side.
    pub(super) to_ranges: Vec<(BufferId, Range<usize>)>,
    /// Whether they were fetched.
    pub(super) fetched: bool,
}

impl Copy {
    /// The number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.from.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}
