//! Operands of matrix units in workgroup memory.
//!
//! A stage has some blocks of all rows of the tile and of all columns. Quants are copied some stages ahead, without registers. Scales are
//! unpacked into registers while the previous stage is multiplied, because their formats differ.

use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::units::write::shape::{ROW, Shape, Task, VECTOR};
use crate::lower::factors::Factors;
use crate::lower::space::Place;
use crate::lower::tile::{TileRow, Tiles};
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Words that are copied at once.
const TOGETHER: u32 = 4;

/// The copies of products' quants, and the loads of their scales.
pub(crate) struct Stages<'a> {
    shape: &'a Shape,
    /// Word 0 of the ring, and of the two stages of scales.
    ring: u32,
    scales: u32,
    rows: Vec<Copying>,
    weights: Vec<Copying>,
    lefts: Vec<Left>,
    rights: Vec<Right>,
}

/// Four words that a lane copies in each stage.
struct Copying {
    exists: Expr,
    slot: usize,
    from: Expr,
    /// The stride of stages in memory, in words.
    step: u32,
    to: Expr,
}

/// A row's scale that a lane loads in each stage.
struct Left {
    exists: Expr,
    x: Factors,
    /// Its block in the first stage.
    block: Expr,
    to: Expr,
}

/// A column's scale that a lane loads in each stage.
struct Right {
    exists: Expr,
    product: usize,
    row: TileRow,
    block: Expr,
    /// Its number among the block's scales.
    half: u32,
    to: Expr,
}

/// A scale that goes to workgroup memory when the previous stage has been multiplied. Its words are loaded before that, and unpacked after
/// it.
pub(crate) struct Loaded {
    exists: Expr,
    to: Expr,
    scale: Expr,
}

