//! Products of rounded rows, by vectors or a tile unit.

use super::ahead::Ahead;
use super::plan::Unit;
use super::prepared::Attend;
use super::room::{Room, Values};
use super::weights::Weights;
use crate::isa::{Line, Simd};

/// How rounded rows are laid out and multiplied.
pub(super) trait Products {
    /// Positions whose numbers are kept where they are rounded: those of position `i` of a block are row `i % KEPT`.
    const KEPT: usize;

    /// Makes the queries of all rows zeros.
    fn clear(&self, attend: &Attend, rows: usize, room: &mut Room);

    /// Lays out a row of queries, of `rows`.
    fn place<S: Simd>(&self, attend: &Attend, rows_and_row: (usize, usize), room: &mut Room);

    /// Lays out the numbers of position `i` of a block, which has `last` positions. They are laid out in order.
    fn rounded<S: Simd>(&self, simd: S, attend: &Attend, i: usize, last: usize, room: &mut Room);

    /// Computes the scores of all rows in the block of a unit that begins at a position. Scores of positions that a row does not
    /// see are arbitrary.
    fn scores<S: Simd>(
        &mut self,
        simd: S,
        of: (&Attend, &Unit<'_>, usize),
        ahead: &mut Ahead<'_>,
        room: &mut Room,
    );

    /// Sums the weighted values of all rows. Sums of rows that see nothing are arbitrary.
    fn join<S: Simd>(
        &mut self,
        simd: S,
        of: (&Attend, &Unit<'_>, usize),
        weights_and_values: (&[Weights], &mut Values),
        ahead: &mut Ahead<'_>,
        y: &mut [Line],
    );
}
