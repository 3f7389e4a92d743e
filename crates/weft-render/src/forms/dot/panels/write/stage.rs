//! A stage of rows and columns in panels: its layout, in fours of words, and the loads that fill it.

use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::units::write::shape::Task;
use crate::lower::factors::Factors;
use crate::lower::space::Place;
use crate::lower::tile::{Block, QUADS, TileRow, Tiles};
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::PANEL_COLUMNS as FOUR;

/// Fours of a row's quants in a block.
const ROW: u32 = QUADS as u32 / FOUR;

/// The layout of a stage.
pub(super) struct Stage {
    pub(super) rows: u32,
    /// Columns of all products.
    pub(super) columns: u32,
    /// Blocks.
    each: u32,
    /// Scales and minima per block of a column.
    pub(super) scales: u32,
    pub(super) mins: u32,
    /// Whether each column's quants have the layout of a row's, which cooperative matrices load; otherwise they are ordered by block, quad
    /// and column.
    by_column: bool,
}

impl Stage {
    pub(super) fn new(
        (rows, columns): (u32, u32),
        each: u32,
        (scales, mins): (u32, u32),
        by_column: bool,
    ) -> Stage {
        Stage { rows, columns, each, scales, mins, by_column }
    }

    /// The stride of rows in fours: one more than a row has, which puts rows into different banks.
    pub(super) fn row(&self) -> u32 {
        self.each * ROW + 1
    }

    /// Fours of columns.
    pub(super) fn column_fours(&self) -> u32 {
        self.columns / FOUR
    }

    /// The offset of the weights' quants, after those of rows.
    pub(super) fn right(&self) -> u32 {
        self.rows * self.row()
    }

    /// The offset of the scales and minima of columns, by block.
    pub(super) fn right_scales(&self) -> u32 {
        let numbers = match self.by_column {
            true => self.columns * self.row(),
            false => self.each * QUADS as u32 * self.column_fours(),
        };
        self.right() + numbers
    }

    /// The destinations of the words of four columns of a block, relative to the first: the columns and quads that are stored together, and
    /// their offset.
    fn numbers(&self) -> Vec<([(usize, usize); 4], u32)> {
        if self.by_column {
            let halves = (0..FOUR as usize).flat_map(|u| (0..ROW).map(move |half| (u, half)));
            return halves
                .map(|(u, half)| {
                    let quads = std::array::from_fn(|q| (u, (half * FOUR) as usize + q));
                    (quads, u as u32 * self.row() + half)
                })
                .collect();
        }
        (0..QUADS).map(|q| (std::array::from_fn(|u| (u, q)), q as u32 * self.column_fours())).collect()
    }

    pub(super) fn right_mins(&self) -> u32 {
        self.right_scales() + self.each * self.scales * self.column_fours()
    }

    /// All fours of its panels.
    pub(super) fn fours(&self) -> u32 {
        self.right_mins() + self.mins * self.each * self.column_fours()
    }

    /// Words of the scales of rows, which are outside the panels, by block; also the distance from a row's scale to its sums.
    pub(super) fn left_scales(&self) -> u32 {
        self.each * self.rows
    }

    fn scale_words(&self) -> u32 {
        self.left_scales() * (1 + self.mins)
    }

    pub(super) fn words(&self) -> u32 {
        FOUR * self.fours() + self.scale_words()
    }
}

/// The loads that fill stages with the rows and columns of products.
pub(super) struct Stages {
    pub(super) stage: Stage,
    /// The first words of panels, and of the rows' scales.
    panels: u32,
    pub(super) scales: u32,
    tiles: Vec<Tiles>,
    slot: usize,
    numbers: Vec<Numbers>,
    lefts: Vec<Left>,
    columns: Vec<Columns>,
}

/// Four words of a row's quants that a lane copies in each stage.
struct Numbers {
    exists: Expr,
    start: Expr,
    to: Expr,
}

/// A row's scale in a block, and the sums that its minima are multiplied by.
struct Left {
    exists: Expr,
    x: Factors,
    block: Expr,
    to: Expr,
}

/// Four columns of a product in a block, which a lane unpacks in each stage.
struct Columns {
    exists: Expr,
    product: usize,
    row: TileRow,
    block: Expr,
    /// The destinations of its quants and scales.
    to: Expr,
    scales: Expr,
}

/// Loaded words that a lane stores after the barrier, if they exist.
pub(super) struct Loaded {
    exists: Expr,
    stores: Vec<Stmt>,
}

