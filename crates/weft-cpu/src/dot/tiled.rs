//! Packed weights times many rows, by a unit that multiplies tiles.
//!
//! The sums are exact integers, and the terms of an output are added in the order of [`packed`](super::packed), with the same
//! roundings: the bits are the same.
//!
//! The unit computes the sums of sixteen rows of x and the sixteen rows of a tile for a group of columns that share a scale.
//! Vectors then scale and add them, which takes longer than the product, so both are kept busy: while the unit multiplies a
//! group, the sums of the previous group are stored, and those of the group [`LAG`] before are added. This continues across
//! blocks of rows and across tiles. In between, the next tiles are unpacked, as signed numbers, so that nothing has to be
//! subtracted from sums.

// No closures: they would be compiled without the instruction set.

use weft_quant::ints::IntFormat;
use weft_quant::packed::{COLUMNS, Layout, ROWS};

use super::blocks::Entry;
use super::chunk::Chunk;
use super::packed::{GroupScales, Packed, QUADS, Values};
use crate::isa::{Numbers, Quants, Simd, Sums, TILE, TileWork, Tiles};
use crate::rows::Fault;

/// Groups of columns between a product and the use of its sums, which loads right after their store would wait for. The sums of
/// as many groups are kept: with more of them, stores meet loads of addresses that differ by 4096 bytes, which a CPU takes for
/// the same at first.
const LAG: usize = 4;

/// Tiles that are multiplied by a block of rows before the next block, so that this stays in the first-level cache.
const SPAN: usize = 4;

/// The number of such tiles if there are few blocks. Then it matters more that all tiles but the first are unpacked while others are
/// multiplied.
const SHORT_SPAN: usize = 1;

/// The most blocks that are few.
const FEW: usize = 4;

/// Spans of unpacked tiles: one to multiply and one to unpack.
const SPANS: usize = 2;

/// The totals of no share. Adding the first share to −0 changes no bit of it.
const NOTHING: [[f32; ROWS]; TILE] = [[-0.0; ROWS]; TILE];

/// How far ahead weights are prefetched, in bytes.
const AHEAD: usize = 2048;

/// The number of vectors that unpacked tiles take, if rows have `k` values.
pub(super) fn unpacked(k: usize) -> usize {
    (SPANS * SPAN).saturating_mul(k / COLUMNS * QUADS)
}

/// Multiplies a chunk.
pub(super) struct Tiled<'a, F> {
    pub(super) packed: Packed<'a, F>,
    /// Room for [`unpacked`] tiles.
    pub(super) unpacked: &'a mut [Numbers],
}

impl<'a, F: IntFormat> Tiled<'a, F> {
    const LAYOUT: Layout = Packed::<'a, F>::LAYOUT;

    /// Groups that share a scale in 32 columns.
    const PARTS: usize = COLUMNS / Self::LAYOUT.group;

    /// Vectors of a group's columns.
    pub(super) const QUADS: usize = QUADS / Self::PARTS;

    /// Unpacks 32 columns of a tile.
    #[inline(always)]
    fn unpack<S: Simd>(simd: S, values: &Values, from: &[[u8; 64]], to: &mut [Numbers]) -> Option<()> {
        let to: &mut [Numbers; QUADS] = to.first_chunk_mut()?;
        for (quad, to) in to.iter_mut().enumerate() {
            let mut w = Packed::<F>::unpack(simd, values, from, quad);
            if Self::LAYOUT.table.is_none() && !Packed::<F>::signed::<S>() {
                w = simd.less(w, Self::LAYOUT.offset);
            }
            simd.store_numbers(w, to);
        }
        Some(())
    }
}

/// The products of a tile and a block of rows that are still to start.
struct Starts<'a> {
    x: &'a [Quants],
    w: &'a [Numbers],
    rows: usize,
}

