//! Computes the partial results of blocks.

use std::ops::Range;

use super::ahead::Ahead;
use super::nodes::Node;
use super::plan::{BLOCK, Unit, runs};
use super::prepared::Attend;
use super::room::Room;
use super::weights::{Weights, weigh};
use super::{cached, round, tiles};
use crate::isa::{Line, Numbers, Simd, Work};
use crate::memory::Arg;
use crate::rows::{Fault, Space};

/// Some blocks of a unit, whose results go on the stack.
pub(super) struct Stretch<'a> {
    pub(super) attend: &'a Attend,
    pub(super) args: &'a [Arg],
    pub(super) space: &'a Space,
    pub(super) unit: &'a Unit<'a>,
    pub(super) blocks: Range<usize>,
    pub(super) room: &'a mut Room,
}

impl Work for Stretch<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Result<(), Fault> {
        self.room.clear();
        self.queries(simd)?;
        for block in self.blocks.clone() {
            let start = block * BLOCK;
            self.cached(simd, start)?;
            let next = if block + 1 < self.blocks.end { start + BLOCK } else { usize::MAX };
            let mut ahead = Ahead::new(self.attend, self.args, self.unit, next)?;
            self.scores(simd, start, &mut ahead);
            self.join(simd, start, &mut ahead);
            self.room.stack(self.unit, self.attend.v_lines).push(simd, Node { level: 0, index: block });
        }
        Ok(())
    }
}

