//! The layout of packed weights, the same in memory and in a file: one after another, in blocks that are filled
//! independently.

use std::ops::Range;

use weft_device::{DeviceError, Packing, Tile, Weight};
use weft_gguf::TensorBytes;

/// The number of bytes filled, written and checked at once: a huge page, so that operating systems that can keep a file
/// in huge pages do so, and map it with few page faults.
pub(crate) const BLOCK: usize = 2 << 20;

/// The alignment of weights: a page.
pub(crate) const ALIGN: usize = 4096;

/// A weight to be packed.
#[derive(Clone, Debug)]
pub struct SourceWeight {
    /// The weight's name in the model.
    pub name: String,
    /// The weight's type, shape and bytes.
    pub weight: Weight,
    /// The weight's bytes in the mapped file, which are released once they are packed.
    pub mapped: Option<TensorBytes>,
}

/// The layout of several packed weights.
pub(crate) struct Layout<'a> {
    packing: &'static dyn Packing,
    places: Vec<PlacedWeight<'a>>,
    len: usize,
}

/// A weight and its range in the packed data.
pub(crate) struct PlacedWeight<'a> {
    pub(crate) source: &'a SourceWeight,
    tile: Tile,
    /// The number of bytes of the unpacked weight per tile. The last tile can have fewer.
    step: usize,
    /// The range of its tiles.
    pub(crate) range: Range<usize>,
}

impl<'a> Layout<'a> {
    /// Lays out the tiles of `sources`.
    ///
    /// # Errors
    /// [`DeviceError::Weight`] if the bytes of a weight do not match its shape, [`DeviceError::Usage`] if there is no
    /// tile for its type and row length, or it is too large.
    pub(crate) fn new(
        packing: &'static dyn Packing,
        sources: &'a [SourceWeight],
    ) -> Result<Layout<'a>, DeviceError> {
        let mut places: Vec<PlacedWeight<'a>> = Vec::with_capacity(sources.len());
        let mut len = 0usize;
        for source in sources {
            source.weight.check()?;
            let place = PlacedWeight::new(packing, source, len).ok_or_else(|| {
                DeviceError::Usage(format!("`{}` ({:?}) cannot be packed", source.name, source.weight))
            })?;
            len = place.range.end;
            places.push(place);
        }
        Ok(Layout { packing, places, len })
    }

    /// The weights with their ranges, in the order in which they were given.
    pub(crate) fn places(&self) -> &[PlacedWeight<'a>] {
        &self.places
    }

    /// The size of the packed data.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The packing of the tiles.
    pub(crate) fn packing(&self) -> &'static dyn Packing {
        self.packing
    }

    /// Fills `out`, the block with index `block`, with its tiles, and zeros between weights.
    ///
    /// A tile that crosses the end of a block is packed for both blocks. The pages of the unpacked weights are released.
    pub(crate) fn fill(&self, block: usize, out: &mut [u8], tile: &mut Vec<u8>) {
        let start = block * BLOCK;
        let end = start + out.len();
        let first = self.places.partition_point(|place| place.range.end <= start);
        let mut filled = start;
        for place in self.places[first..].iter().take_while(|place| place.range.start < end) {
            let part = place.range.start.max(start)..place.range.end.min(end);
            out[filled - start..part.start - start].fill(0);
            let within = part.start - place.range.start..part.end - place.range.start;
            place.pack(self.packing, within, &mut out[part.start - start..part.end - start], tile);
            filled = part.end;
        }
        out[filled - start..].fill(0);
    }
}

impl<'a> PlacedWeight<'a> {
    /// Places a weight, whose bytes have been checked, after `before` bytes. Returns `None` if there is no tile for it,
    /// or it exceeds the address space.
    fn new(packing: &dyn Packing, source: &'a SourceWeight, before: usize) -> Option<PlacedWeight<'a>> {
        let Weight { ty, rows, row_len, .. } = source.weight;
        let tile = packing.tile(ty, row_len).filter(|tile| tile.rows > 0 && tile.bytes > 0)?;
        let row = usize::try_from(ty.row_bytes(row_len as u64)?).ok()?;
        let start = before.checked_next_multiple_of(ALIGN)?;
        let bytes = rows.div_ceil(tile.rows).checked_mul(tile.bytes)?;
        // No slice can be longer.
        let end = start.checked_add(bytes).filter(|end| *end <= isize::MAX as usize)?;
        Some(PlacedWeight { source, tile, step: row.checked_mul(tile.rows)?, range: start..end })
    }

    /// Packs the tiles, or parts of tiles, in `range` of this weight's packed bytes into `out`.
    fn pack(&self, packing: &dyn Packing, range: Range<usize>, out: &mut [u8], tile: &mut Vec<u8>) {
        let Weight { ty, row_len, ref bytes, .. } = self.source.weight;
        let source = (**bytes).as_ref();
        let row = |tile: usize| (tile * self.step).min(source.len());
        let tiles = range.start / self.tile.bytes..range.end.div_ceil(self.tile.bytes);
        for t in tiles.clone() {
            let at = t * self.tile.bytes;
            let part = at.max(range.start)..(at + self.tile.bytes).min(range.end);
            let out = &mut out[part.start - range.start..part.end - range.start];
            if out.len() == self.tile.bytes {
                packing.pack(ty, row_len, &source[row(t)..row(t + 1)], out);
            } else {
                tile.resize(self.tile.bytes, 0);
                packing.pack(ty, row_len, &source[row(t)..row(t + 1)], tile);
                out.copy_from_slice(&tile[part.start - at..part.end - at]);
            }
        }
        if let Some(mapped) = &self.source.mapped {
            mapped.release(row(tiles.start)..row(tiles.end));
        }
    }
}
