//! Float weights times floats.
//!
//! The order of an output's terms: both rows are filled up with zeros to a multiple of sixteen and dealt out to sixteen lanes. A
//! lane begins with 0 and adds its products in order, each multiplied and added in one rounding; then the lanes are
//! [folded](math::fold).
//!
//! A block of rows of x is multiplied with a few weight rows at a time, in stretches of columns that stay in the first-level cache. Weights
//! are converted in registers, once for all rows of a block, and lanes are computed in [`Pieces`](crate::isa::Pieces), so that the sums of
//! a block are in registers, too.

// No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.
#![expect(clippy::needless_range_loop)]

use std::ops::Range;

use weft_quant::GgmlType;

use super::blocks::Entry;
use super::chunk::Chunk;
use crate::isa::{Simd, Work};
use crate::math::{self, LANES};
use crate::rows::Fault;

/// The most weight rows that are multiplied together. They are read as several streams, which a CPU fetches faster than one.
const ROWS: usize = 4;

/// The most weight rows that meet all rows of x before the next ones do, and their most bytes, unless a few have more: a part of a
/// second-level cache.
const SPAN: usize = 8 * ROWS;
const SPAN_BYTES: usize = 128 << 10;

/// Sixteens of columns in a stretch: 12 KB of six rows of x, and at most 8 KB of weight rows.
const STRETCH: usize = 32;

/// The most rows of x in a block.
const BLOCK: usize = 6;

/// Room for a stretch of a block of rows.
const ROOM: usize = STRETCH * BLOCK * LANES;

/// Room for a stretch of a block of rows, and for the sums of that block and a span of weight rows.
pub(super) const FLOATS: usize = ROOM + SPAN * BLOCK * LANES;

/// Multiplies a chunk.
pub(super) struct Float<'a> {
    pub(super) chunk: Chunk<'a>,
    /// Room for [`FLOATS`] values.
    pub(super) floats: &'a mut [f32],
}

/// How weights are stored.
trait Stored {
    /// Sixteen of them.
    type Sixteen: AsRef<[u8]> + 'static;

    /// The whole sixteens of a row.
    fn sixteens(bytes: &[u8]) -> &[Self::Sixteen];

    /// A piece of sixteen.
    fn load<S: Simd>(simd: S, from: &Self::Sixteen, piece: usize) -> S::Piece;
}

macro_rules! stored {
    ($(#[$doc:meta] $name:ident: $bytes:literal, $load:ident;)*) => { $(
        #[$doc]
        struct $name;

        impl Stored for $name {
            type Sixteen = [u8; $bytes];

            #[inline(always)]
            fn sixteens(bytes: &[u8]) -> &[[u8; $bytes]] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[u8; $bytes], piece: usize) -> S::Piece {
                simd.$load(from, piece)
            }
        }
    )* };
}

stored! {
    /// As `f32`.
    Singles: 64, singles_piece;
    /// As `f16`.
    Halves: 32, halves_piece;
    /// As `bf16`.
    UpperHalves: 32, upper_halves_piece;
}

