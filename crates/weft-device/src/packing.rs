//! Device layouts for weights of products, and the one layout so far.

use std::fmt;

use weft_quant::GgmlType;
use weft_quant::packed::{Layout, ROWS, pack_tile};
use weft_quant::restore_tile;

/// A device's layout for weights of products.
///
/// Packing is a pure function of the rows, so all cores can do it and the result can be kept in a file.
pub trait Packing: fmt::Debug + Send + Sync {
    /// The layout's name and version. Files packed under another name are not used.
    fn id(&self) -> &'static str;

    /// The tiles that rows of `row_len` values of a type are packed in; `None` if products read them as the file stores them.
    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile>;

    /// Packs a tile. `rows` holds as many whole rows as a tile has, or fewer at the end of a weight; `out` has [`Tile::bytes`].
    ///
    /// # Panics
    /// If the type and row length have no tile, or a slice has the wrong length.
    fn pack(&self, ty: GgmlType, row_len: usize, rows: &[u8], out: &mut [u8]);

    /// Restores as many rows of a packed tile as `rows` has room for: the inverse of [`pack`](Packing::pack), bit for bit, so that a
    /// model can be kept in its packed form only. A damaged tile gives wrong rows.
    ///
    /// # Panics
    /// If the type and row length have no tile, or a slice has the wrong length.
    fn restore(&self, ty: GgmlType, row_len: usize, tile: &[u8], rows: &mut [u8]);
}

/// Rows that are packed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// The number of rows.
    pub rows: usize,
    /// Bytes they take together, a multiple of 64.
    pub bytes: usize,
}

impl Tile {
    /// Bytes of the tiles of so many rows; `None` on overflow.
    pub const fn bytes_of(self, rows: usize) -> Option<usize> {
        rows.div_ceil(self.rows).checked_mul(self.bytes)
    }
}

/// The layout of [`weft_quant::packed`]: sixteen interleaved rows, which suit the vectors of a processor and adjacent lanes of a GPU
/// alike.
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

    fn restore(&self, ty: GgmlType, row_len: usize, tile: &[u8], rows: &mut [u8]) {
        restore_tile(ty, row_len, tile, rows);
    }
}
