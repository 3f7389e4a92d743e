//! The rows and columns of a part that a workgroup computes.

use weft_kern::{Dim, Part, Sizes};
use weft_shader::builder::Builder;
use weft_shader::expr::Expr;
use weft_shader::grid::{Chunks, Groups, length};

use crate::refused::{Why, word};
use crate::split::Split;

/// A part's rows split into tiles, and its columns into blocks.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    axes: Vec<Dim>,
    /// Rows for each index of the first axis.
    inner: u32,
    /// Rows of a tile: consecutive, or neighbours along the first axis.
    pub(crate) tile: u32,
    along_first: bool,
    /// Columns per row, and per block.
    pub(crate) cols: u32,
    pub(crate) width: u32,
    /// The split of positions in attention.
    chunks: Option<Chunks>,
    /// Whether each chunk has its own workgroups.
    spread: bool,
    /// Whether one token may have more chunks than there are multiprocessors.
    is_long: bool,
    /// The number of matrices, if rows are sorted by matrix.
    matrices: Option<u32>,
    /// Whether the first axis has one index in every step that has rows.
    single: bool,
}

/// The tile and block of a workgroup.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    space: Space,
    /// The tile's number.
    tile: Expr,
    /// The length of the first axis in this step.
    first_axis: Expr,
    /// The first column.
    pub(crate) column: Expr,
    /// The chunk, if chunks have their own workgroups.
    pub(crate) chunk: Option<Expr>,
    /// If rows are sorted: the offset of their numbers in workgroup memory, and their count in the tile.
    sorted: Option<(u32, Expr)>,
}

/// A row: its index along each axis, and whether it exists.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) axes: Vec<Expr>,
    pub(crate) exists: Expr,
}

impl Space {
    /// Splits a part by its schedule, for steps of sizes up to `max`. With `spread`, each chunk of positions has its own workgroups.
    pub(crate) fn new(part: &Part, split: &Split, spread: bool, max: &Sizes) -> Result<Space, Why> {
        let overflow = || Why::Form("has more rows than 32 bits can count".into());
        if part.rows.contains(&Dim::Q) {
            return Err(Why::Form("has a row for each sequence, whose number texts do not read".into()));
        }
        let known = part.rows.iter().skip(1).filter_map(|d| d.known());
        let inner = known.into_iter().try_fold(1usize, usize::checked_mul).ok_or_else(overflow)?;
        Ok(Space {
            axes: part.rows.clone(),
            inner: word(inner)?,
            tile: split.rows,
            along_first: split.along_first,
            cols: word(part.cols)?,
            width: split.width.min(word(part.cols)?),
            chunks: chunks(part, split)?,
            spread,
            is_long: false,
            matrices: None,
            single: part.rows.first().is_none_or(|axis| axis.eval(max) == 1),
        })
    }

    /// This space, with at most as many workgroups for the chunks of a tile as run at once on this many multiprocessors. They visit chunks
    /// in a loop even if each chunk could have its own: on an H200 a token of 47 layers then takes 0.17 ms less at depth 0, and 0.33 ms
    /// less at 4,096. The loop's text has 128 registers a lane, and the text without it 80; no other cause of the difference was found
    /// (`bench/runs/2026-11-25-cuda-warpgroups.md`).
    pub(crate) fn in_one_wave(self, processors: u32, sizes: &Sizes) -> Space {
        let (tiles, _) = self.tiles_and_rows(sizes);
        let most = u64::from(processors).div_ceil(tiles.max(1)).max(1);
        let limited = |chunks: Chunks| match chunks.count(sizes) > 1 {
            true => Chunks { shared_by: Some(most as u32), ..chunks },
            false => chunks,
        };
        let is_long = self.single && self.most_chunks(sizes) > u64::from(processors);
        Space { chunks: self.chunks.map(limited), is_long, ..self }
    }

    /// The most chunks of a tile in a step of these sizes.
    pub(crate) fn most_chunks(&self, sizes: &Sizes) -> u64 {
        self.chunks.map_or(0, |chunks| chunks.count(sizes))
    }

