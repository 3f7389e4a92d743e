//! The places of queries and results of attention by cooperative matrices in scratch memory, and the work of each shader.

use weft_kern::{Anchor, Part, Sizes};

use crate::forms::attend::cooperative::{QUERY_ROWS, RESULT_ROWS, is_large};
use crate::lower::attend::context::chunk_words;
use crate::lower::pass::{Pass, Queries, Step};
use crate::lower::space::Space;
use crate::refused::{Why, too_much, word};
use crate::schedule::joining::joining;
use crate::split::Split;

/// The places of a part's queries and results.
#[derive(Debug)]
pub(crate) struct Placed {
    slot: usize,
    at: u32,
    queries: Option<Queries>,
    /// The first word after them.
    pub(crate) end: u64,
}

impl Placed {
    /// Places the queries and results of a part in a scratch slot, from word `from` on.
    pub(crate) fn new(
        part: &Part,
        split: &Split,
        (slot, from): (usize, u64),
        max: &Sizes,
    ) -> Result<Placed, Why> {
        let mut next = from;
        let mut alloc = |words: u64| {
            let at = next.checked_next_multiple_of(4).ok_or_else(too_much)?;
            next = at.saturating_add(words);
            u32::try_from(at).map_err(|_| too_much())
        };
        let space = Space::new(part, split, split.spread, max)?;
        let words = u64::from(chunk_words(space.cols));
        let (_, rows) = space.tiles_and_rows(max);
        // Results of single rows are read four at a time.
        let whole = rows.next_multiple_of(u64::from(RESULT_ROWS));
        let results = if split.spread { space.chunk_rows(max) } else { whole };
        let at = alloc(results.saturating_mul(words))?;
        let queries = match &part.anchor {
            Anchor::Attend(attend) if is_large(split.rows) => {
                let halves = u64::from(word(attend.k_len)? / 2);
                let at = alloc(rows.saturating_mul(halves))?;
                Some(Queries { slot, at, factors: alloc(rows)? })
            }
            _ => None,
        };
        Ok(Placed { slot, at, queries, end: next })
    }

    /// The work of a shader, and the numbers of the part for it.
    pub(crate) fn of(
        &self,
        step: Step,
        part: &Part,
        split: &Split,
        max: &Sizes,
    ) -> Result<Option<(Split, Space, Pass)>, Why> {
        let Placed { slot, at, queries, .. } = *self;
        let rows = |rows: u32| Split { rows, spread: false, ..*split };
        let one = |split: Split| Space::new(part, &split, false, max).map(|space| (split, space.joined()));
        Ok(match step {
            Step::Queries => match queries {
                Some(queries) => {
                    let (split, space) = one(rows(QUERY_ROWS))?;
                    Some((split, space, Pass::Queries(queries)))
                }
                None => None,
            },
            Step::Main if split.spread => {
                let space = Space::new(part, split, true, max)?;
                Some((*split, space, Pass::Chunks { slot, at }))
            }
            Step::Main => {
                let (split, space) = one(*split)?;
                Some((split, space, Pass::Joined { slot, at, queries }))
            }
            Step::Join if split.spread => {
                let rows_of_tile = split.rows;
                let split = joining(part, split, true);
                let space = Space::new(part, &split, false, max)?;
                Some((split, space, Pass::Join { slot, at, rows: rows_of_tile }))
            }
            Step::Join => {
                let (split, space) = one(rows(RESULT_ROWS))?;
                Some((split, space, Pass::Finish { slot, at }))
            }
            Step::Sort | Step::Terms | Step::Narrow => None,
        })
    }
}
