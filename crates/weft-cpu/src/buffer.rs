//! The device's buffers: memory of its own, and weights where the file has them.

use std::fmt;

use weft_device::{Packing, RowsOf16, Tile, Weight, WeightBytes};
use weft_quant::GgmlType;

use crate::memory::Memory;

/// A buffer. Its bytes stay where they are as long as it lives.
pub(crate) enum Buffer {
    /// To read and write.
    Memory(Memory),
    /// The bytes of a file, and the tiles they are multiplied as.
    Weight(Weight, Option<Tiles>),
    /// A weight whose numbers were not aligned where it was.
    Copy(Memory),
}

impl Buffer {
    /// A weight, whose length has been checked; `None` if it must be copied and there is no memory for it.
    pub(crate) fn pack(weight: Weight) -> Option<Buffer> {
        let bytes = (*weight.bytes).as_ref();
        // Blocks are read byte by byte, these as numbers.
        let numbers = matches!(weight.ty, GgmlType::F32 | GgmlType::I32);
        if !numbers || bytes.as_ptr().addr().is_multiple_of(4) {
            return Some(Buffer::Weight(weight, None));
        }
        let mut copy = Memory::zeroed(bytes.len())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Some(Buffer::Copy(copy))
    }

    /// The first byte, how many there are, and whether they may be written.
    pub(crate) fn raw(&self) -> (*mut u8, usize, bool) {
        match self {
            Buffer::Memory(memory) => (memory.as_ptr(), memory.len(), true),
            Buffer::Copy(memory) => (memory.as_ptr(), memory.len(), false),
            Buffer::Weight(weight, _) => {
                let bytes = (*weight.bytes).as_ref();
                (bytes.as_ptr().cast_mut(), bytes.len(), false)
            }
        }
    }

    /// The tiles of a weight's rows of `k` values, which are made now if they are not there yet.
    ///
    /// # Errors
    /// If it is no weight of such rows, is packed already in rows of another length, or there is no memory.
    pub(crate) fn tiles(&mut self, k: usize) -> Result<(*const u8, Tile, usize), String> {
        let Buffer::Weight(weight, tiles) = self else { return Err("multiplies by no weight".into()) };
        let values = weight.rows * weight.row_len;
        let tile = RowsOf16.tile(weight.ty, k).filter(|_| values.is_multiple_of(k));
        let tile = tile.ok_or_else(|| format!("{values} values of {} are no rows of {k}", weight.ty))?;
        let made = match tiles {
            Some(tiles) if tiles.k == k => tiles,
            Some(tiles) => {
                return Err(format!("rows of {k} of a weight that is packed in rows of {}", tiles.k));
            }
            None => tiles.insert(Tiles::make(weight, k, tile).ok_or("there is no memory to pack a weight")?),
        };
        // Pointer and length out of one slice: two calls of `as_ref` need not give the same.
        let (bytes, count) = (made.bytes(), (values / k).div_ceil(tile.rows));
        match count.checked_mul(tile.bytes) {
            Some(needed) if needed <= bytes.len() => Ok((bytes.as_ptr(), tile, count)),
            _ => Err(format!("{} bytes of tiles, {count} of {} are needed", bytes.len(), tile.bytes)),
        }
    }

    /// Gives a weight its tiles. Once it has some they stay: programs point to them.
    ///
    /// # Errors
    /// If they are not as many bytes as its tiles have, or it has tiles already.
    pub(crate) fn set_tiles(&mut self, given: WeightBytes) -> Result<(), String> {
        let found = (*given).as_ref().len();
        let Buffer::Weight(weight, tiles) = self else { return Err("tiles of what is not packed".into()) };
        let tile = RowsOf16.tile(weight.ty, weight.row_len);
        let expected = tile.and_then(|tile| weight.rows.div_ceil(tile.rows).checked_mul(tile.bytes));
        if expected != Some(found) || tiles.is_some() {
            return Err(format!("{found} bytes of tiles where there should be {expected:?}, once"));
        }
        *tiles = Some(Tiles { k: weight.row_len, bytes: TileBytes::Given(given) });
        Ok(())
    }

    /// Memory that the host may read and write.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }

    /// [`Buffer::memory`], to write to.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }
}

/// The packed form of a weight.
pub(crate) struct Tiles {
    /// Values of a row.
    k: usize,
    bytes: TileBytes,
}

enum TileBytes {
    /// Made by whoever loaded it.
    Given(WeightBytes),
    /// Made here.
    Made(Memory),
}

impl Tiles {
    fn make(weight: &Weight, k: usize, tile: Tile) -> Option<Tiles> {
        let bytes = (*weight.bytes).as_ref();
        let rows = weight.rows * weight.row_len / k;
        let mut memory = Memory::zeroed(rows.div_ceil(tile.rows).checked_mul(tile.bytes)?)?;
        let tiles = memory.bytes_mut().chunks_exact_mut(tile.bytes);
        for (rows, out) in bytes.chunks((bytes.len() / rows.max(1) * tile.rows).max(1)).zip(tiles) {
            RowsOf16.pack(weight.ty, k, rows, out);
        }
        Some(Tiles { k, bytes: TileBytes::Made(memory) })
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            TileBytes::Given(bytes) => (**bytes).as_ref(),
            TileBytes::Made(memory) => memory.bytes(),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, bytes, writable) = self.raw();
        write!(f, "{}({bytes} bytes)", if writable { "Memory" } else { "Weight" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn weights_stay_where_they_are_unless_their_numbers_are_not_aligned() {
        struct At(Vec<u8>, usize);
        impl AsRef<[u8]> for At {
            fn as_ref(&self) -> &[u8] {
                &self.0[self.1..][..36]
            }
        }
        for (ty, row_len) in [(GgmlType::F32, 9), (GgmlType::Q4_0, 64)] {
            for skip in 0..8 {
                let bytes = Arc::new(At((0..64).collect(), skip));
                let weight =
                    Weight { ty, rows: 1, row_len, bytes: Arc::clone(&bytes) as WeightBytes, tiles: None };
                weight.check().unwrap();
                let buffer = Buffer::pack(weight).unwrap();
                let (ptr, len, writable) = buffer.raw();
                let aligned = bytes.as_ref().as_ref().as_ptr().addr() % 4 == 0;
                let in_place = ptr.cast_const() == bytes.as_ref().as_ref().as_ptr();
                assert_eq!(in_place, aligned || ty == GgmlType::Q4_0, "{ty} at {skip}");
                assert_eq!((len, writable), (36, false));
                if let Buffer::Copy(copy) = &buffer {
                    assert_eq!(copy.bytes(), bytes.as_ref().as_ref());
                }
            }
        }
    }
}
