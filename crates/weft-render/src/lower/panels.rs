//! Products of many rows by lanes, from panels in workgroup memory, for GPUs without matrix units.
//!
//! A stage has some blocks of a workgroup's rows and of its columns ([`stage`]): activations as they are, weights unpacked, once
//! for all rows. A lane multiplies four rows by several columns, so that each load from workgroup memory serves many products.
//! It adds up block by block and share by share, in the order in which lanes that share a sum do. So the bits are the same for
//! one row and for many.

mod stage;

use crate::code::expr::{Expr, Fun};
use crate::code::stmt::Stmt;
use crate::lower::matrix::shape::{Task, alike};
use crate::lower::panels::stage::{Stage, Stages};
use crate::lower::space::Place;
use crate::lower::tile::{QUADS, Tiles};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::schedule::{PANEL_COLUMNS as FOUR, PANEL_ROWS, Split};

/// Most words of workgroup memory that stages take, with what is there before them: half of the 48 KiB that NVIDIA's driver gives
/// shaders of a multiprocessor, no matter how much it has, so that two workgroups share it. Results can need more.
const MOST_WORDS: u32 = (48 << 10) / 4 / 2;

/// Products of the same rows by weights that lie alike.
struct Multiply {
    stages: Stages,
    /// Blocks of a row, of a stage, and of a share.
    blocks: u32,
    each: u32,
    share: u32,
    /// Lanes side by side, and fours of columns of a lane in each product.
    across: u32,
    fours: u32,
    width: u32,
    /// The lane's place: which of the lanes side by side, and of those below each other.
    beside: Expr,
    below: Expr,
    /// If rows are sorted, how many there are.
    count: Option<Expr>,
}

