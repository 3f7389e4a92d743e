//! Packed weights times rounded activations.
//!
//! The order of an output's terms: from 0, for each 32 activations in order, `(sum · scale) · d` is added, then, if the format has minima,
//! `min · (s₀ + s₁)`. `sum` is the exact integer dot product, `scale` and `min` are the weight's, `d` and `s` the activations'. If a
//! scale belongs to 16 weights, the same is done for each half in turn, with its own `sum`, `scale`, `min` and `s`. Each of these terms is
//! multiplied and added in one rounding; `sum · scale`, `s₀ + s₁` and the scales of super-blocks are rounded separately. GPUs have this
//! order, too. If the plan divides a row into shares ([`weft_kern::Shares`]), each is added up from 0, and the shares are added from the
//! first to the last.
//!
//! A vector has the sixteen rows of a tile (see [`weft_quant::packed`]), so there is no sum across lanes. A tile's numbers are
//! unpacked once for a block of rows of x, and the block's results stay in registers for the whole length of a row.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use std::marker::PhantomData;
use std::ops::Range;

use weft_quant::GgmlType;
use weft_quant::ints::IntFormat;
use weft_quant::packed::{COLUMNS, Layout, ROWS, Scales};

use super::blocks::{Block, Blocks, Entry, block_rows, row_blocks};
use super::chunk::{Chunk, Order};
use crate::isa::{Simd, Work};
use crate::rows::Fault;

/// How far ahead weights are prefetched into the first-level cache, in bytes.
const AHEAD: usize = 2048;

/// How far ahead they are prefetched into the second-level cache, which can wait for more lines at the same time.
const FAR_AHEAD: usize = 8192;

/// Tiles that are multiplied with all rows before the next ones: they stay in the first-level cache, together with a block of rows.
const SPAN: usize = 4;

/// Vectors of 32 columns.
pub(super) const QUADS: usize = 8;

