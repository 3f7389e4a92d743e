//! `Dot`: matrix products, prepared.
//!
//! Rows are divided into chunks and columns into tiles; work is (chunk, tile) pairs, which `schedule` assigns to threads.
//! Within a pair (`multiply`), each product of the part unpacks each weight row once and multiplies it with every row of
//! the chunk that needs it, then the row program runs over the results while they are in the cache. How work is divided
//! changes no bit: each output is computed separately, in the order that `packed`, `float`, `transposed` and, for
//! weighted sums of products, `sum` define. With many rows, `tiled` computes what `packed` defines on a CPU's tile unit.
//!
//! If all products pick their matrices in the same way, the rows of the step are first sorted by matrix, and a chunk has
//! one matrix. Otherwise a chunk is consecutive rows, as many as the second-level cache holds results of, and each
//! product sorts them itself.

pub(crate) mod blocks;
mod chunk;
mod factor;
mod float;
mod multiply;
mod packed;
mod product;
mod schedule;
mod sum;
mod tiled;
mod transposed;

use weft_kern::{Kernel, Part, Product};
use weft_quant::packed::{COLUMNS, ROWS};

use crate::cost;
use crate::prologue::Prologue;
use crate::rowprog::{BLOCK, RowProgram};
use crate::rows::Space;
use crate::scratch::Needs;

use product::{BlockSource, Multiplied, Picked};

/// The most results of a chunk that has one matrix: a small part of a second-level cache, and enough for the row program to get 128 columns
/// of 512 rows at a time.
const RESULTS: usize = 64 << 10;

/// The most results of a chunk of consecutive rows, all of which each weight row should meet: about a second-level cache. Half as many may
/// belong to the narrowest columns. All rows are read again for each range of columns, from further away, so columns should be wide, too.
const MIXED_RESULTS: usize = 256 << 10;

/// A prepared `Dot`.
#[derive(Debug, Clone)]
pub(crate) struct Dot {
    products: Vec<Multiplied>,
    prologue: Option<Prologue>,
    /// How products select their matrices, if all do it alike.
    common: Option<Picked>,
    /// Columns are divided at multiples of this.
    tile: usize,
    /// The most rows of a chunk.
    most: usize,
    /// The most results that are computed at a time, unless one tile of columns has more.
    results: usize,
    /// Vectors kept for a row: the result of each product, and the terms of products that are sums.
    vectors: usize,
    /// The cost of a result beyond its products, see [`cost`].
    finish: u64,
}

impl Dot {
    /// Prepares the anchor of a verified part.
    ///
    /// # Errors
    /// A sentence, if the device has no code for a weight's type, or cannot run the prologue.
    pub(crate) fn new(
        kernel: &Kernel,
        part: &Part,
        program: &RowProgram,
        products: &[Product],
    ) -> Result<Dot, String> {
        let params = &kernel.params;
        let mut products: Vec<Multiplied> =
            products.iter().map(|product| Multiplied::new(params, product)).collect::<Result<_, _>>()?;
        for i in 1..products.len() {
            if let Some(same) = (0..i).find(|j| products[*j].reads_as(&products[i])) {
                products[i].blocks = BlockSource::Of(same);
            }
        }
        let wanted = |p: &Multiplied| p.x.is_none();
        let prologue = if products.iter().any(wanted) {
            let prologue = Prologue::new(kernel, part)?;
            if let Some(other) = products.iter().find(|p| wanted(p) && p.len() != prologue.len) {
                return Err(format!(
                    "a product of rows of {} values, but its prologue has {}",
                    other.len(),
                    prologue.len
                ));
            }
            Some(prologue)
        } else {
            None
        };
        let (first, others) = products.split_first().ok_or("a dot of nothing")?;
        let alike = |p: &Multiplied| p.selects_as(first);
        let common = match first.pick {
            Picked::Sum(_) => None,
            pick => others.iter().all(alike).then_some(pick),
        };
        // Transposed, the columns are those of a weight row, which is divided between blocks.
        let blocks = products.iter().map(|p| if p.transposed { p.w.ty.block_len() } else { 1 });
        let tile = blocks.fold(program.unit, usize::max).min(part.cols);
        let vectors = products.iter().map(Multiplied::summed).fold(products.len(), usize::saturating_add);
        let (results, most) =
            if common.is_some() { (RESULTS, RESULTS) } else { (MIXED_RESULTS, MIXED_RESULTS / 2) };
        let most = (most / tile.next_multiple_of(ROWS) / vectors).max(1);
        let finish = program.cost / part.cols as u64;
        Ok(Dot { products, prologue, common, tile, most, results, vectors, finish })
    }

