//! `Indexer`: the positions of the highest scores of each token, by a few small heads.
//!
//! # Definition
//!
//! Queries and keys are rounded as in attention (see [`super`]), with the limit of their own length, and so is a head's score s computed,
//! with the scale 1. A position's score is `Σ_h w_h · max(s_h, 0)`: from 0 on, each product rounded and then added, in the order of heads.
//! The order of positions is that of [`weft_ir::Op::Indexer`]. So the choice depends on the sequence alone.
//!
//! # How it is computed
//!
//! A unit of work is all heads of some tokens of one sequence, as in attention. A thread offers the scores of its blocks to the choice of
//! each token ([`choice`]), which keeps a few more candidates than are chosen and forgets the others, so memory does not grow with the
//! context. Where positions share keys, all of this is of pools: their positions are in the list only. If there are too few units, they
//! are divided between blocks, and the last thread to finish a unit chooses among the
//! candidates of all ([`exchange`]). A token that sees no more positions than are chosen needs no scores.

mod choice;
mod exchange;
mod scores;

use std::ops::Range;

use weft_kern::{Dim, Indexer as Operands, Param, Sizes};

use super::block::Stretch;
use super::plan::{LEAST_TILED, Layout, Unit, most_rows, tokens_of};
use super::prepared::Attend;
use super::room::{Room, RoomSize};
use crate::cost;
use crate::isa::{Arch, WHOLE};
use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::scratch::{Needs, Scratch};
use crate::thread::Thread;
use exchange::Exchange;
use scores::Scores;

pub(super) use choice::Choice;

/// A prepared `Indexer`.
#[derive(Debug)]
pub(crate) struct Indexer {
    /// The heads' scores.
    heads: Attend,
    /// The weights of heads.
    w: RowView,
    /// The most positions chosen, or pools.
    most: usize,
    /// The positions of a list, and of a pool.
    cols: usize,
    pool: usize,
    /// The room for candidates of a token.
    candidates: usize,
    exchange: Exchange,
}

impl Indexer {
    /// Prepares the anchor of a verified part with `cols` columns, for rows up to `space`, arguments of up to `values` values, and this
    /// many threads.
    ///
    /// # Errors
    /// A sentence, if this device does not read the type of the state, or there is not enough memory.
    pub(crate) fn new(
        params: &[Param],
        cols: usize,
        a: &Operands,
        space: &Space,
        values: &[usize],
        (arch, threads): (Arch, usize),
    ) -> Result<Indexer, String> {
        let rows = of_heads(a.heads, space);
        // Scores of heads are not exchanged.
        let mut heads = Attend::new(params, a.k_len.min(32), &a.attention(), &rows, values, (arch, 1))?;
        heads.sight.pool = a.pool;
        let positions = values[a.pages].saturating_mul(a.page / a.pool).max(1);
        let most = a.chosen(cols);
        let mut indexer = Indexer {
            heads,
            w: RowView::new(&a.w),
            most,
            cols,
            pool: a.pool,
            candidates: most.saturating_mul(2).min(positions),
            exchange: Exchange::default(),
        };
        if threads > 1 {
            indexer.exchange = Exchange::new(threads, space.count(), most.min(positions))
                .ok_or("there is no memory for what threads exchange")?;
        }
        Ok(indexer)
    }

    /// Scratch memory.
    pub(crate) fn needs(&self, space: &Space) -> Needs {
        let needs = self.heads.needs(&of_heads(self.heads.heads, space));
        let most = most_rows(self.heads.tiled)[0];
        let choices = tokens_of(self.heads.heads, most).min(space.axes()[0]).max(1);
        let candidates = choices.saturating_mul(self.candidates);
        Needs { acc: self.cols, attend: RoomSize { choices, candidates, ..needs.attend }, ..needs }
    }

    /// The cost of all tokens, see [`cost`].
    pub(crate) fn cost(&self, args: &[Arg], space: &Space) -> Result<u64, Fault> {
        let of_position = (self.heads.heads * self.heads.k.len) as u64 * cost::ATTEND;
        let mut all = 0u64;
        for pos in self.heads.pos(args, space)? {
            let seen = u64::try_from(*pos).map_err(|_| Fault)? + 1;
            let scored = if seen > self.cols as u64 { seen / self.pool as u64 } else { 0 };
            all = all.saturating_add(
                scored.saturating_mul(of_position) + seen.min(self.cols as u64) * cost::VALUE,
            );
        }
        Ok(all)
    }

    /// Whether a thread may do several stretches of the work: not if units are divided, because the exchange has room for one stretch per
    /// thread.
    pub(crate) fn is_fine(&self, args: &[Arg], space: &Space, threads: usize) -> Result<bool, Fault> {
        let (pos, first) = self.lists(args, space)?;
        // Checked by `run`, which then does nothing.
        let sound = pos.iter().chain(first).all(|i| *i >= 0);
        Ok(sound && !self.layout((pos, first), threads).cut)
    }

    /// Clears what an unfinished step left behind.
    pub(crate) fn sweep(&self) {
        self.exchange.sweep();
    }

