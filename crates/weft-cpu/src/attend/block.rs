//! Computes the partial results of blocks.

use std::ops::Range;

use super::ahead::Ahead;
use super::nodes::Node;
use super::plan::{BLOCK, Unit};
use super::prepared::Attend;
use super::products::Products;
use super::room::Room;
use super::round;
use super::tiled::Tiled;
use super::vectors::Vectors;
use super::weights::{Weights, weigh};
use crate::isa::{Line, Simd, TileWork, Tiles, Work};
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
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        self.multiply(simd, Vectors)
    }
}

impl TileWork for Stretch<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd, U: Tiles>(self, simd: S, unit: U) -> Result<(), Fault> {
        self.multiply(simd, Tiled(unit))
    }
}

impl Stretch<'_> {
    #[inline(always)]
    fn multiply<S: Simd, P: Products>(mut self, simd: S, mut products: P) -> Result<(), Fault> {
        self.room.clear();
        self.queries(simd, &products)?;
        for block in self.blocks.clone() {
            let start = block * BLOCK;
            self.cached(simd, &products, start)?;
            let next = if block + 1 < self.blocks.end { start + BLOCK } else { usize::MAX };
            let mut ahead = Ahead::new(self.attend, self.args, self.unit, next)?;
            products.scores(simd, (self.attend, self.unit, start), &mut ahead, self.room);
            self.join(simd, &mut products, start, &mut ahead);
            self.room.stack(self.unit, self.attend.v_lines).push(simd, Node { level: 0, index: block });
        }
        Ok(())
    }

    /// Rounds and lays out the queries of all rows; missing rows are zeros.
    #[inline(always)]
    pub(super) fn queries<S: Simd, P: Products>(&mut self, simd: S, products: &P) -> Result<(), Fault> {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        let (q, k_len, heads) = (&attend.q, attend.k.len, unit.heads.len());
        products.clear(attend, unit.rows(), room);
        room.row[..2 * k_len.div_ceil(32)].fill(Line::default());
        for row in 0..unit.rows() {
            let (token, head) = (unit.tokens.start + row / heads, unit.heads.start + row % heads);
            let at = q.at(&self.space.coords(token * attend.heads + head));
            let from = self.args[q.param].f32s(at, (k_len - 1) * q.step + 1).ok_or(Fault)?;
            let floats = &mut room.row[..2 * k_len.div_ceil(32)];
            let numbers = &mut room.row_numbers[..k_len.div_ceil(32)];
            let to = Line::flat_mut(floats);
            if q.step == 1 {
                to[..k_len].copy_from_slice(from);
            } else {
                for i in 0..k_len {
                    to[i] = from[i * q.step];
                }
            }
            room.query_scales[row] = round::floats(simd, floats, attend.limits, numbers) * attend.scale;
            products.place::<S>(attend, (unit.rows(), row), room);
        }
        Ok(())
    }

    /// Rounds the keys and values of the block that begins at `start`.
    #[inline(always)]
    pub(super) fn cached<S: Simd, P: Products>(
        &mut self,
        simd: S,
        products: &P,
        start: usize,
    ) -> Result<(), Fault> {
        let Stretch { attend, args, unit, ref mut room, .. } = *self;
        let (k, v, limits) = (&attend.k, &attend.v, attend.limits);
        let last = unit.most_seen(start);
        let mut stretches = attend.stretches(args, unit, start);
        while let Some((first, row, n)) = stretches.next()? {
            let (key_bytes, keys_between, key_len) = k.bytes(args, (row, n), unit.kv_head)?;
            let (value_bytes, values_between, value_len) = v.bytes(args, (row, n), unit.kv_head)?;
            for j in 0..n {
                let (i, at) = (first + j, (first + j) % P::KEPT);
                let Room { keys, values, scales, row: floats, .. } = &mut **room;
                let bytes = &key_bytes[j * keys_between..][..key_len];
                scales.keys[i] = k.round(simd, bytes, limits, floats, &mut keys[at * k.stride..]);
                if attend.v_in_k.is_none() {
                    let bytes = &value_bytes[j * values_between..][..value_len];
                    scales.values[i] = v.round(simd, bytes, limits, floats, &mut values[at * v.stride..]);
                }
                products.rounded(simd, attend, i, last, room);
            }
        }
        if attend.v_in_k.is_some() {
            room.scales.values = room.scales.keys;
        }
        Ok(())
    }

    /// Turns scores into weights, and sums the weighted values.
    #[inline(always)]
    fn join<S: Simd, P: Products>(&mut self, simd: S, products: &mut P, start: usize, ahead: &mut Ahead<'_>) {
        let Stretch { attend, unit, ref mut room, .. } = *self;
        // The stack borrows all of the room.
        let mut weights = std::mem::take(&mut room.weights);
        let mut values = std::mem::take(&mut room.laid_out);
        let scores = std::mem::take(&mut room.scores);
        let query_scales = std::mem::take(&mut room.query_scales);
        let scales = room.scales;
        let mut stack = room.stack(unit, attend.v_lines);
        let (sums, y) = stack.next();
        let heads = unit.heads.len();
        for row in 0..unit.rows() {
            let (seen, unseen) = (unit.seen(row / heads, start), unit.unseen(row / heads, start));
            sums[row] = if unseen < seen {
                let scale = (query_scales[row], attend.limits);
                weigh(simd, &scores[row], &scales, unseen..seen, scale, &mut weights[row])
            } else {
                weights[row] = Weights::default();
                (f32::NEG_INFINITY, 0.0)
            };
        }
        products.join(simd, (attend, unit, start), (&weights[..unit.rows()], &mut values), ahead, y);
        (room.weights, room.laid_out, room.scores, room.query_scales) =
            (weights, values, scores, query_scales);
    }
}
