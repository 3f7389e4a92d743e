//! Packed weights times rounded activations.
//!
//! The order of an output's terms: from 0, for each 32 activations in order, `sum · (scale · d)` is added, then, if the format has minima,
//! `min · (s₀ + s₁)`. `sum` is the exact integer dot product, `scale` and `min` are the weight's, `d` and `s` the activations'. If a
//! scale belongs to 16 weights, the same is done for each half in turn, with its own `sum`, `scale`, `min` and `s`. Each of these terms is
//! multiplied and added in one rounding; `scale · d`, `s₀ + s₁` and the scales of super-blocks are rounded separately.
//!
//! A vector has the sixteen rows of a tile (see [`weft_quant::packed`]), so there is no sum across lanes. A tile's numbers are unpacked once
//! for a block of rows of x, and the block's results stay in registers for the whole length of a row.

use std::marker::PhantomData;
use std::ops::Range;

use weft_quant::ints::IntFormat;
use weft_quant::packed::{COLUMNS, Layout, ROWS, Scales};

use super::blocks::{Block, Blocks, Entry, block_rows};
use super::chunk::Chunk;
use crate::isa::{Simd, Work};
use crate::rows::Fault;

/// How far ahead weights are prefetched, in bytes.
const AHEAD: usize = 2048;

/// Tiles that are multiplied with all rows before the next ones: they stay in the first-level cache, together with a block of rows.
const SPAN: usize = 4;

/// Vectors of 32 columns.
const QUADS: usize = 8;

/// Multiplies a chunk.
pub(super) struct Packed<'a, F> {
    chunk: Chunk<'a>,
    /// The chunk's rows, laid out from `base` on.
    blocks: &'a Blocks,
    base: usize,
    format: PhantomData<F>,
}

impl<'a, F: IntFormat> Packed<'a, F> {
    const LAYOUT: Layout = match Layout::of(F::TYPE) {
        Some(layout) => layout,
        None => panic!("integer formats have a layout"),
    };

    /// Whether numbers exceed 127: then the format subtracts 128 from them.
    const LARGE: bool = Self::LAYOUT.offset == 128;