impl Stages {
    /// Plans the loads of each lane. `begin` is the offset of each row's first activation in workgroup memory.
    pub(super) fn new(
        w: &mut Writer<'_>,
        tasks: &[Task<'_>],
        tiles: Vec<Tiles>,
        stage: Stage,
        place: &Place,
        begin: u32,
    ) -> Stages {
        let panels = w.pool.alloc_aligned(FOUR * stage.fours(), FOUR);
        let scales = w.pool.alloc(stage.scale_words());
        let Stage { rows, each, .. } = stage;
        let param = tasks[0].view.param;
        let factors = |w: &mut Writer<'_>, row: &Expr| {
            let at = w.code.set("x", Expr::Shared((row + begin).into()));
            Factors::planes(w, param, &at)
        };
        // Rows that do not exist load those of others. Their products are not stored.
        let (mut numbers, mut lefts, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        let per = each * ROW;
        for (c, exists) in items(w, 0, rows * per) {
            let row = w.code.set("row", &c / per);
            let four = w.code.set("four", &c % per);
            let start = factors(w, &row).values + &four * FOUR;
            let start = w.code.set("start", start);
            let to = w.code.set("to", row * stage.row() + four);
            numbers.push(Numbers { exists, start, to });
        }
        for (c, exists) in items(w, 0, rows * each) {
            let row = w.code.set("row", &c / each);
            let block = w.code.set("block", &c % each);
            let x = factors(w, &row);
            let to = w.code.set("to", &block * rows + row + scales);
            lefts.push(Left { exists, x, block, to });
        }
        // Each product begins at another lane, so that all lanes have work.
        let all = stage.column_fours();
        let own = all / tasks.len() as u32;
        for (product, (task, tiles)) in tasks.iter().zip(&tiles).enumerate() {
            let n = own * each;
            for (c, exists) in items(w, product as u32 * n, n) {
                // If columns have the layout of rows, lanes with neighbouring blocks store to more banks.
                let (four, block) = match stage.by_column {
                    true => (&c / each, &c % each),
                    false => (&c % own, &c / own),
                };
                let (four, block) = (w.code.set("four", four), w.code.set("block", block));
                let row = &task.matrix + &place.column + &four * FOUR;
                let row = tiles.row(&mut w.code, &row);
                let at = four + product as u32 * own;
                let to = match stage.by_column {
                    true => &at * (FOUR * stage.row()) + &block * ROW,
                    false => &block * (QUADS as u32 * all) + &at,
                };
                let to = w.code.set("to", to + stage.right());
                let scales = &block * (stage.scales * all) + at + stage.right_scales();
                let scales = w.code.set("to", scales);
                columns.push(Columns { exists, product, row, block, to, scales });
            }
        }
        let slot = w.slot(param);
        Stages { stage, panels, scales, tiles, slot, numbers, lefts, columns }
    }

    pub(super) fn products(&self) -> u32 {
        self.tiles.len() as u32
    }

    /// The four of panels with this number.
    pub(super) fn four(&self, at: Expr) -> Expr {
        Expr::Four(None, self.word(&at).into())
    }

    /// The first word of a four.
    pub(super) fn word(&self, at: &Expr) -> Expr {
        at * FOUR + self.panels
    }

    /// Stores one.
    fn put(&self, at: &Expr, words: [Expr; 4]) -> Stmt {
        Stmt::StoreFour(self.word(at), words)
    }

    /// Loads the blocks from `first` on, all at once.
    pub(super) fn load(&self, w: &mut Writer<'_>, first: &Expr) -> Vec<Loaded> {
        let mut loaded = Vec::new();
        for Numbers { exists, start, to } in &self.numbers {
            let from = Expr::Four(Some(self.slot), (start + first * QUADS as u32).into());
            let words = w.code.four("x", from);
            let stores = vec![self.put(to, words)];
            loaded.push(Loaded { exists: exists.clone(), stores });
        }
        let factor = self.tiles[0].unpacked_factor();
        for Left { exists, x, block, to } in &self.lefts {
            let block = w.code.set("block", first + block);
            // The quants of weights are too large by this power of two.
            let scale = w.code.set("kept", x.at(&x.scales + &block)).float();
            let scale = if factor == 1.0 { scale } else { scale * factor };
            let mut stores = vec![Stmt::StoreShared(to.clone(), scale.bits())];
            for (n, sum) in (1..).zip(x.sums(w, "kept", &block, self.stage.mins)) {
                stores.push(Stmt::StoreShared(to + n * self.stage.left_scales(), sum.bits()));
            }
            loaded.push(Loaded { exists: exists.clone(), stores });
        }
        for Columns { exists, product, row, block, to, scales } in &self.columns {
            let block = w.code.set("block", first + block);
            let blocks = self.tiles[*product].loaded(true).four_blocks(&mut w.code, row, &block);
            let each = |of: &dyn Fn(&Block) -> Expr| std::array::from_fn(|u| of(&blocks[u]));
            let numbers = self.stage.numbers().into_iter();
            let mut stores: Vec<Stmt> = numbers
                .map(|(words, on)| self.put(&(to + on), words.map(|(u, q)| blocks[u].quads[q].clone())))
                .collect();
            for half in 0..self.stage.scales {
                let to = scales + half * self.stage.column_fours();
                stores.push(self.put(&to, each(&|block| block.scales[half as usize].clone().bits())));
            }
            for half in 0..self.stage.mins {
                let to =
                    self.stage.right_mins() - self.stage.right_scales() + half * self.stage.column_fours();
                stores
                    .push(self.put(&(scales + to), each(&|block| block.mins[half as usize].clone().bits())));
            }
            loaded.push(Loaded { exists: exists.clone(), stores });
        }
        loaded
    }
}

impl Loaded {
    /// Stores the loaded words.
    pub(super) fn store(self, w: &mut Writer<'_>) -> Result<(), Why> {
        let Loaded { exists, stores } = self;
        w.when(exists, |w| {
            stores.into_iter().for_each(|store| w.code.push(store));
            Ok(())
        })
    }
}

/// The lane's items of `n`, if lane `before` has the first: each with whether it exists.
fn items(w: &mut Writer<'_>, before: u32, n: u32) -> Vec<(Expr, Expr)> {
    let lanes = w.code.lanes;
    let lane = match before % lanes {
        0 => Expr::Lane,
        before => w.code.set("turn", (Expr::Lane + (lanes - before)) % lanes),
    };
    (0..n.div_ceil(lanes))
        .map(|time| {
            let c = w.code.set("c", &lane + time * lanes);
            if (time + 1) * lanes <= n {
                return (c, Expr::True);
            }
            let exists = c.less(n);
            (w.code.set("c", c.min(n - 1)), exists)
        })
        .collect()
}
