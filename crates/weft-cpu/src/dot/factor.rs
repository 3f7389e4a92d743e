//! Lays out rows for products with packed weights, in [`blocks`](super::blocks).

use weft_quant::packed::{COLUMNS, Layout};

use super::blocks::{Blocks, Entry, block_rows};
use crate::isa::{Simd, Work};
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
                            // Not closures: these would be compiled without the instruction set.
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