impl Starts<'_> {
    /// Starts the product of the next group. The group's number and `SLOT` are both even or both odd.
    #[inline(always)]
    fn next<F: IntFormat, U: Tiles, const SLOT: usize>(&mut self, unit: &mut U) -> Option<()> {
        let Some((w, rest)) = self.w.split_at_checked(Tiled::<F>::QUADS) else { return Some(()) };
        let from = if Tiled::<F>::PARTS == 2 { SLOT * COLUMNS / 2 } else { 0 };
        unit.multiply::<SLOT>(self.x.first_chunk()?, from, w);
        self.w = rest;
        if Tiled::<F>::PARTS == 1 || SLOT == 1 {
            self.x = self.x.get(self.rows..)?;
        }
        Some(())
    }
}

/// The sums of a tile and a block of rows that are still to be added, and where the results go.
struct Ends<'a, F> {
    d: &'a [f32],
    mins: &'a [[f32; 2]],
    rows: usize,
    scales: GroupScales<'a, F>,
    power: f32,
    /// The next group, and their number.
    group: usize,
    groups: usize,
    /// The group after the last of this share, and the groups of a share.
    share_end: usize,
    share: usize,
    entries: &'a [Entry],
    tile: usize,
}

impl<F: IntFormat> Ends<'_, F> {
    /// Scales and adds the sums of the next group, which is even or odd as `PARITY` says.
    #[inline(always)]
    fn next<S: Simd, const PARITY: usize>(
        &mut self,
        simd: S,
        acc: &mut [S::Floats; TILE],
        totals: &mut [[f32; ROWS]; TILE],
        supers: &mut [S::Floats; 2],
        sums: &Sums,
    ) -> Option<()> {
        if self.group == self.groups {
            return Some(());
        }
        let (scale, min) = self.scales.group::<S, TILE>(simd, self.power, self.group, supers)?;
        self.group += 1;
        let (low, high) = acc.split_first_chunk_mut::<8>()?;
        let (low_sums, high_sums) = sums.0.split_first_chunk::<8>()?;
        let (low_d, high_d) = self.d.first_chunk::<TILE>()?.split_first_chunk::<8>()?;
        let (low_mins, high_mins) = self.mins.first_chunk::<TILE>()?.split_first_chunk::<8>()?;
        let half = if Tiled::<F>::PARTS == 2 { PARITY } else { 0 };
        simd.add_scaled(low, low_sums, scale, low_d);
        if F::LAYOUT.has_min {
            for (acc, mins) in low.iter_mut().zip(low_mins) {
                *acc = simd.mul_add(min, simd.float(mins[half]), *acc);
            }
        }
        if self.rows > 8 {
            let high = high.first_chunk_mut::<8>()?;
            simd.add_scaled(high, high_sums.first_chunk()?, scale, high_d.first_chunk()?);
            if F::LAYOUT.has_min {
                for (acc, mins) in high.iter_mut().zip(high_mins) {
                    *acc = simd.mul_add(min, simd.float(mins[half]), *acc);
                }
            }
        }
        if Tiled::<F>::PARTS == 1 || PARITY == 1 {
            self.d = self.d.get(self.rows..)?;
            self.mins = self.mins.get(self.rows..)?;
        }
        if self.group == self.share_end {
            self.share_end = self.groups.min(self.group.saturating_add(self.share));
            // All of them, with constant indices: with others they could not have stayed in registers.
            for m in 0..TILE {
                let total = simd.mul_add(acc[m], simd.float(1.0), simd.floats(&totals[m]));
                simd.store(total, &mut totals[m]);
                acc[m] = simd.float(0.0);
            }
        }
        Some(())
    }

    /// Writes the results of a tile and a block that belong to the chunk's columns.
    #[inline(always)]
    fn keep(&self, totals: &mut [[f32; ROWS]; TILE], chunk: &mut Chunk<'_>) -> Option<()> {
        let (lanes, first) = chunk.lanes(self.tile);
        for (entry, result) in self.entries.iter().zip(&mut *totals) {
            if chunk.order.some_empty {
                result.iter_mut().for_each(|total| *total += 0.0);
            }
            let to = chunk.acc.get_mut(entry.slot * chunk.stride + first..)?;
            if lanes.len() == ROWS {
                *to.first_chunk_mut()? = *result;
            } else {
                to.get_mut(..lanes.len())?.copy_from_slice(result.get(lanes.clone())?);
            }
        }
        *totals = NOTHING;
        Some(())
    }
}