    /// Scratch memory for these rows, on a device with a tile unit if `tiled`.
    pub(crate) fn needs(&self, space: &Space, tiled: bool) -> Needs {
        let rows = space.count();
        let chunk = self.most.min(rows);
        // Columns computed at a time are a tile, or several tiles up to a block of the row program and `RESULTS` results.
        let tile = self.tile.next_multiple_of(ROWS);
        let acc = self.results.max(chunk.saturating_mul(tile).saturating_mul(self.vectors));
        let width = tile.max(BLOCK);
        let terms = self.products.iter().map(Multiplied::terms).fold(0, usize::saturating_add);
        let floats = self.products.iter().map(|p| p.floats(width)).max().unwrap_or(0);
        let starts = self.groups() + 1;
        let entries = chunk.saturating_mul(terms);
        let blocks = self.laid_out(chunk).fold(blocks::SPARE, usize::saturating_add);
        let unpacked = self.products.iter().map(Multiplied::unpacked).max().unwrap_or(0);
        let tiles = if tiled { unpacked } else { 0 };
        let needs = Needs { acc, floats, rows, starts, entries, blocks, tiles, ..Needs::default() };
        match &self.prologue {
            Some(prologue) => needs.max(prologue.needs(space.axes()[0])),
            None => needs,
        }
    }

    /// For each product, the number of blocks of 32 values laid out for a chunk of this many rows: none if its weight is not
    /// packed, or if it reads the same blocks as an earlier product.
    fn laid_out(&self, rows: usize) -> impl Iterator<Item = usize> {
        self.products.iter().map(move |product| match product.blocks {
            BlockSource::Own => rows.saturating_mul(product.terms()).saturating_mul(product.len() / COLUMNS),
            BlockSource::None | BlockSource::Of(_) => 0,
        })
    }

    /// The cost of all of it, see [`cost`].
    pub(crate) fn cost(&self, space: &Space, cols: usize) -> u64 {
        self.column(space.count(), false).saturating_mul(cols as u64)
    }

    /// The cost of the smallest piece a thread can take: one row and one tile.
    pub(crate) fn least_cost(&self) -> u64 {
        self.column(1, true).saturating_mul(self.tile as u64)
    }

    /// The cost of a column of some rows, which have one matrix if they are `sorted`.
    fn column(&self, rows: usize, sorted: bool) -> u64 {
        let each = |p: &Multiplied| {
            let entries = rows.saturating_mul(p.terms());
            let matrices = if sorted && self.common.is_some() { 1 } else { entries.min(p.matrices) };
            let unpack = (matrices as u64).saturating_mul(cost::unpack(p.w.ty));
            let multiply = (entries as u64).saturating_mul(cost::multiply(p.w.ty));
            (p.len() as u64).saturating_mul(unpack.saturating_add(multiply))
        };
        self.products.iter().map(each).fold(self.finish(rows), u64::saturating_add)
    }

    /// The cost of a column of some rows beyond their products.
    fn finish(&self, rows: usize) -> u64 {
        (rows as u64).saturating_mul(self.finish).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use weft_kern::{Access, Anchor, Dim, Factor, Format, Instr, Matrices, Param, Pick, Sizes, View};

    use super::*;

    /// Columns of `x` times the transpose of a float matrix are computed one block of the row program at a time; scratch memory
    /// has room for no more.
    #[test]
    fn decoded_rows_are_as_long_as_the_columns_computed_at_a_time() {
        let view = |param, stride| View { param, offset: 0, strides: vec![stride], step: 1 };
        let cols = 20 * BLOCK;
        // If columns cannot be computed separately, it is all of them.
        for (apart, expected) in [(true, BLOCK), (false, cols)] {
            let w = Matrices {
                param: 1,
                pick: Pick::Only,
                from: None,
                count: 1,
                n: 6,
                k: cols,
                first: 0,
                stride: 6,
            };
            let products = vec![Product { x: Factor::View(view(0, 6)), w, transposed: true }];
            let body = vec![Instr::Acc(0), Instr::Store { value: 0, view: view(2, cols), indexed: None }];
            let anchor = Anchor::Dot(products.clone());
            let part = Part { rows: vec![Dim::T], cols, prologue: None, anchor, body };
            let param = |access| Param { access, format: Format::F32 };
            let params = vec![param(Access::Read), param(Access::Read), param(Access::Write)];
            let kernel = Kernel { name: "transposed".into(), params, parts: vec![part], texts: Vec::new() };
            let part = &kernel.parts[0];
            let program = RowProgram::new(&kernel.params, part, apart).unwrap();
            let dot = Dot::new(&kernel, part, &program, &products).unwrap();
            let sizes = Sizes::of(300);
            let needs = dot.needs(&Space::new(&part.rows, &sizes), false);
            assert_eq!(needs.floats, transposed::ROWS * expected);
        }
    }
}
