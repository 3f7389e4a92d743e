//! A product of a tile on matrix units: the loop over stages, and the sums.
//!
//! Tiles of weights suit the units: lane `4 · g + t` of a warp needs, of column `g`, the values `4 · t ..` and
//! `16 + 4 · t ..` of a block, which are one word of a tile of 4 bits.

use crate::code::expr::Expr;
use crate::code::stmt::Stmt;
use crate::lower::matrix::shape::{RING, ROW, Shape, Task, VECTOR};
use crate::lower::matrix::stage::{Stages, swizzled};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::schedule::check::WARP;
use crate::schedule::{MATRIX_COLUMNS, MATRIX_ROWS};

/// Columns that the units multiply at once; a tile is two such halves.
const HALF: u32 = 8;

/// A product, in the middle of being written.
pub(crate) struct Multiply<'a> {
    shape: &'a Shape,
    stages: Stages<'a>,
    lanes: LanePlace,
    /// If rows are sorted, how many there are.
    count: Option<Expr>,
}

/// A lane's place among the warps, and in its own: `4 · g + t`.
#[derive(Clone)]
struct LanePlace {
    /// The warp's first row and column, and which of the shares it has.
    row: Expr,
    column: Expr,
    deep: Expr,
    g: Expr,
    t: Expr,
}

/// The sums of a lane, by tile, half, group of rows, and its four places.
pub(crate) struct Totals {
    totals: Vec<Expr>,
    groups: u32,
    wide: u32,
    width: u32,
    lanes: LanePlace,
}

impl<'a> Multiply<'a> {
    pub(crate) fn new(
        w: &mut Writer<'_>,
        task: &Task<'_>,
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
        let stages = Stages::new(w, task, shape, place, rooms)?;
        Ok(Multiply { shape, stages, lanes, count: place.sorted_rows().cloned() })
    }

    /// Multiplies. Where warps have shares of the same sums, stores each share from word `shared` of workgroup memory on;
    /// else returns the sums.
    pub(crate) fn write(&self, w: &mut Writer<'_>, shared: u32) -> Result<Totals, Why> {
        let Multiply { shape, stages, .. } = self;
        let groups = shape.rows / shape.down / MATRIX_ROWS;
        let count = shape.own / shape.each;
        let n = shape.wide * 2 * groups * 4;
        let sums: Vec<Expr> = (0..n).map(|_| w.code.var("sum", 0.0f32)).collect();
        // Adding the first share to −0 changes no bit of it.
        let totals = match shape.deep {
            1 => (0..n).map(|_| w.code.var("total", -0.0f32)).collect(),
            _ => Vec::new(),
        };
        let totals =
            Totals { totals, groups, wide: shape.wide, width: shape.width, lanes: self.lanes.clone() };

        for stage in 0..RING - 1 {
            if stage < count {
                stages.copy(w, &stage.into())?;
            }
            w.code.push(Stmt::EndCopies);
        }
        stages.load(w, &Expr::U32(0)).into_iter().try_for_each(|loaded| loaded.store(w))?;
        w.count("stage", (0u32.into(), count.into(), 1), |w, stage| {
            w.code.push(Stmt::WaitCopies(RING - 2));
            w.code.barrier();
            let ahead = w.code.set("stage_ahead", &stage + (RING - 1));
            w.when(ahead.less(count), |w| stages.copy(w, &ahead))?;
            w.code.push(Stmt::EndCopies);
            let next = w.code.set("next", (&stage + 1u32).min(count - 1));
            let loaded = stages.load(w, &next);
            self.stage(w, &stage, (&sums, &totals), shared)?;
            loaded.into_iter().try_for_each(|loaded| loaded.store(w))
        })?;
        Ok(totals)
    }