impl Float<'_> {
    /// Multiplies by weights that are stored as `T`.
    #[inline(always)]
    fn multiply<S: Simd, T: Stored>(&mut self, simd: S) -> Option<()> {
        let row_bytes = self.chunk.k * self.chunk.ty.block_bytes();
        // For one row of x, weights are read row after row.
        let alone = self.chunk.entries.len() == 1;
        let span = if alone { ROWS } else { (SPAN_BYTES / row_bytes.max(1)).clamp(ROWS, SPAN) / ROWS * ROWS };
        let cols = self.chunk.cols.clone();
        for first in cols.clone().step_by(span) {
            let cols = first..cols.end.min(first + span);
            let mut entries = self.chunk.entries;
            while !entries.is_empty() {
                // Blocks of about the same length, because short ones use a converted weight less often.
                let blocks = entries.len().div_ceil(BLOCK);
                let (own, rest) = entries.split_at(entries.len().div_ceil(blocks));
                entries = rest;
                // Sums are as many as the registers hold besides the factors of one column; but at least eight, which hide the latency of
                // an addition.
                match own.len() {
                    6 if S::WIDE => self.block::<S, T, 6, 4>(simd, cols.clone(), own)?,
                    5 if S::WIDE => self.block::<S, T, 5, 4>(simd, cols.clone(), own)?,
                    4 if S::WIDE => self.block::<S, T, 4, 4>(simd, cols.clone(), own)?,
                    3 if S::WIDE => self.block::<S, T, 3, 4>(simd, cols.clone(), own)?,
                    6 => self.block::<S, T, 6, 2>(simd, cols.clone(), own)?,
                    5 => self.block::<S, T, 5, 2>(simd, cols.clone(), own)?,
                    4 => self.block::<S, T, 4, 2>(simd, cols.clone(), own)?,
                    3 => self.block::<S, T, 3, 2>(simd, cols.clone(), own)?,
                    2 => self.block::<S, T, 2, 4>(simd, cols.clone(), own)?,
                    _ => self.block::<S, T, 1, 4>(simd, cols.clone(), own)?,
                }
            }
        }
        Some(())
    }

    /// Multiplies some columns, at most [`SPAN`] and `R` at a time, and a block of `M` rows.
    #[inline(always)]
    fn block<S: Simd, T: Stored, const M: usize, const R: usize>(
        &mut self,
        simd: S,
        cols: Range<usize>,
        entries: &[Entry],
    ) -> Option<()> {
        let Chunk { x, weight, ty, k, row, stride, .. } = self.chunk;
        let row_bytes = k * ty.block_bytes();
        let bytes = weight.blocks((row + cols.start) * k, cols.len() * k)?;
        let mut rows = [(&[][..], &[][..]); M];
        for m in 0..M {
            rows[m] = x.f32s(entries[m].x_at, k)?.as_chunks::<LANES>();
        }
        let (room, sums) = self.floats.split_at_mut_checked(ROOM)?;
        let room = room.as_chunks_mut::<LANES>().0.as_chunks_mut::<M>().0;
        let sums = sums.as_chunks_mut::<LANES>().0.as_chunks_mut::<R>().0.as_chunks_mut::<M>().0;
        let parts = cols.len().div_ceil(R);
        let sums = sums.get_mut(..parts)?;
        if k < LANES {
            sums.fill([[[0.0; LANES]; R]; M]);
        }
        let sixteens = k / LANES;
        for from in (0..sixteens).step_by(STRETCH) {
            let stretch = from..sixteens.min(from + STRETCH);
            let x = if M == 1 {
                rows[0].0.get(stretch.clone())?.as_chunks::<M>().0
            } else {
                // Side by side: rows of a power of two of bytes would meet in few sets of the first-level cache.
                let room = room.get_mut(..stretch.len())?;
                for m in 0..M {
                    for (to, from) in room.iter_mut().zip(rows[m].0.get(stretch.clone())?) {
                        to[m] = *from;
                    }
                }
                &*room
            };
            for (i, sums) in sums.iter_mut().enumerate() {
                let w = weights::<T, R>(bytes, row_bytes, i, cols.len(), stretch.clone())?;
                // The data to prefetch: the next weight rows, the next stretch, the next span.
                let next = match (i + 1 < parts, stretch.end < sixteens) {
                    (true, _) => (i + 1, from),
                    (false, true) => (0, stretch.end),
                    (false, false) => (parts, 0),
                };
                let at = |(part, sixteen): (usize, usize)| {
                    part * R * row_bytes + sixteen * size_of::<T::Sixteen>()
                };
                let later = at(next).wrapping_sub(at((i, from)));
                lanes::<S, T, M, R>(simd, w, x, later, from == 0, sums);
            }
        }
        if k % LANES > 0 {
            let mut filled_x = [[0.0; LANES]; M];
            for m in 0..M {
                filled_x[m][..k % LANES].copy_from_slice(rows[m].1);
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let mut filled = [[0; 64]; R];
                let mut w: [&[T::Sixteen]; R] = [&[]; R];
                for r in 0..R {
                    let own = bytes.get((i * R + r).min(cols.len() - 1) * row_bytes..)?.get(..row_bytes)?;
                    let rest = own.get(sixteens * size_of::<T::Sixteen>()..)?;
                    filled[r].get_mut(..rest.len())?.copy_from_slice(rest);
                }
                for r in 0..R {
                    w[r] = T::sixteens(&filled[r]).get(..1)?;
                }
                lanes::<S, T, M, R>(simd, w, &[filled_x], 0, false, sums);
            }
        }
        let start = cols.start - self.chunk.cols.start;
        for m in 0..M {
            let out = self.chunk.acc.get_mut(entries[m].slot * stride + start..)?.get_mut(..cols.len())?;
            for (out, sums) in out.chunks_mut(R).zip(sums.iter()) {
                out.copy_from_slice(math::folds(&sums[m]).get(..out.len())?);
            }
        }
        Some(())
    }
}