    /// This space, with one result for each row, independent of its positions.
    pub(crate) fn joined(self) -> Space {
        Space { chunks: None, ..self }
    }

    /// The rows of a product, sorted by matrix, with `matrices` matrices: each row once for each of its `terms`, the last axis.
    pub(crate) fn sorted(
        part: &Part,
        split: &Split,
        terms: Option<usize>,
        matrices: u32,
        max: &Sizes,
    ) -> Result<Space, Why> {
        let rows = part.rows.iter().copied().chain(terms.map(Dim::Const)).collect();
        let part = Part { rows, ..part.clone() };
        let space = Space::new(&part, split, false, max)?;
        Ok(Space { along_first: false, matrices: Some(matrices), ..space })
    }

    /// The most rows in a step of these sizes.
    pub(crate) fn rows(&self, sizes: &Sizes) -> u64 {
        let axis = self.axes.first().copied().unwrap_or(Dim::Const(1));
        (axis.eval(sizes) as u64).saturating_mul(u64::from(self.inner))
    }

    /// The number of rows in this step.
    pub(crate) fn rows_now(&self) -> Expr {
        self.first_axis() * self.inner
    }

    /// The axes of a row by its number.
    pub(crate) fn axes_of(&self, code: &mut Builder, number: &Expr) -> Vec<Expr> {
        self.axes_from(code, number / self.inner, number % self.inner)
    }

    fn axes_from(&self, code: &mut Builder, first: Expr, mut rest: Expr) -> Vec<Expr> {
        let mut axes = Vec::new();
        for dim in self.axes.iter().skip(1).rev() {
            let n = dim.known().and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
            // When all inner axes are divided out, the rest is the index itself.
            axes.push(&rest % n);
            rest = rest / n;
        }
        if !self.axes.is_empty() {
            axes.push(first);
        }
        axes.reverse();
        axes.into_iter().map(|a| code.set("i", a)).collect()
    }

    /// The most tiles in a step of these sizes, and the most rows in them.
    pub(crate) fn tiles_and_rows(&self, sizes: &Sizes) -> (u64, u64) {
        let tiles = Groups { chunks: None, ..self.groups() }.count(sizes) / u64::from(self.blocks());
        (tiles, tiles.saturating_mul(u64::from(self.tile)))
    }

    /// The most rows of results of chunks in a step of these sizes: one per head and chunk.
    pub(crate) fn chunk_rows(&self, sizes: &Sizes) -> u64 {
        let tiles = Groups { chunks: None, ..self.groups() }.count(sizes);
        let chunks = self.most_chunks(sizes);
        tiles.saturating_mul(u64::from(self.tile)).saturating_mul(chunks)
    }

    /// The number of blocks of columns.
    fn blocks(&self) -> u32 {
        self.cols.div_ceil(self.width)
    }

    /// The number of its workgroups, by the sizes of the step.
    pub(crate) fn groups(&self) -> Groups {
        let axis = self.axes.first().copied().unwrap_or(Dim::Const(1));
        let (inner, times) = if self.along_first { (1, self.inner) } else { (self.inner, 1) };
        let chunks = self.chunks.filter(|_| self.spread);
        let more = self.matrices.unwrap_or(0);
        Groups { axis, inner, tile: self.tile, more, times: times.saturating_mul(self.blocks()), chunks }
    }

    /// The number of its workgroups in this step.
    pub(crate) fn count(&self, code: &mut Builder) -> Expr {
        code.set("count", self.groups().now())
    }

    fn first_axis(&self) -> Expr {
        self.axes.first().map_or(Expr::U32(1), |axis| length(*axis))
    }

    fn tiles(&self, first_axis: &Expr) -> Expr {
        let up = self.tile - 1;
        match (self.along_first, self.matrices) {
            (true, _) => ((first_axis + up) / self.tile) * self.inner,
            (false, None) => (first_axis * self.inner + up) / self.tile,
            (false, Some(more)) => (first_axis * self.inner + up) / self.tile + more,
        }
    }

