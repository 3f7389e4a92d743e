//! Exchanges candidates of divided units between threads, as [`super::super::exchange`] exchanges results of attention, whose argument for
//! its orderings holds here too.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// No unit.
const NONE: u32 = u32::MAX;

/// The shared memory for the exchange.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Finished blocks of each unit; 0 between launches.
    done: Vec<AtomicU32>,
    /// Two for each thread.
    pieces: Vec<Piece>,
    /// For each piece, `most` candidates.
    candidates: Vec<AtomicU64>,
    most: usize,
}

/// A piece of a unit.
#[derive(Debug)]
struct Piece {
    unit: AtomicU32,
    len: AtomicUsize,
}

impl Exchange {
    /// Memory for these numbers of threads, units, and candidates of a piece. `None` if there is not enough.
    pub(super) fn new(threads: usize, units: usize, most: usize) -> Option<Exchange> {
        fn zeros<T: Default>(n: usize) -> Option<Vec<T>> {
            let mut all = Vec::new();
            all.try_reserve_exact(n).ok()?;
            all.resize_with(n, T::default);
            Some(all)
        }
        u32::try_from(units).ok()?;
        let pieces = threads.checked_mul(2)?;
        let candidates = zeros(pieces.checked_mul(most)?)?;
        let piece = || Piece { unit: NONE.into(), len: AtomicUsize::new(0) };
        Some(Exchange {
            done: zeros(units)?,
            pieces: (0..pieces).map(|_| piece()).collect(),
            candidates,
            most,
        })
    }

    /// Clears everything.
    pub(super) fn sweep(&self) {
        self.done.iter().for_each(|done| done.store(0, Ordering::Relaxed));
        self.pieces.iter().for_each(|piece| piece.unit.store(NONE, Ordering::Relaxed));
    }

    /// Publishes candidates of a unit as piece `piece` of a thread; `None` if there is no room.
    pub(super) fn publish(
        &self,
        (thread, piece): (usize, usize),
        unit: usize,
        candidates: &[u64],
    ) -> Option<()> {
        let at = 2 * thread + piece;
        let to = self.pieces.get(at).filter(|_| piece < 2 && candidates.len() <= self.most)?;
        for (candidate, to) in candidates.iter().zip(self.candidates.get(at * self.most..)?) {
            to.store(*candidate, Ordering::Relaxed);
        }
        to.len.store(candidates.len(), Ordering::Relaxed);
        to.unit.store(unit as u32, Ordering::Relaxed);
        Some(())
    }

    /// Counts blocks of a unit as finished. Returns true to the thread that finishes the last of `all`, which must take the pieces.
    pub(super) fn arrive(&self, unit: usize, blocks: usize, all: usize) -> bool {
        let done = &self.done[unit];
        let last = done.fetch_add(blocks as u32, Ordering::AcqRel) as usize + blocks == all;
        if last {
            done.store(0, Ordering::Relaxed);
        }
        last
    }

    /// Takes all candidates of a unit.
    pub(super) fn take(&self, unit: usize, mut each: impl FnMut(u64)) {
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.unit.load(Ordering::Relaxed) as usize != unit {
                continue;
            }
            let len = piece.len.load(Ordering::Relaxed);
            let own = &self.candidates[at * self.most..][..len];
            own.iter().for_each(|candidate| each(candidate.load(Ordering::Relaxed)));
            piece.unit.store(NONE, Ordering::Relaxed);
        }
    }
}