    /// Multiplies a stage.
    fn stage(
        &self,
        w: &mut Writer<'_>,
        stage: &Expr,
        (sums, totals): (&[Expr], &Totals),
        shared: u32,
    ) -> Result<(), Why> {
        let Multiply { shape, stages, lanes, count } = self;
        let LanePlace { row, column, deep, g, t } = lanes;
        let Shape { rows, width, each, .. } = **shape;
        let numbers = w.code.set("numbers", stages.numbers_of(stage));
        let scales = w.code.set("scales", stages.scales_of(stage));
        // The units take four pieces of eight rows, each of four words: lane `8 · m + r` says where row `r` of piece `m` is.
        let (piece, below) = ((Expr::Lane % WARP) / HALF, Expr::Lane % HALF);
        let below = row + (&piece % 2u32) * HALF + below;
        let left = &numbers + below * shape.left_row() + deep * (each * ROW) + (piece / 2u32) * (ROW / 2);
        let left = w.code.set("left", left);
        let right = &numbers + column / VECTOR * shape.tile_words() + deep * (each * shape.block_words());
        let right = w.code.set("right", right + shape.right_at());
        let left_scale = w.code.set("left_scale", &scales + deep * (each * rows) + row + g);
        let right_scale = &scales + deep * (each * width) + column + t * 2u32;
        let right_scale = w.code.set("right_scale", right_scale + shape.right_scales_at());
        let float = |at: Expr| Expr::Shared(at.into()).float();
        let mins = shape.tiles.has_min();
        for b in 0..each {
            let mut columns = Vec::new();
            for u in 0..shape.wide {
                for half in [0, HALF] {
                    let at = &right + (u * shape.tile_words() + b * shape.block_words());
                    let word = |vector: Expr| {
                        let place = vector * VECTOR + (g + half);
                        Expr::Shared((&at + swizzled(&place)).into())
                    };
                    let words = shape.tiles.operand(&mut w.code, t, word);
                    let at = &right_scale + (b * width + u * MATRIX_COLUMNS + half);
                    let scales = [0, 1].map(|j| w.code.set("scale", float(&at + j)));
                    let least = [0, 1]
                        .map(|j| mins.then(|| w.code.set("least", float(&at + (j + shape.right_mins_at())))));
                    columns.push((words, scales, least));
                }
            }
            for group in 0..totals.groups {
                // A tile has at least one row.
                let exists = count.as_ref().filter(|_| group > 0 || shape.down > 1);
                let exists = exists.map_or(Expr::True, |count| count.greater(row + group * MATRIX_ROWS));
                w.when(exists, |w| {
                    let at = &left + (group * MATRIX_ROWS * shape.left_row() + b * ROW);
                    let left: [String; 4] = [0, 1, 2, 3].map(|_| w.code.fresh("xq"));
                    w.code.push(Stmt::LoadMatrices { into: left.clone(), at, turned: false });
                    let left = left.map(Expr::name);
                    let of_row = |w: &mut Writer<'_>, below: u32| {
                        let at = &left_scale + (b * rows + group * MATRIX_ROWS + below);
                        let scale = w.code.set("d", float(at.clone()));
                        (scale, mins.then(|| w.code.set("s", float(at + shape.left_sums_at()))))
                    };
                    let (upper, lower) = (of_row(w, 0), of_row(w, HALF));
                    for (i, (words, scales, least)) in columns.iter().enumerate() {
                        let names = [0, 1, 2, 3].map(|_| w.code.fresh("dots"));
                        w.code.push(Stmt::Matrix {
                            into: names.clone(),
                            left: left.clone(),
                            right: words.clone(),
                        });
                        for (half, [first, second]) in [(0, [0, 1]), (HALF, [2, 3])] {
                            // Tiles of few rows are common where rows are sorted.
                            let exists = count.as_ref().filter(|_| half > 0 && totals.groups == 1);
                            let exists = exists.map_or(Expr::True, |count| count.greater(row + half));
                            w.when(exists, |w| {
                                for j in [first, second] {
                                    let (scale, all) = if half == 0 { &upper } else { &lower };
                                    let sum = &sums[(i * totals.groups as usize + group as usize) * 4 + j];
                                    let name = Expr::name(names[j].clone());
                                    w.code.add_product(sum, name, &scales[j % 2] * scale);
                                    if let (Some(min), Some(all)) = (&least[j % 2], all) {
                                        w.code.add_product(sum, min.clone(), all.clone());
                                    }
                                }
                                Ok(())
                            })?;
                        }
                    }
                    Ok(())
                })?;
            }
            if (b + 1).is_multiple_of(shape.share) {
                self.end_share(w, (stage, b), (sums, totals), shared);
            }
        }
        if each < shape.share {
            let parts = shape.share / each;
            let last = (stage % parts).equal(parts - 1);
            w.when(last, |w| {
                self.end_share(w, (stage, each - 1), (sums, totals), shared);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Ends a share of the sums with block `b` of a stage.
    fn end_share(
        &self,
        w: &mut Writer<'_>,
        (stage, b): (&Expr, u32),
        (sums, totals): (&[Expr], &Totals),
        shared: u32,
    ) {
        let Shape { rows, width, own, each, share, deep, .. } = *self.shape;
        if deep == 1 {
            for (total, sum) in totals.totals.iter().zip(sums) {
                w.code.assign(total, total.clone() + sum.clone());
            }
        } else {
            let number = &self.lanes.deep * (own / share) + (stage * each + b) / share;
            let at = w.code.set("at", number * (rows * width) + shared);
            totals.places(sums).for_each(|(place, sum)| w.code.store_shared(&at + place, sum.clone().bits()));
        }
        for sum in sums {
            w.code.assign(sum, Expr::F32(0.0));
        }
    }
}

impl Totals {
    /// Where a lane's sums belong in a tile of results.
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

    /// Stores the sums from word `result` of workgroup memory on.
    pub(crate) fn store(&self, w: &mut Writer<'_>, result: u32) {
        self.places(&self.totals)
            .for_each(|(place, total)| w.code.store_shared(place + result, total.clone().bits()));
    }
}