    /// The tile and block of a workgroup, counted from the part's first one. Neighbouring workgroups have the same columns, and so read the
    /// same weights.
    pub(crate) fn place(&self, code: &mut Builder, group: &Expr) -> Place {
        // Divisions by constants are cheap.
        let first_axis = if self.single { Expr::U32(1) } else { self.first_axis() };
        let one = self.blocks() == 1 && !self.spread;
        let (tile, other) = if one {
            (group.clone(), Expr::U32(0))
        } else {
            let tiles = code.set("tiles", self.tiles(&first_axis));
            (code.set("rows_at", group % &tiles), group / &tiles)
        };
        // Parts that spread chunks have whole rows.
        let (column, chunk) = if self.spread {
            (Expr::U32(0), Some(code.set("chunk", other)))
        } else if one {
            (Expr::U32(0), None)
        } else {
            (code.set("first", other * self.width), None)
        };
        Place { space: self.clone(), tile, first_axis, column, chunk, sorted: None }
    }
}

/// The chunks of positions that a part visits, if it visits any.
fn chunks(part: &Part, split: &Split) -> Result<Option<Chunks>, Why> {
    let (page, most_pages, seen) = match (part.attention(), part.indexer()) {
        (Some(attend), _) => {
            let window = attend.window.map(|window| most_chunks(window, split.chunk));
            // A list begins with a chunk.
            let list = attend.list.map(|list| Ok(word(list.most)?.div_ceil(split.chunk.max(1))));
            (attend.page, attend.most_pages, window.or(list).transpose()?)
        }
        (None, Some(indexer)) => (indexer.page / indexer.pool, indexer.most_pages, None),
        (None, None) => return Ok(None),
    };
    Ok(Some(Chunks {
        most_pages: most_pages.map(word).transpose()?,
        page: word(page)?,
        positions: split.chunk,
        seen,
        shared_by: None,
    }))
}

/// The most chunks of `positions` positions that overlap a window, wherever it begins.
fn most_chunks(window: usize, positions: u32) -> Result<u32, Why> {
    Ok(word(window)?.div_ceil(positions.max(1)).saturating_add(1))
}

impl Place {
    /// Row `i` of the tile.
    pub(crate) fn row(&self, code: &mut Builder, i: &Expr) -> Row {
        let Space { inner, tile, along_first, .. } = self.space;
        if let Some((numbers, count)) = &self.sorted {
            let number = code.set("row", Expr::Shared((i + *numbers).into()));
            return Row { axes: self.space.axes_of(code, &number), exists: i.less(count.clone()) };
        }
        let (mut index, count) = if along_first && inner > 1 {
            ((&self.tile / inner) * tile + i, self.first_axis.clone())
        } else {
            (&self.tile * tile + i, &self.first_axis * inner)
        };
        let mut exists = Expr::True;
        if tile > 1 {
            index = code.set("row", index);
            exists = index.less(count);
        }
        let rest = if along_first && inner > 1 { &self.tile % inner } else { &index % inner };
        let first = if along_first { index } else { index / inner };
        Row { axes: self.space.axes_from(code, first, rest), exists }
    }

    /// The number of a row by its axes.
    pub(crate) fn row_number(&self, axes: &[Expr]) -> Expr {
        let dims = self.space.axes.iter().skip(1).map(|dim| dim.known().unwrap_or(1) as u32);
        let Some((first, inner)) = axes.split_first() else { return Expr::U32(0) };
        inner.iter().zip(dims).fold(first.clone(), |number, (axis, n)| number * n + axis)
    }

    /// The same tile with `count` rows, whose numbers are in workgroup memory from word `numbers` on. The numbers beyond them are of
    /// readable rows.
    pub(crate) fn with_rows(&self, numbers: u32, count: Expr) -> Place {
        Place { sorted: Some((numbers, count)), ..self.clone() }
    }

    /// The number of the tile's rows that exist, if they are sorted.
    pub(crate) fn sorted_rows(&self) -> Option<&Expr> {
        self.sorted.as_ref().map(|(_, count)| count)
    }