/// A part of a tile that is unpacked while others are multiplied, evenly.
struct Later<'a> {
    /// The tile, and where its numbers go if not only into the cache.
    from: &'a [u8],
    to: Option<&'a mut [Numbers]>,
    /// The tile after it.
    after: &'a [u8],
    /// The next 32 columns, and those after the last.
    at: usize,
    end: usize,
    /// How many are due so far, and become due with each step, in fractions of 2¹⁶.
    due: usize,
    rate: usize,
}

impl Later<'_> {
    /// Unpacks what is due.
    #[inline(always)]
    fn step<F: IntFormat, S: Simd>(&mut self, simd: S, values: &Values) -> Option<()> {
        self.due += self.rate;
        while self.at < self.end && self.due >= 1 << 16 {
            self.due -= 1 << 16;
            let bytes = Tiled::<F>::LAYOUT.numbers_bytes();
            let at = self.at * bytes;
            if let Some(to) = &mut self.to {
                // The next tile begins where this one ends.
                for line in (at + AHEAD..at + AHEAD + bytes).step_by(64) {
                    let beyond = line.saturating_sub(self.from.len());
                    if line < self.from.len() {
                        simd.fetch(self.from, line)
                    } else {
                        simd.fetch(self.after, beyond)
                    }
                }
                let from = self.from.get(at..at + bytes)?.as_chunks().0;
                Tiled::<F>::unpack(simd, values, from, to.get_mut(self.at * QUADS..)?)?;
            } else {
                for line in (at..at + bytes).step_by(64) {
                    simd.fetch(self.from, line);
                }
            }
            self.at += 1;
        }
        Some(())
    }
}

/// Starts a group, stores the sums of the one before, and adds those whose place is taken next. (A function of all this keeps the
/// results in memory.)
macro_rules! step {
    ($place:literal, $own:literal, $other:literal, $starts:ident, $ends:ident,
     ($unit:ident, $sums:ident, $simd:ident, $acc:ident, $totals:ident, $supers:ident)) => {{
        $starts.next::<F, U, $own>(&mut $unit)?;
        $unit.store::<$other>(&mut $sums[($place + LAG - 1) % LAG]);
        $ends.next::<S, $own>($simd, &mut $acc, &mut $totals, &mut $supers, &$sums[$place])?;
    }};
}