/// The data that is prefetched while tiles are multiplied.
struct Ahead<'a, const W: usize> {
    /// The tiles that are multiplied next.
    next: [&'a [u8]; W],
    /// Whether the tiles, which are multiplied once, come from memory.
    is_new: bool,
    /// Tiles of the next span to prefetch into the second-level cache: one of `every` groups of 32 columns, from `phase` on. No tiles if
    /// `every` is 0.
    later: [&'a [u8]; W],
    every: usize,
    phase: usize,
}

impl<'a, const W: usize> Ahead<'a, W> {
    /// The tile and the group in it that are `g` groups after the beginning of tile `t`, if tiles have `groups` groups.
    #[inline(always)]
    fn at(&self, tiles: &[&'a [u8]; W], t: usize, g: usize, groups: usize) -> (&'a [u8], usize) {
        if g < groups { (tiles[t], g) } else { (self.next[t], g - groups) }
    }
}

/// A block of rows among those that a span is multiplied with.
///
/// The first one reads the span's weights from memory, unless the ones before it have fetched them: each block after the first fetches an
/// equal part of the next span's, so that memory and arithmetic units work at the same time.
#[derive(Clone, Copy)]
struct Turn {
    number: usize,
    blocks: usize,
    /// The first tile of the next span.
    later: Option<usize>,
}

/// The type whose code multiplies by tiles of this one: of those whose tiles differ in [`Values`] only, one.
pub(super) const fn code_of(ty: GgmlType) -> GgmlType {
    match ty {
        GgmlType::IQ1_S => GgmlType::IQ2_XXS,
        GgmlType::IQ1_M | GgmlType::IQ2_S => GgmlType::IQ2_XS,
        GgmlType::IQ3_XXS | GgmlType::IQ3_S => GgmlType::IQ4_XS,
        GgmlType::TQ1_0 => GgmlType::TQ2_0,
        ty => ty,
    }
}

/// The values in which types with the same code differ.
#[derive(Clone, Copy)]
pub(super) struct Values {
    /// The values of numbers, as they are multiplied; unused in formats without a table.
    table: [u8; 16],
    /// The factor of the scales of super-blocks, in formats with a table.
    pub(super) power: f32,
}

impl Values {
    pub(super) fn of(ty: GgmlType, signed: bool) -> Option<Values> {
        let layout = Layout::of(ty)?;
        let mut table = layout.table.unwrap_or_default();
        if signed {
            for x in &mut table {
                *x ^= 0x80;
            }
        }
        Some(Values { table, power: 1.0 / (1u32 << layout.halvings) as f32 })
    }
}

/// Multiplies a chunk.
pub(super) struct Packed<'a, F> {
    pub(super) chunk: Chunk<'a>,
    /// The chunk's rows, laid out from `base` on.
    pub(super) blocks: &'a Blocks,
    pub(super) base: usize,
    format: PhantomData<F>,
}

impl<'a, F: IntFormat> Packed<'a, F> {
    pub(super) const LAYOUT: Layout = match Layout::of(F::TYPE) {
        Some(layout) => layout,
        None => panic!("integer formats have a layout"),
    };

    /// Whether numbers exceed 127: then the format subtracts 128 from them.
    const LARGE: bool = Self::LAYOUT.offset == 128;

    pub(super) fn new(chunk: Chunk<'a>, blocks: &'a Blocks, base: usize) -> Packed<'a, F> {
        Packed { chunk, blocks, base, format: PhantomData }
    }

    /// Whether 128 has already been subtracted from the multiplied numbers.
    pub(super) const fn signed<S: Simd>() -> bool {
        S::SIGNED && Self::LARGE
    }

    /// Four columns of the next 32 numbers of each row.
    ///
    /// Written without closures: a closure is a separate function, compiled without the instruction set.
    #[inline(always)]
    pub(super) fn unpack<S: Simd>(simd: S, values: &Values, from: &[[u8; 64]], quad: usize) -> S::Bytes {
        let layout = Self::LAYOUT;
        let (nibble, pair, bit) = (quad as i32 / 4 * 4, quad as i32 % 4 * 2, quad as i32);
        let mut numbers = match layout.bits {
            8 => simd.bytes(&from[quad]),
            2 | 3 => simd.field(simd.bytes(&from[quad / 4]), pair, 3),
            _ => simd.field(simd.bytes(&from[quad % 4]), nibble, 0x0f),
        };
        match layout.bits {
            3 => numbers = simd.or(numbers, simd.field(simd.bytes(&from[2]), bit - 2, 4)),
            5 => numbers = simd.or(numbers, simd.field(simd.bytes(&from[4]), bit - 4, 0x10)),
            6 => numbers = simd.or(numbers, simd.field(simd.bytes(&from[4 + quad / 4]), pair - 4, 0x30)),
            _ => {}
        }
        match layout.table {
            Some(_) => simd.look_up(&values.table, numbers),
            None if Self::signed::<S>() => simd.flip(numbers),
            None => numbers,
        }
    }

    /// Multiplies tiles and a block of `M` rows.
    #[inline(always)]
    fn multiply<S: Simd, const M: usize, const W: usize>(
        simd: S,
        values: &Values,
        tiles: &[&[u8]; W],
        ahead: &Ahead<'_, W>,
        (k, order): (usize, Order),
        block: &Block<'_>,
    ) -> Option<[[S::Floats; M]; W]> {
        let layout = Self::LAYOUT;
        let groups = k / COLUMNS;
        let Order { each, some_empty } = order;
        let parts = COLUMNS / layout.group;
        let quads = QUADS / parts;
        let mut numbers: [&[[u8; 64]]; W] = [&[]; W];
        let mut scales = [GroupScales::<F>::new(&[], k); W];
        for t in 0..W {
            let (own, rest) = tiles[t].split_at_checked(layout.scales_at(k))?;
            numbers[t] = own.as_chunks().0.get(..groups * layout.bits)?;
            scales[t] = GroupScales::new(rest, k);
        }
        let quants = block.quants.get(..groups * M)?;
        let scale_d = block.scales.get(..groups * M)?;
        let sums = block.sums.get(..groups * M)?;
        let starts = block.starts.get(..groups * M)?;
        // Adding the first share to −0 changes no bit of it.
        let mut totals = [[simd.float(-0.0); M]; W];
        let mut supers = [[simd.float(0.0); 2]; W];
        let mut until_due = ahead.phase;
        let mut first = 0;
        while first < groups {
            let end = groups.min(first + each);
            let mut acc = [[simd.float(0.0); M]; W];
            for g in first..end {
                for t in 0..W {
                    let (tile, soon) = ahead.at(tiles, t, g + AHEAD / layout.numbers_bytes(), groups);
                    for line in 0..layout.bits {
                        simd.prefetch(tile, (soon * layout.bits + line) * 64);
                    }
                    if ahead.is_new {
                        let (tile, later) =
                            ahead.at(tiles, t, g + FAR_AHEAD / layout.numbers_bytes(), groups);
                        for line in 0..layout.bits {
                            simd.fetch(tile, (later * layout.bits + line) * 64);
                        }
                        simd.fetch(tile, layout.scales_at(k) + later * layout.group_bytes() * parts);
                    }
                }
                if ahead.every > 0 {
                    if until_due == 0 {
                        until_due = ahead.every;
                        for t in 0..W {
                            for line in 0..layout.bits {
                                simd.fetch(ahead.later[t], (g * layout.bits + line) * 64);
                            }
                            simd.fetch(
                                ahead.later[t],
                                layout.scales_at(k) + g * layout.group_bytes() * parts,
                            );
                        }
                    }
                    until_due -= 1;
                }
                for h in 0..parts {
                    // For few rows, two sums each.
                    let mut sum = [[[simd.int(0); M]; 2]; W];
                    for m in 0..M {
                        let start = simd.int(if Self::signed::<S>() { 0 } else { starts[g * M + m][h] });
                        for t in 0..W {
                            sum[t][0][m] = start;
                        }
                    }
                    // Row by row, each product would wait for the previous one: the numbers of four columns go to all rows in turn. With
                    // enough registers, all tiles take part, so that four columns of a row are loaded once for all of them.
                    let (passes, together) = if S::WIDE { (1, W) } else { (W, 1) };
                    for pass in 0..passes {
                        for quad in h * quads..(h + 1) * quads {
                            let chain = if M <= 2 { quad % 2 } else { 0 };
                            let mut w = [simd.bytes(&[0; 64]); W];
                            for t in pass * together..(pass + 1) * together {
                                let own = &numbers[t][g * layout.bits..(g + 1) * layout.bits];
                                w[t] = Self::unpack(simd, values, own, quad);
                            }
                            for m in 0..M {
                                let x = &quants[g * M + m].0.as_chunks::<4>().0[quad];
                                for t in pass * together..(pass + 1) * together {
                                    sum[t][chain][m] = if Self::LARGE {
                                        simd.dot_large(sum[t][chain][m], w[t], x)
                                    } else {
                                        simd.dot(sum[t][chain][m], w[t], x)
                                    };
                                }
                            }
                        }
                    }
                    for t in 0..W {
                        let (scale, min) =
                            scales[t].group::<S, M>(simd, values.power, g * parts + h, &mut supers[t])?;
                        for m in 0..M {
                            let at = g * M + m;
                            let mut dot = sum[t][0][m];
                            if M <= 2 {
                                dot = simd.add_ints(dot, sum[t][1][m]);
                            }
                            let scaled = simd.mul(simd.to_floats(dot), scale);
                            acc[t][m] = simd.mul_add(scaled, simd.float(scale_d[at]), acc[t][m]);
                            if F::LAYOUT.has_min {
                                acc[t][m] = simd.mul_add(min, simd.float(sums[at][h]), acc[t][m]);
                            }
                        }
                    }
                }
            }
            for t in 0..W {
                for m in 0..M {
                    totals[t][m] = simd.mul_add(acc[t][m], simd.float(1.0), totals[t][m]);
                }
            }
            first = end;
        }
        if some_empty {
            for t in 0..W {
                for m in 0..M {
                    totals[t][m] = simd.mul_add(simd.float(0.0), simd.float(1.0), totals[t][m]);
                }
            }
        }
        Some(totals)
    }

    /// Multiplies a span of tiles and the rows of all entries. `later` is the first tile after the span that will be multiplied.
    #[inline(always)]
    fn span<S: Simd>(
        &mut self,
        simd: S,
        values: &Values,
        span: Range<usize>,
        later: Option<usize>,
    ) -> Option<()> {
        let groups = self.chunk.k / COLUMNS;
        let (mut entries, mut base) = (self.chunk.entries, self.base);
        let blocks = row_blocks::<S>(entries.len());
        let mut number = 0;
        while !entries.is_empty() {
            let (own, rest) = entries.split_at(block_rows::<S>(entries.len()));
            entries = rest;
            let block = self.blocks.block(base, own.len(), groups, 0)?;
            base += own.len() * groups;
            let turn = Turn { number, blocks, later };
            // Tiles at once, as measured: four for one row, which is bound by memory; with more rows as many as there are registers for.
            if S::WIDE {
                match own.len() {
                    6 => self.block::<S, 6, 2>(simd, values, &span, own, &block, turn)?,
                    5 => self.block::<S, 5, 2>(simd, values, &span, own, &block, turn)?,
                    4 => self.block::<S, 4, 2>(simd, values, &span, own, &block, turn)?,
                    3 => self.block::<S, 3, 2>(simd, values, &span, own, &block, turn)?,
                    2 => self.block::<S, 2, 2>(simd, values, &span, own, &block, turn)?,
                    _ => self.block::<S, 1, 4>(simd, values, &span, own, &block, turn)?,
                }
            } else {
                match own.len() {
                    6 => self.block::<S, 6, 1>(simd, values, &span, own, &block, turn)?,
                    4 => self.block::<S, 4, 1>(simd, values, &span, own, &block, turn)?,
                    2 => self.block::<S, 2, 2>(simd, values, &span, own, &block, turn)?,
                    _ => self.block::<S, 1, 4>(simd, values, &span, own, &block, turn)?,
                }
            }
            number += 1;
        }
        Some(())
    }

    /// Multiplies a span of tiles, `W` at once, and a block of rows. Several tiles at once are read as several streams, which a CPU
    /// fetches faster than one, and give it enough independent sums to hide the latency of products.
    #[inline(always)]
    fn block<S: Simd, const M: usize, const W: usize>(
        &mut self,
        simd: S,
        values: &Values,
        span: &Range<usize>,
        entries: &[Entry],
        block: &Block<'_>,
        turn: Turn,
    ) -> Option<()> {
        let (k, order) = (self.chunk.k, self.chunk.order);
        for first in span.clone().step_by(W) {
            let mut tiles: [&[u8]; W] = [&[]; W];
            let mut ahead =
                Ahead { next: [&[]; W], is_new: turn.blocks == 1, later: [&[]; W], every: 0, phase: 0 };
            // The next tiles of the span; after its last ones, the first of the next span, or of this one for the next block of rows.
            let next = match (first + W < span.end, turn.later) {
                (true, _) => first + W,
                (false, Some(later)) if turn.number + 1 == turn.blocks => later,
                (false, _) => span.start,
            };
            for t in 0..W {
                // After the last tile, the last again: its results are the same.
                tiles[t] = self.chunk.weight.tile((first + t).min(span.end - 1))?;
                debug_assert!(Self::LAYOUT.tile_bytes(k) == Some(tiles[t].len()));
                ahead.next[t] = self.chunk.weight.tile(next + t).unwrap_or(&[]);
            }
            if let (Some(later), 1..) = (turn.later, turn.number) {
                (ahead.every, ahead.phase) = (turn.blocks - 1, turn.number - 1);
                for t in 0..W {
                    ahead.later[t] = self.chunk.weight.tile(later + first - span.start + t).unwrap_or(&[]);
                }
            }
            let results = Self::multiply::<S, M, W>(simd, values, &tiles, &ahead, (k, order), block)?;
            for (tile, results) in (first..span.end).zip(&results) {
                self.keep(simd, tile, entries, results)?;
            }
        }
        Some(())
    }

    /// Writes the results of a tile and a block that belong to the chunk's columns.
    #[inline(always)]
    fn keep<S: Simd, const M: usize>(
        &mut self,
        simd: S,
        tile: usize,
        entries: &[Entry],
        results: &[S::Floats; M],
    ) -> Option<()> {
        let (lanes, first) = self.chunk.lanes(tile);
        for (entry, result) in entries.iter().zip(results) {
            let to = self.chunk.acc.get_mut(entry.slot * self.chunk.stride + first..)?;
            if lanes.len() == ROWS {
                simd.store(*result, to.first_chunk_mut()?);
            } else {
                let mut values = [0.0; ROWS];
                simd.store(*result, &mut values);
                to.get_mut(..lanes.len())?.copy_from_slice(values.get(lanes.clone())?);
            }
        }
        Some(())
    }
}