impl<'a> Stages<'a> {
    /// Plans the copies of products of the same rows. `begin` is the offset of each row's first activation in workgroup memory.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        tasks: &[&Task<'_>],
        shape: &'a Shape,
        place: &Place,
        (begin, ring, scales): (u32, u32, u32),
    ) -> Stages<'a> {
        let mut stages = Stages {
            shape,
            ring,
            scales,
            rows: Vec::new(),
            weights: Vec::new(),
            lefts: Vec::new(),
            rights: Vec::new(),
        };
        let of_row = (tasks[0].view.param, begin);
        stages.plan_rows(w, of_row, place);
        stages.plan_weights(w, tasks, place);
        stages.plan_row_scales(w, of_row);
        stages.plan_column_scales(w, tasks, place);
        stages
    }

    /// The activations of a row: the values and scales of its blocks.
    fn planes(w: &mut Writer<'_>, (param, begin): (usize, u32), row: &Expr) -> Factors {
        let at = w.code.set("x", Expr::Shared((row + begin).into()));
        Factors::planes(w, param, &at)
    }

    /// The first block of share `d` of the warps, and block `b` of its stages.
    fn first_block(&self, d: &Expr, b: &Expr) -> Expr {
        d * self.shape.own + b
    }

    /// Activations: a row's blocks lie one after another. Rows that do not exist are not copied: products with them are not stored.
    fn plan_rows(&mut self, w: &mut Writer<'_>, of_row: (usize, u32), place: &Place) {
        let Shape { rows, deep, own, each, .. } = *self.shape;
        let fours = deep * each * (ROW / TOGETHER);
        for (c, exists) in items(w, rows * fours) {
            let row = w.code.set("row", &c / fours);
            let exists = w.code.set("there", exists.both(&place.has_row(&row)));
            let four = w.code.set("four", &c % fours);
            let x = Self::planes(w, of_row, &row);
            let per = each * (ROW / TOGETHER);
            let from = x.values + (&four / per) * (own * ROW) + (&four % per) * TOGETHER;
            let from = w.code.set("from", from);
            let to = w.code.set("to", row * self.shape.left_row() + four * TOGETHER);
            let slot = w.slot(of_row.0);
            self.rows.push(Copying { exists, slot, from, step: each * ROW, to });
        }
    }

    /// Weights: a tile's blocks lie one after another.
    fn plan_weights(&mut self, w: &mut Writer<'_>, tasks: &[&Task<'_>], place: &Place) {
        let shape = self.shape;
        let Shape { width, deep, own, each, .. } = *shape;
        let words = shape.layout().vectors() * VECTOR;
        let fours = deep * each * words / TOGETHER;
        for (n, (task, tiles)) in tasks.iter().zip(&shape.tiles).enumerate() {
            let first_tile = w.code.set("first_tile", (&task.matrix + &place.column) / VECTOR);
            let begins = n as u32 * (width / VECTOR) * (fours * TOGETHER) + shape.right_at();
            for (c, exists) in items(w, width / VECTOR * fours) {
                let tile = w.code.set("column_tile", &c / fours);
                let four = w.code.set("four", &c % fours);
                let per = each * words / TOGETHER;
                let at = tiles.first_word(&(&first_tile + &tile));
                let from = at + (&four / per) * (own * words) + (&four % per) * TOGETHER;
                let from = w.code.set("from", from);
                // Within a block.
                let place = w.code.set("place", (&four * TOGETHER) % words);
                let block = &four * TOGETHER - &place;
                let to = (tile * (fours * TOGETHER) + block + swizzled(&place)) + begins;
                let to = w.code.set("to", to);
                let slot = tiles.slot();
                self.weights.push(Copying { exists, slot, from, step: each * words, to });
            }
        }
    }

    /// The scales of activations.
    fn plan_row_scales(&mut self, w: &mut Writer<'_>, of_row: (usize, u32)) {
        let shape = self.shape;
        let Shape { rows, deep, each, .. } = *shape;
        let blocks = deep * each;
        for (c, exists) in items(w, rows * blocks) {
            let place = w.code.set("place", &c / blocks);
            let row = w.code.set("row", shape.left_row_at(&place));
            let b = w.code.set("b", &c % blocks);
            let x = Self::planes(w, of_row, &row);
            let block = w.code.set("block", self.first_block(&(&b / each), &(&b % each)));
            let to = w.code.set("to", b * shape.left_scales() + place);
            self.lefts.push(Left { exists, x, block, to });
        }
    }

    /// The scales of weights.
    fn plan_column_scales(&mut self, w: &mut Writer<'_>, tasks: &[&Task<'_>], place: &Place) {
        let shape = self.shape;
        let Shape { width, deep, each, .. } = *shape;
        let blocks = deep * each;
        for (n, (task, tiles)) in tasks.iter().zip(&shape.tiles).enumerate() {
            let begins = n as u32 * width + shape.right_scales_at();
            let halves = tiles.scales();
            for (c, exists) in items(w, width * blocks) {
                let at = w.code.set("place", &c % width);
                let b = w.code.set("b", &c / width);
                let row = &task.matrix + &place.column + shape.column_at(&at);
                let row = tiles.row(&mut w.code, &row);
                let block = w.code.set("block", self.first_block(&(&b / each), &(&b % each)));
                for half in 0..halves {
                    let to = match tasks.len() as u32 * halves {
                        1 => &c + begins,
                        _ => (&b * halves + half) * shape.columns() + &at + begins,
                    };
                    let to = w.code.set("to", to);
                    let (exists, row, block) = (exists.clone(), row.clone(), block.clone());
                    self.rights.push(Right { exists, product: n, row, block, half, to });
                }
            }
        }
    }

    /// Word 0 of a stage's quants.
    pub(crate) fn numbers_of(&self, stage: &Expr) -> Expr {
        (stage % self.shape.ring) * self.shape.stage_words() + self.ring
    }

    /// Word 0 of a stage's scales.
    pub(crate) fn scales_of(&self, stage: &Expr) -> Expr {
        (stage % self.shape.ring.min(2)) * self.shape.scale_words() + self.scales
    }

    /// Begins to copy a stage's quants.
    pub(crate) fn copy(&self, w: &mut Writer<'_>, stage: &Expr) -> Result<(), Why> {
        let into = w.code.set("into", self.numbers_of(stage));
        self.rows.iter().chain(&self.weights).try_for_each(|copying| copying.begin(w, (stage, &into)))
    }

    /// Begins to copy a stage's weights.
    pub(crate) fn copy_weights(&self, w: &mut Writer<'_>, stage: &Expr) -> Result<(), Why> {
        let into = w.code.set("into", self.numbers_of(stage));
        self.weights.iter().try_for_each(|copying| copying.begin(w, (stage, &into)))
    }

    /// Begins to copy a stage's rows of activations.
    pub(crate) fn copy_rows(&self, w: &mut Writer<'_>, stage: &Expr) -> Result<(), Why> {
        let into = w.code.set("into", self.numbers_of(stage));
        self.rows.iter().try_for_each(|copying| copying.begin(w, (stage, &into)))
    }

    /// Loads a stage's scales to registers.
    pub(crate) fn load(&self, w: &mut Writer<'_>, stage: &Expr) -> Vec<Loaded> {
        let mut loaded = self.load_rows(w, stage);
        loaded.extend(self.load_weights(w, stage));
        loaded
    }

    /// Loads the scales of a stage's rows.
    pub(crate) fn load_rows(&self, w: &mut Writer<'_>, stage: &Expr) -> Vec<Loaded> {
        let into = w.code.set("into", self.scales_of(stage));
        let ahead = w.code.set("ahead", stage * self.shape.each);
        let layout = self.shape.layout();
        let (mut loaded, factor) = (Vec::new(), layout.factor());
        for Left { exists, x, block, to } in &self.lefts {
            let block = w.code.set("block", block + &ahead);
            let mut scale = w.code.set("kept", x.at(&x.scales + &block)).float();
            if factor != 1.0 {
                scale = scale * factor;
            }
            loaded.push(Loaded::new(exists, &into + to, scale));
            for (n, sum) in (1..).zip(x.sums(w, "kept", &block, layout.mins())) {
                loaded.push(Loaded::new(exists, &into + (to + n * self.shape.left_sums_at()), sum));
            }
        }
        loaded
    }

    /// Loads the scales of a stage's weights.
    pub(crate) fn load_weights(&self, w: &mut Writer<'_>, stage: &Expr) -> Vec<Loaded> {
        let into = w.code.set("into", self.scales_of(stage));
        let ahead = w.code.set("ahead", stage * self.shape.each);
        let tiles: Vec<Tiles> = self.shape.tiles.iter().map(|tiles| tiles.loaded(true)).collect();
        let mut loaded = Vec::new();
        for Right { exists, product, row, block, half, to } in &self.rights {
            let block = w.code.set("block", block + &ahead);
            let (scale, min) = tiles[*product].scale(&mut w.code, row, (&block, *half));
            loaded.push(Loaded::new(exists, &into + to, scale));
            if let Some(min) = min {
                loaded.push(Loaded::new(exists, &into + (to + self.shape.right_mins_at()), min));
            }
        }
        loaded
    }
}

