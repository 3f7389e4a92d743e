//! Lays out rows for products with packed weights, in [`blocks`](super::blocks).

use weft_quant::packed::{COLUMNS, Layout};

use super::blocks::{Blocks, Entry, block_rows, tiled_rows};
use crate::isa::{Arch, Quants, Simd, TILE, Work};
use crate::made::Factor;
use crate::rows::Fault;

/// Lays out rows for a weight of a layout: the blocks of `entries`, in their order, from `base` on. Entries with different matrices are in
/// different blocks.
pub(super) struct LayOut<'a> {
    pub(super) x: Factor<'a>,
    pub(super) entries: &'a [Entry],
    pub(super) base: usize,
    pub(super) k: usize,
    pub(super) layout: Layout,
    /// The unit that the rows are laid out for.
    pub(super) arch: Arch,
    pub(super) blocks: &'a mut Blocks,
}

impl Work for LayOut<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let LayOut { x, entries, base, k, layout, arch, blocks } = self;
        let groups = k / COLUMNS;
        let whole = layout.group == COLUMNS;
        let offset = i32::from(layout.offset);
        let has_min = layout.has_min();
        let mut base = base;
        for run in entries.chunk_by(|a, b| a.matrix == b.matrix) {
            let mut run = run;
            let mut tiled = tiled_rows(arch, run.len());
            while !run.is_empty() {
                let by_tiles = tiled > 0;
                let rows = if by_tiles { tiled.min(TILE) } else { block_rows::<S>(run.len()) };
                tiled -= if by_tiles { rows } else { 0 };
                let (block, rest) = run.split_at(rows);
                run = rest;
                let own = base..base + block.len() * groups;
                let quants = blocks.quants.get_mut(own.clone()).ok_or(Fault)?;
                let scales = blocks.scales.get_mut(own.clone()).ok_or(Fault)?;
                let sums = blocks.sums.get_mut(own.clone()).ok_or(Fault)?;
                let starts = blocks.starts.get_mut(own).ok_or(Fault)?;
                // Group by group and row by row within it, so that memory is written in order.
                let mut rows = [None; TILE];
                for (row, entry) in rows.iter_mut().zip(block) {
                    *row = Some(x.rounded(entry.x_at, k).ok_or(Fault)?);
                }
                let mut to = quants.iter_mut().zip(scales).zip(sums).zip(starts);
                for g in 0..groups {
                    for row in rows.iter().flatten() {
                        let Some((((quants, scale), sums), starts)) = to.next() else { return Err(Fault) };
                        let from = row.quants.as_chunks::<COLUMNS>().0.get(g).ok_or(Fault)?;
                        *quants = Quants(*from);
                        *scale = *row.scales.get(g).ok_or(Fault)?;
                        if has_min {
                            let [a, b] = *row.sums.as_chunks().0.get(g).ok_or(Fault)?;
                            *sums = if whole { [a + b, 0.0] } else { [a, b] };
                        }
                        if offset > 0 && !by_tiles {
                            let [a, b] = simd.sum_halves(from);
                            *starts = if whole { [-(a + b) * offset, 0] } else { [-a * offset, -b * offset] };
                        } else {
                            *starts = [0; 2];
                        }
                    }
                }
                base += block.len() * groups;
            }
        }
        Ok(())
    }
}
