//! Weights on their way to a GPU: as the file has them, or packed in tiles.

use weft_device::{DeviceError, Packing, RowsOf16, Tile, Weight};
use weft_render::Gpu;

/// Bytes handed over at a time.
const PIECE: usize = 16 << 20;

/// How a weight is laid out in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeightLayout {
    /// The length of the rows of its tiles; `None` if it is as in the file.
    pub tiles: Option<usize>,
    /// The buffers that hold it, one after another: more than one if it is [larger](Gpu::piece_bytes) than a kernel can
    /// bind.
    pub pieces: u32,
}

impl WeightLayout {
    /// The layout that kernels read a weight in: tiles if it is quantised, in one piece.
    pub fn of(weight: &Weight) -> WeightLayout {
        let tiles = RowsOf16.tile(weight.ty, weight.row_len).map(|_| weight.row_len);
        WeightLayout { tiles, pieces: 1 }
    }

    /// The same, in as many pieces as this GPU needs.
    ///
    /// # Errors
    /// Those of [`bytes`](WeightLayout::bytes).
    pub fn in_pieces(weight: &Weight, gpu: &Gpu) -> Result<WeightLayout, DeviceError> {
        let layout = WeightLayout::of(weight);
        let pieces = gpu.pieces(layout.bytes(weight)? as u64);
        Ok(WeightLayout { pieces, ..layout })
    }

    /// Bytes that a weight takes in this layout.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if no memory can hold as many, or the weight has no tiles.
    pub fn bytes(self, weight: &Weight) -> Result<usize, DeviceError> {
        match self.tiles {
            None => Ok((*weight.bytes).as_ref().len()),
            Some(_) => tiles_bytes(weight, tile(weight)?),
        }
    }
}

fn tile(weight: &Weight) -> Result<Tile, DeviceError> {
    let tile = RowsOf16.tile(weight.ty, weight.row_len);
    tile.ok_or_else(|| DeviceError::Usage(format!("tiles of {weight:?}, which has none")))
}

/// Bytes of all of a weight's tiles.
fn tiles_bytes(weight: &Weight, tile: Tile) -> Result<usize, DeviceError> {
    let bytes = tile.bytes_of(weight.rows);
    bytes.ok_or_else(|| DeviceError::Usage(format!("{weight:?} is too large for any memory")))
}

/// Passes a weight to `push` piece by piece in this layout. Tiles are packed on the way unless they are given.
///
/// # Errors
/// [`DeviceError::Weight`] or [`DeviceError::Usage`] if the bytes or tiles do not match the shape; those of `push`.
pub fn lay_out(
    weight: &Weight,
    layout: WeightLayout,
    mut push: impl FnMut(&[u8]) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    weight.check()?;
    let bytes = || (*weight.bytes).as_ref();
    match (layout.tiles, &weight.tiles) {
        (None, _) => bytes().chunks(PIECE).try_for_each(push),
        (Some(_), Some(tiles)) => {
            let tiles = (**tiles).as_ref();
            let (found, expected) = (tiles.len(), tiles_bytes(weight, tile(weight)?)?);
            if found != expected {
                let why = format!("{found} bytes of tiles of {weight:?}, which has {expected}");
                return Err(DeviceError::Usage(why));
            }
            tiles.chunks(PIECE).try_for_each(push)
        }
        (Some(_), None) => {
            let (tile, bytes) = (tile(weight)?, bytes());
            let row = bytes.len() / weight.rows.max(1);
            let together = (PIECE / tile.bytes).max(1);
            let mut packed = Vec::new();
            for rows in bytes.chunks((row * tile.rows * together).max(1)) {
                let tiles = rows.chunks((row * tile.rows).max(1));
                packed.resize(tiles.len() * tile.bytes, 0);
                for (rows, out) in tiles.zip(packed.chunks_exact_mut(tile.bytes)) {
                    RowsOf16.pack(weight.ty, weight.row_len, rows, out);
                }
                push(&packed)?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_quant::GgmlType;

    use super::*;

    fn pushed(weight: &Weight) -> Result<Vec<u8>, DeviceError> {
        let mut all = Vec::new();
        lay_out(weight, WeightLayout::of(weight), |piece| {
            all.extend(piece);
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn tiles_are_the_same_packed_here_or_before() {
        let bytes: Vec<u8> = (0..17 * 36).map(|i| (i * 37 % 251) as u8).collect();
        let mut weight =
            Weight { ty: GgmlType::Q4_0, rows: 17, row_len: 64, bytes: Arc::new(bytes), tiles: None };
        let layout = WeightLayout::of(&weight);
        assert_eq!(layout, WeightLayout { tiles: Some(64), pieces: 1 });
        let gpu = Gpu { piece_bytes: 512, ..Gpu::webgpu() };
        let cut = WeightLayout::in_pieces(&weight, &gpu).unwrap();
        // Two tiles of two blocks of 18 bytes for each of 16 rows.
        assert_eq!((cut.bytes(&weight).unwrap(), cut.pieces), (1152, 3));
        let packed = pushed(&weight).unwrap();
        assert_eq!(packed.len(), layout.bytes(&weight).unwrap());
        weight.tiles = Some(Arc::new(packed.clone()));
        assert_eq!(pushed(&weight).unwrap(), packed);
        weight.tiles = Some(Arc::new(packed[1..].to_vec()));
        assert!(matches!(pushed(&weight), Err(DeviceError::Usage(_))));
    }

    #[test]
    fn what_is_not_quantised_stays_as_it_is() {
        let bytes: Vec<u8> = (0..24).collect();
        let weight =
            Weight { ty: GgmlType::F32, rows: 2, row_len: 3, bytes: Arc::new(bytes.clone()), tiles: None };
        assert_eq!(pushed(&weight).unwrap(), bytes);
        assert_eq!(WeightLayout::of(&weight).bytes(&weight).unwrap(), 24);
    }
}