impl Copying {
    /// Begins to copy words of a stage to the buffer at `into`.
    fn begin(&self, w: &mut Writer<'_>, (stage, into): (&Expr, &Expr)) -> Result<(), Why> {
        let Copying { exists, slot, from, step, to } = self;
        let (to, from) = (into + to, from + stage * *step);
        w.when(exists.clone(), |w| {
            w.code.push(Stmt::Copy { to, from: Expr::Four(Some(*slot), from.into()) });
            Ok(())
        })
    }
}

impl Loaded {
    fn new(exists: &Expr, to: Expr, scale: Expr) -> Loaded {
        Loaded { exists: exists.clone(), to, scale }
    }

    /// Stores what was loaded.
    pub(crate) fn store(self, w: &mut Writer<'_>) -> Result<(), Why> {
        let Loaded { exists, to, scale } = self;
        w.when(exists, |w| {
            w.code.store_shared(to, scale.bits());
            Ok(())
        })
    }
}

/// The lane's items of `n`, each with whether it exists. Lanes beyond the last item have the last one.
fn items(w: &mut Writer<'_>, n: u32) -> Vec<(Expr, Expr)> {
    let lanes = w.code.lanes;
    (0..n.div_ceil(lanes))
        .map(|time| {
            let c = w.code.set("c", Expr::Lane + time * lanes);
            if (time + 1) * lanes <= n {
                return (c, Expr::True);
            }
            let exists = c.less(n);
            (w.code.set("c", c.min(n - 1)), exists)
        })
        .collect()
}

/// The offset of a word of a block of a tile in a stage, permuted so that the words of four vectors that a warp reads together are in
/// different banks.
pub(crate) fn swizzled(word: &Expr) -> Expr {
    word ^ ((word >> 2u32) & 8u32)
}