    /// Each token's position, and where its sequence begins in the list of pages.
    fn lists<'a>(&self, args: &'a [Arg], space: &Space) -> Result<(&'a [i32], &'a [i32]), Fault> {
        let pos = self.heads.pos(args, space)?;
        Ok((pos, args[self.heads.first].i32s(0, pos.len()).ok_or(Fault)?))
    }

    fn layout<'a>(&self, (pos, first): (&'a [i32], &'a [i32]), threads: usize) -> Layout<'a> {
        let Attend { heads, sight, tiled, .. } = self.heads;
        Layout::new((pos, first), (heads, heads), (sight, tiled), threads).with_whole_tokens()
    }

    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (pos, first) = self.lists(cx.args, &cx.space)?;
        if pos.iter().chain(first).any(|i| *i < 0) {
            return Err(Fault);
        }
        let layout = self.layout((pos, first), cx.threads);
        let share = cx.share(layout.units().map(|unit| unit.cost()).sum());
        let rows = of_heads(self.heads.heads, &cx.space);
        let (mut before, mut pieces) = (0, 0);
        for (number, unit) in layout.units().enumerate() {
            let all = unit.blocks.len();
            let blocks = match layout.cut {
                true => share.of(before, unit.block_cost(), all),
                false => 0..all * share.of(before, unit.cost(), 1).len(),
            };
            before += unit.cost();
            if blocks.is_empty() {
                continue;
            }
            scratch.attend.choices.fill(Choice::default());
            if self.chooses(&unit) {
                self.score(cx, (&unit, &rows), blocks.clone(), &mut scratch.attend)?;
            }
            if blocks.len() < all {
                let Room { choices, candidates, .. } = &mut scratch.attend;
                let (choice, own) = (&mut choices[0], &mut candidates[..self.candidates]);
                let known = choice.reduce(own, self.most);
                self.exchange.publish((cx.index, pieces), number, known).ok_or(Fault)?;
                pieces += 1;
                if !self.exchange.arrive(number, blocks.len(), all) {
                    continue;
                }
                *choice = Choice::default();
                self.exchange.take(number, |candidate| choice.offer(own, self.most, candidate));
            }
            self.finish(cx, &unit, scratch)?;
        }
        Ok(())
    }

    /// Whether any token of a unit sees more positions than are chosen.
    fn chooses(&self, unit: &Unit<'_>) -> bool {
        unit.pos.iter().any(|pos| *pos as usize >= self.cols)
    }

    /// Offers the positions of blocks to the unit's tokens.
    fn score(
        &self,
        cx: &Thread<'_>,
        (unit, space): (&Unit<'_>, &Space),
        blocks: Range<usize>,
        room: &mut Room,
    ) -> Result<(), Fault> {
        let stretch = Stretch { attend: &self.heads, args: cx.args, space, unit, blocks, room };
        let scores = Scores { stretch, w: &self.w, most: self.most, candidates: self.candidates };
        if self.heads.tiled && unit.rows() >= LEAST_TILED {
            cx.arch.dispatch_tiles(WHOLE, scores)
        } else {
            cx.arch.dispatch(scores)
        }
    }

    /// Writes the lists of a unit's tokens.
    fn finish(&self, cx: &Thread<'_>, unit: &Unit<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let Scratch { attend: Room { choices, candidates, .. }, acc, registers, .. } = scratch;
        let size = self.candidates;
        let list = &mut acc[..self.cols];
        for (token, pos) in unit.pos.iter().enumerate() {
            let seen = *pos as usize + 1;
            if seen <= self.cols {
                for (i, to) in list.iter_mut().enumerate() {
                    *to = if i < seen { i as f32 } else { -1.0 };
                }
            } else {
                let chosen = &mut list[..self.most];
                choices[token].list(&mut candidates[token * size..][..size], self.most, chosen);
                self.expand(seen, list);
            }
            let acc = Acc { values: list, stride: self.cols, apart: 0 };
            let row = unit.tokens.start + token;
            cx.finish(row..row + 1, 0..self.cols, acc, registers)?;
        }
        Ok(())
    }

    /// Replaces the chosen pools at the beginning of a list by their positions, followed by those behind the last complete pool of a
    /// token that sees so many positions.
    fn expand(&self, seen: usize, list: &mut [f32]) {
        let pool = self.pool;
        if pool == 1 {
            return;
        }
        // From the last on, because a pool's positions do not begin before its place.
        for i in (0..self.most * pool).rev() {
            list[i] = list[i / pool] * pool as f32 + (i % pool) as f32;
        }
        let tail = seen / pool * pool..seen;
        let positions = tail.map(|position| position as f32).chain(std::iter::repeat(-1.0));
        list[self.most * pool..].iter_mut().zip(positions).for_each(|(to, from)| *to = from);
    }
}

/// A row for each head of each token.
fn of_heads(heads: usize, tokens: &Space) -> Space {
    Space::new(&[Dim::Const(tokens.axes()[0]), Dim::Const(heads)], &Sizes::default())
}
