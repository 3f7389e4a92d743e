//! Products of few sorted rows by lanes.
//!
//! Rows are being copied to workgroup memory when a lane begins to load its part of a matrix into registers. It multiplies two rows at a
//! time by each piece of that part. It adds up block by block, and the sums of lanes that share one are added in their order, as in steps
//! of a few tokens. So the bits are the same for any number of rows.

use std::collections::VecDeque;

use weft_kern::View;
use weft_quant::packed::COLUMNS as BLOCK;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::dot::units::write::shape::{Task, form};
use crate::lower::factors::Factors;
use crate::lower::loads::{Piece, Rows, Share, own_columns};
use crate::lower::reduce::{self, Fold};
use crate::lower::round::{self, Rounded};
use crate::lower::space::Place;
use crate::lower::tile::has_minima;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Rows multiplied at a time, so that weights are unpacked once for both.
const TOGETHER: u32 = 2;

/// Words of weights that a lane has in registers or in flight, if that is more than two pieces. With 20, 40, 60 and 80 words a step takes
/// the same time, within 2 %, and compilers spill registers from 60 words on (`bench/runs/2026-11-27-cuda-picked.md`).
const WORDS: usize = 40;

/// Workgroups per multiprocessor. With one, memory is idle while it multiplies; with three, each has too few registers.
const WORKGROUPS: u32 = 2;

/// The rounded rows of a tile in workgroup memory.
struct Copied<'t> {
    view: &'t View,
    k: usize,
    at: Rounded,
    /// The words that a lane has loaded: whether each exists, its destination, and the word.
    loaded: Vec<(Expr, Expr, Expr)>,
}

/// The columns of a lane, and its number among the lanes that share its sums.
struct Lane {
    share: Expr,
    own: Vec<Expr>,
    /// Whether its columns are groups of four neighbours, whose words are loaded at once.
    fours: bool,
}

impl Lane {
    fn new(w: &mut Writer<'_>, split: &Split) -> Lane {
        let across = split.across(w.code.lanes);
        let share = if split.reduce == 1 { Expr::U32(0) } else { w.code.set("share", Expr::Lane / across) };
        let fours = split.upcast.is_multiple_of(4);
        let own = own_columns(w, Expr::Lane % across, (across, split.upcast), fours);
        Lane { share, own, fours }
    }
}

