//! Products of a tile on matrix units: the loop over stages, and the sums.
//!
//! The layout of tiles of weights suits the units: lane `4 · g + t` of a warp needs, of column `g`, the values `4 · t ..` and `16 + 4 · t
//! ..` of a block, which are one word of a tile of 4 bits.

use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::{RAISED, Stmt};

use crate::forms::dot::units::write::scales::{OfRow, Scales};
use crate::forms::dot::units::write::shape::{ROW, Shape, Task, VECTOR, with_empty_shares};
use crate::forms::dot::units::write::stage::{Stages, swizzled};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::WARP;
use crate::split::{MATRIX_COLUMNS, MATRIX_ROWS};

/// Columns that the units multiply at once, half of a tile.
const HALF: u32 = 8;

/// Registers per multiprocessor, and registers that a lane needs besides its sums.
const REGISTERS: u32 = 64 << 10;
const OTHER_REGISTERS: u32 = 64;

/// Products of the same rows, while they are written.
pub(crate) struct Multiply<'a> {
    shape: &'a Shape,
    stages: Stages<'a>,
    lanes: LanePlace,
    /// The mask with which weights are unpacked.
    mask: Expr,
    /// The number of rows, if they are sorted.
    count: Option<Expr>,
    /// Whether weights may be read before the workgroup waits.
    early: bool,
}

/// A lane's warp, and its number `4 · g + t` within the warp.
#[derive(Clone)]
struct LanePlace {
    /// The warp's first row and column, and its share of the sums.
    row: Expr,
    column: Expr,
    deep: Expr,
    g: Expr,
    t: Expr,
}

/// A lane's sums, by product, tile, half, group of rows, and the four of a group.
pub(crate) struct Totals {
    totals: Vec<Expr>,
    groups: u32,
    wide: u32,
    width: u32,
    lanes: LanePlace,
    empty_shares: bool,
}

/// A column's scale in a block.
struct ColumnScale {
    scale: Expr,
    /// The negative of its product with [`RAISED`], which is exact: scales have 19 bits at most.
    raised: Option<Expr>,
}

/// Half of the columns of a tile of weights in a block.
struct Operand {
    words: [Expr; 2],
    scales: Vec<[ColumnScale; 2]>,
    /// The minimums of the lane's columns.
    least: Vec<[Expr; 2]>,
}

