//! Computes some columns of some rows of a `Dot`: every product, then the row program.

use std::ops::Range;

use weft_quant::packed::{COLUMNS, Layout, ROWS};
use weft_quant::with_int_format;

use super::blocks::{Blocks, Entry, tiled_rows};
use super::chunk::Chunk;
use super::packed::{Packed, code_of};
use super::product::{BlockSource, Multiplied, Picked};
use super::sum::AddTerms;
use super::tiled::Tiled;
use super::{Dot, factor, float, transposed};
use crate::made::{Factor, Made};
use crate::rowprog::{Acc, BLOCK};
use crate::rows::Fault;
use crate::scratch::Scratch;
use crate::thread::Thread;

impl Dot {
    /// Computes columns of rows, a range of the sorted ones; all products multiply them by the same `matrix`, or each
    /// by its own.
    pub(super) fn chunk(
        &self,
        cx: &Thread<'_>,
        matrix: Option<usize>,
        rows: Range<usize>,
        cols: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let this = Some((rows.clone(), matrix));
        if scratch.chunk != this {
            scratch.chunk = None;
            self.lay_out(cx, matrix, rows.clone(), scratch)?;
            scratch.chunk = this;
        }
        let Scratch { rows: sorted, entries, acc, floats, blocks, tiles, registers, made, .. } = scratch;
        let rows = &sorted[rows];
        let tile = self.tile.next_multiple_of(ROWS);
        let at_once = (BLOCK / tile).min(self.results / (tile * rows.len() * self.vectors)).max(1);
        for start in cols.clone().step_by(self.tile * at_once) {
            let cols = start..cols.end.min(start + self.tile * at_once);
            let stride = cols.len().next_multiple_of(ROWS);
            // A vector for each row: results first, then terms.
            let apart = rows.len() * stride;
            let (results, mut terms) = acc.split_at_mut(self.products.len() * apart);
            let mut entries = &entries[..];
            for (i, (product, result)) in
                self.products.iter().zip(results.chunks_exact_mut(apart)).enumerate()
            {
                let (own, rest) = entries.split_at(rows.len() * product.terms());
                entries = rest;
                let (to, rest) = std::mem::take(&mut terms).split_at_mut(product.summed() * apart);
                terms = rest;
                let x = product.x.map_or(Factor::Made(made), |x| Factor::Memory(&cx.args[x.param]));
                let source = if let BlockSource::Of(other) = product.blocks { other } else { i };
                let groups = product.len() / COLUMNS;
                let mut base: usize = self.laid_out(rows.len()).take(source).sum();
                let mut runs = own.chunk_by(|a, b| a.matrix == b.matrix).peekable();
                while let Some(own) = runs.next() {
                    if product.w.lacks(own[0].matrix) {
                        own.iter().for_each(|entry| result[entry.slot * stride..][..stride].fill(0.0));
                        base += own.len() * groups;
                        continue;
                    }
                    let mut chunk = Chunk {
                        x,
                        entries: own,
                        weight: &cx.args[product.w.param],
                        ty: product.w.ty,
                        n: product.w.n,
                        k: product.w.k,
                        order: product.order,
                        row: product.w.row(own[0].matrix),
                        next_row: next_row(product, runs.peek()),
                        cols: cols.clone(),
                        acc: if to.is_empty() { &mut *result } else { &mut *to },
                        stride,
                    };
                    if product.transposed {
                        cx.arch.dispatch(transposed::Transposed { chunk, floats })?;
                    } else {
                        // Code for each layout of tiles, not for each type.
                        with_int_format!(
                            code_of(product.w.ty),
                            of Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ2_XXS IQ2_XS IQ4_NL IQ4_XS
                                TQ2_0 MXFP4 NVFP4,
                            F => {
                                let (tiled, others) = own.split_at(tiled_rows(cx.arch, own.len()));
                                if !tiled.is_empty() {
                                    let packed = Packed::<F>::new(chunk.part(tiled), blocks, base);
                                    let tiled = Tiled { packed, unpacked: tiles };
                                    cx.arch.dispatch_tiles(Tiled::<F>::QUADS, tiled)?;
                                }
                                if !others.is_empty() {
                                    let base = base + tiled.len() * groups;
                                    cx.arch.dispatch(Packed::<F>::new(chunk.part(others), blocks, base))?;
                                }
                            },
                            else cx.arch.dispatch(float::Float { chunk, floats })?
                        );
                    }
                    base += own.len() * groups;
                }
                if let Picked::Sum(sum) = &product.pick {
                    cx.arch.dispatch(AddTerms { cx, sum, rows, terms: to, out: result, stride })?;
                }
            }
            let acc = Acc { values: acc, stride, apart };
            cx.finish(rows.iter().copied(), cols, acc, registers)?;
        }
        Ok(())
    }

    /// Lists the rows to multiply for a chunk, and lays them out.
    fn lay_out(
        &self,
        cx: &Thread<'_>,
        matrix: Option<usize>,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Scratch { rows: sorted, entries, blocks, registers, made, .. } = scratch;
        let rows = &sorted[rows];
        if let Some(prologue) = &self.prologue {
            for row in rows {
                prologue.make(cx, cx.space.coords(*row)[0], registers, made)?;
            }
        }
        let (mut at, mut base) = (0, 0);
        for (product, laid_out) in self.products.iter().zip(self.laid_out(rows.len())) {
            let own = &mut entries[at..][..rows.len() * product.terms()];
            product.list(cx, matrix, rows, own)?;
            at += own.len();
            if product.blocks == BlockSource::Own {
                product.lay_out(cx, own, base, made, blocks)?;
            }
            base += laid_out;
        }
        Ok(())
    }
}

/// The weight's row at which the matrix of the next run begins, if it has one.
fn next_row(product: &Multiplied, next: Option<&&[Entry]>) -> Option<usize> {
    let matrix = next?.first()?.matrix;
    (!product.w.lacks(matrix)).then(|| product.w.row(matrix))
}

impl Multiplied {
    /// Lays out the listed rows, from block `base` on.
    fn lay_out(
        &self,
        cx: &Thread<'_>,
        entries: &[Entry],
        base: usize,
        made: &Made,
        blocks: &mut Blocks,
    ) -> Result<(), Fault> {
        let layout = Layout::of(self.w.ty).ok_or(Fault)?;
        let x = self.x.map_or(Factor::Made(made), |x| Factor::Memory(&cx.args[x.param]));
        let arch = cx.arch;
        arch.dispatch(factor::LayOut { x, entries, base, k: self.len(), layout, arch, blocks })
    }

    /// Lists the rows to multiply, sorted by matrix.
    fn list(
        &self,
        cx: &Thread<'_>,
        matrix: Option<usize>,
        rows: &[usize],
        entries: &mut [Entry],
    ) -> Result<(), Fault> {
        let terms = self.terms();
        for (i, (entries, row)) in entries.chunks_exact_mut(terms).zip(rows).enumerate() {
            let coords = cx.space.coords(*row);
            for (term, entry) in entries.iter_mut().enumerate() {
                let matrix = match matrix {
                    Some(matrix) => matrix,
                    None => self.matrix(cx.args, &coords, term)?,
                };
                *entry = Entry { matrix, x_at: self.x_at(&coords, term), slot: i * terms + term };
            }
        }
        if matrix.is_none() && self.pick != Picked::Only {
            entries.sort_unstable_by_key(|entry| entry.matrix);
        }
        Ok(())
    }
}