/// Multiplies a tile's rows. `begins` returns where workgroup memory has their first activations. Returns the offset of each product there:
/// a row of the block's width per tile row. Rows beyond the tile's last one are undefined.
pub(crate) fn multiply_all(
    w: &mut Writer<'_>,
    tasks: &[Task<'_>],
    place: &Place,
    split: &Split,
    begins: impl Fn(&Task<'_>) -> u32,
) -> Result<Vec<u32>, Why> {
    let count = place.sorted_rows().cloned().ok_or_else(|| form("rows that are not sorted"))?;
    let (rows, width) = (place.tile(), place.width());
    w.together = WORKGROUPS;
    let lane = Lane::new(w, split);
    let columns: Vec<Expr> =
        lane.own.iter().map(|own| place.column_to_read(&mut w.code, own, true)).collect();
    let shares: Vec<u32> = tasks.iter().map(|_| w.pool.alloc(rows * width * split.reduce)).collect();
    w.code.barrier();
    let mut copies: Vec<Copied<'_>> = Vec::new();
    for task in tasks {
        if !copies.iter().any(|copied| copied.is_of(task)) {
            copies.push(Copied::load(w, task, tasks, rows, begins(task))?);
        }
    }
    // Each piece of a weight takes the registers of the piece that was just multiplied, also across products.
    let mut weights = Weights::new(w, tasks, (&lane, &columns), split)?;
    weights.fill(w)?;
    w.code.push(Stmt::HoldLoads);
    copies.iter().try_for_each(|copied| copied.store(w))?;
    w.code.push(Stmt::WaitCopies(0));
    w.code.barrier();
    for (task, shares) in tasks.iter().zip(&shares) {
        let m = &task.product.w;
        w.code.note(format!("times {}[{}, {}]", w.format(m.param), m.n, m.k));
        let of = copies.iter().find(|copied| copied.is_of(task));
        let of = of.ok_or_else(|| form("rows that were not copied"))?;
        let factors: Vec<Factors> = (0..rows).map(|i| of.row(w, &i.into())).collect();
        let zeros = |w: &mut Writer<'_>| factors.iter().map(|_| w.code.var("sum", 0.0f32)).collect();
        let sums: Vec<Vec<Expr>> = (0..split.upcast).map(|_| zeros(w)).collect();
        let pairs = || (0..rows).step_by(TOGETHER as usize);
        // The first row always exists. Pairs are unrolled, because a loop over them would keep unpacked weights in registers.
        let exists = |pair: u32| if pair == 0 { Expr::True } else { count.greater(pair) };
        for _ in 0..word(m.k / BLOCK)? / split.reduce {
            let Some((at, piece)) = weights.take() else { return Err(form("fewer pieces than blocks")) };
            for pair in pairs() {
                let own = pair as usize..(pair + TOGETHER) as usize;
                let sums: Vec<Vec<Expr>> = sums.iter().map(|sums| sums[own.clone()].to_vec()).collect();
                w.when(exists(pair), |w| {
                    piece.multiply(w, &at, &factors[own], &sums);
                    Ok(())
                })?;
            }
            weights.fill(w)?;
        }
        for pair in pairs() {
            w.when(exists(pair), |w| {
                for r in pair..pair + TOGETHER {
                    let sums: Vec<Expr> = sums.iter().map(|sums| sums[r as usize].clone()).collect();
                    store(w, &lane, &sums, &((&lane.share * rows + r) * width + *shares));
                }
                Ok(())
            })?;
        }
    }
    w.code.barrier();
    w.share(rows * width, |w, item| {
        w.when((&item / width).less(count), |w| {
            for at in &shares {
                let sum = reduce::folded(w, Fold::Sum, &(&item + *at), split.reduce, rows * width);
                // No other lane reads the first share.
                w.code.store_shared(&item + *at, sum.bits());
            }
            Ok(())
        })
    })?;
    w.code.barrier();
    Ok(shares)
}

/// Stores a lane's sums of a row that begins at word `row` of workgroup memory.
fn store(w: &mut Writer<'_>, lane: &Lane, sums: &[Expr], row: &Expr) {
    if lane.fours {
        for (own, sums) in lane.own.chunks(4).zip(sums.chunks(4)) {
            let words = std::array::from_fn(|u| sums[u].clone().bits());
            w.code.push(Stmt::StoreFour(row + &own[0], words));
        }
        return;
    }
    for (own, sum) in lane.own.iter().zip(sums) {
        w.code.store_shared(row + own, sum.clone().bits());
    }
}

/// The pieces of all weights that a lane multiplies by, in order.
struct Weights {
    rows: Vec<Rows>,
    /// The weight and the number of each piece that has not been loaded.
    left: VecDeque<(usize, Expr)>,
    /// The loaded pieces, and the most of them at once.
    loaded: VecDeque<(Expr, Piece)>,
    most: usize,
}

impl Weights {
    fn new(
        w: &mut Writer<'_>,
        tasks: &[Task<'_>],
        (lane, columns): (&Lane, &[Expr]),
        split: &Split,
    ) -> Result<Weights, Why> {
        let (mut rows, mut left) = (Vec::new(), VecDeque::new());
        for (n, task) in tasks.iter().enumerate() {
            let weight = Rows::new(w, task.product, &task.matrix, (columns, lane.fours))?;
            let Share { first, step, to: _ } = weight.share(w, &lane.share, split.reduce);
            for i in 0..weight.pieces / split.reduce {
                left.push_back((n, w.code.address(weight.stem(), &first + i * step)));
            }
            rows.push(weight);
        }
        let registers = rows.iter().map(|weight| weight.registers).max().unwrap_or(1);
        let most = (WORDS / registers.max(1) as usize).max(2);
        Ok(Weights { rows, left, loaded: VecDeque::new(), most })
    }

    /// Loads pieces up to that number.
    fn fill(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        while self.loaded.len() < self.most
            && let Some((n, at)) = self.left.pop_front()
        {
            let piece = self.rows[n].load(w, &at, true)?;
            self.loaded.push_back((at, piece));
        }
        Ok(())
    }

    /// The next piece, and its number.
    fn take(&mut self) -> Option<(Expr, Piece)> {
        self.loaded.pop_front()
    }
}

impl<'t> Copied<'t> {
    /// Begins to copy the rows of a task. Workgroup memory has their first activations from word `begin` on.
    fn load(
        w: &mut Writer<'_>,
        task: &Task<'t>,
        tasks: &[Task<'_>],
        rows: u32,
        begin: u32,
    ) -> Result<Copied<'t>, Why> {
        let (view, k) = (task.view, word(task.product.w.k)?);
        let at = round::alloc(w, rows * k);
        let (slot, start, values) = (w.slot(view.param), w.start(view.param), w.values(view.param));
        let planes = round::planes(&values).into_iter().zip([at.quants, at.scales, at.sums]);
        let own = tasks.iter().filter(|other| other.view == view);
        let needs_sums = own.map(|task| w.format(task.product.w.param)).any(has_minima);
        let mut loaded = Vec::new();
        for ((per, plane), to) in planes.take(if needs_sums { 3 } else { 2 }) {
            let words = k / per;
            let from = |c: &Expr| {
                let first = Expr::Shared((c / words + begin).into());
                &start + &plane + first / per + c % words
            };
            // Only the plane of quants is known to begin at a multiple of four words.
            let together = if per == 4 { 4 } else { 1 };
            let items = rows * words / together;
            for time in 0..items.div_ceil(w.code.lanes) {
                let item = w.code.set("item", Expr::Lane + time * w.code.lanes);
                let whole = (time + 1) * w.code.lanes <= items;
                let exists = if whole { Expr::True } else { item.less(items) };
                if together == 4 {
                    w.when(exists, |w| {
                        let c = item * together;
                        let from = Expr::Four(Some(slot), from(&c).into());
                        w.code.push(Stmt::Copy { to: c + to, from });
                        Ok(())
                    })?;
                    continue;
                }
                let read = if whole { item.clone() } else { item.clone().min(items - 1) };
                let word = Expr::Word(slot, from(&read).into());
                loaded.push((exists, item + to, w.code.set("x", word)));
            }
        }
        w.code.push(Stmt::EndCopies);
        Ok(Copied { view, k: task.product.w.k, at, loaded })
    }

    /// Stores what lanes have loaded in workgroup memory.
    fn store(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        self.loaded.iter().try_for_each(|(exists, to, word)| {
            w.when(exists.clone(), |w| {
                w.code.store_shared(to.clone(), word.clone());
                Ok(())
            })
        })
    }

    fn is_of(&self, task: &Task<'_>) -> bool {
        self.view == task.view && self.k == task.product.w.k
    }

    /// Row `r`.
    fn row(&self, w: &mut Writer<'_>, r: &Expr) -> Factors {
        let mut plane = |first: u32, per: u32| w.code.set("x", r * (self.k as u32 / per) + first);
        let (values, scales, sums) =
            (plane(self.at.quants, 4), plane(self.at.scales, 32), plane(self.at.sums, 16));
        Factors { slot: None, values, scales, sums }
    }
}
