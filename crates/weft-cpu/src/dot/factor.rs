//! What is multiplied by packed weights, laid out as the leaf reads it.
//!
//! Rows are taken in blocks of up to eight, or six where there are fewer registers, that meet a tile of weights together. A block holds, 32
//! columns at a time, the quants of its rows one after another, and so their scales, the sums that minima are multiplied with, and the
//! integers that products begin from: with weights stored as unsigned numbers, `Σ (u − offset)·x = Σ u·x − offset · Σ x`.

use weft_quant::packed::{COLUMNS, Layout};

use super::chunk::Entry;
use crate::isa::{Simd, Work};
use crate::prologue::Factor;
use crate::rows::Fault;

/// Blocks, one after another. All parts are indexed by 32 values: those of a block that begins at `b` are `b + column / 32 · rows + row`.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) quants: Vec<[i8; COLUMNS]>,
    pub(crate) scales: Vec<f32>,
    /// For each half of 32 columns; if a group has 32, what belongs to the whole is in the first.
    pub(crate) sums: Vec<[f32; 2]>,
    pub(crate) starts: Vec<[i32; 2]>,
}

/// A block of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) quants: &'a [[i8; COLUMNS]],
    pub(super) scales: &'a [f32],
    pub(super) sums: &'a [[f32; 2]],
    pub(super) starts: &'a [[i32; 2]],
}

/// How many of so many rows are in the next block: as many as there are registers for the sums of.
pub(super) fn block_rows<S: Simd>(rows: usize) -> usize {
    match rows {
        8.. if S::WIDE => 8,
        6 | 7 | 9.. if !S::WIDE => 6,
        4.. => 4,
        2.. => 2,
        _ => rows,
    }
}

impl Blocks {
    /// The block at `base` of `count` rows of `groups` times 32 values.
    #[inline(always)]
    pub(super) fn block(&self, base: usize, count: usize, groups: usize) -> Option<Block<'_>> {
        let range = base..base + count * groups;
        Some(Block {
            quants: self.quants.get(range.clone())?,
            scales: self.scales.get(range.clone())?,
            sums: self.sums.get(range.clone())?,
            starts: self.starts.get(range)?,
        })
    }
}

/// Lays out rows for a weight of a layout: the blocks of `entries`, in their order, from `base` on. Entries with different matrices are in
/// different blocks.
pub(super) struct LayOut<'a> {
    pub(super) x: Factor<'a>,
    pub(super) entries: &'a [Entry],
    pub(super) base: usize,
    pub(super) k: usize,
    pub(super) layout: Layout,
    pub(super) blocks: &'a mut Blocks,
}

impl Work for LayOut<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Result<(), Fault> {
        let LayOut { x, entries, base, k, layout, blocks } = self;
        let groups = k / COLUMNS;
        let whole = layout.group == COLUMNS;
        let offset = i32::from(layout.offset);
        let mut base = base;
        for run in entries.chunk_by(|a, b| a.matrix == b.matrix) {
            let mut run = run;
            while !run.is_empty() {
                let (block, rest) = run.split_at(block_rows::<S>(run.len()));
                run = rest;
                for (i, entry) in block.iter().enumerate() {
                    let from = x.rounded(entry.x_at, k).ok_or(Fault)?;
                    for (g, quants) in from.quants.as_chunks::<COLUMNS>().0.iter().enumerate() {
                        let at = base + g * block.len() + i;
                        blocks.quants[at] = *quants;
                        blocks.scales[at] = from.scales[g];
                        let [a, b] = [from.sums[2 * g], from.sums[2 * g + 1]];
                        blocks.sums[at] = if whole { [a + b, 0.0] } else { [a, b] };
                        let mut starts = [0; 2];
                        if offset > 0 {
                            // No closures: they would be compiled without the instruction set.
                            for column in 0..COLUMNS {
                                starts[column / 16] -= i32::from(quants[column]);
                            }
                            starts = [starts[0] * offset, starts[1] * offset];
                            if whole {
                                starts = [starts[0] + starts[1], 0];
                            }
                        }
                        blocks.starts[at] = starts;
                    }
                }
                base += block.len() * groups;
            }
        }
        Ok(())
    }
}
