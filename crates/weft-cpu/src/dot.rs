//! `Dot`: matrix products with weights as the file has them.
//!
//! Rows are grouped by the matrix they are multiplied by, and cut into chunks; the columns are cut into tiles. Work
//! is (chunk, tile) pairs. Within one, each weight row is unpacked once and multiplied with every row of the chunk,
//! then the row program runs over what came out while it is in the cache. How work is cut changes no bit: each
//! output is computed by itself, in the order that `int`, `float` and `transposed` define.

mod float;
mod int;
mod transposed;

use std::ops::Range;

use weft_kern::{Format, Kernel, Matrices, Pick, View};
use weft_quant::{GgmlType, with_int_format};

use crate::isa::TILE;
use crate::memory::Arg;
use crate::rowprog::{BLOCK, RowProgram};
use crate::rows::{Fault, RowView};
use crate::thread::{Needs, Scratch, Thread};

pub(crate) use int::Panel;

/// Most outputs of a chunk and its columns that are kept for the row program: what half a first-level cache holds.
const ACC: usize = 8192;

/// What it costs to unpack a weight row, in multiplications of it with one row.
const UNPACK: u64 = 2;

/// A prepared `Dot`.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    x: RowView,
    w: Weights,
    pick: Picked,
    transposed: bool,
    /// Columns are cut at multiples of this.
    tile: usize,
}

/// Rows of a weight.
#[derive(Debug, Clone, Copy)]
struct Weights {
    param: usize,
    ty: GgmlType,
    /// Matrices, and rows between two of them.
    count: usize,
    stride: usize,
    /// Row 0 of matrix 0.
    first: usize,
    n: usize,
    k: usize,
}

/// [`Pick`] without indirection.
#[derive(Debug, Clone, Copy)]
enum Picked {
    Only,
    Axis(usize),
    Ids(RowView),
}

/// Rows that are multiplied by one matrix, and some of its columns.
struct Chunk<'a> {
    x: &'a Arg,
    /// Where each row's x begins.
    x_at: &'a [usize],
    weight: &'a Arg,
    ty: GgmlType,
    /// Rows of the matrix, and their length.
    n: usize,
    k: usize,
    /// Where the matrix begins, in values.
    matrix: usize,
    cols: Range<usize>,
    /// Where the results go: each row's after `acc_stride` values, a multiple of [`TILE`] that the columns fit in.
    acc: &'a mut [f32],
    acc_stride: usize,
}

impl Dot {
    /// Prepares the anchor of a verified kernel.
    ///
    /// # Errors
    /// A sentence, if the device has no code for the weight's type.
    pub(crate) fn new(
        kernel: &Kernel,
        program: &RowProgram,
        x: &View,
        w: &Matrices,
        transposed: bool,
    ) -> Result<Dot, String> {
        let ty = match kernel.params[w.param].format {
            Format::Ggml(ty) if ty.can_decode() => ty,
            format => return Err(format!("this device cannot multiply by {format:?}")),
        };
        let pick = match &w.pick {
            Pick::Only => Picked::Only,
            Pick::Axis(axis) => Picked::Axis(*axis),
            Pick::Ids(view) => Picked::Ids(RowView::new(view)),
        };
        // Transposed, the columns are those of a weight row, which is cut between its blocks.
        let tile = if transposed { program.unit.max(ty.block_len()) } else { program.unit };
        let &Matrices { param, count, n, k, first, stride, .. } = w;
        let w = Weights { param, ty, count, stride, first, n, k };
        Ok(Dot { x: RowView::new(x), w, pick, transposed, tile: tile.min(kernel.cols) })
    }

    /// Scratch memory for as many rows.
    pub(crate) fn needs(&self, rows: usize) -> Needs {
        // The most columns that are computed at a time, a multiple of the tile or all there are.
        let width = self.tile.max(BLOCK).next_multiple_of(TILE);
        let floats = match (self.transposed, self.w.ty.int_layout()) {
            (true, _) => transposed::ROWS * width,
            (false, None) => float::ROWS * self.w.k,
            (false, Some(_)) => 0,
        };
        Needs { acc: ACC.max(width), floats, rows, starts: self.w.count + 1, ..Needs::default() }
    }

