//! Packed weights times rounded activations.
//!
//! The order of an output's terms: from 0, for each 32 activations in order, `sum · (scale · d)` is added, then, if the format has minima,
//! `min · (s₀ + s₁)`. `sum` is the exact integer dot product, `scale` and `min` are the weight's, `d` and `s` the activations'. If a
//! scale belongs to 16 weights, the same is done for each half in turn, with its own `sum`, `scale`, `min` and `s`. Each of these terms is
//! multiplied and added in one rounding; `scale · d`, `s₀ + s₁` and the scales of super-blocks are rounded by themselves.
//!
//! A vector has the sixteen rows of a tile (see [`weft_quant::packed`]), so there is no sum across lanes. A tile's numbers are unpacked once
//! for a block of rows of x, and the block's results stay in registers for the whole length of a row.

use std::marker::PhantomData;

use weft_quant::ints::IntFormat;
use weft_quant::packed::{COLUMNS, Layout, ROWS, Scales};

use super::chunk::{Chunk, Entry};
use super::factor::{Block, Blocks, block_rows};
use crate::isa::{Simd, Work};
use crate::rows::Fault;

/// How far ahead of its use a weight is fetched, in bytes.
const AHEAD: usize = 2048;

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

    pub(super) fn new(chunk: Chunk<'a>, blocks: &'a Blocks, base: usize) -> Packed<'a, F> {
        Packed { chunk, blocks, base, format: PhantomData }
    }

    /// The numbers of 32 columns.
    ///
    /// Written without closures: a closure is a function of its own, compiled without the instruction set.
    #[inline(always)]
    fn unpack<S: Simd>(simd: S, from: &[[u8; 64]]) -> [S::Bytes; QUADS] {
        let layout = Self::LAYOUT;
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
            if let Some(table) = &layout.table {
                numbers[quad] = simd.look_up(table, numbers[quad]);
            }
        }
        numbers
    }

    /// Multiplies a tile and a block of `M` rows.
    #[inline(always)]
    fn multiply<S: Simd, const M: usize>(
        simd: S,
        tile: &[u8],
        k: usize,
        block: &Block<'_>,
    ) -> Option<[S::Floats; M]> {
        let layout = Self::LAYOUT;
        let whole = layout.group == COLUMNS;
        let (numbers, scales) = tile.split_at_checked(layout.scales_at(k))?;
        let numbers = numbers.as_chunks::<64>().0.chunks_exact(layout.bits);
        let scales = GroupScales::<F>::new(scales, k);
        let quants = block.quants.as_chunks::<M>().0.iter();
        let scale_d = block.scales.as_chunks::<M>().0.iter();
        let sums = block.sums.as_chunks::<M>().0.iter();
        let starts = block.starts.as_chunks::<M>().0.iter();
        let mut acc = [simd.float(0.0); M];
        let mut supers = [simd.float(0.0); 2];
        let groups = numbers.zip(quants).zip(scale_d).zip(sums.zip(starts)).enumerate();
        for (g, (((numbers, quants), d), (sums, starts))) in groups {
            if M == 1 {
                for line in numbers {
                    simd.prefetch(line, AHEAD);
                }
            }
            let w = Self::unpack(simd, numbers);
            let halves = if whole { 1 } else { 2 };
            let mut of = [(simd.float(0.0), simd.float(0.0)); 2];
            for (h, of) in of.iter_mut().enumerate().take(halves) {
                *of = scales.group(simd, g * halves + h, &mut supers)?;
            }
            for m in 0..M {
                let x = quants[m].as_chunks::<4>().0;
                let d = simd.float(d[m]);
                if whole {
                    let mut sum = simd.int(starts[m][0]);
                    if M <= 2 {
                        // Two shorter chains: there are too few rows to fill the time an instruction takes.
                        let mut other = simd.int(0);
                        for quad in 0..QUADS / 2 {
                            sum = simd.dot(sum, w[quad], &x[quad]);
                            other = simd.dot(other, w[quad + QUADS / 2], &x[quad + QUADS / 2]);
                        }
                        sum = simd.add_ints(sum, other);
                    } else {
                        for quad in 0..QUADS {
                            sum = simd.dot(sum, w[quad], &x[quad]);
                        }
                    }
                    let (scale, min) = of[0];
                    acc[m] = simd.mul_add(simd.to_floats(sum), simd.mul(scale, d), acc[m]);
                    if F::LAYOUT.has_min {
                        acc[m] = simd.mul_add(min, simd.float(sums[m][0]), acc[m]);
                    }
                } else {
                    for h in 0..2 {
                        let mut sum = simd.int(starts[m][h]);
                        for quad in h * QUADS / 2..(h + 1) * QUADS / 2 {
                            sum = simd.dot(sum, w[quad], &x[quad]);
                        }
                        let (scale, min) = of[h];
                        acc[m] = simd.mul_add(simd.to_floats(sum), simd.mul(scale, d), acc[m]);
                        if F::LAYOUT.has_min {
                            acc[m] = simd.mul_add(min, simd.float(sums[m][h]), acc[m]);
                        }
                    }
                }
            }
        }
        Some(acc)
    }

    /// Multiplies a tile and the rows of some entries; of the results, `lanes` are kept, from column `column` of the chunk on.
    #[inline(always)]
    fn tile<S: Simd>(
        &mut self,
        simd: S,
        tile: &[u8],
        lanes: std::ops::Range<usize>,
        column: usize,
    ) -> Option<()> {
        let k = self.chunk.k;
        let mut entries = self.chunk.entries;
        let groups = k / COLUMNS;
        let mut base = self.base;
        while !entries.is_empty() {
            let (own, rest) = entries.split_at(block_rows(entries.len()));
            entries = rest;
            let block = self.blocks.block(base, own.len(), groups)?;
            base += own.len() * groups;
            match own.len() {
                8 => self.keep(simd, own, Self::multiply::<S, 8>(simd, tile, k, &block)?, &lanes, column)?,
                4 => self.keep(simd, own, Self::multiply::<S, 4>(simd, tile, k, &block)?, &lanes, column)?,
                2 => self.keep(simd, own, Self::multiply::<S, 2>(simd, tile, k, &block)?, &lanes, column)?,
                _ => self.keep(simd, own, Self::multiply::<S, 1>(simd, tile, k, &block)?, &lanes, column)?,
            }
        }
        Some(())
    }

    /// Writes a block's results.
    #[inline(always)]
    fn keep<S: Simd, const M: usize>(
        &mut self,
        simd: S,
        entries: &[Entry],
        results: [S::Floats; M],
        lanes: &std::ops::Range<usize>,
        column: usize,
    ) -> Option<()> {
        for (entry, result) in entries.iter().zip(results) {
            let mut values = [0.0; ROWS];
            simd.store(result, &mut values);
            let to = self.chunk.acc.get_mut(entry.slot * self.chunk.stride + column..)?;
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

impl<'a, F: IntFormat> GroupScales<'a, F> {
    #[inline(always)]
    fn new(scales: &'a [u8], k: usize) -> GroupScales<'a, F> {
        let at = Packed::<F>::LAYOUT.groups_at(k).min(scales.len());
        let (supers, groups) = scales.split_at(at);
        GroupScales { supers: supers.as_chunks().0, groups, format: PhantomData }
    }

    /// Scale and minimum of group `g` of each row. `supers` keeps those of the super-block between its groups.
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
        let Chunk { weight, k, row, ref cols, .. } = self.chunk;
        let (from, to) = (row + cols.start, row + cols.end);
        for tile in from / ROWS..to.div_ceil(ROWS) {
            let lanes = from.max(tile * ROWS)..to.min((tile + 1) * ROWS);
            let column = lanes.start - from;
            let bytes = weight.tile(tile).ok_or(Fault)?;
            let lanes = lanes.start - tile * ROWS..lanes.end - tile * ROWS;
            debug_assert!(Self::LAYOUT.tile_bytes(k) == Some(bytes.len()));
            self.tile(simd, bytes, lanes, column).ok_or(Fault)?;
        }
        Ok(())
    }
}
