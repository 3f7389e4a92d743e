//! How the work of attention is divided.

use std::ops::Range;

/// Positions of a block.
pub(super) const BLOCK: usize = 128;

/// The most rows of a unit (a row is one head of one token), unless one token has more heads on a key head: enough to make converting a
/// block cheap in comparison with multiplying it, and few enough for queries and results to stay in the second-level cache.
pub(super) const ROWS: usize = 80;

/// The fewest rows that a tile unit multiplies.
pub(super) const LEAST_TILED: usize = 32;

/// The most rows of a unit that is not divided, in the order tried: with tiles more, since multiplying takes less time, or fewer,
/// since units that are divided are too small for tiles.
pub(super) fn most_rows(tiled: bool) -> &'static [usize] {
    if tiled { &[2 * ROWS, ROWS, ROWS / 2] } else { &[ROWS] }
}

/// The most rows of a unit that may be divided. They are few, because threads then exchange the results of each row.
pub(super) const CUT_ROWS: usize = 32;

/// The cost of converting a block, in rows.
const CONVERT: u64 = 4;

/// With this many units per thread, units need not be divided.
const MANY_UNITS: usize = 8;

/// With this many blocks per thread, the load is balanced well enough.
const MANY_BLOCKS: usize = 4;

/// Tokens of a unit limited to `limit` rows.
pub(super) fn tokens_of(group: usize, limit: usize) -> usize {
    (limit / group).max(1)
}

/// The positions that a token sees, besides its own position and those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    /// The most last positions that it sees.
    pub(super) window: usize,
    /// The most positions of its list, if it has one. Blocks are then counted from the beginning of the list, and no two tokens share
    /// one.
    pub(super) listed: Option<usize>,
    /// The positions of a pool, see [`weft_kern::Indexer`]. Without a list, blocks are then counted in pools.
    pub(super) pool: usize,
}

impl Sight {
    /// The number of positions up to that of a token, of entries of its list, or of its complete pools.
    #[inline(always)]
    fn seen(self, pos: usize) -> usize {
        match self.listed {
            Some(most) => weft_kern::listed(pos + 1, most, self.pool),
            None => (pos + 1) / self.pool,
        }
    }
}

/// How the work of a step is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    pos: &'a [i32],
    first: &'a [i32],
    heads: usize,
    group: usize,
    sight: Sight,
    /// The most tokens of a unit.
    tokens: usize,
    /// Units for each key head.
    parts: usize,
    /// Whether units may be divided between blocks.
    pub(super) cut: bool,
}

/// Heads that share a key head, for consecutive tokens of one sequence in a step.
#[derive(Debug, Clone)]
pub(super) struct Unit<'a> {
    pub(super) tokens: Range<usize>,
    pub(super) heads: Range<usize>,
    pub(super) kv_head: usize,
    /// Where the sequence begins in the page list.
    pub(super) first: usize,
    /// The tokens' positions.
    pub(super) pos: &'a [i32],
    sight: Sight,
    /// Blocks that any token sees.
    pub(super) blocks: Range<usize>,
}

impl<'a> Layout<'a> {
    /// Divides the work for tokens at these positions (not negative) of sequences that begin at these pages. `group` of all `heads`
    /// share a key head. `tiled` says whether there is a tile unit.
    pub(super) fn new(
        (pos, first): (&'a [i32], &'a [i32]),
        (heads, group): (usize, usize),
        (sight, tiled): (Sight, bool),
        threads: usize,
    ) -> Layout<'a> {
        let tokens_of = |limit| if sight.listed.is_some() { 1 } else { tokens_of(group, limit) };
        let tokens = tokens_of(ROWS);
        let whole = Layout { pos, first, heads, group, sight, tokens, parts: 1, cut: false };
        for most in most_rows(tiled) {
            let whole = Layout { tokens: tokens_of(*most), ..whole };
            if threads == 1 || whole.units().nth(MANY_UNITS * threads - 1).is_some() {
                return whole;
            }
        }
        let cut = Layout { tokens: tokens_of(CUT_ROWS), cut: true, ..whole };
        let blocks: usize = cut.units().map(|unit| unit.blocks.len()).sum();
        let parts = (MANY_BLOCKS * threads).div_ceil(blocks.max(1));
        Layout { parts: parts.min(threads).min(Layout::most_parts(group)), ..cut }
    }

    /// This layout, in which a unit that is divided has all heads of one token.
    pub(super) fn with_whole_tokens(self) -> Layout<'a> {
        if self.cut { Layout { tokens: 1, parts: 1, ..self } } else { self }
    }

    /// The most units for each key head.
    pub(super) fn most_parts(group: usize) -> usize {
        group.div_ceil(4)
    }

    /// All units, in order.
    pub(super) fn units(self) -> impl Iterator<Item = Unit<'a>> {
        let Layout { pos, first, heads, group, sight, tokens, parts, .. } = self;
        let runs = runs(pos.len(), |token| first[token]);
        let some = runs.flat_map(move |run| {
            run.clone().step_by(tokens).map(move |start| start..run.end.min(start + tokens))
        });
        some.flat_map(move |tokens| {
            let (pos, first) = (&pos[tokens.clone()], first[tokens.start] as usize);
            let last = pos.iter().copied().max().unwrap_or(0) as usize;
            let least = pos.iter().copied().min().unwrap_or(0) as usize;
            let last = match sight.listed {
                // Of a few positions in a pool, the last may see fewer than one before it.
                Some(most) => last.min(most - 1),
                None => sight.seen(last).saturating_sub(1),
            };
            let blocks = begin(least, sight.window) / BLOCK..last / BLOCK + 1;
            (0..heads / group * parts).map(move |i| {
                let (kv_head, part) = (i / parts, i % parts);
                let head = |part: usize| kv_head * group + group * part / parts;
                Unit {
                    tokens: tokens.clone(),
                    heads: head(part)..head(part + 1),
                    kv_head,
                    first,
                    pos,
                    sight,
                    blocks: blocks.clone(),
                }
            })
        })
    }
}

