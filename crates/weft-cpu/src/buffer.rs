//! The device's buffers: memory it allocates, and weights in place in the mapped file.

use std::fmt;

use weft_device::{Packing, RowsOf16, Tile, Weight, WeightBytes};
use weft_quant::GgmlType;

use crate::memory::Memory;

/// A buffer. Its bytes do not move as long as it lives.
pub(crate) enum Buffer {
    /// To read and write.
    Memory(Memory),
    /// A weight's bytes in a file, and the tiles that products read.
    Weight(Weight, Option<Tiles>),
    /// A copy of a weight that was not aligned in its file.
    Copy(Memory),
}

impl Buffer {
    /// A weight whose length has been checked; `None` if it must be copied and there is no memory for the copy.
    pub(crate) fn pack(weight: Weight) -> Option<Buffer> {
        // Blocks are read byte by byte, these types as numbers.
        if !matches!(weight.ty, GgmlType::F32 | GgmlType::I32) {
            return Some(Buffer::Weight(weight, None));
        }
        let bytes = (*weight.bytes).as_ref();
        if bytes.as_ptr().addr().is_multiple_of(4) {
            return Some(Buffer::Weight(weight, None));
        }
        let mut copy = Memory::zeroed(bytes.len())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Some(Buffer::Copy(copy))
    }

    /// The first byte, the number of bytes, and whether they may be written.
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

    /// The number of bytes. Does not look at those of a weight that was given with tiles.
    pub(crate) fn len(&self) -> usize {
        match self {
            Buffer::Memory(memory) | Buffer::Copy(memory) => memory.len(),
            Buffer::Weight(weight, Some(Tiles { bytes: TileBytes::Given(_), .. })) => {
                // Its shape was checked when it was packed.
                weight.ty.row_bytes((weight.rows * weight.row_len) as u64).map_or(0, |bytes| bytes as usize)
            }
            Buffer::Weight(weight, _) => (*weight.bytes).as_ref().len(),
        }
    }

    /// Whether this is a weight that was given with tiles, so that its rows should only be read if a kernel needs them.
    pub(crate) fn has_given_tiles(&self) -> bool {
        matches!(self, Buffer::Weight(_, Some(Tiles { bytes: TileBytes::Given(_), .. })))
    }

    /// The tiles of a weight's rows of `k` values. Makes them if there are none yet.
    ///
    /// # Errors
    /// If this is not a weight with such rows, it is packed in rows of another length, or there is not enough memory.
    pub(crate) fn tiles(&mut self, k: usize) -> Result<(*const u8, Tile, usize), String> {
        let Buffer::Weight(weight, tiles) = self else { return Err("a product needs a weight".into()) };
        let values = weight.rows * weight.row_len;
        let tile = RowsOf16.tile(weight.ty, k).filter(|_| values.is_multiple_of(k));
        let tile = tile.ok_or_else(|| format!("{values} values of {} do not form rows of {k}", weight.ty))?;
        let made = match tiles {
            Some(tiles) if tiles.k == k => tiles,
            Some(tiles) => {
                return Err(format!("rows of {k}, but the weight is packed in rows of {}", tiles.k));
            }
            None => tiles.insert(Tiles::make(weight, k, tile).ok_or("there is no memory to pack a weight")?),
        };
        // Pointer and length of one slice: two calls of `as_ref` need not return the same slice.
        let (bytes, count) = (made.bytes(), (values / k).div_ceil(tile.rows));
        match count.checked_mul(tile.bytes) {
            Some(needed) if needed <= bytes.len() => Ok((bytes.as_ptr(), tile, count)),
            _ => Err(format!("{} bytes of tiles, expected {count} tiles of {}", bytes.len(), tile.bytes)),
        }
    }

    /// Gives a weight its tiles. They are never replaced: programs point to them.
    ///
    /// # Errors
    /// If the number of bytes is not that of its tiles, or it has tiles already.
    pub(crate) fn set_tiles(&mut self, given: WeightBytes) -> Result<(), String> {
        let found = (*given).as_ref().len();
        let Buffer::Weight(weight, tiles) = self else {
            return Err("tiles for a buffer that is not a weight".into());
        };
        let tile = RowsOf16.tile(weight.ty, weight.row_len);
        let expected = tile.and_then(|tile| tile.bytes_of(weight.rows));
        if expected != Some(found) || tiles.is_some() {
            return Err(format!("{found} bytes of tiles, expected {expected:?} and no earlier tiles"));
        }
        *tiles = Some(Tiles { k: weight.row_len, bytes: TileBytes::Given(given) });
        Ok(())
    }

    /// Memory that the host may read and write.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }

    /// Like [`Buffer::memory`], mutable.
    pub(crate) fn memory_mut(&mut self) -> Option<&mut Memory> {
        if let Buffer::Memory(memory) = self { Some(memory) } else { None }
    }
}

/// The packed form of a weight.
pub(crate) struct Tiles {
    /// Values per row.
    k: usize,
    bytes: TileBytes,
}

enum TileBytes {
    /// Made by the caller that loaded it.
    Given(WeightBytes),
    /// Made here.
    Made(Memory),
}

impl Tiles {
    fn make(weight: &Weight, k: usize, tile: Tile) -> Option<Tiles> {
        let bytes = (*weight.bytes).as_ref();
        let rows = weight.rows * weight.row_len / k;
        let mut memory = Memory::zeroed(tile.bytes_of(rows)?)?;
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
        let writable = matches!(self, Buffer::Memory(_));
        write!(f, "{}({} bytes)", if writable { "Memory" } else { "Weight" }, self.len())
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
