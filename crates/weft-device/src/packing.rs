//! How devices lay out the weights they multiply by, and the one layout there is so far.

use weft_quant::GgmlType;
use weft_quant::packed::{Layout, ROWS, pack_tile};

/// How a device lays weights out that it multiplies by, if not as the file does.
///
/// Packing is a pure function of the rows, so that it can be done by all cores and its result be kept in a file.
pub trait Packing: Send + Sync {
    /// The layout's name with its version: what was packed under another name is of no use.
    fn id(&self) -> &'static str;

    /// The tiles that rows of `row_len` values of a type are packed in; `None` if they are multiplied as they are.
    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile>;

    /// Packs a tile: `rows` are as many whole rows as it has, or fewer at the end of a weight; `out` is [`Tile::bytes`] long.
    ///
    /// # Panics
    /// If the type and row length have no tile, or a slice has another length.
    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]);
}

/// Rows that are packed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// How many.
    pub rows: usize,
    /// Bytes they take together, a multiple of 64.
    pub bytes: usize,
}

/// The layout of [`weft_quant::packed`]: sixteen rows interleaved, which vectors of a processor and neighbouring lanes of a graphics device
/// read alike.
#[derive(Clone, Copy, Debug)]
pub struct RowsOf16;

impl Packing for RowsOf16 {
    fn id(&self) -> &'static str {
        "rows of 16, version 1"
    }

    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile> {
        let whole = row_len > 0 && row_len.is_multiple_of(ty.block_len());
        let bytes = Layout::of(ty).filter(|_| whole)?.tile_bytes(row_len)?;
        Some(Tile { rows: ROWS, bytes })
    }

    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]) {
        pack_tile(ty, row_len, rows, out);
    }
}
