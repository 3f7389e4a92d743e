//! The layout of packed weights, the same in memory and in a file: one after another, in blocks that are filled
//! independently.

use std::ops::Range;

use weft_device::{DeviceError, Packing, Tile, Weight};
use weft_gguf::TensorBytes;
use weft_quant::GgmlType;

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
    places: Vec<PlacedWeight<'a>>,
    len: usize,
}

/// A weight and its range in the packed data.
pub(crate) struct PlacedWeight<'a> {
    pub(crate) source: &'a SourceWeight,
    packing: &'static dyn Packing,
    place: Place,
    /// The range of its tiles.
    pub(crate) range: Range<usize>,
}

/// Where the tiles of a weight are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) ty: GgmlType,
    pub(crate) rows: usize,
    pub(crate) row_len: usize,
    pub(crate) tile: Tile,
    /// The number of bytes of the unpacked weight per tile. The last tile can have fewer.
    pub(crate) step: usize,
    pub(crate) range: Range<usize>,
}

/// Places a weight after `before` bytes. Returns `None` if there is no tile for it, or it exceeds the address space.
pub(crate) fn place(
    packing: &dyn Packing,
    ty: GgmlType,
    rows: usize,
    row_len: usize,
    before: usize,
) -> Option<Place> {
    let tile = packing.tile(ty, row_len).filter(|tile| tile.rows > 0 && tile.bytes > 0)?;
    let row = usize::try_from(ty.row_bytes(row_len as u64)?).ok().filter(|row| *row > 0)?;
    let start = before.checked_next_multiple_of(ALIGN)?;
    let bytes = tile.bytes_of(rows)?;
    // No slice can be longer.
    let end = start.checked_add(bytes).filter(|end| *end <= isize::MAX as usize)?;
    Some(Place { ty, rows, row_len, tile, step: row.checked_mul(tile.rows)?, range: start..end })
}

impl Place {
    /// The number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.range.len() / self.tile.bytes
    }

    /// Restores rows from tile number `first` on. [`Place::range`] counts bytes of `data`.
    pub(crate) fn restore(&self, packing: &dyn Packing, data: &[u8], first: usize, out: &mut [u8]) {
        let tiles = data[self.range.clone()].chunks_exact(self.tile.bytes).skip(first);
        for (rows, tile) in out.chunks_mut(self.step).zip(tiles) {
            packing.restore(self.ty, self.row_len, tile, rows);
        }
    }
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
        Layout::of_forms(sources.iter().map(|source| (packing, source)))
    }

    /// Lays out weights, each in its own packing.
    ///
    /// # Errors
    /// Those of [`Layout::new`].
    pub(crate) fn of_forms(
        sources: impl Iterator<Item = (&'static dyn Packing, &'a SourceWeight)>,
    ) -> Result<Layout<'a>, DeviceError> {
        let mut places: Vec<PlacedWeight<'a>> = Vec::with_capacity(sources.size_hint().0);
        let mut len = 0usize;
        for (packing, source) in sources {
            source.weight.check()?;
            let place = PlacedWeight::new(packing, source, len).ok_or_else(|| {
                DeviceError::Usage(format!("`{}` ({:?}) cannot be packed", source.name, source.weight))
            })?;
            len = place.range.end;
            places.push(place);
        }
        Ok(Layout { places, len })
    }

    /// The weights with their ranges, in the order in which they were given.
    pub(crate) fn places(&self) -> &[PlacedWeight<'a>] {
        &self.places
    }

    /// The size of the packed data.
    pub(crate) fn len(&self) -> usize {
        self.len
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
            place.pack(within, &mut out[part.start - start..part.end - start], tile);
            filled = part.end;
        }
        out[filled - start..].fill(0);
    }
}

impl<'a> PlacedWeight<'a> {
    /// Places a weight, whose bytes have been checked, after `before` bytes. Returns `None` if there is no tile for it,
    /// or it exceeds the address space.
    fn new(
        packing: &'static dyn Packing,
        source: &'a SourceWeight,
        before: usize,
    ) -> Option<PlacedWeight<'a>> {
        let Weight { ty, rows, row_len, .. } = source.weight;
        let place = place(packing, ty, rows, row_len, before)?;
        Some(PlacedWeight { source, packing, range: place.range.clone(), place })
    }

    /// The tiles that restore about `bytes` bytes at a time, in order.
    pub(crate) fn chunks(&self, bytes: usize) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let (tiles, step) = (self.place.tiles(), (bytes / self.place.step).max(1));
        (0..tiles).step_by(step).map(move |first| first..(first + step).min(tiles))
    }

    /// Whether these tiles, in the data of the layout, restore the weight's own rows, which are released. Uses `room`.
    pub(crate) fn restores(&self, data: &[u8], tiles: Range<usize>, room: &mut Vec<u8>) -> bool {
        let source = (*self.source.weight.bytes).as_ref();
        let row = |tile: usize| (tile * self.place.step).min(source.len());
        let expected = &source[row(tiles.start)..row(tiles.end)];
        room.clear();
        room.resize(expected.len(), 0);
        self.place.restore(self.packing, data, tiles.start, room);
        let same = room == expected;
        if let Some(mapped) = &self.source.mapped {
            mapped.release(row(tiles.start)..row(tiles.end));
        }
        same
    }

    /// Packs the tiles, or parts of tiles, in `range` of this weight's packed bytes into `out`.
    fn pack(&self, range: Range<usize>, out: &mut [u8], tile: &mut Vec<u8>) {
        let Weight { ty, row_len, ref bytes, .. } = self.source.weight;
        let (source, packing) = ((**bytes).as_ref(), self.packing);
        let row = |tile: usize| (tile * self.place.step).min(source.len());
        let tile_bytes = self.place.tile.bytes;
        let tiles = range.start / tile_bytes..range.end.div_ceil(tile_bytes);
        for t in tiles.clone() {
            let at = t * tile_bytes;
            let part = at.max(range.start)..(at + tile_bytes).min(range.end);
            let out = &mut out[part.start - range.start..part.end - range.start];
            if out.len() == tile_bytes {
                packing.pack(ty, row_len, &source[row(t)..row(t + 1)], out);
            } else {
                tile.resize(tile_bytes, 0);
                packing.pack(ty, row_len, &source[row(t)..row(t + 1)], tile);
                out.copy_from_slice(&tile[part.start - at..part.end - at]);
            }
        }
        if let Some(mapped) = &self.source.mapped {
            mapped.release(row(tiles.start)..row(tiles.end));
        }
    }
}
