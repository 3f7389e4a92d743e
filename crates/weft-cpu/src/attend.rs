//! `Attend`: causal attention over paged keys and values.
//!
//! # Definition
//!
//! A query, and a key head's part of a cached row, are rounded to integers. With m the largest magnitude among a row's values x,
//!
//! ```text
//! Q = min(4095, ⌊√(⌊(2³¹ − 1) / k_len⌋⌋)
//! nᵢ = xᵢ · (Q / m) to the nearest integer, ties to even, rounded once;   the row's scale is r = m / Q
//! ```
//!
//! Values that are part of the keys have the keys' numbers and scales. A row of `q8_0` is rounded without a conversion to floats. With the
//! blocks' scales d_b, their largest magnitude m, and the numbers x:
//!
//! ```text
//! f_b = d_b · (4 Q / m) to the nearest integer, ties to even, rounded once
//! nᵢ = (xᵢ · f_b + 256) >> 9;   r = m · (128 / Q)
//! ```
//!
//! So is a row of `q4_0`, with 16 times its numbers, which are −8 to 7, as x, and r = m · (8 / Q). In a row of `q5_1`, whose blocks also
//! have a least value, a block's middle is c_b = 16 · d_b + least, rounded once. With m the largest c_b's magnitude plus that of 16 ·
//! d_b, 8 times a number minus 16 as x, and P = Q − 2, which leaves room for the second rounding:
//!
//! ```text
//! f_b = d_b · (P / m · 64),  g_b = c_b · (P / m)   both to the nearest integer, ties to even, rounded once
//! nᵢ = ((xᵢ · f_b + 256) >> 9) + g_b;   r = m / P
//! ```
//!
//! If Q / m is not finite because m is tiny, it is replaced by 0; if m is not finite, the numbers are 0 and the scale is NaN.
//!
//! Positions are counted from 0 and divided into blocks of 128. A query's scores of a block are
//!
//! ```text
//! s = (Σ qᵢ · kᵢ) · (r_k · (r_q · scale))        the sum in integers, exact
//! ```
//!
//! and the block's partial result, over the positions the query sees, is
//!
//! ```text
//! m  = max sᵢ,  pᵢ = exp(sᵢ − m)
//! l  = Σ pᵢ                                      in the order of `math::sum`
//! wᵢ = pᵢ · r_vᵢ
//! u  = max(max wᵢ / 32767, Σ wᵢ / (⌊(2³¹ − 1) / Q⌋ − 128))
//! y  = (Σ ⌊wᵢ · (1 / u)⌉ · vᵢ) · u               the sum in integers, exact
//! ```
//!
//! where ⌊ ⌉ rounds as above, and 1 / u is replaced by 0 if it is not finite. The partial results of two adjacent stretches of positions,
//! `a` before `b`, are combined:
//!
//! ```text
//! m  = max(mₐ, m_b),  α = exp(mₐ − m),  β = exp(m_b − m)
//! l  = l_b·β + (lₐ·α)                            the first product added in one rounding
//! y  = y_b·β + (yₐ·α)                            likewise
//! ```
//!
//! Of n blocks, the first 2ᵏ, the largest power of two below n, are combined, and so are the others; then the two results are combined.
//! Positions that a query does not see, because they are after it or before its window, are left out of the tree, which is otherwise the
//! same. The result is `y / l`; with a further score s of the head (a sink), it is `y·α / (l·α + β)` with α and β from m and s as above,
//! without fusing. So the bits depend on the sequence alone.
//!
//! With a list, positions are counted in the list: its first 128 are a block. A list of all positions in order gives the bits of attention
//! without one.
//!
//! Q makes both sums fit into 32 bits for all numbers (`round`). It leaves about 12 bits relative to a row's largest value, while
//! half-precision numbers have 11 bits each; and two products take the time of one float product.
//!
//! # How it is computed
//!
//! A unit of work is some heads that share a key head, for some tokens of one sequence (`plan`): every block of cached rows is
//! rounded once for all of these (`cached`), multiplied with their queries, and added up with their weights (`block`): by
//! vectors, in tiles that stay in registers (`vectors`), or by a tile unit, as bytes (`tiled`), with the same sums. If there are
//! too few units, they are divided between blocks: the tree (`nodes`) lets every thread compute whole branches, and the last
//! thread to finish joins them (`exchange`).
//!
//! # Memory
//!
//! A thread has room for a rounded block, for the queries and weights of a unit, and for partial results of all its rows, two more than the
//! tree has levels. That is about 2.2 MB with 20 heads on keys of 576 values, 512 of which are the values, and 32768 positions; or 4.6 MB
//! for the larger units of work of a tile unit. Threads exchange at most three partial results for each level, of smaller units: in this
//! example another 1.1 MB per thread for each kernel of a program.

mod ahead;
mod block;
mod cached;
mod exchange;
mod indexer;
mod nodes;
mod plan;
mod prepared;
mod products;
pub(crate) mod room;
mod round;
mod tiled;
mod vectors;
mod weights;

use std::ops::Range;

use weft_kern::{Attend as Operands, Param};

