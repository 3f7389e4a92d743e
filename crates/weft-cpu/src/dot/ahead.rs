//! Prefetches packed weights while others are multiplied.

use weft_quant::packed::{COLUMNS, Layout};

use crate::isa::Simd;

/// How far ahead weights are prefetched into the first-level cache, in bytes.
const AHEAD: usize = 2048;

/// How far ahead they are prefetched into the second-level cache, which can wait for more lines at the same time.
const FAR_AHEAD: usize = 8192;

/// What is prefetched while tiles are multiplied.
pub(super) struct Ahead<'a, const W: usize> {
    /// The tiles that are multiplied next.
    pub(super) next: [&'a [u8]; W],
    /// Whether the tiles, which are multiplied once, come from memory.
    pub(super) is_new: bool,
    /// Tiles of the next span: one of `every` groups of 32 columns from `phase` on, into the second-level cache. None if `every` is 0.
    pub(super) later: [&'a [u8]; W],
    pub(super) every: usize,
    pub(super) phase: usize,
}

impl<'a, const W: usize> Ahead<'a, W> {
    /// Group `g` from the beginning of tile `t` of these, which have so many groups: a tile and the group in it.
    #[inline(always)]
    fn at(&self, tiles: &[&'a [u8]; W], t: usize, g: usize, groups: usize) -> (&'a [u8], usize) {
        if g < groups { (tiles[t], g) } else { (self.next[t], g - groups) }
    }

    /// Prefetches what is due while 32 columns are multiplied, those of group `g` of rows of `k` values.
    #[inline(always)]
    pub(super) fn prefetch<S: Simd>(
        &self,
        simd: S,
        layout: &Layout,
        tiles: &[&'a [u8]; W],
        g: usize,
        k: usize,
        until_due: &mut usize,
    ) {
        let groups = k / COLUMNS;
        for t in 0..W {
            let (tile, soon) = self.at(tiles, t, g + AHEAD / layout.numbers_bytes(), groups);
            for line in 0..layout.bits {
                simd.prefetch(tile, (soon * layout.bits + line) * 64);
            }
            if self.is_new {
                let (tile, far) = self.at(tiles, t, g + FAR_AHEAD / layout.numbers_bytes(), groups);
                fetch(simd, layout, tile, far, k);
            }
        }
        if self.every > 0 {
            if *until_due == 0 {
                *until_due = self.every;
                for t in 0..W {
                    fetch(simd, layout, self.later[t], g, k);
                }
            }
            *until_due -= 1;
        }
    }
}

/// Prefetches a group of a tile into the second-level cache, if it has that group.
#[inline(always)]
fn fetch<S: Simd>(simd: S, layout: &Layout, tile: &[u8], g: usize, k: usize) {
    for line in 0..layout.bits {
        simd.fetch(tile, (g * layout.bits + line) * 64);
    }
    simd.fetch(tile, layout.scales_at(k) + g * layout.group_bytes() * (COLUMNS / layout.group));
}