/// A stretch of `R` weight rows, those of part `part` of `count` rows in `bytes`; after the last row the last again, whose results are then
/// not used.
#[inline(always)]
fn weights<T: Stored, const R: usize>(
    bytes: &[u8],
    row_bytes: usize,
    part: usize,
    count: usize,
    stretch: Range<usize>,
) -> Option<[&[T::Sixteen]; R]> {
    let mut w: [&[T::Sixteen]; R] = [&[]; R];
    for r in 0..R {
        let own = bytes.get((part * R + r).min(count - 1) * row_bytes..)?;
        w[r] = T::sixteens(own).get(stretch.clone())?;
    }
    Some(w)
}

/// Adds the products of a stretch of weight rows and rows of x to their lanes, which are 0 before the `first` one. What is
/// `later` bytes after each weight is prefetched.
#[inline(always)]
fn lanes<S: Simd, T: Stored, const M: usize, const R: usize>(
    simd: S,
    w: [&[T::Sixteen]; R],
    x: &[[[f32; LANES]; M]],
    later: usize,
    first: bool,
    sums: &mut [[[f32; LANES]; R]; M],
) {
    let mut w = w;
    for r in 0..R {
        w[r] = &w[r][..x.len()];
    }
    for piece in 0..S::PIECES {
        let mut acc = [[simd.piece(&[0.0; LANES], piece); R]; M];
        if !first {
            for m in 0..M {
                for r in 0..R {
                    acc[m][r] = simd.piece(&sums[m][r], piece);
                }
            }
        }
        for i in 0..x.len() {
            let mut of_w = [simd.piece(&[0.0; LANES], piece); R];
            for r in 0..R {
                if piece == 0 {
                    simd.prefetch(w[r][i].as_ref(), later);
                }
                of_w[r] = T::load(simd, &w[r][i], piece);
            }
            for m in 0..M {
                let of_x = simd.piece(&x[i][m], piece);
                for r in 0..R {
                    acc[m][r] = simd.mul_add_pieces(of_w[r], of_x, acc[m][r]);
                }
            }
        }
        for m in 0..M {
            for r in 0..R {
                simd.store_piece(acc[m][r], &mut sums[m][r], piece);
            }
        }
    }
}

impl Work for Float<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Result<(), Fault> {
        match self.chunk.ty {
            GgmlType::F32 => self.multiply::<S, Singles>(simd),
            GgmlType::F16 => self.multiply::<S, Halves>(simd),
            GgmlType::BF16 => self.multiply::<S, UpperHalves>(simd),
            _ => None,
        }
        .ok_or(Fault)
    }
}
