//! Weights that a device reads in turn in one place.

use std::ops::Range;

use crate::error::DeviceError;
use crate::ids::BufferId;
use crate::packing::Tile;
use crate::weight::Weight;

/// Rows of a weight that are copied to another one. Both ranges are whole tiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowsCopied {
    /// The rows.
    pub from: Range<usize>,
    /// The first row that they replace.
    pub to: usize,
}

impl RowsCopied {
    /// These rows, to the same places.
    pub fn in_place(rows: Range<usize>) -> RowsCopied {
        RowsCopied { to: rows.start, from: rows }
    }

    /// The bytes that are copied and the first byte that they replace, where rows are in such tiles. `None` if they are not whole tiles, or
    /// not among this many rows of each weight.
    pub fn bytes(&self, tile: Tile, (from, to): (usize, usize)) -> Option<(Range<usize>, usize)> {
        let Range { start, end } = self.from;
        let ends = self.to.checked_add(end.checked_sub(start)?)? <= to && end <= from;
        let whole = |rows: usize| rows.is_multiple_of(tile.rows);
        let at = |rows: usize| tile.bytes_of(rows);
        (ends && whole(start) && (whole(end) || end == from && end - start + self.to == to) && whole(self.to))
            .then_some((at(start)?..at(end)?, at(self.to)?))
    }
}

/// A device that replaces weights while it computes, so that many pass through the memory of a few.
///
/// It computes the products of experts with the bits that a plan says ([`Shares`](weft_kern::Shares)), as do all devices that have this: so
/// it does not matter which of them computes an expert.
pub trait Streaming {
    /// Prepares to replace rows of a weight by those of another one, so that [`replace`](Streaming::replace) does so without delay.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if it is no weight of this type and length of rows; those of memory for it.
    fn prepare(&mut self, buffer: BufferId, with: &Weight) -> Result<(), DeviceError>;

    /// Begins to replace rows of a weight by those of another one, as [prepared](Streaming::prepare), after all work before. Later work may
    /// run meanwhile. It must not read these rows before it [waits](Streaming::wait_for) for the weight, or it
    /// [is replaced](Streaming::is_replaced).
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if this was not prepared, or rows are not whole tiles of both; those of the copy.
    fn replace(&mut self, buffer: BufferId, with: &Weight, rows: &[RowsCopied]) -> Result<(), DeviceError>;

    /// Whether all rows of a weight that were to be replaced are.
    ///
    /// # Errors
    /// Those of the copy.
    fn is_replaced(&mut self, buffer: BufferId) -> Result<bool, DeviceError>;

    /// Makes later work wait until the weight has its last contents.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if there is no such buffer.
    fn wait_for(&mut self, buffer: BufferId) -> Result<(), DeviceError>;
}