impl<'a> Multiply<'a> {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        tasks: &[&Task<'_>],
        shape: &'a Shape,
        place: &Place,
        rooms: (u32, u32, u32),
    ) -> Result<Multiply<'a>, Why> {
        let warp = w.code.set("own_warp", Expr::Lane / WARP);
        let lanes = LanePlace {
            row: w.code.set("warp_row", ((&warp / shape.across) % shape.down) * (shape.rows / shape.down)),
            column: w.code.set("warp_column", (&warp % shape.across) * (MATRIX_COLUMNS * shape.wide)),
            deep: w.code.set("warp_share", &warp / (shape.across * shape.down)),
            g: w.code.set("g", (Expr::Lane % WARP) / 4u32),
            t: w.code.set("t", Expr::Lane % 4u32),
        };
        let known = tasks.iter().all(|task| w.is_weight(task.product.w.param));
        let early = known && w.stages_ahead;
        if !early {
            w.wait();
        }
        let stages = Stages::new(w, tasks, shape, place, rooms);
        let mask = shape.layout().operand_mask(&mut w.code);
        Ok(Multiply { shape, stages, lanes, mask, count: place.sorted_rows().cloned(), early })
    }

    /// Multiplies all stages. If warps share sums, stores the shares of each product from these words of workgroup memory on; otherwise
    /// returns the sums.
    pub(crate) fn write(&self, w: &mut Writer<'_>, shared: &[u32]) -> Result<Totals, Why> {
        let Multiply { shape, stages, .. } = self;
        // Several workgroups of a multiprocessor hide each other's latencies.
        let groups = shape.rows / shape.down / MATRIX_ROWS;
        let count = shape.stages();
        let n = shape.tiles.len() as u32 * shape.wide * 2 * groups * 4;
        let most = if w.code.lanes <= 128 { 3 } else { 2 };
        let fit = (REGISTERS / w.code.lanes / (2 * n + OTHER_REGISTERS)).clamp(1, most);
        // Another product of the kernel may have more sums.
        w.together = if w.together == 0 { fit } else { fit.min(w.together) };
        let sums: Vec<Expr> = (0..n).map(|_| w.code.var("sum", 0.0f32)).collect();
        // Adding the first share to −0 changes no bit of it.
        let totals = match shape.deep {
            1 => (0..n).map(|_| w.code.var("total", -0.0f32)).collect(),
            _ => Vec::new(),
        };
        let totals = Totals {
            totals,
            groups,
            wide: shape.wide,
            width: shape.width,
            lanes: self.lanes.clone(),
            empty_shares: shape.empty_shares,
        };

        self.begin(w)?;
        let all = (&sums[..], &totals);
        if count == 1 {
            w.code.push(Stmt::WaitCopies(0));
            w.code.barrier();
            self.rows_there(w, groups, |w, halves| self.stage(w, &Expr::U32(0), halves, all, shared))?;
            return Ok(totals);
        }
        w.count("stage", (0u32.into(), count.into(), 1), |w, stage| {
            w.code.push(Stmt::WaitCopies(shape.ring - 2));
            w.code.barrier();
            let ahead = w.code.set("stage_ahead", &stage + (shape.ring - 1));
            w.when(ahead.less(count), |w| stages.copy(w, &ahead))?;
            w.code.push(Stmt::EndCopies);
            let next = w.code.set("next", (&stage + 1u32).min(count - 1));
            let loaded = stages.load(w, &next);
            self.rows_there(w, groups, |w, halves| self.stage(w, &stage, halves, all, shared))?;
            loaded.into_iter().try_for_each(|loaded| loaded.store(w))
        })?;
        Ok(totals)
    }

    /// Begins to copy the first stages, and stores the scales of the first. Loads that do not depend on the previous launch begin before
    /// the workgroup waits for it.
    fn begin(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let (stages, first) = (&self.stages, Expr::U32(0));
        let early = w.waits && self.early;
        let (count, ring) = (self.shape.stages(), self.shape.ring);
        let ahead: Vec<u32> = (0..(ring - 1).max(1)).collect();
        let mut scales = Vec::new();
        if early {
            let mut there = ahead.iter().filter(|stage| **stage < count);
            there.try_for_each(|stage| stages.copy_weights(w, &(*stage).into()))?;
            scales = stages.load_weights(w, &first);
        }
        w.wait();
        for stage in ahead {
            match (stage < count, early) {
                (true, true) => stages.copy_rows(w, &stage.into())?,
                (true, false) => stages.copy(w, &stage.into())?,
                (false, _) => {}
            }
            w.code.push(Stmt::EndCopies);
        }
        scales.extend(if early { stages.load_rows(w, &first) } else { stages.load(w, &first) });
        scales.into_iter().try_for_each(|loaded| loaded.store(w))
    }

    /// Writes a stage for the halves of row groups that exist: tiles of few rows are common where rows are sorted. The text has one version
    /// for all rows and one for few, so that its loads and products can overlap.
    fn rows_there(
        &self,
        w: &mut Writer<'_>,
        groups: u32,
        mut write: impl FnMut(&mut Writer<'_>, u32) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let Some(count) = &self.count else { return write(w, 2 * groups) };
        let few = if groups > 1 { 2 } else { 1 };
        let least = w.code.set("least_row", &self.lanes.row + few * HALF);
        w.when(count.greater(least.clone()), |w| write(w, 2 * groups))?;
        let some = if self.shape.down > 1 { count.greater(self.lanes.row.clone()) } else { Expr::True };
        w.when(count.less(least + 1u32).both(&some), |w| write(w, few))
    }

    /// Multiplies a stage by this many halves of groups of rows.
    fn stage(
        &self,
        w: &mut Writer<'_>,
        stage: &Expr,
        halves: u32,
        all: (&[Expr], &Totals),
        shared: &[u32],
    ) -> Result<(), Why> {
        let Shape { each, round, .. } = *self.shape;
        w.count_or_once("block", (0u32.into(), each.into(), round), |w, block| {
            self.round(w, (stage, &block), halves, all, shared)
        })
    }

    /// Multiplies the blocks of a stage from `block` on.
    fn round(
        &self,
        w: &mut Writer<'_>,
        (stage, block): (&Expr, &Expr),
        halves: u32,
        (sums, totals): (&[Expr], &Totals),
        shared: &[u32],
    ) -> Result<(), Why> {
        let Multiply { shape, stages, lanes, count, .. } = self;
        let LanePlace { row, column, deep, g, t } = lanes;
        let Shape { each, round, .. } = **shape;
        let numbers = w.code.set("numbers", stages.numbers_of(stage));
        let scales = w.code.set("scales", stages.scales_of(stage));
        // The units take four pieces of eight rows, each of four words. Lane `8 · m + r` gives the address of row `r` of piece `m`.
        let (piece, below) = ((Expr::Lane % WARP) / HALF, Expr::Lane % HALF);
        let below = row + (&piece % 2u32) * HALF + below;
        let first = deep * each + block;
        let left = &numbers + below * shape.left_row() + &first * ROW + (piece / 2u32) * (ROW / 2);
        let left = w.code.set("left", left);
        let right = &numbers + column / VECTOR * shape.tile_words() + &first * shape.block_words();
        let right = w.code.set("right", right + shape.right_at());
        let scales = Scales::new(w, shape, (&scales, &first), (row, column), (g, t));
        for b in 0..round {
            let operands = self.operands(w, b, &right, &scales);
            let mut of_rows = Vec::new();
            for group in 0..halves.div_ceil(2) {
                let exists = count.as_ref().filter(|_| group > 1);
                let alone = exists.is_some();
                let exists = exists.map_or(Expr::True, |count| count.greater(row + group * MATRIX_ROWS));
                w.when(exists, |w| {
                    let at = &left + (group * MATRIX_ROWS * shape.left_row() + b * ROW);
                    let left: [String; 4] = [0, 1, 2, 3].map(|_| w.code.fresh("xq"));
                    w.code.push(Stmt::LoadMatrices { into: left.clone(), at, turned: false });
                    let left = left.map(Expr::name);
                    let of_rows = scales.of_group(w, (b, group), (alone, halves > 1), &mut of_rows);
                    let of_rows = &of_rows[..if halves > 1 { 2 } else { 1 }];
                    self.multiply(w, (&left, &operands), of_rows, group, (sums, totals));
                    Ok(())
                })?;
            }
            if shape.ends_anywhere() {
                self.end_share_if_last(w, stage * each + (block + b), (sums, totals), shared)?;
            } else if (b + 1).is_multiple_of(shape.share) {
                self.end_share(w, &(stage * each + (block + b)), (sums, totals), shared);
            }
        }
        if round < shape.share && !shape.ends_anywhere() {
            let last = stage * each + (block + (round - 1));
            self.end_share_if_last(w, last, (sums, totals), shared)?;
        }
        Ok(())
    }

    /// Loads block `b` of the columns of each half of a tile, with its scales. `right` is where the warp's first block begins.
    fn operands(&self, w: &mut Writer<'_>, b: u32, right: &Expr, scales: &Scales<'_>) -> Vec<Operand> {
        let Multiply { shape, lanes: LanePlace { g, t, .. }, mask, .. } = self;
        let mut operands = Vec::new();
        for (n, tiles) in shape.tiles.iter().enumerate() {
            let beside = n as u32 * shape.width;
            for u in 0..shape.wide {
                let of_tile = scales.of_tile(w, b, beside + u * MATRIX_COLUMNS);
                for half in [0, HALF] {
                    let tile = beside / VECTOR + u;
                    let at = right + (tile * shape.tile_words() + b * shape.block_words());
                    let word = |vector: Expr| {
                        let place = vector * VECTOR + (g + half);
                        Expr::Shared((&at + swizzled(&place)).into())
                    };
                    let words = tiles.operand(&mut w.code, t, mask, word);
                    let [scales, least] = of_tile.of_half(w, half);
                    let scales = scales
                        .into_iter()
                        .map(|both| both.map(|scale| ColumnScale::new(w, scale, shape)))
                        .collect();
                    operands.push(Operand { words, scales, least });
                }
            }
        }
        operands
    }

    /// Adds the products of a group of rows, or of its upper half alone, to the sums. `of_rows` has the scales of both halves.
    fn multiply(
        &self,
        w: &mut Writer<'_>,
        (left, operands): (&[Expr; 4], &[Operand]),
        of_rows: &[OfRow],
        group: u32,
        (sums, totals): (&[Expr], &Totals),
    ) {
        let parts = self.shape.layout().scales();
        for (i, Operand { words, scales, least }) in operands.iter().enumerate() {
            // One product of all 32 values, or one for each scale.
            let mut dots = Vec::new();
            for part in 0..parts as usize {
                let into = [0, 1, 2, 3].map(|_| w.code.fresh("dots"));
                let (left, right) = match parts {
                    1 => (left.to_vec(), words.to_vec()),
                    _ => (left[2 * part..][..2].to_vec(), vec![words[part].clone()]),
                };
                w.code.push(Stmt::Matrix { into: into.clone(), left, right });
                dots.push(into.map(Expr::name));
            }
            for ((scale, all), places) in of_rows.iter().zip([[0, 1], [2, 3]]) {
                for j in places {
                    let sum = &sums[(i * totals.groups as usize + group as usize) * 4 + j];
                    for (part, (dots, scales)) in dots.iter().zip(scales).enumerate() {
                        let of_block = scales[j % 2].of_raised(dots[j].clone());
                        w.code.add_product(sum, scale.clone(), of_block);
                        if let (Some(least), Some(all)) = (least.get(part), all.get(part)) {
                            w.code.add_product(sum, least[j % 2].clone(), all.clone());
                        }
                    }
                }
            }
        }
    }

    /// Ends a share of the sums if this is its last block.
    fn end_share_if_last(
        &self,
        w: &mut Writer<'_>,
        block: Expr,
        all: (&[Expr], &Totals),
        shared: &[u32],
    ) -> Result<(), Why> {
        let share = self.shape.share;
        let last = w.code.set("last", block);
        w.when((&last % share).equal(share - 1), |w| {
            self.end_share(w, &last, all, shared);
            Ok(())
        })
    }

    /// Ends a share of the sums after this block of the warp's row.
    fn end_share(
        &self,
        w: &mut Writer<'_>,
        block: &Expr,
        (sums, totals): (&[Expr], &Totals),
        shared: &[u32],
    ) {
        let Shape { rows, width, own, share, deep, .. } = *self.shape;
        if deep == 1 {
            for (total, sum) in totals.totals.iter().zip(sums) {
                w.code.assign(total, total.clone() + sum.clone());
            }
        } else {
            let number = &self.lanes.deep * (own / share) + block / share;
            let number = w.code.set("number", number);
            for (shared, sums) in shared.iter().zip(sums.chunks(totals.each())) {
                let at = w.code.set("at", &number * (rows * width) + *shared);
                totals
                    .places(sums)
                    .for_each(|(place, sum)| w.code.store_shared(&at + place, sum.clone().bits()));
            }
        }
        for sum in sums {
            w.code.assign(sum, Expr::F32(0.0));
        }
    }
}

