//! A weight on its way to a device.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use weft_quant::GgmlType;

use crate::error::DeviceError;
use crate::packing::Tile;

/// Bytes that stay alive as long as a device wants them: mapped from a file, or in memory.
pub type WeightBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A weight to be [packed](crate::Device::pack): `rows` rows of `row_len` values.
#[derive(Clone)]
pub struct Weight {
    /// The type of its values.
    pub ty: GgmlType,
    /// Rows, over all axes but the last.
    pub rows: usize,
    /// Values in a row, a whole number of blocks.
    pub row_len: usize,
    /// The rows as the file stores them, and nothing else. If there are tiles, the rows may have to be restored from them when they are
    /// first read, so a device that reads only tiles should not read rows.
    pub bytes: WeightBytes,
    /// The same rows in the device's own [packing](crate::Caps::packing), all tiles one after another, if they have been packed. A
    /// device that needs tiles and is given none packs them itself.
    pub tiles: Option<WeightBytes>,
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weight({}[{}, {}])", self.ty, self.rows, self.row_len)
    }
}

/// Some bytes of others.
struct PartOf(WeightBytes, Range<usize>);

impl AsRef<[u8]> for PartOf {
    fn as_ref(&self) -> &[u8] {
        let all = (*self.0).as_ref();
        all.get(self.1.clone()).unwrap_or_default()
    }
}

impl Weight {
    /// Some rows of it: with tiles if its tiles are these, and rows begin and end with one of them.
    pub fn part(&self, rows: Range<usize>, tile: Option<Tile>) -> Weight {
        let part = |all: &WeightBytes, bytes: Range<usize>| -> WeightBytes {
            Arc::new(PartOf(Arc::clone(all), bytes))
        };
        let row = self.ty.row_bytes(self.row_len as u64).unwrap_or(0) as usize;
        let whole = |tile: &Tile| [rows.start, rows.end].iter().all(|n| n.is_multiple_of(tile.rows));
        let tiles = self.tiles.as_ref().zip(tile.filter(whole)).map(|(tiles, tile)| {
            part(tiles, rows.start / tile.rows * tile.bytes..rows.end / tile.rows * tile.bytes)
        });
        let bytes = part(&self.bytes, rows.start * row..rows.end * row);
        Weight { rows: rows.len(), bytes, tiles, ..*self }
    }

    /// Checks that the number of bytes matches the shape, and returns it. If there are tiles, only the shape is looked at.
    ///
    /// # Errors
    /// [`DeviceError::Weight`] if it does not.
    pub fn check(&self) -> Result<usize, DeviceError> {
        let Weight { ty, rows, row_len, .. } = *self;
        let row = ty.row_bytes(row_len as u64);
        let expected = row.and_then(|bytes| bytes.checked_mul(rows as u64));
        let expected = expected.and_then(|bytes| usize::try_from(bytes).ok());
        if let (Some(expected), Some(_)) = (expected, &self.tiles) {
            return Ok(expected);
        }
        let found = (*self.bytes).as_ref().len();
        if expected == Some(found) {
            Ok(found)
        } else {
            Err(DeviceError::Weight { ty, rows, row_len, found: found as u64 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_has_the_bytes_of_its_rows() {
        let weight = |ty, rows, row_len, bytes: usize| Weight {
            ty,
            rows,
            row_len,
            bytes: Arc::new(vec![0u8; bytes]),
            tiles: None,
        };
        weight(GgmlType::Q4_0, 2, 64, 72).check().unwrap();
        weight(GgmlType::F32, 0, 5, 0).check().unwrap();
        // The bytes of a packed weight may not be there yet.
        struct Absent;
        impl AsRef<[u8]> for Absent {
            fn as_ref(&self) -> &[u8] {
                panic!("nothing may look at them")
            }
        }
        let tiles: Option<WeightBytes> = Some(Arc::new([]));
        let packed = Weight { bytes: Arc::new(Absent), tiles, ..weight(GgmlType::Q4_0, 2, 64, 0) };
        assert_eq!(packed.check().unwrap(), 72);
        for (wrong, said) in [
            (weight(GgmlType::Q4_0, 2, 64, 71), "71 bytes for a weight of q4_0[2, 64], which takes 72"),
            (
                weight(GgmlType::Q4_0, 2, 33, 72),
                "72 bytes for a weight of q4_0[2, 33], which takes whole blocks of 32 values",
            ),
        ] {
            assert_eq!(wrong.check().unwrap_err().to_string(), said);
        }
    }
}
