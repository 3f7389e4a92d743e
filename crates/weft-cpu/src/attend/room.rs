//! A thread's memory for attention.

use super::indexer::Choice;
use super::nodes::{Node, Stack};
use super::plan::{BLOCK, Unit};
use super::weights::{Scales, Scores, Weights};
use crate::grow::grow;
use crate::isa::{Line, Numbers, Sums};

/// Memory of a thread, allocated when programs are compiled.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Queries, four rows together: each line has eight values of each of the four rows.
    pub(super) queries: Vec<Numbers>,
    /// The scale of each query's numbers, including the scale of attention.
    pub(super) query_scales: Vec<f32>,
    /// A row as floats, and as rounded numbers.
    pub(super) row: Vec<Line>,
    pub(super) row_numbers: Vec<Numbers>,
    /// A block of keys, and one of values if these are not part of the keys; and the scales of their numbers.
    pub(super) keys: Vec<Numbers>,
    pub(super) values: Vec<Numbers>,
    pub(super) scales: Scales,
    pub(super) laid_out: Values,
    /// Queries, and a block of keys, as bytes: see [`super::tiled`].
    pub(super) query_bytes: Vec<Numbers>,
    pub(super) key_bytes: Vec<Numbers>,
    /// Sums for squares of positions and rows.
    pub(super) squares: Vec<[[Sums; 2]; 2]>,
    /// For every row.
    pub(super) scores: Vec<Scores>,
    pub(super) weights: Vec<Weights>,
    /// The choices of an indexer: one for each token of a unit, and their candidates.
    pub(super) choices: Vec<Choice>,
    pub(super) candidates: Vec<u64>,
    /// Partial results, see [`Stack`].
    ids: Vec<Node>,
    nodes: Vec<Line>,
    sums: Vec<(f32, f32)>,
}

/// A block of values as they are multiplied.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The values of every two positions in pairs.
    pub(super) pairs: Vec<Numbers>,
    /// The values as bytes, and the weights as bytes: see [`super::tiled`].
    pub(super) bytes: Vec<Numbers>,
    pub(super) weight_bytes: Vec<Numbers>,
}

/// Its size: lengths of its parts.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RoomSize {
    pub(super) queries: usize,
    /// Lines of numbers of the longest row.
    pub(super) row: usize,
    pub(super) keys: usize,
    pub(super) values: usize,
    pub(super) pairs: usize,
    pub(super) query_bytes: usize,
    pub(super) key_bytes: usize,
    pub(super) value_bytes: usize,
    pub(super) weight_bytes: usize,
    pub(super) squares: usize,
    /// Rows, and those that are computed with them.
    pub(super) rows: usize,
    pub(super) nodes: usize,
    pub(super) sums: usize,
    /// Tokens of an indexer's unit, and their candidates together.
    pub(super) choices: usize,
    pub(super) candidates: usize,
}

/// Most nodes on a stack.
const MOST_NODES: usize = 64;

impl RoomSize {
    /// The size that is enough for both.
    pub(crate) fn max(self, other: RoomSize) -> RoomSize {
        RoomSize {
            queries: self.queries.max(other.queries),
            row: self.row.max(other.row),
            keys: self.keys.max(other.keys),
            values: self.values.max(other.values),
            pairs: self.pairs.max(other.pairs),
            query_bytes: self.query_bytes.max(other.query_bytes),
            key_bytes: self.key_bytes.max(other.key_bytes),
            value_bytes: self.value_bytes.max(other.value_bytes),
            weight_bytes: self.weight_bytes.max(other.weight_bytes),
            squares: self.squares.max(other.squares),
            rows: self.rows.max(other.rows),
            nodes: self.nodes.max(other.nodes),
            sums: self.sums.max(other.sums),
            choices: self.choices.max(other.choices),
            candidates: self.candidates.max(other.candidates),
        }
    }

    /// Bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        let rounded = [self.queries, self.row, self.row, self.row, self.keys, self.values, self.pairs];
        let bytes = [self.query_bytes, self.key_bytes, self.value_bytes, self.weight_bytes];
        let lines = rounded.into_iter().chain(bytes).chain([self.nodes]).fold(0, usize::saturating_add);
        lines
            .saturating_mul(size_of::<Line>())
            .saturating_add(self.rows.saturating_mul(size_of::<Scores>() + size_of::<Weights>() + 4))
            .saturating_add(self.squares.saturating_mul(size_of::<[[Sums; 2]; 2]>()))
            .saturating_add(self.sums.saturating_add(self.candidates).saturating_mul(8))
            .saturating_add(self.choices.saturating_mul(size_of::<Choice>()))
            .saturating_add(size_of::<Scales>())
    }
}

impl Room {
    /// Grows to this size; `None` if there is not enough memory.
    pub(crate) fn grow(&mut self, size: &RoomSize) -> Option<()> {
        if size.sums == 0 {
            return Some(());
        }
        grow(&mut self.queries, size.queries)?;
        grow(&mut self.query_scales, size.rows)?;
        grow(&mut self.row, size.row.checked_mul(2)?)?;
        grow(&mut self.row_numbers, size.row)?;
        grow(&mut self.keys, size.keys)?;
        grow(&mut self.values, size.values)?;
        grow(&mut self.laid_out.pairs, size.pairs)?;
        grow(&mut self.query_bytes, size.query_bytes)?;
        grow(&mut self.key_bytes, size.key_bytes)?;
        grow(&mut self.laid_out.bytes, size.value_bytes)?;
        grow(&mut self.laid_out.weight_bytes, size.weight_bytes)?;
        grow(&mut self.squares, size.squares)?;
        grow(&mut self.scores, size.rows)?;
        grow(&mut self.weights, size.rows)?;
        grow(&mut self.nodes, size.nodes)?;
        grow(&mut self.sums, size.sums)?;
        grow(&mut self.choices, size.choices)?;
        grow(&mut self.candidates, size.candidates)?;
        self.ids.try_reserve_exact(MOST_NODES).ok()
    }

    /// The partial results of a unit, of `lines` lines a row.
    pub(super) fn stack(&mut self, unit: &Unit<'_>, lines: usize) -> Stack<'_> {
        let (rows, begin) = (unit.rows(), unit.blocks.start);
        Stack { ids: &mut self.ids, values: &mut self.nodes, sums: &mut self.sums, rows, lines, begin }
    }

    /// Clears the partial results of the previous unit.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
    }
}

/// Rows that a block with `stride` lines per row takes: one more than it has, so that all rows are whole from any value of a row on.
pub(super) fn block_lines(stride: usize) -> usize {
    (BLOCK + 1).saturating_mul(stride)
}
