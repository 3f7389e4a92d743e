//! Quantised weights times rounded activations.
//!
//! The order of an output's terms: from 0, for each 32 activations in order, `sum · (scale · d)` is added, then, if
//! the format has minima, `min · (s₀ + s₁)`. `sum` is the exact integer dot product, `scale` and `min` are the
//! weight's, `d` and `s` the activations'. If a scale belongs to 16 weights, the same is done for each half in
//! turn, with its own `sum`, `scale`, `min` and `s`. Every operation is rounded to `f32`.

use std::marker::PhantomData;

use weft_quant::ints::{IntFormat, Part};

use super::Chunk;
use crate::isa::{Simd, TILE, Work};
use crate::memory::Rounded;
use crate::rows::Fault;

/// Groups of 32 values of a row that are unpacked at a time: whole blocks of every format, and a tile's fit in a
/// first-level cache.
const GROUPS: usize = 32;

/// Values in them.
const PANEL: usize = 32 * GROUPS;

/// How far ahead of its use a weight is fetched, in bytes: a few hundred nanoseconds at the speed of one thread.
const AHEAD: usize = 1536;

/// Part of eight weight rows, as integers.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Panel {
    quants: [[[i8; 32]; GROUPS]; TILE],
    /// Of each group of 16 or 32 values, for each row.
    scales: [[f32; TILE]; 2 * GROUPS],
    mins: [[f32; TILE]; 2 * GROUPS],
}

impl Default for Panel {
    fn default() -> Panel {
        let zeros = [[0.0; TILE]; 2 * GROUPS];
        Panel { quants: [[[0; 32]; GROUPS]; TILE], scales: zeros, mins: zeros }
    }
}

impl Panel {
    /// Unpacks whole blocks, at most [`PANEL`] values, of a weight row into row `row`.
    #[inline(always)]
    fn unpack<F: IntFormat, S: Simd>(&mut self, simd: S, row: usize, mut bytes: &[u8]) {
        let mut quants = self.quants[row].as_flattened_mut();
        let (mut scales, mut mins) = (F::Scales::ZERO, F::Mins::ZERO);
        let mut group = 0;
        while let (Some((block, more)), Some((q, room))) =
            (F::Block::split(bytes), F::Quants::split_mut(quants))
        {
            simd.prefetch(bytes, AHEAD);
            (bytes, quants) = (more, room);
            // The loops over a large block are vectorised only if the compiler sees that nothing else can point to it;
            // those over a small one are anyway, and suffer from a copy.
            let copy;
            let block = if F::TYPE.block_len() > 32 {
                copy = *block;
                &copy
            } else {
                block
            };
            F::unpack_block(block, q, &mut scales, &mut mins);
            for (i, scale) in scales.as_ref().iter().enumerate() {
                self.scales[group + i][row] = *scale;
            }
            for (i, min) in mins.as_ref().iter().enumerate() {
                self.mins[group + i][row] = *min;
            }
            group += scales.as_ref().len();
        }
    }

    /// Adds the products of the panel's rows and `x`, at most [`PANEL`] values, to `acc`.
    #[inline(always)]
    fn multiply<F: IntFormat, S: Simd>(&self, simd: S, x: &Rounded<'_>, acc: &mut [f32; TILE]) {
        let n = x.scales.len().min(GROUPS);
        let quants = &x.quants.as_chunks::<32>().0[..n];
        let (scales, sums) = (&x.scales[..n], &x.sums.as_chunks::<2>().0[..n]);
        let mut y = *acc;
        for g in 0..n {
            let (d, s) = (scales[g], sums[g]);
            let halves = simd.half_sums(std::array::from_fn(|row| &self.quants[row][g]), &quants[g]);
            if F::LAYOUT.group == 16 {
                for h in 0..2 {
                    let (scales, mins) = (&self.scales[2 * g + h], &self.mins[2 * g + h]);
                    for r in 0..TILE {
                        y[r] += halves[h][r] as f32 * (scales[r] * d);
                        if F::LAYOUT.has_min {
                            y[r] += mins[r] * s[h];
                        }
                    }
                }
            } else {
                let (scales, mins) = (&self.scales[g], &self.mins[g]);
                for r in 0..TILE {
                    y[r] += (halves[0][r] + halves[1][r]) as f32 * (scales[r] * d);
                    if F::LAYOUT.has_min {
                        y[r] += mins[r] * (s[0] + s[1]);
                    }
                }
            }
        }
        *acc = y;
    }
}

/// Multiplies a chunk.
pub(super) struct Int<'a, F> {
    chunk: Chunk<'a>,
    panel: &'a mut Panel,
    format: PhantomData<F>,
}

impl<'a, F: IntFormat> Int<'a, F> {
    pub(super) fn new(chunk: Chunk<'a>, panel: &'a mut Panel) -> Int<'a, F> {
        Int { chunk, panel, format: PhantomData }
    }
}

impl<F: IntFormat> Work for Int<'_, F> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let Chunk { x, x_at, weight, k, matrix, cols, acc, acc_stride, .. } = self.chunk;
        for (tile, first) in cols.clone().step_by(TILE).enumerate() {
            for start in (0..k).step_by(PANEL) {
                let len = PANEL.min(k - start);
                for (row, n) in (first..cols.end.min(first + TILE)).enumerate() {
                    let bytes = weight.blocks(matrix + n * k + start, len).ok_or(Fault)?;
                    self.panel.unpack::<F, S>(simd, row, bytes);
                }
                for (x_at, acc) in x_at.iter().zip(acc.chunks_exact_mut(acc_stride)) {
                    let x = x.rounded(x_at + start, len).ok_or(Fault)?;
                    let acc = acc[tile * TILE..].first_chunk_mut().ok_or(Fault)?;
                    if start == 0 {
                        *acc = [0.0; TILE];
                    }
                    self.panel.multiply::<F, S>(simd, &x, acc);
                }
            }
        }
        Ok(())
    }
}