use crate::cost;
use crate::isa::{Arch, Line, WHOLE};
use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::scratch::{Needs, Scratch};
use crate::thread::Thread;
use block::Stretch;
use cached::Rows;
use exchange::{Exchange, Gather, Place};
use nodes::Finish;
use plan::{BLOCK, CUT_ROWS, LEAST_TILED, Layout, Sight, Unit, most_rows, tokens_of};
use room::{RoomSize, block_lines};
use round::Limits;

pub(crate) use indexer::Indexer;
pub(crate) use prepared::Attend;

/// The cost of a token beyond its positions, in positions.
const TOKEN: u64 = 8;

impl Attend {
    /// Prepares the anchor of a verified part with `cols` columns, for rows up to `space`, arguments of up to `values` values,
    /// and this many threads.
    ///
    /// # Errors
    /// A sentence, if this device does not read the type of a state, or there is not enough memory.
    pub(crate) fn new(
        params: &[Param],
        cols: usize,
        a: &Operands,
        space: &Space,
        values: &[usize],
        (arch, threads): (Arch, usize),
    ) -> Result<Attend, String> {
        let (k, v) = (Rows::new(params, a.k, a.k_len)?, Rows::new(params, a.v, cols)?);
        if k.len > round::LONGEST {
            return Err(format!(
                "this device attends to keys of {} values at most, not {}",
                round::LONGEST,
                k.len
            ));
        }
        // Positions are `i32`, and all have a page. Blocks are counted from the beginning of the list, or else of the sequence, also in a
        // window.
        let all = values[a.pages].saturating_mul(a.page).clamp(1, 1 << 31);
        let positions = a.list.map_or(all, |list| list.most.clamp(1, all));
        let levels = positions.div_ceil(BLOCK).next_power_of_two().trailing_zeros() as usize;
        let group = a.heads / a.kv_heads;
        let mut attend = Attend {
            limits: Limits::of(k.len),
            v_in_k: k.start_of(&v, a.kv_heads),
            q_lines: k.len.div_ceil(8),
            v_lines: v.len.div_ceil(16),
            // Lines are laid out two at a time.
            pairs_stride: 2 * v.len.div_ceil(32) + 1,
            q: RowView::new(&a.q),
            k,
            v,
            pos: a.pos,
            first: a.first,
            pages: a.pages,
            scale: a.scale.0,
            sinks: a.sinks,
            list: a.list,
            sight: Sight {
                window: a.window.unwrap_or(usize::MAX),
                listed: a.list.map(|list| list.most),
                pool: a.list.map_or(1, |list| list.pool),
            },
            heads: a.heads,
            group,
            page: a.page,
            tiled: arch.has_tiles(),
            levels,
            exchange: Exchange::default(),
        };
        if threads > 1 && levels > 0 {
            let units = space.count().div_ceil(group).saturating_mul(Layout::most_parts(group));
            let rows = attend.rows(CUT_ROWS, space);
            attend.exchange = Exchange::new(threads, units, attend.pieces_nodes(), rows, attend.v_lines)
                .ok_or("there is no memory for what threads exchange")?;
        }
        Ok(attend)
    }

    /// The most rows of a unit limited to `limit` rows where possible.
    fn rows(&self, limit: usize, space: &Space) -> usize {
        tokens_of(self.group, limit).min(space.axes()[0]).saturating_mul(self.group)
    }

    /// The most nodes that a stretch of blocks can have, anywhere in a sequence.
    fn stretch_nodes(&self) -> usize {
        2 * self.levels + 1
    }

    /// The most nodes a thread can have of two divided units: the end of one and the beginning of another.
    fn pieces_nodes(&self) -> usize {
        self.stretch_nodes() + self.levels + 1
    }

    /// Scratch memory.
    pub(crate) fn needs(&self, space: &Space) -> Needs {
        let (whole, cut) = (self.rows(most_rows(self.tiled)[0], space), self.rows(CUT_ROWS, space));
        // One more for a block that has not joined the others.
        let nodes = whole.saturating_mul(self.levels + 2).max(cut.saturating_mul(self.stretch_nodes() + 1));
        // Large units are multiplied by tiles where these are, small ones by vectors.
        let (most, rows) = if self.tiled {
            (whole.min(LEAST_TILED), tiled::padded(whole))
        } else {
            (whole, whole.div_ceil(4).saturating_mul(4))
        };
        let quads = most.div_ceil(4);
        let of_tiles = |lines| if self.tiled { lines } else { 0 };
        Needs {
            attend: RoomSize {
                queries: quads.saturating_mul(self.q_lines),
                row: self.k.stride.max(self.v.stride),
                keys: block_lines(self.k.stride),
                values: if self.v_in_k.is_some() { 0 } else { block_lines(self.v.stride) },
                pairs: self.pairs_stride.saturating_mul(BLOCK / 2),
                query_bytes: of_tiles(tiled::query_lines(self, whole)),
                key_bytes: of_tiles(tiled::key_lines(self)),
                value_bytes: of_tiles(tiled::value_lines(self)),
                weight_bytes: of_tiles(tiled::WEIGHT_LINES),
                squares: of_tiles(tiled::squares(whole)),
                rows,
                nodes: nodes.saturating_mul(self.v_lines),
                sums: nodes,
                ..RoomSize::default()
            },
            ..Needs::default()
        }
    }

