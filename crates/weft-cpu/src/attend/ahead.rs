//! Prefetches cached rows before they are needed.
//!
//! A thread reads a block, then computes for about as long. To avoid waiting for memory, it prefetches the lines of the next
//! block meanwhile: one at a time, because a CPU core stalls when more than about a dozen are in flight.

use super::plan::{BLOCK, Unit};
use super::prepared::Attend;
use crate::isa::Simd;
use crate::memory::Arg;
use crate::rows::Fault;

/// Lines to prefetch.
pub(super) struct Ahead<'a> {
    /// Bytes of a row of keys and of values.
    rows: [&'a [u8]; 2 * BLOCK],
    len: usize,
    /// Lines of these that are not prefetched yet.
    left: usize,
    /// The current row, and the bytes of it already prefetched.
    row: usize,
    at: usize,
}

impl<'a> Ahead<'a> {
    /// The lines of the unit's block that begins at `start`.
    #[inline(always)]
    pub(super) fn new(
        attend: &Attend,
        args: &'a [Arg],
        unit: &Unit<'_>,
        start: usize,
    ) -> Result<Ahead<'a>, Fault> {
        let mut ahead = Ahead { rows: [&[]; 2 * BLOCK], len: 0, left: 0, row: 0, at: 0 };
        let states = [Some(&attend.k), attend.v_in_k.is_none().then_some(&attend.v)];
        let mut stretches = attend.stretches(args, unit, start);
        while let Some((_, row, n)) = stretches.next()? {
            for state in states.into_iter().flatten() {
                let (bytes, between, len) = state.bytes(args, (row, n), unit.kv_head)?;
                for i in 0..n {
                    ahead.rows[ahead.len] = &bytes[i * between..][..len];
                    ahead.len += 1;
                    ahead.left += len.div_ceil(64);
                }
            }
        }
        Ok(ahead)
    }

    /// The lines to prefetch at each of `places` places, so that all are prefetched in the end.
    #[inline(always)]
    pub(super) fn each(&self, places: usize) -> usize {
        self.left.div_ceil(places.max(1))
    }

    /// Prefetches a line.
    #[inline(always)]
    pub(super) fn line<S: Simd>(&mut self, simd: S) {
        if self.row < self.len {
            let row = self.rows[self.row % (2 * BLOCK)];
            simd.fetch(row, self.at);
            self.left = self.left.saturating_sub(1);
            self.at += 64;
            if self.at >= row.len() {
                (self.row, self.at) = (self.row + 1, 0);
            }
        }
    }
}
