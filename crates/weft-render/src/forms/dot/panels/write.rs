//! The text of products of many rows from panels in workgroup memory, for GPUs whose matrix units are not programmable as CUDA's are.
//!
//! A stage has some blocks of a workgroup's rows and columns ([`stage`]): activations as stored, and weights unpacked once for all rows.
//! They are multiplied [by lanes](lanes) or [by cooperative matrices](cooperative), which add up block by block and share by share, in the
//! order of lanes that share a sum. So the bits are the same for one row and for many.

mod cooperative;
mod lanes;
mod stage;

use weft_shader::expr::Expr;

use crate::forms::dot::panels::write::cooperative::Matrices;
use crate::forms::dot::panels::write::lanes::Lanes;
use crate::forms::dot::panels::write::stage::{Stage, Stages};
use crate::forms::dot::units::write::shape::{Task, alike};
use crate::lower::space::Place;
use crate::lower::tile::Tiles;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::{PANEL_COLUMNS as FOUR, Split};

/// The most words of workgroup memory of stages and of the operands before them: half of the 48 KiB that NVIDIA's driver gives shaders of a
/// multiprocessor, however much memory that has, so that two workgroups share it. Results may need more.
const MOST_WORDS: u32 = (48 << 10) / 4 / 2;

/// Products of the same rows by weights of the same layout.
struct Multiply {
    stages: Stages,
    /// Blocks per row, per stage, and per share.
    blocks: u32,
    each: u32,
    share: u32,
    sums: Sums,
}

/// The lanes or matrices that multiply and add up.
enum Sums {
    Lanes(Lanes),
    Matrices(Matrices),
}

/// Multiplies a tile's rows. `begins` returns where workgroup memory has their first activations. Returns the offset of each product there:
/// a row of the block's width per tile row.
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
        let staged = w.pool.alloc(0);
        let multiply = Multiply::new(w, tasks, place, split, begins(&tasks[0]))?;
        multiply.write(w)?;
        // Results overwrite the last stage, which no lane reads any more.
        w.pool.free_from(staged);
        w.code.barrier();
        let own: Vec<u32> = tasks.iter().map(|_| w.pool.alloc_aligned(room, FOUR)).collect();
        match &multiply.sums {
            Sums::Lanes(lanes) => lanes.store(w, &own),
            Sums::Matrices(matrices) => matrices.store(w, own[0]),
        }
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
        let columns = width * tasks.len() as u32;
        let matrices = Matrices::new(w, place, (columns, width), tiles[0].scales())?;
        let most = w.pool.left(MOST_WORDS);
        let scales = (tiles[0].scales(), tiles[0].mins());
        let of = |each: u32| Stage::new((rows, columns), each, scales, matrices.is_some());
        let fits = |each: &u32| blocks.is_multiple_of(*each) && of(*each).words() <= most;
        let each = (1..=blocks).rev().find(fits).unwrap_or(1);
        let stages = Stages::new(w, tasks, tiles, of(each), place, begin);
        let sums = match matrices {
            Some(matrices) => Sums::Matrices(matrices),
            None => Sums::Lanes(Lanes::new(w, &stages, place, split)),
        };
        Ok(Multiply { stages, blocks, each, share, sums })
    }

    /// Multiplies all stages.
    fn write(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let Multiply { blocks, each, .. } = *self;
        if w.panels_ahead {
            self.fill(w, &Expr::U32(0))?;
        }
        w.count_or_once("stage", (0u32.into(), blocks.into(), each), |w, first| {
            if !w.panels_ahead {
                self.fill(w, &first)?;
                return self.stage(w, &first);
            }
            let next = w.code.set("next", (&first + each).min(blocks - each));
            let loaded = self.stages.load(w, &next);
            self.stage(w, &first)?;
            w.code.barrier();
            loaded.into_iter().try_for_each(|loaded| loaded.store(w))?;
            w.code.barrier();
            Ok(())
        })
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
    fn stage(&self, w: &mut Writer<'_>, first: &Expr) -> Result<(), Why> {
        let Multiply { each, share, .. } = *self;
        let exists = match &self.sums {
            Sums::Lanes(lanes) => lanes.exists(),
            Sums::Matrices(_) => Expr::True,
        };
        w.when(exists, |w| {
            if each.is_multiple_of(share) {
                return w.count_or_once("share", (0u32.into(), each.into(), share), |w, from| {
                    let to = &from + share;
                    w.count("b", (from, to, 1), |w, b| self.block(w, &b))?;
                    self.add(w)
                });
            }
            w.count_or_once("b", (0u32.into(), each.into(), 1), |w, b| {
                self.block(w, &b)?;
                let ends = ((first + b + 1u32) % share).equal(0u32);
                w.when(ends, |w| self.add(w))
            })
        })
    }

    /// Multiplies block `b` of a stage.
    fn block(&self, w: &mut Writer<'_>, b: &Expr) -> Result<(), Why> {
        match &self.sums {
            Sums::Lanes(lanes) => lanes.block(w, &self.stages, b),
            Sums::Matrices(matrices) => matrices.block(w, &self.stages, b),
        }
    }

    /// Adds the sums of a share to the totals, and begins the next share.
    fn add(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        match &self.sums {
            Sums::Lanes(lanes) => lanes.add(w),
            Sums::Matrices(matrices) => matrices.add(w),
        }
        Ok(())
    }
}