/// Multiplies a tile's rows, whose first activations `begins` finds in workgroup memory. Returns where each product is there: a
/// row of the block's width per tile row.
pub(crate) fn multiply_all(
    w: &mut Writer<'_>,
    tasks: &[Task<'_>],
    place: &Place,
    split: &Split,
    begins: impl Fn(&Task<'_>) -> u32,
) -> Result<Vec<u32>, Why> {
    let layout = |tiles: &Tiles| (tiles.scales(), tiles.mins(), tiles.unpacked_factor().to_bits());
    let together: Vec<&[Task<'_>]> =
        if alike(w, tasks, layout)? { vec![tasks] } else { tasks.chunks(1).collect() };
    w.wait();
    let room = place.tile() * place.width();
    let mut results = Vec::new();
    for tasks in together {
        w.code.barrier();
        for Task { product, .. } in tasks {
            w.code.note(format!("times {}[{}, {}]", w.format(product.w.param), product.w.n, product.w.k));
        }
        let staged = w.pool.room(0);
        let multiply = Multiply::new(w, tasks, place, split, begins(&tasks[0]))?;
        let totals = multiply.write(w)?;
        // Results take the place of the last stage, which no lane reads any more.
        w.pool.free_from(staged);
        w.code.barrier();
        let own: Vec<u32> = tasks.iter().map(|_| w.pool.room(room)).collect();
        multiply.store(w, &totals, &own);
        results.extend(own);
    }
    w.code.barrier();
    Ok(results)
}

impl Multiply {
    fn new(
        w: &mut Writer<'_>,
        tasks: &[Task<'_>],
        place: &Place,
        split: &Split,
        begin: u32,
    ) -> Result<Multiply, Why> {
        let tiles: Vec<Tiles> = tasks
            .iter()
            .map(|Task { product, .. }| {
                let tiles = w.tiles(product.w.param, product.w.k)?;
                tiles.ok_or_else(|| Why::Form("multiplies panels of a weight that is not quantised".into()))
            })
            .collect::<Result<_, _>>()?;
        let blocks = word(tasks[0].product.w.k / 32)?;
        let share = blocks / split.reduce;
        let (rows, width) = (place.tile(), place.width());
        let most = w.pool.left(MOST_WORDS);
        let scales = (tiles[0].scales(), tiles[0].mins());
        let of = |each: u32| Stage::new(rows, width * tasks.len() as u32, each, scales);
        let fits = |each: &u32| blocks.is_multiple_of(*each) && of(*each).words() <= most;
        let each = (1..=blocks).rev().find(fits).unwrap_or(1);
        let stage = of(each);
        let across = width / split.upcast;
        let stages = Stages::new(w, tasks, tiles, stage, place, begin);
        Ok(Multiply {
            stages,
            blocks,
            each,
            share,
            across,
            fours: split.upcast / FOUR,
            width,
            // Lanes that read the same columns are neighbours: so a load of theirs takes fewer turns.
            beside: w.code.set("beside", Expr::Lane / 2u32 % across),
            below: w.code.set("below", Expr::Lane % 2u32 + Expr::Lane / (2 * across) * 2u32),
            count: place.sorted_rows().cloned(),
        })
    }

    /// Multiplies. Returns a lane's sums of all products.
    fn write(&self, w: &mut Writer<'_>) -> Result<Vec<Expr>, Why> {
        let Multiply { blocks, each, .. } = *self;
        let n = self.stages.products() * self.fours * FOUR * PANEL_ROWS;
        // A zero that compilers do not know, so that none adds the product of a share of one block to the total in one step.
        let zero = w.code.set("zero", Expr::Group(2).float());
        let sums: Vec<Expr> = (0..n).map(|_| w.code.var("sum", zero.clone())).collect();
        // Adding the first share to −0 changes no bit of it.
        let totals: Vec<Expr> = (0..n).map(|_| w.code.var("total", -0.0f32)).collect();
        let all = (&sums[..], &totals[..], &zero);
        if w.panels_ahead {
            self.fill(w, &Expr::U32(0))?;
        }
        w.count_or_once("stage", (0u32.into(), blocks.into(), each), |w, first| {
            if !w.panels_ahead {
                self.fill(w, &first)?;
                return self.stage(w, &first, all);
            }
            let next = w.code.set("next", (&first + each).min(blocks - each));
            let loaded = self.stages.load(w, &next);
            self.stage(w, &first, all)?;
            w.code.barrier();
            loaded.into_iter().try_for_each(|loaded| loaded.store(w))?;
            w.code.barrier();
            Ok(())
        })?;
        Ok(totals)
    }

    /// Fills a stage with the blocks from `first` on. All loads are in flight at once.
    fn fill(&self, w: &mut Writer<'_>, first: &Expr) -> Result<(), Why> {
        let loaded = self.stages.load(w, first);
        w.code.barrier();
        loaded.into_iter().try_for_each(|loaded| loaded.store(w))?;
        w.code.barrier();
        Ok(())
    }

    /// Multiplies a stage of the blocks from `first` on.
    fn stage(
        &self,
        w: &mut Writer<'_>,
        first: &Expr,
        (sums, totals, zero): (&[Expr], &[Expr], &Expr),
    ) -> Result<(), Why> {
        let Multiply { each, share, .. } = *self;
        let exists = match &self.count {
            Some(count) => count.greater(&self.below * PANEL_ROWS),
            None => Expr::True,
        };
        w.when(exists, |w| {
            let add = |w: &mut Writer<'_>| {
                for (total, sum) in totals.iter().zip(sums) {
                    w.code.assign(total, total.clone() + sum.clone());
                    w.code.assign(sum, zero.clone());
                }
                Ok(())
            };
            if each.is_multiple_of(share) {
                return w.count_or_once("share", (0u32.into(), each.into(), share), |w, from| {
                    let to = &from + share;
                    w.count("b", (from, to, 1), |w, b| {
                        self.block(w, &b, sums);
                        Ok(())
                    })?;
                    add(w)
                });
            }
            w.count_or_once("b", (0u32.into(), each.into(), 1), |w, b| {
                self.block(w, &b, sums);
                let ends = ((first + b + 1u32) % share).equal(0u32);
                w.when(ends, add)
            })
        })
    }

    /// Multiplies block `b` of a stage.
    fn block(&self, w: &mut Writer<'_>, b: &Expr, sums: &[Expr]) {
        let Multiply { stages, beside, below, across, fours, width, .. } = self;
        let stage = &stages.stage;
        let panel = |at: Expr| stages.four(at);
        let left = w.code.set("left", below * (PANEL_ROWS * stage.row()) + b * 2u32);
        let rows: Vec<Vec<Expr>> = (0..PANEL_ROWS)
            .map(|i| (0..2).flat_map(|h| w.code.four("xq", panel(&left + (i * stage.row() + h)))).collect())
            .collect();
        let scales = w.code.set("scales", b * stage.rows + below * PANEL_ROWS + stages.scales);
        let d = w.shared_words("d", &scales, PANEL_ROWS);
        let all: Vec<Vec<Expr>> = (1..=stage.mins)
            .map(|n| w.shared_words("s", &(&scales + n * stage.left_scales()), PANEL_ROWS))
            .collect();
        let right = w.code.set("right", b * (QUADS as u32 * stage.column_fours()) + beside);
        let right_scales = w.code.set("right_scales", b * (stage.scales * stage.column_fours()) + beside);
        let products = stages.products();
        let mut sums = sums.chunks((PANEL_ROWS * FOUR) as usize);
        for at in (0..products).flat_map(|n| (0..*fours).map(move |k| n * (width / FOUR) + k * across)) {
            let quads: Vec<[Expr; 4]> = (0..QUADS as u32)
                .map(|q| w.code.four("wq", panel(&right + (stage.right() + q * stage.column_fours() + at))))
                .collect();
            let scales: Vec<[Expr; 4]> = (0..stage.scales)
                .map(|half| {
                    let at = stage.right_scales() + half * stage.column_fours() + at;
                    w.code.four("scale", panel(&right_scales + at))
                })
                .collect();
            let per = QUADS / scales.len();
            let least: Vec<[Expr; 4]> = (0..stage.mins)
                .map(|half| {
                    let at = stage.right_mins() + half * stage.column_fours() + at;
                    w.code.four("least", panel(&right_scales + at))
                })
                .collect();
            let Some(sums) = sums.next() else { return };
            for (i, row) in rows.iter().enumerate() {
                for u in 0..FOUR as usize {
                    let sum = &sums[i * FOUR as usize + u];
                    for (half, scale) in scales.iter().enumerate() {
                        let pairs = quads.iter().zip(row).skip(half * per).take(per);
                        let dots = pairs.map(|(q, x)| Expr::call(Fun::Dot4, [q[u].clone(), x.clone()]));
                        let dots = dots.reduce(|a, b| a + b).unwrap_or(Expr::U32(0));
                        let number = w.float_of_dots(dots);
                        w.code.add_product(sum, number, scale[u].clone().float() * d[i].clone().float());
                    }
                    for (least, all) in least.iter().zip(&all) {
                        w.code.add_product(sum, least[u].clone().float(), all[i].clone().float());
                    }
                }
            }
        }
    }

    /// Stores the sums of each product.
    fn store(&self, w: &mut Writer<'_>, totals: &[Expr], results: &[u32]) {
        let Multiply { beside, below, across, fours, width, .. } = self;
        let places = results.iter().flat_map(|result| (0..*fours).map(move |k| (result, k)));
        for ((result, k), totals) in places.zip(totals.chunks((PANEL_ROWS * FOUR) as usize)) {
            for (i, row) in (0..).zip(totals.chunks(FOUR as usize)) {
                let at =
                    below * (PANEL_ROWS * width) + beside * FOUR + (i * width + k * across * FOUR + result);
                let words = std::array::from_fn(|u| row[u].clone().bits());
                w.code.push(Stmt::StoreFour(at, words));
            }
        }
    }
}
