//! The layout of tensors that stay as they are in their file.

use weft_device::{Packing, Tile};
use weft_quant::GgmlType;

/// Rows one after another.
#[derive(Debug)]
pub(crate) struct AsIs;

impl Packing for AsIs {
    fn id(&self) -> &'static str {
        "rows"
    }

    fn tile(&self, ty: GgmlType, row_len: usize) -> Option<Tile> {
        let bytes = usize::try_from(ty.row_bytes(row_len as u64)?).ok()?;
        Some(Tile { rows: 1, bytes })
    }

    fn pack(&self, _: GgmlType, _: usize, rows: &[u8], out: &mut [u8]) {
        out.copy_from_slice(rows);
    }

    fn restore(&self, _: GgmlType, _: usize, tile: &[u8], rows: &mut [u8]) {
        rows.copy_from_slice(tile);
    }
}
