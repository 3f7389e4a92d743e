//! The partial results of blocks.

use std::ops::Range;

use super::nodes::Node;
use super::plan::Unit;
use super::room::{Room, Weights};
use super::{Attend, BLOCK, runs, tiles};
use crate::isa::{Line, Simd, Work};
use crate::math;
use crate::memory::Arg;
use crate::rows::{Fault, Space};

/// Some blocks of a unit, to be put on the stack.
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
        self.queries()?;
        for block in self.blocks.clone() {
            let start = block * BLOCK;
            self.convert(simd, start)?;
            self.scores(simd, start);
            self.join(simd, start);
            self.room.stack(self.unit, self.attend.v.lines).push(simd, Node { level: 0, index: block });
        }
        Ok(())
    }
}

impl Stretch<'_> {
    /// Lays out the queries of all rows, with zeros where there are none.
    #[inline(always)]
    fn queries(&mut self) -> Result<(), Fault> {
        let Stretch { attend, unit, .. } = self;
        let (q, k) = (&attend.q, &attend.k);
        let quads = unit.rows().div_ceil(4);
        let queries = &mut self.room.queries[..quads * k.lines];
        queries.fill([Line::default(); 4]);
        let heads = unit.heads.len();
        for row in 0..unit.rows() {
            let (token, head) = (unit.tokens.start + row / heads, unit.heads.start + row % heads);
            let at = q.at(&self.space.coords(token * attend.heads + head));
            let from = self.args[q.param].f32s(at, (k.len - 1) * q.step + 1).ok_or(Fault)?;
            let to = queries[row / 4 * k.lines..][..k.lines].as_flattened_mut();
            let quarter = row % 4 * 4;
            if q.step == 1 {
                let (fours, rest) = from.as_chunks::<4>();
                for (four, line) in fours.iter().zip(&mut *to) {
                    line.0[quarter..quarter + 4].copy_from_slice(four);
                }
                if !rest.is_empty() {
                    to[fours.len()].0[quarter..][..rest.len()].copy_from_slice(rest);
                }
            } else {
                for i in 0..k.len {
                    to[i / 4].0[quarter + i % 4] = from[i * q.step];
                }
            }
        }
        Ok(())
    }

    /// Converts the keys and values of the block that begins at `start`.
    #[inline(always)]
    fn convert<S: Simd>(&mut self, simd: S, start: usize) -> Result<(), Fault> {
        let Stretch { attend, args, unit, ref mut room, .. } = *self;
        let bound = attend.k.count(args).min(attend.v.count(args));
        let seen = (0..unit.tokens.len()).map(|token| unit.seen(token, start)).max().unwrap_or(0);
        let mut i = 0;
        while i < seen {
            let (row, n) = attend.row(args, unit.first, start + i, bound)?;
            let n = n.min(seen - i);
            let keys = &mut room.keys[i * attend.k.stride..];
            attend.k.convert(simd, args, (row, n), unit.kv_head, keys)?;
            if attend.v_in_k.is_none() {
                let values = &mut room.values[i * attend.v.stride..];
                attend.v.convert(simd, args, (row, n), unit.kv_head, values)?;
            }
            i += n;
        }
        Ok(())
    }

    /// Computes the scores of all rows. Positions that a row does not see have any.
    #[inline(always)]
    fn scores<S: Simd>(&mut self, simd: S, start: usize) {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (heads, lines) = (unit.heads.len(), attend.k.lines);
        let quads = unit.rows().div_ceil(4);
        let step = tiles::even(quads, tiles::quads::<S>());
        for from in (0..quads).step_by(step) {
            let n = step.min(quads - from);
            let last_row = (4 * (from + n)).min(unit.rows()) - 1;
            let tokens = 4 * from / heads..=last_row / heads;
            let seen = tokens.map(|token| unit.seen(token, start)).max().unwrap_or(0);
            let queries = &room.queries[from * lines..][..n * lines];
            let keys = tiles::Rows { lines: &room.keys, stride: attend.k.stride };
            let scores = &mut room.weights[4 * from..][..4 * n];
            tiles::scores(simd, (queries, n), keys, seen, &mut room.partial, scores);
        }
    }

    /// From scores to weights, and the sum of weighted values.
    #[inline(always)]
    fn join<S: Simd>(&mut self, simd: S, start: usize) {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (heads, lines) = (unit.heads.len(), attend.v.lines);
        // The stack borrows all of the room.
        let mut weights = std::mem::take(&mut room.weights);
        let keys = std::mem::take(&mut room.keys);
        let own = std::mem::take(&mut room.values);
        let values = match attend.v_in_k {
            Some(at) => tiles::Rows { lines: &keys[at..], stride: attend.k.stride },
            None => tiles::Rows { lines: &own, stride: attend.v.stride },
        };
        let mut stack = room.stack(unit, lines);
        let (sums, y) = stack.next();
        for tokens in runs(unit.tokens.len(), |token| unit.seen(token, start)) {
            let seen = unit.seen(tokens.start, start);
            let rows = tokens.start * heads..tokens.end * heads;
            if seen == 0 {
                sums[rows].fill((f32::NEG_INFINITY, 0.0));
                continue;
            }
            for (sums, weights) in sums[rows.clone()].iter_mut().zip(&mut weights[rows.clone()]) {
                *sums = softmax(weights, seen, attend.scale);
            }
            let y = &mut y[rows.start * lines..rows.end * lines];
            tiles::join(simd, &weights[rows], values, seen, lines, y);
        }
        (room.weights, room.keys, room.values) = (weights, keys, own);
    }
}

/// Turns the first `seen` scores into weights; the largest score, and the sum of the weights.
#[inline(always)]
fn softmax(weights: &mut Weights, seen: usize, scale: f32) -> (f32, f32) {
    let whole = seen.next_multiple_of(16);
    let weights = &mut weights.0[..whole];
    for s in &mut *weights {
        *s *= scale;
    }
    weights[seen..].fill(f32::NEG_INFINITY);
    let top = math::max(weights);
    for s in &mut *weights {
        *s = math::exp(*s - top);
    }
    // Of infinite scores nothing is left, and what is not there must stay nothing.
    weights[seen..].fill(0.0);
    (top, math::sum(weights))
}