    /// Runs this thread's part.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let groups = self.group(cx, scratch)?;
        let tiles = cx.cols.div_ceil(self.tile);
        let mut most = (ACC / self.tile.next_multiple_of(TILE)).max(1);
        if tiles == 1 {
            // Then only rows can be cut.
            most = most.min(cx.space.count().div_ceil(cx.threads)).max(1);
        }
        let cost = |rows: usize| rows as u64 + UNPACK;
        let chunks = |group: usize, starts: &[usize]| {
            let rows = starts[group]..starts[group + 1];
            rows.clone().step_by(most).map(move |from| from..rows.end.min(from + most))
        };
        let costs =
            (0..groups).flat_map(|g| chunks(g, &scratch.starts)).map(|c| cost(c.len()) * tiles as u64);
        let share = cx.share(costs.sum());
        let mut before = 0;
        for group in 0..groups {
            for rows in chunks(group, &scratch.starts) {
                let cost = cost(rows.len());
                let own = share.of(before, cost, tiles);
                before += cost * tiles as u64;
                if own.is_empty() {
                    continue;
                }
                let cols = own.start * self.tile..cx.cols.min(own.end * self.tile);
                self.chunk(cx, group, rows, cols, scratch)?;
            }
        }
        Ok(())
    }

    /// Sorts the rows by matrix: those of matrix `g` are then `scratch.rows[starts[g]..starts[g + 1]]`, in order.
    /// Returns the number of groups.
    fn group(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<usize, Fault> {
        let count = cx.space.count();
        let groups = if matches!(self.pick, Picked::Only) { 1 } else { self.w.count };
        let Scratch { rows, starts, numbers, .. } = scratch;
        let (rows, numbers) = (&mut rows[..count], &mut numbers[..count]);
        let starts = &mut starts[..groups + 1];
        starts.fill(0);
        for (row, number) in numbers.iter_mut().enumerate() {
            let coords = || cx.space.coords(row);
            *number = match self.pick {
                Picked::Only => 0,
                Picked::Axis(axis) => coords()[axis],
                Picked::Ids(ids) => ids.index(cx.args, &coords(), self.w.count)?,
            };
            starts[*number + 1] += 1;
        }
        for g in 0..groups {
            starts[g + 1] += starts[g];
        }
        // Filling moves each start to its end, which is the next one's start; going backwards keeps the order.
        for (row, number) in numbers.iter().enumerate().rev() {
            starts[*number + 1] -= 1;
            rows[starts[*number + 1]] = row;
        }
        // Now `starts[g + 1]` is where group `g` starts.
        starts.rotate_left(1);
        starts[groups] = count;
        Ok(groups)
    }

    /// Computes columns of rows that are multiplied by one matrix; `rows` is a range of the sorted ones.
    fn chunk(
        &self,
        cx: &Thread<'_>,
        matrix: usize,
        rows: Range<usize>,
        cols: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Scratch { rows: sorted, numbers, acc, floats, panel, registers, .. } = scratch;
        // What the rows were sorted by is not needed any more.
        let (rows, x_at) = (&sorted[rows.clone()], &mut numbers[rows]);
        for (at, row) in x_at.iter_mut().zip(rows) {
            *at = self.x.at(&cx.space.coords(*row));
        }
        let Weights { param, ty, n, k, first, stride, .. } = self.w;
        let tile = self.tile.next_multiple_of(TILE);
        let tiles = (BLOCK / tile).min(ACC / (tile * rows.len())).max(1);
        for start in cols.clone().step_by(self.tile * tiles) {
            let cols = start..cols.end.min(start + self.tile * tiles);
            let acc_stride = cols.len().next_multiple_of(TILE);
            let chunk = Chunk {
                x: &cx.args[self.x.param],
                x_at,
                weight: &cx.args[param],
                ty,
                n,
                k,
                matrix: (first + matrix * stride) * k,
                cols: cols.clone(),
                acc,
                acc_stride,
            };
            if self.transposed {
                cx.arch.dispatch(transposed::Transposed { chunk, floats })?;
            } else {
                with_int_format!(
                    ty,
                    F => cx.arch.dispatch(int::Int::<F>::new(chunk, panel))?,
                    else cx.arch.dispatch(float::Float { chunk, floats })?
                );
            }
            cx.finish(rows.iter().copied(), cols, (acc, acc_stride), registers)?;
        }
        Ok(())
    }
}
