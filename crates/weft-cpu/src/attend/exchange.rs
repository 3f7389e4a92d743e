//! Exchanges partial results of divided units between threads.
//!
//! A thread's share is one stretch of all work, so it has pieces of at most two divided units: the end of one and the beginning of another.
//! It *publishes* a piece (the partial results of its blocks' nodes in the tree), then *arrives* at the unit, which counts finished blocks.
//! Pieces cover every block once, so exactly one thread completes the count; it takes the published pieces in order of threads, which is
//! the order of blocks.
//!
//! Everything here is atomic, so there are no data races, and the values are right too: a piece is written before the count is raised with
//! release ordering, and read after it was raised with acquire ordering, by a thread that saw all other raises. The next launch comes after
//! a barrier of the team. The thread that takes a unit clears its count and its pieces for that launch; if a step fails halfway,
//! [`Exchange::sweep`] does so before the next.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::nodes::{Node, Stack};
use crate::isa::{Line, Simd, Work};

/// No unit.
const NONE: u32 = u32::MAX;

/// The shared memory for the exchange.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Finished blocks of each unit; 0 between launches.
    done: Vec<AtomicU32>,
    /// Two for each thread.
    pieces: Vec<Piece>,
    /// For each thread, partial results of `nodes` nodes of `node` numbers.
    numbers: Vec<AtomicU32>,
    nodes: usize,
    node: usize,
}

/// A piece of a unit.
#[derive(Debug)]
pub(super) struct Piece {
    unit: AtomicU32,
    start: AtomicU32,
    end: AtomicU32,
    /// Index of the first number of its first node.
    at: AtomicU32,
}

/// Where to publish a piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) thread: usize,
    /// Pieces and nodes that this thread has already published.
    pub(super) piece: usize,
    pub(super) node: usize,
}

impl Exchange {
    /// Memory for these numbers of threads, units, and nodes per thread, each with `rows` rows of `lines` lines. `None` if there
    /// is not enough.
    pub(super) fn new(
        threads: usize,
        units: usize,
        nodes: usize,
        rows: usize,
        lines: usize,
    ) -> Option<Exchange> {
        fn zeros(n: usize) -> Option<Vec<AtomicU32>> {
            let mut all = Vec::new();
            all.try_reserve_exact(n).ok()?;
            all.resize_with(n, AtomicU32::default);
            Some(all)
        }
        let node = lines.checked_mul(16)?.checked_add(2)?.checked_mul(rows)?;
        let numbers = node.checked_mul(nodes)?.checked_mul(threads)?;
        u32::try_from(numbers.max(units)).ok()?;
        let pieces = (0..2 * threads).map(|_| Piece::default()).collect();
        Some(Exchange { done: zeros(units)?, pieces, numbers: zeros(numbers)?, nodes, node })
    }

    /// Clears everything.
    pub(super) fn sweep(&self) {
        self.done.iter().for_each(|done| done.store(0, Ordering::Relaxed));
        self.pieces.iter().for_each(Piece::clear);
    }

    /// Publishes blocks of a unit, whose nodes are on the stack; `None` if there is no room.
    pub(super) fn publish(
        &self,
        place: Place,
        unit: usize,
        blocks: &Range<usize>,
        stack: &Stack<'_>,
    ) -> Option<()> {
        let at = (place.thread * self.nodes + place.node) * self.node;
        let fits = place.piece < 2 && place.node + stack.len() <= self.nodes;
        let piece = self.pieces.get(2 * place.thread + place.piece).filter(|_| fits)?;
        let mut to = self.numbers.get(at..)?.iter();
        for i in 0..stack.len() {
            let (sums, values) = stack.node(i);
            let sums = sums.iter().flat_map(|(m, l)| [m, l]);
            for (number, to) in sums.zip(&mut to) {
                to.store(number.to_bits(), Ordering::Relaxed);
            }
            for (number, to) in Line::flat(values).iter().zip(&mut to) {
                to.store(number.to_bits(), Ordering::Relaxed);
            }
        }
        piece.start.store(blocks.start as u32, Ordering::Relaxed);
        piece.end.store(blocks.end as u32, Ordering::Relaxed);
        piece.at.store(at as u32, Ordering::Relaxed);
        piece.unit.store(unit as u32, Ordering::Relaxed);
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

    /// The pieces of a unit, in order.
    pub(super) fn pieces_of(&self, unit: usize) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(move |piece| piece.unit.load(Ordering::Relaxed) as usize == unit)
    }

    /// Reads node `i` of a piece.
    pub(super) fn take(&self, piece: &Piece, i: usize, sums: &mut [(f32, f32)], values: &mut [Line]) {
        let at = piece.at.load(Ordering::Relaxed) as usize + i * (2 * sums.len() + 16 * values.len());
        let mut from = self.numbers[at..].iter().map(|n| f32::from_bits(n.load(Ordering::Relaxed)));
        for ((m, l), from) in sums.iter_mut().zip(std::iter::from_fn(|| Some((from.next()?, from.next()?)))) {
            (*m, *l) = from;
        }
        for (value, from) in Line::flat_mut(values).iter_mut().zip(from) {
            *value = from;
        }
    }
}

impl Default for Piece {
    fn default() -> Piece {
        Piece { unit: NONE.into(), start: 0.into(), end: 0.into(), at: 0.into() }
    }
}

impl Piece {
    /// Its blocks.
    pub(super) fn blocks(&self) -> Range<usize> {
        let at = |n: &AtomicU32| n.load(Ordering::Relaxed) as usize;
        at(&self.start)..at(&self.end)
    }

    /// Clears it.
    pub(super) fn clear(&self) {
        self.unit.store(NONE, Ordering::Relaxed);
    }
}

/// Takes the published pieces of a unit.
pub(super) struct Gather<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) number: usize,
    pub(super) stack: Stack<'a>,
}

impl Work for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        for piece in self.exchange.pieces_of(self.number) {
            for (i, node) in Node::of(piece.blocks(), self.stack.begin).enumerate() {
                let (sums, values) = self.stack.next();
                self.exchange.take(piece, i, sums, values);
                self.stack.push(simd, node);
            }
            piece.clear();
        }
    }
}