impl Unit<'_> {
    /// A row for each head of each token.
    pub(super) fn rows(&self) -> usize {
        self.tokens.len() * self.heads.len()
    }

    /// The cost of a block.
    pub(super) fn block_cost(&self) -> u64 {
        self.rows() as u64 + CONVERT
    }

    /// The cost of all blocks.
    pub(super) fn cost(&self) -> u64 {
        self.block_cost() * self.blocks.len() as u64
    }

    /// The position of the block that begins at `start` up to which any token sees, counted from `start`.
    #[inline(always)]
    pub(super) fn most_seen(&self, start: usize) -> usize {
        let mut most = 0;
        for token in 0..self.tokens.len() {
            most = most.max(self.seen(token, start));
        }
        most
    }

    /// The position of the block that begins at `start` up to which a token sees, counted from `start`.
    #[inline(always)]
    pub(super) fn seen(&self, token: usize, start: usize) -> usize {
        let all = self.sight.seen(self.pos[token] as usize);
        all.saturating_sub(start).min(BLOCK)
    }

    /// The number of positions at the beginning of that block that a token does not see, because they are before its window.
    #[inline(always)]
    pub(super) fn unseen(&self, token: usize, start: usize) -> usize {
        begin(self.pos[token] as usize, self.sight.window).saturating_sub(start).min(BLOCK)
    }

    /// The number of those that no token sees.
    #[inline(always)]
    pub(super) fn least_unseen(&self, start: usize) -> usize {
        let mut least = BLOCK;
        for token in 0..self.tokens.len() {
            least = least.min(self.unseen(token, start));
        }
        least
    }
}

/// The first position that a token at `pos` sees.
#[inline(always)]
fn begin(pos: usize, window: usize) -> usize {
    (pos + 1).saturating_sub(window)
}

/// Runs of equal values: where each begins, and where it ends.
pub(super) fn runs<T: PartialEq>(n: usize, value: impl Fn(usize) -> T) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from;
        if start == n {
            return None;
        }
        from += 1;
        while from < n && value(from) == value(start) {
            from += 1;
        }
        Some(start..from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of a unit, and whether it is divided, for prompts of 512 tokens of 20 heads.
    #[test]
    fn units_are_as_large_as_the_number_of_threads_allows() {
        let (pos, first): (Vec<i32>, _) = ((0..512).collect(), [0; 512]);
        let of = |tiled, threads| {
            let sight = Sight { window: usize::MAX, listed: None, pool: 1 };
            let layout = Layout::new((&pos, &first), (20, 20), (sight, tiled), threads);
            (layout.tokens, layout.cut)
        };
        assert_eq!(
            [1, 2, 16, 17].map(|threads| of(false, threads)),
            [(4, false), (4, false), (4, false), (1, true)]
        );
        assert_eq!([1, 2, 8].map(|threads| of(true, threads)), [(8, false); 3]);
        assert_eq!([9, 16].map(|threads| of(true, threads)), [(4, false); 2]);
        assert_eq!([17, 32, 33].map(|threads| of(true, threads)), [(2, false), (2, false), (1, true)]);
    }
}
