//! `attend.lanes`: attention by lanes. Lanes share scores, and then the columns of values. It takes any sizes.
//!
//! A workgroup has some heads of one token that share their keys. Positions are split into chunks of a fixed length, whose results are
//! combined in order. With `spread` each chunk has a workgroup, and a second shader combines them, which changes no bit. On GPUs without
//! matrix units, up to ten heads of a token visit a chunk together: on an H200 through Vulkan, before it had cooperative matrices, prompts
//! at a depth of 4,096 lost 38.5 % without that (`attention.tiles=off` in `bench/runs/2026-11-23-vulkan-large.md`).

pub(crate) mod block;
pub(crate) mod heads;
pub(crate) mod state;
pub(crate) mod tile;
pub(crate) mod walk;
pub(crate) mod write;

use weft_kern::Part;

use crate::forms::checks::{self, Candidate};
use crate::forms::questions::Questions;
use crate::forms::steps;
use crate::forms::words::form;
use crate::split::{PLAIN, Split, number};

form! {
    /// Attention by lanes.
    AttendLanes "attend.lanes"
    numbers {
        /// Heads per workgroup.
        rows,
        /// Lanes that compute a score together; a power of two.
        reduce,
        /// Positions that a lane scores at a time.
        upcast,
        /// Positions of a chunk.
        chunk,
    }
    flags {
        /// Whether each chunk has its own workgroup.
        spread,
    }
}

impl Questions for AttendLanes {
    fn suits(&self, part: &Part) -> bool {
        part.attention().is_some()
    }

    fn new(split: &Split) -> AttendLanes {
        let Split { rows, reduce, upcast, chunk, spread, .. } = *split;
        AttendLanes { rows, reduce, upcast, chunk, spread }
    }

    fn split(&self, part: &Part) -> Split {
        let AttendLanes { rows, reduce, upcast, chunk, spread } = *self;
        Split { rows, width: number(part.cols), reduce, upcast, chunk, spread, ..PLAIN }
    }

    fn check(&self, of: &Candidate<'_>) -> Result<(), String> {
        let AttendLanes { rows, upcast, .. } = *self;
        checks::variables(rows, upcast)?;
        let Some(attend) = of.part.attention() else { return Ok(()) };
        let group = attend.heads / attend.kv_heads.max(1);
        if !upcast.is_power_of_two() || !group.is_multiple_of(rows as usize) {
            return Err(format!(
                "rows {rows} must divide the {group} heads that share keys, and upcast {upcast} be a power of two"
            ));
        }
        Ok(())
    }

    fn smaller(&self, part: &Part) -> Option<Split> {
        (self.rows > 1).then(|| AttendLanes { rows: self.rows / 2, ..*self }.split(part))
    }

    fn neighbours(&self, part: &Part, rows: usize) -> Vec<Split> {
        steps::of_tiles(rows, &self.split(part))
    }
}