impl Stretch<'_> {
    /// Rounds and lays out the queries of all rows; missing rows are zeros.
    #[inline(always)]
    fn queries<S: Simd>(&mut self, simd: S) -> Result<(), Fault> {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (q, k_len, lines) = (&attend.q, attend.k.len, attend.q_lines);
        let (heads, quads) = (unit.heads.len(), unit.rows().div_ceil(4));
        let step = tiles::even(quads, tiles::most::<S>());
        room.queries[..quads * lines].fill(Numbers::default());
        let floats = &mut room.row[..2 * k_len.div_ceil(32)];
        let numbers = &mut room.row_numbers[..k_len.div_ceil(32)];
        floats.fill(Line::default());
        for row in 0..unit.rows() {
            let (token, head) = (unit.tokens.start + row / heads, unit.heads.start + row % heads);
            let at = q.at(&self.space.coords(token * attend.heads + head));
            let from = self.args[q.param].f32s(at, (k_len - 1) * q.step + 1).ok_or(Fault)?;
            let to = Line::flat_mut(floats);
            if q.step == 1 {
                to[..k_len].copy_from_slice(from);
            } else {
                for i in 0..k_len {
                    to[i] = from[i * q.step];
                }
            }
            room.query_scales[row] = round::floats(simd, floats, attend.limits, numbers) * attend.scale;
            let eights = Numbers::flat(numbers).as_chunks::<8>().0;
            // Lines of rows that are multiplied together are adjacent.
            let (first, own) = (row / 4 / step * step, row / 4 % step);
            let beside = step.min(quads - first);
            let to = room.queries[first * lines + own..].iter_mut().step_by(beside);
            for (eight, line) in eights.iter().zip(to.take(lines)) {
                line.0[row % 4 * 8..][..8].copy_from_slice(eight);
            }
        }
        Ok(())
    }

    /// Rounds the keys and values of the block that begins at `start`.
    #[inline(always)]
    fn cached<S: Simd>(&mut self, simd: S, start: usize) -> Result<(), Fault> {
        let Stretch { attend, args, unit, ref mut room, .. } = *self;
        let Room { keys, values, pairs, scales, row: floats, .. } = &mut **room;
        let (k, v, limits) = (&attend.k, &attend.v, attend.limits);
        let last = unit.most_seen(start);
        let mut stretches = attend.stretches(args, unit, start);
        while let Some((first, row, n)) = stretches.next()? {
            let (key_bytes, keys_between, key_len) = k.bytes(args, (row, n), unit.kv_head)?;
            let (value_bytes, values_between, value_len) = v.bytes(args, (row, n), unit.kv_head)?;
            for j in 0..n {
                let i = first + j;
                let bytes = &key_bytes[j * keys_between..][..key_len];
                scales.keys[i] = k.round(simd, bytes, limits, floats, &mut keys[i * k.stride..]);
                let (rows, stride, start) = match attend.v_in_k {
                    Some(start) => (&*keys, k.stride, start),
                    None => {
                        let bytes = &value_bytes[j * values_between..][..value_len];
                        scales.values[i] = v.round(simd, bytes, limits, floats, &mut values[i * v.stride..]);
                        (&*values, v.stride, 0)
                    }
                };
                // The last position may be half of a pair: the other half has weight 0.
                if i % 2 == 1 || i + 1 == last {
                    let even = &Numbers::flat(&rows[i / 2 * 2 * stride..])[start..];
                    // Numbers after the end of a row are multiplied, but the results are discarded.
                    let numbers = v.len.next_multiple_of(32);
                    let odd = &even[32 * stride..][..numbers];
                    let pairs = &mut pairs[i / 2 * attend.pairs_stride..];
                    cached::interleave(simd, &even[..numbers], odd, pairs);
                }
            }
        }
        if attend.v_in_k.is_some() {
            scales.values = scales.keys;
        }
        Ok(())
    }

    /// Computes the scores of all rows. Scores of positions that a row does not see are arbitrary.
    #[inline(always)]
    fn scores<S: Simd>(&mut self, simd: S, start: usize, ahead: &mut Ahead<'_>) {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (heads, lines) = (unit.heads.len(), attend.q_lines);
        let quads = unit.rows().div_ceil(4);
        let step = tiles::even(quads, tiles::most::<S>());
        for from in (0..quads).step_by(step) {
            let n = step.min(quads - from);
            let last_row = (4 * (from + n)).min(unit.rows()) - 1;
            let tokens = 4 * from / heads..=last_row / heads;
            let seen = tokens.map(|token| unit.seen(token, start)).max().unwrap_or(0);
            let queries = &room.queries[from * lines..][..n * lines];
            let keys = tiles::Rows { lines: &room.keys, stride: attend.k.stride };
            tiles::scores(simd, (queries, n), keys, seen, ahead, &mut room.scores[4 * from..][..4 * n]);
        }
    }

    /// Turns scores into weights, and sums the weighted values.
    #[inline(always)]
    fn join<S: Simd>(&mut self, simd: S, start: usize, ahead: &mut Ahead<'_>) {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (heads, lines) = (unit.heads.len(), attend.v_lines);
        // The stack borrows all of the room.
        let mut weights = std::mem::take(&mut room.weights);
        let pairs = std::mem::take(&mut room.pairs);
        let scores = std::mem::take(&mut room.scores);
        let query_scales = std::mem::take(&mut room.query_scales);
        let scales = room.scales;
        let mut stack = room.stack(unit, lines);
        let (sums, y) = stack.next();
        for tokens in runs(unit.tokens.len(), |token| unit.seen(token, start)) {
            let seen = unit.seen(tokens.start, start);
            let rows = tokens.start * heads..tokens.end * heads;
            if seen == 0 {
                sums[rows].fill((f32::NEG_INFINITY, 0.0));
                continue;
            }
            for row in rows.clone() {
                let (weights, unseen) = (&mut weights[row], unit.unseen(row / heads, start));
                if unseen >= seen {
                    sums[row] = (f32::NEG_INFINITY, 0.0);
                    *weights = Weights::default();
                    continue;
                }
                let (seen, scale) = (unseen..seen, query_scales[row]);
                sums[row] = weigh(&scores[row], &scales, seen, scale, attend.limits, weights);
            }
            let y = &mut y[rows.start * lines..rows.end * lines];
            let values = tiles::Rows { lines: &pairs, stride: attend.pairs_stride };
            tiles::join(simd, &weights[rows], values, seen, lines, ahead, y);
        }
        (room.weights, room.pairs, room.scores, room.query_scales) = (weights, pairs, scores, query_scales);
    }
}