    pub(super) fn new(chunk: Chunk<'a>, blocks: &'a Blocks, base: usize) -> Packed<'a, F> {
        Packed { chunk, blocks, base, format: PhantomData }
    }

    /// Whether 128 has already been subtracted from the multiplied numbers.
    const fn signed<S: Simd>() -> bool {
        S::SIGNED && Self::LARGE
    }

    /// The numbers of 32 columns.
    ///
    /// Written without closures: a closure is a separate function, compiled without the instruction set.
    #[inline(always)]
    fn unpack<S: Simd>(simd: S, from: &[[u8; 64]]) -> [S::Bytes; QUADS] {
        let layout = Self::LAYOUT;
        let mut table = layout.table;
        if let (Some(table), true) = (&mut table, Self::signed::<S>()) {
            for x in table {
                *x ^= 0x80;
            }
        }
        let mut numbers = [simd.bytes(&from[0]); QUADS];
        for quad in 0..QUADS {
            let (nibble, pair, bit) = (quad as i32 / 4 * 4, quad as i32 % 4 * 2, quad as i32);
            numbers[quad] = match layout.bits {
                8 => simd.bytes(&from[quad]),
                2 | 3 => simd.field(simd.bytes(&from[quad / 4]), pair, 3),
                _ => simd.field(simd.bytes(&from[quad % 4]), nibble, 0x0f),
            };
            match layout.bits {
                3 => numbers[quad] = simd.or(numbers[quad], simd.field(simd.bytes(&from[2]), bit - 2, 4)),
                5 => numbers[quad] = simd.or(numbers[quad], simd.field(simd.bytes(&from[4]), bit - 4, 0x10)),
                6 => {
                    let high = simd.field(simd.bytes(&from[4 + quad / 4]), pair - 4, 0x30);
                    numbers[quad] = simd.or(numbers[quad], high);
                }
                _ => {}
            }
            match &table {
                Some(table) => numbers[quad] = simd.look_up(table, numbers[quad]),
                None if Self::signed::<S>() => numbers[quad] = simd.flip(numbers[quad]),
                None => {}
            }
        }
        numbers
    }

    /// Multiplies tiles and a block of `M` rows.
    #[inline(always)]
    fn multiply<S: Simd, const M: usize, const W: usize>(
        simd: S,
        tiles: &[&[u8]; W],
        k: usize,
        block: &Block<'_>,
    ) -> Option<[[S::Floats; M]; W]> {
        let layout = Self::LAYOUT;
        let groups = k / COLUMNS;
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
        let mut acc = [[simd.float(0.0); M]; W];
        let mut supers = [[simd.float(0.0); 2]; W];
        for g in 0..groups {
            for t in 0..W {
                let lines = &numbers[t][g * layout.bits..(g + 1) * layout.bits];
                for line in lines {
                    simd.prefetch(line, AHEAD);
                }
                let w = Self::unpack(simd, lines);
                for h in 0..parts {
                    let (scale, min) = scales[t].group(simd, g * parts + h, &mut supers[t])?;
                    // For few rows, two sums each.
                    let mut sum = [[simd.int(0); M]; 2];
                    for m in 0..M {
                        sum[0][m] = simd.int(if Self::signed::<S>() { 0 } else { starts[g * M + m][h] });
                    }
                    // Row by row, each product would wait for the previous one: the numbers of four columns go to all rows in turn.
                    for quad in h * quads..(h + 1) * quads {
                        let chain = if M <= 2 { quad % 2 } else { 0 };
                        for m in 0..M {
                            let x = quants[g * M + m].as_chunks::<4>().0;
                            sum[chain][m] = if Self::LARGE {
                                simd.dot_large(sum[chain][m], w[quad], &x[quad])
                            } else {
                                simd.dot(sum[chain][m], w[quad], &x[quad])
                            };
                        }
                    }
                    for m in 0..M {
                        let at = g * M + m;
                        let mut dot = sum[0][m];
                        if M <= 2 {
                            dot = simd.add_ints(dot, sum[1][m]);
                        }
                        let scale = simd.mul(scale, simd.float(scale_d[at]));
                        acc[t][m] = simd.mul_add(simd.to_floats(dot), scale, acc[t][m]);
                        if F::LAYOUT.has_min {
                            acc[t][m] = simd.mul_add(min, simd.float(sums[at][h]), acc[t][m]);
                        }
                    }
                }
            }
        }
        Some(acc)
    }

    /// Multiplies a span of tiles and the rows of all entries.
    #[inline(always)]
    fn span<S: Simd>(&mut self, simd: S, span: Range<usize>) -> Option<()> {
        let groups = self.chunk.k / COLUMNS;
        let (mut entries, mut base) = (self.chunk.entries, self.base);
        while !entries.is_empty() {
            let (own, rest) = entries.split_at(block_rows::<S>(entries.len()));
            entries = rest;
            let block = self.blocks.block(base, own.len(), groups)?;
            base += own.len() * groups;
            // Tiles at once, as measured: four for one row, which is bound by memory; with more rows, sums no longer fit into registers.
            match own.len() {
                8 => self.block::<S, 8, 1>(simd, &span, own, &block)?,
                6 => self.block::<S, 6, 1>(simd, &span, own, &block)?,
                4 => self.block::<S, 4, 1>(simd, &span, own, &block)?,
                2 => self.block::<S, 2, 2>(simd, &span, own, &block)?,
                _ => self.block::<S, 1, 4>(simd, &span, own, &block)?,
            }
        }
        Some(())
    }

    /// Multiplies a span of tiles, `W` at once, and a block of rows. Several tiles at once are read as several streams, which a CPU
    /// fetches faster than one, and give it enough independent sums to hide the latency of products.
    #[inline(always)]
    fn block<S: Simd, const M: usize, const W: usize>(
        &mut self,
        simd: S,
        span: &Range<usize>,
        entries: &[Entry],
        block: &Block<'_>,
    ) -> Option<()> {
        let k = self.chunk.k;
        for first in span.clone().step_by(W) {
            let mut tiles: [&[u8]; W] = [&[]; W];
            for (t, tile) in tiles.iter_mut().enumerate() {
                // After the last tile, the last again: its results are the same.
                *tile = self.chunk.weight.tile((first + t).min(span.end - 1))?;
                debug_assert!(Self::LAYOUT.tile_bytes(k) == Some(tile.len()));
            }
            let results = Self::multiply::<S, M, W>(simd, &tiles, k, block)?;
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
        let Chunk { row, ref cols, stride, .. } = self.chunk;
        let (from, to) = (row + cols.start, row + cols.end);
        let rows = from.max(tile * ROWS)..to.min((tile + 1) * ROWS);
        let lanes = rows.start - tile * ROWS..rows.end - tile * ROWS;
        for (entry, result) in entries.iter().zip(results) {
            let mut values = [0.0; ROWS];
            simd.store(*result, &mut values);
            let to = self.chunk.acc.get_mut(entry.slot * stride + rows.start - from..)?;
            to.get_mut(..lanes.len())?.copy_from_slice(values.get(lanes.clone())?);
        }
        Some(())
    }
}

/// The scales of a tile.
struct GroupScales<'a, F> {
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
    fn new(scales: &'a [u8], k: usize) -> GroupScales<'a, F> {
        let at = Packed::<F>::LAYOUT.groups_at(k).min(scales.len());
        let (supers, groups) = scales.split_at(at);
        GroupScales { supers: supers.as_chunks().0, groups, format: PhantomData }
    }

    /// Scale and minimum of group `g` of each row. `supers` keeps the super-block's scales between its groups.
    #[inline(always)]
    fn group<S: Simd>(
        &self,
        simd: S,
        g: usize,
        supers: &mut [S::Floats; 2],
    ) -> Option<(S::Floats, S::Floats)> {
        let layout = Packed::<F>::LAYOUT;
        let own = self.groups.get(g * layout.group_bytes()..)?;
        let per_super = 256 / layout.group;
        let none = simd.float(0.0);
        Some(match layout.scales {
            Scales::Half => (simd.halves(own.first_chunk()?), none),
            Scales::HalfMin => (simd.halves(own.first_chunk()?), simd.halves(own.get(32..)?.first_chunk()?)),
            Scales::Power => (simd.upper_halves(own.first_chunk()?), none),
            Scales::Super => {
                if g.is_multiple_of(per_super) {
                    supers[0] = simd.halves(self.supers.get(g / per_super)?);
                }
                (simd.mul(supers[0], simd.signed(own.first_chunk()?)), none)
            }
            Scales::SuperMin => {
                if g.is_multiple_of(per_super) {
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
        let Chunk { row, ref cols, .. } = self.chunk;
        let tiles = (row + cols.start) / ROWS..(row + cols.end).div_ceil(ROWS);
        for first in tiles.clone().step_by(SPAN) {
            self.span(simd, first..tiles.end.min(first + SPAN)).ok_or(Fault)?;
        }
        Ok(())
    }
}
