//! Prepared attention, and where the rows of a block of positions are.

use weft_kern::List;

use super::cached::Rows;
use super::exchange::Exchange;
use super::plan::{Sight, Unit};
use super::round::Limits;
use crate::memory::Arg;
use crate::rows::{Fault, RowView};

/// A prepared `Attend`.
#[derive(Debug)]
pub(crate) struct Attend {
    pub(super) q: RowView,
    pub(super) k: Rows,
    pub(super) v: Rows,
    pub(super) limits: Limits,
    /// The value of a key at which the values begin, if they are part of the keys.
    pub(super) v_in_k: Option<usize>,
    /// Lines of four queries; one line has eight values of each.
    pub(super) q_lines: usize,
    /// Lines of weighted values.
    pub(super) v_lines: usize,
    /// Lines of values in pairs from two positions to the next two.
    pub(super) pairs_stride: usize,
    pub(super) pos: usize,
    pub(super) first: usize,
    pub(super) pages: usize,
    pub(super) scale: f32,
    /// A further score of each head's softmax.
    pub(super) sinks: Option<usize>,
    /// The positions that each token sees, instead of all.
    pub(super) list: Option<List>,
    pub(super) sight: Sight,
    pub(super) heads: usize,
    /// Query heads on a key head.
    pub(super) group: usize,
    pub(super) page: usize,
    /// Whether a tile unit multiplies large ones.
    pub(super) tiled: bool,
    /// Levels of the tree in which blocks are joined.
    pub(super) levels: usize,
    pub(super) exchange: Exchange,
}

impl Attend {
    /// Finds the positions of the unit's block that begins at `start`.
    #[inline(always)]
    pub(super) fn stretches<'a>(
        &'a self,
        args: &'a [Arg],
        unit: &'a Unit<'a>,
        start: usize,
    ) -> Stretches<'a> {
        let bound = self.k.count(args).min(self.v.count(args));
        Stretches {
            attend: self,
            args,
            unit,
            bound,
            start,
            at: unit.least_unseen(start),
            seen: unit.most_seen(start),
        }
    }
}

/// Stretches of positions with consecutive rows. (Not an iterator: the loop's body would be compiled without the instruction set.)
pub(super) struct Stretches<'a> {
    attend: &'a Attend,
    args: &'a [Arg],
    unit: &'a Unit<'a>,
    /// Rows of the states.
    bound: usize,
    start: usize,
    at: usize,
    seen: usize,
}

impl<'a> Stretches<'a> {
    /// The next stretch: its first position, counted from the block's beginning, the row of that position, and the number of positions.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<(usize, usize, usize)>, Fault> {
        let Stretches { attend, args, unit, bound, start, at: i, seen } = *self;
        if i >= seen {
            return Ok(None);
        }
        let listed = match attend.list {
            Some(list) => self.listed(list, i)?,
            None => &[],
        };
        let position = match listed {
            [position, ..] => *position as usize,
            [] => start + i,
        };
        let (page, skip) = (position / attend.page, position % attend.page);
        let entry = unit.first.checked_add(page).ok_or(Fault)?;
        let page = args[attend.pages].i32s(entry, 1).ok_or(Fault)?[0];
        let row =
            usize::try_from(page).ok().and_then(|page| page.checked_mul(attend.page)?.checked_add(skip));
        let row = row.filter(|row| *row < bound).ok_or(Fault)?;
        let mut n = (attend.page - skip).min(bound - row).min(seen - i);
        if !listed.is_empty() {
            let mut run = 1;
            while run < n && listed[run] as usize == position + run {
                run += 1;
            }
            n = run;
        }
        self.at += n;
        Ok(Some((i, row, n)))
    }

    /// The positions of the unit's list from entry `i` of the block on, at least one, of which the first is one that its token sees.
    #[inline(always)]
    fn listed(&self, list: List, i: usize) -> Result<&'a [i32], Fault> {
        // Tokens with lists are units of their own.
        let (token, pos) = (self.unit.tokens.start, self.unit.pos[0]);
        let at = token * list.most + self.start + i;
        let listed = self.args[list.param].i32s(at, self.seen - i).ok_or(Fault)?;
        if listed.first().is_some_and(|position| (0..=pos).contains(position)) {
            Ok(listed)
        } else {
            Err(Fault)
        }
    }
}
