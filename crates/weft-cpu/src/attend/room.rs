//! A thread's memory for attention.

use super::BLOCK;
use super::nodes::{Node, Stack};
use super::plan::Unit;
use crate::isa::Line;
use crate::thread::grow;

/// The scores of a row in a block, then its weights.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Weights(pub(super) [f32; BLOCK]);

impl Default for Weights {
    fn default() -> Weights {
        Weights([0.0; BLOCK])
    }
}

/// Memory of a thread, allocated when programs are compiled.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Queries, four rows together: for each sixteen values of a row four lines, of which each has four values of each of the four rows.
    pub(super) queries: Vec<[Line; 4]>,
    /// A block of keys, and one of values.
    pub(super) keys: Vec<Line>,
    pub(super) values: Vec<Line>,
    /// Scores and weights of every row.
    pub(super) weights: Vec<Weights>,
    /// Unfinished sums of scores.
    pub(super) partial: Vec<Line>,
    /// Partial results, see [`Stack`].
    ids: Vec<Node>,
    nodes: Vec<Line>,
    sums: Vec<(f32, f32)>,
}

/// How large it must be: lengths of its parts.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RoomSize {
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) values: usize,
    pub(super) weights: usize,
    pub(super) nodes: usize,
    pub(super) sums: usize,
}

/// Lines of unfinished sums: a block's, of five times four rows.
const PARTIAL: usize = BLOCK * 5;

/// Most nodes on a stack.
const MOST_NODES: usize = 64;

impl RoomSize {
    /// What is enough for both.
    pub(crate) fn max(self, other: RoomSize) -> RoomSize {
        RoomSize {
            queries: self.queries.max(other.queries),
            keys: self.keys.max(other.keys),
            values: self.values.max(other.values),
            weights: self.weights.max(other.weights),
            nodes: self.nodes.max(other.nodes),
            sums: self.sums.max(other.sums),
        }
    }

    /// Bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        let lines = [self.queries.saturating_mul(4), self.keys, self.values, self.nodes];
        let lines = lines.into_iter().fold(PARTIAL, usize::saturating_add);
        lines
            .saturating_mul(size_of::<Line>())
            .saturating_add(self.weights.saturating_mul(size_of::<Weights>()))
            .saturating_add(self.sums.saturating_mul(8))
    }
}

impl Room {
    /// Makes it as large; `None` if there is no memory for it.
    pub(crate) fn grow(&mut self, size: &RoomSize) -> Option<()> {
        if size.sums == 0 {
            return Some(());
        }
        grow(&mut self.queries, size.queries)?;
        grow(&mut self.keys, size.keys)?;
        grow(&mut self.values, size.values)?;
        grow(&mut self.weights, size.weights)?;
        grow(&mut self.partial, PARTIAL)?;
        grow(&mut self.nodes, size.nodes)?;
        grow(&mut self.sums, size.sums)?;
        self.ids.try_reserve_exact(MOST_NODES).ok()
    }

    /// The partial results of a unit, of `lines` lines a row.
    pub(super) fn stack(&mut self, unit: &Unit<'_>, lines: usize) -> Stack<'_> {
        Stack { ids: &mut self.ids, values: &mut self.nodes, sums: &mut self.sums, rows: unit.rows(), lines }
    }

    /// Forgets the partial results of the unit before.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }
}
