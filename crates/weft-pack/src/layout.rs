//! Where packed weights are, in memory and in a file alike: one after another, in blocks that are filled independently.

use std::ops::Range;

use weft_device::{DeviceError, Packing, Tile, Weight};
use weft_gguf::TensorBytes;

/// Bytes filled, written and checked at once: a huge page, so that operating systems that can do so keep a file written in such
/// blocks in huge pages, and map it with few page faults.
pub(crate) const BLOCK: usize = 2 << 20;

/// Weights begin at a multiple of this: a page.
pub(crate) const ALIGN: usize = 4096;

/// A weight to be packed.
#[derive(Clone, Debug)]
pub struct SourceWeight {
    /// Its name in the model.
    pub name: String,
    /// Its rows.
    pub weight: Weight,
    /// Its bytes in the mapped file, which are released once they are packed.
    pub mapped: Option<TensorBytes>,
}

/// Where the tiles of each of several weights are.
pub(crate) struct Layout<'a> {
    packing: &'static dyn Packing,
    places: Vec<PlacedWeight<'a>>,
    len: usize,
}

/// A weight, and where its packed bytes are.
pub(crate) struct PlacedWeight<'a> {
    pub(crate) source: &'a SourceWeight,
    tile: Tile,
    /// Bytes of the weight that make a tile; the last tile has fewer.
    step: usize,
    /// Where its tiles are.
    pub(crate) range: Range<usize>,
}

impl<'a> Layout<'a> {
    /// Lays out the tiles of `sources`.
    ///
    /// # Errors
    /// [`DeviceError::Weight`] if the bytes of one do not fit its shape, [`DeviceError::Usage`] if its type and row length have no tile
    /// or it is too large.
    pub(crate) fn new(
        packing: &'static dyn Packing,
        sources: &'a [SourceWeight],
    ) -> Result<Layout<'a>, DeviceError> {
        let mut places: Vec<PlacedWeight<'a>> = Vec::with_capacity(sources.len());
        let mut len = 0usize;
        for source in sources {
            source.weight.check()?;
            let place = PlacedWeight::new(packing, source, len).ok_or_else(|| {
                DeviceError::Usage(format!("`{}`, a {:?}, cannot be packed", source.name, source.weight))
            })?;
            len = place.range.end;
            places.push(place);
        }
        Ok(Layout { packing, places, len })
    }

    /// Where each weight is, in the order in which they were given.
    pub(crate) fn places(&self) -> &[PlacedWeight<'a>] {
        &self.places
    }

    /// Bytes of all of them.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The layout of the tiles.
    pub(crate) fn packing(&self) -> &'static dyn Packing {
        self.packing
    }

    /// Fills a block, `out`, with the tiles in it, and zeros between the weights.
    ///
    /// A tile that reaches into another block is packed for both. The pages of the weights' own bytes are released.
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
    /// The place of a weight whose bytes have been checked, after `before` bytes; `None` if there is no tile for it, or no such memory.
    fn new(packing: &dyn Packing, source: &'a SourceWeight, before: usize) -> Option<PlacedWeight<'a>> {
        let Weight { ty, rows, row_len, .. } = source.weight;
        let tile = packing.tile(ty, row_len).filter(|tile| tile.rows > 0 && tile.bytes > 0)?;
        let row = usize::try_from(ty.row_bytes(row_len as u64)?).ok()?;
        let start = before.checked_next_multiple_of(ALIGN)?;
        let bytes = rows.div_ceil(tile.rows).checked_mul(tile.bytes)?;
        // Slices end below this.
        let end = start.checked_add(bytes).filter(|end| *end <= isize::MAX as usize)?;
        Some(PlacedWeight { source, tile, step: row.checked_mul(tile.rows)?, range: start..end })
    }

    /// Packs the tiles that lie, in part or whole, in a range of this weight's packed bytes: `out`.
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