    /// Whether row `i` of the tile exists.
    pub(crate) fn has_row(&self, i: &Expr) -> Expr {
        let Space { inner, tile, along_first, .. } = self.space;
        match &self.sorted {
            Some((_, count)) => i.less(count.clone()),
            None if along_first && inner > 1 => {
                ((&self.tile / inner) * tile + i).less(self.first_axis.clone())
            }
            None => (&self.tile * tile + i).less(&self.first_axis * inner),
        }
    }

    /// Row `i` of the tile, clamped to the last row: for reading.
    pub(crate) fn row_to_read(&self, code: &mut Builder, i: &Expr) -> Row {
        let mut row = self.row(code, i);
        if row.exists == Expr::True || self.sorted.is_some() {
            return row;
        }
        // Only the first axis can be out of range.
        if let Some(first) = row.axes.first_mut() {
            let last = &self.first_axis - 1u32;
            *first = code.set("i", first.clone().min(last));
        }
        row
    }

    /// The same rows with all columns.
    pub(crate) fn with_all_columns(&self) -> Place {
        let space = Space { width: self.space.cols, ..self.space.clone() };
        Place { space, column: Expr::U32(0), ..self.clone() }
    }

    /// The number of the tile.
    pub(crate) fn tile_number(&self) -> &Expr {
        &self.tile
    }

    /// The number of workgroups that share a tile's columns.
    pub(crate) fn blocks(&self) -> u32 {
        self.space.blocks()
    }

    /// The row of results of chunks for row `h` of the tile. Results are stored for tiles of `rows` rows: this tile's own number, unless
    /// this tile has a single row.
    pub(crate) fn chunk_row(&self, chunk: &Expr, h: &Expr, rows: u32) -> Expr {
        let chunks = self.space.chunks.map_or(Expr::U32(1), Chunks::now);
        if rows == self.space.tile {
            return (&self.tile * chunks + chunk) * rows + h;
        }
        (&self.tile / rows * chunks + chunk) * rows + &self.tile % rows
    }

    /// The most workgroups that share the chunks of a tile, if it can have several chunks.
    pub(crate) fn chunks_shared_by(&self) -> Option<u32> {
        self.space.chunks.and_then(|chunks| chunks.shared_by)
    }

    /// Whether the chunks of one token have workgroups of their own, and may be more than there are multiprocessors.
    pub(crate) fn is_long(&self) -> bool {
        self.space.spread && self.space.is_long
    }

    /// The most indices of the first axis (tokens) of the rows of a tile.
    pub(crate) fn tokens(&self) -> u32 {
        let Space { inner, tile, along_first, .. } = self.space;
        match () {
            () if along_first && inner > 1 => tile,
            () if inner.is_multiple_of(tile) => 1,
            () => (tile + inner - 2) / inner + 1,
        }
    }

    /// Whether the first axis has one index in every step that has rows.
    pub(crate) fn is_single(&self) -> bool {
        self.space.single
    }

    /// The number of rows of the tile.
    pub(crate) fn tile(&self) -> u32 {
        self.space.tile
    }

    /// The number of columns of the block; some may be beyond the last column.
    pub(crate) fn width(&self) -> u32 {
        self.space.width
    }

    /// The number of columns of the part.
    pub(crate) fn cols(&self) -> u32 {
        self.space.cols
    }

    /// Whether a column of the block exists.
    pub(crate) fn has_column(&self, column: &Expr) -> Expr {
        if self.space.cols.is_multiple_of(self.space.width) {
            return Expr::True;
        }
        column.less(self.space.cols)
    }

    /// Column `own` of the block, clamped to the last column: for reading. `within` says whether it is less than the block's width.
    pub(crate) fn column_to_read(&self, code: &mut Builder, own: &Expr, within: bool) -> Expr {
        let column = &self.column + own;
        match within && self.space.cols.is_multiple_of(self.space.width) {
            true => code.set("column", column),
            false => code.set("column", column.min(self.space.cols - 1)),
        }
    }
}
