//! Scores the positions of blocks, and offers them to the choices of tokens.

use super::choice::candidate;
use crate::attend::ahead::Ahead;
use crate::attend::block::Stretch;
use crate::attend::plan::BLOCK;
use crate::attend::products::Products;
use crate::attend::tiled::Tiled;
use crate::attend::vectors::Vectors;
use crate::isa::{Simd, TileWork, Tiles, Work};
use crate::rows::{Coords, Fault, RowView};

/// Some blocks of a unit.
pub(super) struct Scores<'a> {
    pub(super) stretch: Stretch<'a>,
    /// The weights of heads.
    pub(super) w: &'a RowView,
    /// The most positions chosen, and the room for candidates of a token.
    pub(super) most: usize,
    pub(super) candidates: usize,
}

impl Work for Scores<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        self.score(simd, Vectors)
    }
}

impl TileWork for Scores<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd, U: Tiles>(self, simd: S, unit: U) -> Result<(), Fault> {
        self.score(simd, Tiled(unit))
    }
}

impl Scores<'_> {
    #[inline(always)]
    fn score<S: Simd, P: Products>(mut self, simd: S, mut products: P) -> Result<(), Fault> {
        self.stretch.queries(simd, &products)?;
        for block in self.stretch.blocks.clone() {
            let start = block * BLOCK;
            self.stretch.cached(simd, &products, start)?;
            let next = if block + 1 < self.stretch.blocks.end { start + BLOCK } else { usize::MAX };
            let Stretch { attend, args, unit, .. } = self.stretch;
            let mut ahead = Ahead::new(attend, args, unit, next)?;
            products.scores(simd, (attend, unit, start), &mut ahead, self.stretch.room);
            for token in 0..unit.tokens.len() {
                self.offer(token, start)?;
            }
        }
        Ok(())
    }

    /// Offers the positions of the block that begins at `start` to a token.
    #[inline(always)]
    fn offer(&mut self, token: usize, start: usize) -> Result<(), Fault> {
        let Stretch { args, unit, ref mut room, .. } = self.stretch;
        let (heads, seen) = (unit.heads.len(), unit.seen(token, start));
        let mut sums = [0.0f32; BLOCK];
        for head in 0..heads {
            let coords: Coords = [unit.tokens.start + token, 0, 0, 0];
            let at = self.w.at(&coords) + head * self.w.step;
            let weight = args[self.w.param].f32s(at, 1).ok_or(Fault)?[0];
            let row = token * heads + head;
            let (scale, numbers) = (room.query_scales[row], &room.scores[row].0);
            for ((sum, number), key) in sums.iter_mut().zip(numbers).zip(&room.scales.keys) {
                let score = *number as f32 * (key * scale);
                *sum += weight * if score > 0.0 { score } else { 0.0 };
            }
        }
        let size = self.candidates;
        let own = &mut room.candidates[token * size..][..size];
        let choice = &mut room.choices[token];
        for (i, sum) in sums[..seen].iter().enumerate() {
            choice.offer(own, self.most, candidate(*sum, start + i));
        }
        Ok(())
    }
}
