//! The scratch memory of an indexer: for each token the keys of its scores, and what narrows them.

use crate::refused::{Why, too_much};
use crate::split::Split;

/// The most keys that a lane holds where a workgroup only chooses, and where it also scores, which takes registers.
pub(super) const HELD: u32 = 64;
pub(super) const HELD_IN_TURN: u32 = 32;

/// The most keys of a slice that a lane has.
const MOST_OF_LANE: u32 = 64;

/// The places of a token's data in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Memory {
    pub(crate) slot: usize,
    /// The first word.
    pub(crate) at: u32,
    /// The words of a token, and those of its keys, which come first.
    pub(crate) words: u32,
    pub(crate) keys: u32,
    pub(crate) slices: Option<Slices>,
}

/// The division of a token's positions among the workgroups that narrow them, and offsets from the token's first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slices {
    /// The positions of a slice.
    pub(crate) positions: u32,
    /// The blocks of a chunk of scores, and the place of the largest key of each block.
    pub(crate) blocks: u32,
    pub(crate) tops: u32,
    /// The number of candidates of each slice.
    pub(crate) counts: u32,
    /// For each slice the keys of its candidates, and then their positions. There is room for all.
    pub(crate) listed: u32,
}

impl Memory {
    /// The memory of a token with up to `chunks` chunks of positions, without a place. `subgroup` lanes exchange values.
    ///
    /// # Errors
    /// A sentence, if there are too many positions.
    pub(crate) fn new(split: &Split, chunks: u64, (lanes, subgroup): (u32, u32)) -> Result<Memory, Why> {
        let word = |n: u64| u32::try_from(n).map_err(|_| too_much());
        let all = chunks.saturating_mul(u64::from(split.chunk));
        let keys = word(all)?;
        let memory = Memory { slot: 0, at: 0, words: keys, keys, slices: None };
        if !split.narrow {
            return Ok(memory);
        }
        let positions = slice(all, lanes).ok_or_else(|| {
            Why::Form(format!("narrows {all} positions, which are too many for {lanes} lanes"))
        })?;
        let blocks = lanes / subgroup;
        let count = all.div_ceil(u64::from(positions));
        let tops = all.next_multiple_of(4);
        let counts = (tops + chunks * u64::from(blocks)).next_multiple_of(4);
        let listed = (counts + count).next_multiple_of(4);
        let words = word(listed.saturating_add(2 * count * u64::from(positions)))?;
        let [tops, counts, listed] = [tops, counts, listed].map(|n| n as u32);
        Ok(Memory { words, slices: Some(Slices { positions, blocks, tops, counts, listed }), ..memory })
    }

    /// The same memory at word `at` of a slot.
    pub(crate) fn at(self, slot: usize, at: u32) -> Memory {
        Memory { slot, at, ..self }
    }
}

/// The positions of a slice if there may be `all`: a multiple of four for each lane, and no more slices than lanes. `None` if lanes then
/// have too many.
pub(crate) fn slice(all: u64, lanes: u32) -> Option<u32> {
    let enough = |of_lane: &u32| all <= u64::from(of_lane * lanes) * u64::from(lanes);
    (2..=MOST_OF_LANE.ilog2()).map(|power| 1 << power).find(enough).map(|of_lane| of_lane * lanes)
}