impl<F: IntFormat> Tiled<'_, F> {
    /// Multiplies.
    #[inline(always)]
    fn multiply<S: Simd, U: Tiles>(&mut self, simd: S, mut unit: U) -> Option<()> {
        let Chunk { row, next_row, ref cols, ty, k, order, weight, entries, .. } = self.packed.chunk;
        let (laid_out, base) = (self.packed.blocks, self.packed.base);
        let values = Values::of(ty, true)?;
        let tiles = (row + cols.start) / ROWS..(row + cols.end).div_ceil(ROWS);
        // The tile that is probably read from memory after these.
        let then = next_row.map_or(tiles.end, |row| (row + cols.start) / ROWS);
        let columns = k / COLUMNS;
        let groups = columns * Self::PARTS;
        let rounds = groups.div_ceil(LAG);
        let blocks = entries.len().div_ceil(TILE);
        let most = if blocks <= FEW { SHORT_SPAN } else { SPAN };
        let (mut own, mut later) = self.unpacked.split_at_mut_checked(SPAN * columns * QUADS)?;
        for tile in tiles.start..tiles.end.min(tiles.start + most) {
            let (from, after) = (weight.tile(tile)?, weight.tile(tile + 1).unwrap_or(&[]));
            let to = own.get_mut((tile - tiles.start) * columns * QUADS..);
            let mut all = Later { from, to, after, at: 0, end: columns, due: columns << 16, rate: 0 };
            all.step::<F, S>(simd, &values)?;
        }
        let mut sums = [Sums::default(); LAG];
        let share = order.each.saturating_mul(Self::PARTS).min(groups);
        let mut acc = [simd.float(0.0); TILE];
        let mut totals = NOTHING;
        let mut supers = [simd.float(0.0); 2];
        // The sums of the previous tile and block that are still to be added: at first none, whose results go nowhere.
        let mut ends: Ends<'_, F> = Ends {
            d: &laid_out.scales,
            mins: &laid_out.sums,
            rows: 0,
            scales: GroupScales::new(weight.tile(tiles.start)?.get(Self::LAYOUT.scales_at(k)..)?, k),
            power: values.power,
            group: 0,
            groups: 0,
            share_end: 0,
            share: 0,
            entries: &[],
            tile: tiles.start,
        };
        let mut first = tiles.start;
        while first < tiles.end {
            let end = tiles.end.min(first + most);
            for number in 0..blocks {
                let entries = entries.get(number * TILE..)?;
                let entries = entries.get(..entries.len().min(TILE))?;
                let rows = entries.len();
                let block = laid_out.block(base + number * TILE * columns, rows, columns, TILE - rows)?;
                for tile in first..end {
                    let at = (tile - first) * columns * QUADS;
                    let w = own.get(at..at + columns * QUADS)?;
                    let mut starts = Starts { x: block.quants, w, rows };
                    let next = tile - first + end;
                    let is_own = next < tiles.end;
                    let next = if is_own { next } else { next - tiles.end + then };
                    let mut soon = Later {
                        from: weight.tile(next).unwrap_or(&[]),
                        to: if is_own { later.get_mut(at..) } else { None },
                        after: weight.tile(next + 1).unwrap_or(&[]),
                        at: columns * number / blocks,
                        end: columns * (number + 1) / blocks,
                        due: 0,
                        rate: (columns.div_ceil(blocks) << 16).div_ceil(rounds),
                    };
                    let scales = weight.tile(tile)?.get(Self::LAYOUT.scales_at(k)..)?;
                    for round in 0..rounds {
                        soon.step::<F, S>(simd, &values)?;
                        step!(0, 0, 1, starts, ends, (unit, sums, simd, acc, totals, supers));
                        step!(1, 1, 0, starts, ends, (unit, sums, simd, acc, totals, supers));
                        step!(2, 0, 1, starts, ends, (unit, sums, simd, acc, totals, supers));
                        step!(3, 1, 0, starts, ends, (unit, sums, simd, acc, totals, supers));
                        if round == 0 {
                            ends.keep(&mut totals, &mut self.packed.chunk)?;
                            ends = Ends {
                                d: block.scales,
                                mins: block.sums,
                                rows,
                                scales: GroupScales::new(scales, k),
                                power: values.power,
                                group: 0,
                                groups,
                                share_end: share,
                                share,
                                entries,
                                tile,
                            };
                        }
                    }
                }
            }
            std::mem::swap(&mut own, &mut later);
            first = end;
        }
        unit.store::<1>(&mut sums[LAG - 1]);
        for place in (0..LAG).step_by(2) {
            ends.next::<S, 0>(simd, &mut acc, &mut totals, &mut supers, &sums[place])?;
            ends.next::<S, 1>(simd, &mut acc, &mut totals, &mut supers, &sums[place + 1])?;
        }
        ends.keep(&mut totals, &mut self.packed.chunk)
    }
}

impl<F: IntFormat> TileWork for Tiled<'_, F> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd, U: Tiles>(mut self, simd: S, unit: U) -> Result<(), Fault> {
        self.multiply(simd, unit).ok_or(Fault)
    }
}