    /// The cost of all heads of all tokens, see [`cost`].
    pub(crate) fn cost(&self, args: &[Arg], space: &Space) -> Result<u64, Fault> {
        let values = (self.k.len + self.v.len) as u64;
        let most = self.sight.listed.unwrap_or(self.sight.window) as u64;
        let mut positions = 0;
        for pos in self.pos(args, space)? {
            positions += u64::try_from(*pos).map_err(|_| Fault)?.min(most) + TOKEN;
        }
        Ok(positions.saturating_mul(self.heads as u64).saturating_mul(values * cost::ATTEND))
    }

    /// Whether a thread may do several stretches of the work: not if units are divided, because the exchange has room for one
    /// stretch per thread.
    pub(crate) fn is_fine(&self, args: &[Arg], space: &Space, threads: usize) -> Result<bool, Fault> {
        let pos = self.pos(args, space)?;
        let first = args[self.first].i32s(0, pos.len()).ok_or(Fault)?;
        // Checked by `run`, which then does nothing.
        let sound = pos.iter().chain(first).all(|i| *i >= 0);
        Ok(sound
            && !Layout::new((pos, first), (self.heads, self.group), (self.sight, self.tiled), threads).cut)
    }

    /// Each token's position.
    fn pos<'a>(&self, args: &'a [Arg], space: &Space) -> Result<&'a [i32], Fault> {
        args[self.pos].i32s(0, space.axes()[0]).ok_or(Fault)
    }

    /// Clears what an unfinished step left behind.
    pub(crate) fn sweep(&self) {
        self.exchange.sweep();
    }

    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let pos = self.pos(cx.args, &cx.space)?;
        let first = cx.args[self.first].i32s(0, pos.len()).ok_or(Fault)?;
        if pos.iter().chain(first).any(|i| *i < 0) {
            return Err(Fault);
        }
        let limits = (self.sight, self.tiled);
        let layout = Layout::new((pos, first), (self.heads, self.group), limits, cx.threads);
        let share = cx.share(layout.units().map(|unit| unit.cost()).sum());
        let (mut before, mut place) = (0, Place { thread: cx.index, piece: 0, node: 0 });
        for (number, unit) in layout.units().enumerate() {
            let all = unit.blocks.len();
            let blocks = if layout.cut {
                share.of(before, unit.block_cost(), all)
            } else {
                0..all * share.of(before, unit.cost(), 1).len()
            };
            let blocks = unit.blocks.start + blocks.start..unit.blocks.start + blocks.end;
            before += unit.cost();
            if blocks.is_empty() {
                continue;
            }
            let (unit, space, room) = (&unit, &cx.space, &mut scratch.attend);
            let own = blocks.clone();
            let stretch = Stretch { attend: self, args: cx.args, space, unit, blocks: own, room };
            if self.tiled && unit.rows() >= LEAST_TILED {
                cx.arch.dispatch_tiles(WHOLE, stretch)?;
            } else {
                cx.arch.dispatch(stretch)?;
            }
            if blocks.len() == all || self.gather(cx, unit, number, blocks, &mut place, scratch)? {
                self.finish(cx, unit, scratch)?;
            }
        }
        Ok(())
    }

    /// Publishes blocks of a unit. Returns true if this thread has to finish the unit; it has then gathered all partial results.
    fn gather(
        &self,
        cx: &Thread<'_>,
        unit: &Unit<'_>,
        number: usize,
        blocks: Range<usize>,
        place: &mut Place,
        scratch: &mut Scratch,
    ) -> Result<bool, Fault> {
        let stack = scratch.attend.stack(unit, self.v_lines);
        self.exchange.publish(*place, number, &blocks, &stack).ok_or(Fault)?;
        *place = Place { piece: place.piece + 1, node: place.node + stack.len(), ..*place };
        if !self.exchange.arrive(number, blocks.len(), unit.blocks.len()) {
            return Ok(false);
        }
        scratch.attend.clear();
        let stack = scratch.attend.stack(unit, self.v_lines);
        cx.arch.dispatch(Gather { exchange: &self.exchange, number, stack });
        Ok(true)
    }

    /// Joins the remaining nodes of a unit, and runs the row program over the result.
    fn finish(&self, cx: &Thread<'_>, unit: &Unit<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let mut stack = scratch.attend.stack(unit, self.v_lines);
        let sinks = match self.sinks {
            Some(sinks) => Some(cx.args[sinks].f32s(unit.heads.start, unit.heads.len()).ok_or(Fault)?),
            None => None,
        };
        cx.arch.dispatch(Finish { stack: &mut stack, sinks });
        let acc = Acc { values: Line::flat(stack.result()), stride: 16 * self.v_lines, apart: 0 };
        let rows = |token| token * self.heads + unit.heads.start..token * self.heads + unit.heads.end;
        cx.finish(unit.tokens.clone().flat_map(rows), 0..cx.cols, acc, &mut scratch.registers)
    }
}