/// The scales of a tile.
pub(super) struct GroupScales<'a, F> {
    supers: &'a [[u8; 32]],
    groups: &'a [u8],
    format: PhantomData<F>,
}

impl<F> Clone for GroupScales<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for GroupScales<'_, F> {}

impl<'a, F: IntFormat> GroupScales<'a, F> {
    #[inline(always)]
    pub(super) fn new(scales: &'a [u8], k: usize) -> GroupScales<'a, F> {
        let at = Packed::<F>::LAYOUT.groups_at(k).min(scales.len());
        let (supers, groups) = scales.split_at(at);
        GroupScales { supers: supers.as_chunks().0, groups, format: PhantomData }
    }

    /// Scale and minimum of group `g` of each row, for `M` rows of activations. `supers` keeps the super-block's scales between
    /// its groups.
    #[inline(always)]
    pub(super) fn group<S: Simd, const M: usize>(
        &self,
        simd: S,
        power: f32,
        g: usize,
        supers: &mut [S::Floats; 2],
    ) -> Option<(S::Floats, S::Floats)> {
        let layout = Packed::<F>::LAYOUT;
        let own = self.groups.get(g * layout.group_bytes()..)?;
        let per_super = 256 / layout.group;
        let none = simd.float(0.0);
        // Around a branch the compiler keeps the sums of many rows in memory, which takes as long as the products. So for them the
        // super-block's scales are loaded again for each group.
        let begins = M > 2 || g.is_multiple_of(per_super);
        Some(match layout.scales {
            Scales::Half => (simd.halves(own.first_chunk()?), none),
            Scales::HalfMin => (simd.halves(own.first_chunk()?), simd.halves(own.get(32..)?.first_chunk()?)),
            Scales::Power => (simd.upper_halves(own.first_chunk()?), none),
            Scales::Super => {
                if begins {
                    supers[0] = simd.halves(self.supers.get(g / per_super)?);
                    if layout.table.is_some() {
                        supers[0] = simd.mul(supers[0], simd.float(power));
                    }
                }
                (simd.mul(supers[0], simd.signed(own.first_chunk()?)), none)
            }
            Scales::SuperMin => {
                if begins {
                    let at = 2 * (g / per_super);
                    let min = simd.halves(self.supers.get(at + 1)?);
                    *supers = [simd.halves(self.supers.get(at)?), simd.mul(min, simd.float(-1.0))];
                }
                let min = simd.unsigned(own.get(16..)?.first_chunk()?);
                (simd.mul(supers[0], simd.unsigned(own.first_chunk()?)), simd.mul(supers[1], min))
            }
        })
    }
}

impl<F: IntFormat> Work for Packed<'_, F> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Result<(), Fault> {
        let Chunk { row, ref cols, next_row, ty, .. } = self.chunk;
        let values = Values::of(ty, Self::signed::<S>()).ok_or(Fault)?;
        let tiles = (row + cols.start) / ROWS..(row + cols.end).div_ceil(ROWS);
        let next = next_row.map(|row| (row + cols.start) / ROWS);
        for first in tiles.clone().step_by(SPAN) {
            let end = tiles.end.min(first + SPAN);
            let later = if end < tiles.end { Some(end) } else { next };
            self.span(simd, &values, first..end, later).ok_or(Fault)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_with_the_same_code_have_the_same_tiles() {
        for ty in GgmlType::ALL.iter().copied() {
            let Some(own) = Layout::of(ty) else { continue };
            let of = Layout::of(code_of(ty)).unwrap();
            let shape = |l: &Layout| (l.bits, l.offset, l.table.is_some(), l.group, l.scales);
            assert_eq!(shape(&own), shape(&of), "{ty}");
            assert_eq!(code_of(code_of(ty)), code_of(ty));
        }
    }
}