impl ColumnScale {
    fn new(w: &mut Writer<'_>, scale: Expr, shape: &Shape) -> ColumnScale {
        // Lanes of the usual tiles have too few registers for two scales of a block.
        let fits = shape.layout().scales() == 1 || shape.loads_fours();
        let raised = fits.then(|| w.code.set("raised", scale.times(-RAISED)));
        ColumnScale { scale, raised }
    }

    /// Its product with a sum of matrix units, rounded once.
    fn of_raised(&self, dots: Expr) -> Expr {
        match &self.raised {
            Some(raised) => Expr::call(Fun::Fma, [dots, self.scale.clone(), raised.clone()]),
            None => (dots - RAISED).times(&self.scale),
        }
    }
}

impl Totals {
    /// Sums per product.
    fn each(&self) -> usize {
        (self.wide * 2 * self.groups * 4) as usize
    }

    /// The places of a lane's sums of a product in a tile of results.
    fn places<'s>(&'s self, sums: &'s [Expr]) -> impl Iterator<Item = (Expr, &'s Expr)> {
        let LanePlace { row, column, g, t, .. } = &self.lanes;
        let columns = (0..self.wide * 2).map(|half| half * HALF);
        let all = columns.flat_map(move |half| {
            (0..self.groups).flat_map(move |group| {
                [[0, 0], [0, 1], [HALF, 0], [HALF, 1]].map(|[below, beside]| {
                    let row = row + g + (group * MATRIX_ROWS + below);
                    row * self.width + column + t * 2u32 + (half + beside)
                })
            })
        });
        all.zip(sums)
    }

    /// Stores the sums of each product from these words of workgroup memory on.
    pub(crate) fn store(&self, w: &mut Writer<'_>, results: &[u32]) {
        for (result, totals) in results.iter().zip(self.totals.chunks(self.each())) {
            self.places(totals).for_each(|(place, total)| {
                let total = if self.empty_shares { with_empty_shares(total.clone()) } else { total.clone() };
                w.code.store_shared(place + *result, total.bits());
            });
        }
    }
}
