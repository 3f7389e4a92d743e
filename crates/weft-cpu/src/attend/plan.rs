//! What attention is cut into.

use std::ops::Range;

/// Positions of a block.
pub(super) const BLOCK: usize = 128;

/// Most rows of a unit, a row being a head of a token, unless a token's heads on one key head are more: so many that converting a block
/// is next to nothing beside multiplying it, and so few that queries and results stay in the second-level cache.
pub(super) const ROWS: usize = 80;

/// The same if units may be cut, where threads exchange results of all these rows.
pub(super) const CUT_ROWS: usize = 32;

/// What a block costs beyond its rows, in rows: converting it.
const CONVERT: u64 = 4;

/// As many units for each thread are enough to share them out whole.
const MANY_UNITS: usize = 8;

/// As many blocks for each thread are enough to share them out.
const MANY_BLOCKS: usize = 4;

/// Tokens of a unit that is to have no more than `limit` rows.
pub(super) fn tokens_of(group: usize, limit: usize) -> usize {
    (limit / group).max(1)
}

/// How the work of a step is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    pos: &'a [i32],
    first: &'a [i32],
    heads: usize,
    group: usize,
    /// Most tokens of a unit.
    tokens: usize,
    /// Units for each key head of some tokens.
    parts: usize,
    /// Whether units may be cut between blocks.
    pub(super) cut: bool,
}

/// Heads that share a key head, of tokens that follow each other in a step and are in one sequence.
#[derive(Debug, Clone)]
pub(super) struct Unit<'a> {
    pub(super) tokens: Range<usize>,
    pub(super) heads: Range<usize>,
    pub(super) kv_head: usize,
    /// Where the sequence begins in the page list.
    pub(super) first: usize,
    /// The tokens' positions.
    pub(super) pos: &'a [i32],
    /// Blocks that the last of them sees.
    pub(super) blocks: usize,
}

impl<'a> Layout<'a> {
    /// For tokens at such positions (not negative) of sequences that begin there.
    pub(super) fn new(
        pos: &'a [i32],
        first: &'a [i32],
        heads: usize,
        group: usize,
        threads: usize,
    ) -> Layout<'a> {
        let tokens = tokens_of(group, ROWS);
        let whole = Layout { pos, first, heads, group, tokens, parts: 1, cut: false };
        if threads == 1 || whole.units().nth(MANY_UNITS * threads - 1).is_some() {
            return whole;
        }
        let cut = Layout { tokens: tokens_of(group, CUT_ROWS), cut: true, ..whole };
        let blocks: usize = cut.units().map(|unit| unit.blocks).sum();
        let parts = (MANY_BLOCKS * threads).div_ceil(blocks.max(1));
        Layout { parts: parts.min(threads).min(Layout::most_parts(group)), ..cut }
    }

    /// Most units for each key head of some tokens.
    pub(super) fn most_parts(group: usize) -> usize {
        group.div_ceil(4)
    }

    /// All units, in order.
    pub(super) fn units(self) -> impl Iterator<Item = Unit<'a>> {
        let Layout { pos, first, heads, group, tokens, parts, .. } = self;
        let runs = runs(pos.len(), |token| first[token]);
        let some = runs.flat_map(move |run| {
            run.clone().step_by(tokens).map(move |start| start..run.end.min(start + tokens))
        });
        some.flat_map(move |tokens| {
            let (pos, first) = (&pos[tokens.clone()], first[tokens.start] as usize);
            let last = pos.iter().copied().max().unwrap_or(0);
            let blocks = last as usize / BLOCK + 1;
            (0..heads / group * parts).map(move |i| {
                let (kv_head, part) = (i / parts, i % parts);
                let head = |part: usize| kv_head * group + group * part / parts;
                Unit {
                    tokens: tokens.clone(),
                    heads: head(part)..head(part + 1),
                    kv_head,
                    first,
                    pos,
                    blocks,
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

    /// What a block costs.
    pub(super) fn block_cost(&self) -> u64 {
        self.rows() as u64 + CONVERT
    }

    /// What all blocks cost.
    pub(super) fn cost(&self) -> u64 {
        self.block_cost() * self.blocks as u64
    }

    /// How many positions of the block that begins at `start` any token sees.
    #[inline(always)]
    pub(super) fn most_seen(&self, start: usize) -> usize {
        let mut most = 0;
        for token in 0..self.tokens.len() {
            most = most.max(self.seen(token, start));
        }
        most
    }

    /// How many positions of the block that begins at `start` a token sees.
    #[inline(always)]
    pub(super) fn seen(&self, token: usize, start: usize) -> usize {
        (self.pos[token] as usize + 1).saturating_sub(start).min(BLOCK)
    }
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
