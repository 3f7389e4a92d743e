//! The order in which the sum of an expert's product is added up.
//!
//! Experts of a layer may be on several devices, so the order is part of the plan and not of a device's schedule. The blocks of a row are
//! divided into shares. Each is added up from 0, block by block, and the shares are added one after another, the first ones first. The
//! division depends on the number of blocks alone. It is that of GPUs, which have a lane for each share; a CPU that has all experts may add
//! up a row in one.

use super::{Pick, Product};
use crate::program::Param;
use crate::q8;

/// The most shares of a row, and of a row of at least [`LONG`] blocks.
const MOST: usize = 16;
const MOST_LONG: usize = 2 * MOST;
const LONG: usize = 128;

/// The most blocks of a share for which equal shares are preferred to unequal ones.
const MOST_BLOCKS: usize = 12;

/// The division of a row's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Neighbouring blocks of a share; the last one may have fewer.
    pub each: usize,
    /// The number of shares with blocks.
    pub count: usize,
    /// The number of all shares, a power of two. Those after `count` are 0.
    pub all: usize,
}

impl Shares {
    /// The shares of a row, if `all` is their number. Shares that divide the row may be up to a third longer than the shortest possible
    /// ones, because matrix units visit them whole.
    pub fn of(blocks: usize, all: usize) -> Shares {
        let least = blocks.div_ceil(all.max(1)).max(1);
        let whole = (least..=least + least / 3).find(|each| blocks.is_multiple_of(*each));
        let each = whole.unwrap_or(least);
        Shares { each, count: blocks.div_ceil(each), all }
    }

    /// Whether all shares with blocks have the same number of them.
    pub const fn are_equal(&self, blocks: usize) -> bool {
        self.each * self.count == blocks
    }

    /// The number of shares of a row of an expert's weight.
    pub fn number(blocks: usize) -> usize {
        let below = |n: usize| 1 << n.max(1).ilog2();
        let all: usize = below(blocks).min(if blocks >= LONG { MOST_LONG } else { MOST });
        // Unequal shares are faster than a few long ones.
        let even = all.min(1 << blocks.max(1).trailing_zeros());
        if blocks / even <= MOST_BLOCKS { even } else { all }
    }
}

impl Product {
    /// The order of its sums where an expert may be on several devices: if it is an expert's product and [`rounds`](Product::rounds).
    pub fn shares(&self, params: &[Param]) -> Option<Shares> {
        let is_expert = matches!(self.w.pick, Pick::Ids(_) | Pick::Sum(_));
        let blocks = self.w.k / q8::BLOCK;
        (is_expert && self.rounds(params)).then(|| Shares::of(blocks, Shares::number(blocks)))
    }
}

#[cfg(test)]
mod tests {
    use super::Shares;

    #[test]
    fn shares_divide_a_row_where_they_can() {
        // Rows of 2,048, 2,880, 6,912 and 5,888 values; of 10,944 values, which have no such shares; and of a single block.
        for (blocks, all, each, count, equal) in [
            (64, 16, 4, 16, true),
            (90, 32, 3, 30, true),
            (216, 32, 8, 27, true),
            (184, 32, 8, 23, true),
            (342, 32, 11, 32, false),
            (1, 1, 1, 1, true),
            (7, 8, 1, 7, true),
            (9, 8, 2, 5, false),
        ] {
            let shares = Shares::of(blocks, all);
            assert_eq!(shares, Shares { each, count, all }, "{blocks} blocks, {all} shares");
            assert_eq!(shares.are_equal(blocks), equal);
        }
    }

    #[test]
    fn experts_have_as_many_shares_as_lanes_that_read_them_fast() {
        let numbers = [1, 5, 24, 44, 48, 64, 90, 160, 342].map(Shares::number);
        assert_eq!(numbers, [1, 1, 8, 4, 16, 16, 16, 32, 32]);
    }
}
