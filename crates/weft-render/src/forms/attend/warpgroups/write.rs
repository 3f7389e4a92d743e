//! Attention of many tokens by two warpgroups: 64 rows share a chunk. In latent attention the rows are tokens × heads, in other attention
//! the tokens of one head.
//!
//! Each warpgroup scores half of a chunk's positions for all rows, and has half of the columns of the result. A lane has the scores of two
//! rows, in the layout of the product. It turns them into weights together with three neighbours and the other warpgroup, through workgroup
//! memory, while the next chunk is copied.
//!
//! The order of every sum is that of [`attend.units`](crate::forms::AttendUnits): the shares of a score, the eight lanes that have the
//! weights of a row in half of a chunk, the halves of a chunk, and chunks. Hopper adds products in the same order in both instructions, so
//! all bits are the same; a test on a card compares them.

use weft_kern::{Attend, Cached, Part};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;
use weft_shader::warpgroup::{
    self, COLUMNS, DEPTH, Left, ROW_UNITS, ROWS, UNIT_WORDS, WARPGROUP, Warpgroup, swizzled,
};

use crate::forms::attend::units::Tile;
use crate::forms::attend::units::division::{HALF, Units};
use crate::forms::attend::warpgroups::shares::{Piece, Share, Shares};
use crate::lower::attend::context::{Bounds, LOWEST, chunks, initial};
use crate::lower::attend::join::{Scaled, inverse, scaled, together};
use crate::lower::attend::members::{self, Members};
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Space;
use crate::lower::store;
use crate::lower::writer::{WARP, Writer};
use crate::refused::{Why, word};
use crate::split::{MATRIX_ROWS, Split};

/// Warps of a warpgroup.
const WARPS: u32 = WARPGROUP / WARP;

/// Units of 16 bytes of a block, which has 64 rows and as many halves of each as are multiplied at once.
const BLOCK_UNITS: u32 = ROWS * ROW_UNITS;
const STEP_UNITS: u32 = DEPTH / 8;

/// Sums of a lane for a piece of 64 columns, and for half of the positions of a chunk.
const SUMS: usize = warpgroup::sums(COLUMNS);
const SCORES: usize = SUMS / 2;

/// Lanes that share a row's scores.
const TOGETHER: u32 = 4;

/// Rows of a lane, eight apart.
const OWN: usize = 2;

/// The state of a lane's rows, without their sums of values.
struct Rows {
    /// Their numbers within the tile.
    at: [Expr; OWN],
    /// Variables with their largest scores and sums of weights so far.
    tops: [Expr; OWN],
    totals: [Expr; OWN],
}

/// A run of a tile's rows. The values of each row are read where they are used, because sums need the registers.
struct Run<'a> {
    members: &'a Members,
    number: &'a Expr,
    /// The beginning of the run's pages, and the last position that any of its rows sees.
    pages_at: Expr,
    most: Expr,
    /// The position before which the workgroup's chunks of the run end.
    to: Expr,
}

/// The factors with which each row combines a chunk's products with its earlier sums, if it sees the chunk.
struct Joins {
    joins: [Expr; OWN],
    by: [Scaled; OWN],
}

/// Writes the attention of a tile. Returns the offset of its result in workgroup memory, and the words of a row.
pub(crate) fn write(w: &mut Writer<'_>, units: &Units<'_>) -> Result<(u32, u32), Why> {
    w.wait();
    let tile = OfTile::new(w, units)?;
    tile.visit(w, None)?;
    tile.result(w)
}

/// Writes a workgroup's share of the attention of all tiles, and runs the row program of each tile that it ends.
pub(crate) fn share(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    split: &Split,
    (space, shares): (&Space, Shares),
    group: &Expr,
) -> Result<(), Why> {
    w.wait();
    let bounds = Bounds::new(w, attend)?;
    // Workgroup memory holds nothing else yet.
    let share = Share::new(w, (attend, &bounds), space, (shares, group), split.chunk)?;
    share.visit(w, |w, piece| {
        let place = space.place(&mut w.code, &piece.tile);
        let units = Units::new(w, part, attend, &place, split)?;
        let tile = OfTile::new(w, &units)?;
        share.take(w, piece, &tile.state())?;
        tile.visit(w, Some(piece))?;
        share.hand_on(w, piece, &tile.state())?;
        w.when(piece.ends_tile(), |w| {
            let (result, stride) = tile.result(w)?;
            store::program_of(w, part, &place, (vec![result], stride))
        })?;
        // The next tile overwrites it.
        w.code.barrier();
        Ok(())
    })
}

/// The attention of a tile.
struct OfTile<'a> {
    members: Members,
    by: Warpgroups<'a>,
    own: Rows,
}

impl<'a> OfTile<'a> {
    /// The state before any chunk.
    fn new(w: &mut Writer<'_>, units: &'a Units<'a>) -> Result<OfTile<'a>, Why> {
        let members = Members::new(w, units.attend, units.place, &units.bounds, units.tile.rows)?;
        units.queries(w)?;
        w.code.barrier();
        let by = Warpgroups::new(w, units)?;
        let own = by.rows(w)?;
        Ok(OfTile { members, by, own })
    }

    /// The variables that hold a lane's partial results of the tile.
    fn state(&self) -> Vec<Expr> {
        let Rows { tops, totals, .. } = &self.own;
        self.by.values.iter().flatten().chain(tops).chain(totals).cloned().collect()
    }

    /// Visits its chunks, or those of a piece.
    fn visit(&self, w: &mut Writer<'_>, piece: Option<&Piece>) -> Result<(), Why> {
        // The number of chunks of the runs so far.
        let before = (piece.is_some() && self.members.runs() > 1).then(|| w.code.var("before", 0u32));
        self.members.each_run(w, |w, run| {
            let most = self.members.most_seen(w, run);
            // No run begins at some tokens.
            w.when(Expr::U32(0).less(&most), |w| {
                let (from, to) = match piece {
                    None => (Expr::U32(0), most.clone()),
                    Some(piece) => self.stretch(w, piece, &most, before.as_ref()),
                };
                let pages_at = self.members.pages_at(w, run);
                let run = Run { members: &self.members, number: run, pages_at, most, to };
                match piece {
                    None => self.chunks(w, &run, from),
                    Some(_) => w.when(from.less(&run.to), |w| self.chunks(w, &run, from.clone())),
                }
            })
        })
    }

    /// The positions of a run in a piece: the first, and the one before which it ends.
    fn stretch(&self, w: &mut Writer<'_>, piece: &Piece, most: &Expr, before: Option<&Expr>) -> (Expr, Expr) {
        let chunk = self.by.units.tile.chunk;
        let first = before.cloned().unwrap_or(Expr::U32(0));
        let end = w.code.set("run_end", &first + chunks(chunk, most, None));
        let [from, to] = [&piece.from, &piece.to].map(|at| {
            let within = at.clone().min(&end).max(&first) - &first;
            w.code.set("stretch", within * chunk)
        });
        if let Some(before) = before {
            w.code.assign(before, end);
        }
        (from, w.code.set("stretch_end", to.min(most)))
    }

    /// Visits chunks of a run, from a position on.
    fn chunks(&self, w: &mut Writer<'_>, run: &Run<'_>, from: Expr) -> Result<(), Why> {
        let OfTile { by, own, .. } = self;
        by.begin(w, run, &from)?;
        w.count("chunk_start", (from, run.to.clone(), by.units.tile.chunk), |w, start| {
            w.code.push(Stmt::WaitCopies(0));
            by.push(w, Warpgroup::Publish);
            w.code.barrier();
            let scores = by.scores(w, run, &start)?;
            let joins = by.weigh(w, own, run, &start, &scores)?;
            by.values(w, &joins, &start)
        })
    }

    /// Divides by the sums of weights. Returns the offset of the result, which overwrites the keys, and the words of a row.
    fn result(&self, w: &mut Writer<'_>) -> Result<(u32, u32), Why> {
        let OfTile { by, own, .. } = self;
        let units = by.units;
        let stride = units.tile.result_stride();
        w.code.barrier();
        let result = units.keys;
        let inverses: [Expr; OWN] = std::array::from_fn(|of| inverse(w, own.totals[of].clone()));
        for (piece, sums) in by.values.iter().enumerate() {
            let first = by.column(piece as u32) + &units.t * 2u32;
            let first = w.code.set("column", first);
            for (i, sum) in sums.iter().enumerate() {
                let (of, column) = (row_of(i), &first + column_of(i));
                let value = sum * &inverses[of];
                w.code.store_shared(&own.at[of] * stride + column + result, value.bits());
            }
        }
        w.code.barrier();
        // The row program has the memory after it.
        w.pool.free_from(result + units.tile.rows * stride);
        Ok((result, stride))
    }
}

/// The row of one of a lane's sums, and its column without the lane's own two.
const fn row_of(sum: usize) -> usize {
    sum / 2 % 2
}

const fn column_of(sum: usize) -> u32 {
    (sum / 4) as u32 * HALF + (sum % 2) as u32
}

/// The warpgroups of a tile.
struct Warpgroups<'a> {
    units: &'a Units<'a>,
    /// The number of the lane's warpgroup.
    number: Expr,
    /// The keys and the values in the state.
    keys: InState,
    own_values: InState,
    /// Sums of values, by pieces of 64 columns.
    values: Vec<Vec<Expr>>,
}

/// Rows of the state: the slot, the first word, and the stride in words.
#[derive(Clone)]
struct InState {
    slot: usize,
    from: Expr,
    row_words: u32,
}

impl InState {
    fn new(w: &mut Writer<'_>, units: &Units<'_>, cached: &Cached) -> Result<InState, Why> {
        let from = units.state_from(w, cached)?;
        Ok(InState { slot: w.slot(cached.param), from, row_words: word(cached.row_stride / 2)? })
    }
}

impl<'a> Warpgroups<'a> {
    fn new(w: &mut Writer<'_>, units: &'a Units<'a>) -> Result<Warpgroups<'a>, Why> {
        let name = w.code.fresh("warpgroup");
        w.code.push(Stmt::Warpgroup(Warpgroup::Number(name.clone())));
        let Attend { k, v, .. } = units.attend;
        let keys = InState::new(w, units, k)?;
        let own_values = if units.tile.latent { keys.clone() } else { InState::new(w, units, v)? };
        let sums =
            |w: &mut Writer<'_>| -> Vec<Expr> { (0..SUMS).map(|_| w.code.var("sum", 0.0f32)).collect() };
        let pieces = units.tile.pieces();
        Ok(Warpgroups {
            units,
            number: Expr::name(name),
            keys,
            own_values,
            values: (0..pieces).map(|_| sums(w)).collect(),
        })
    }

    fn push(&self, w: &mut Writer<'_>, of: Warpgroup) {
        w.code.push(Stmt::Warpgroup(of));
    }

    /// Declares the sums of one group of products.
    fn declare(&self, w: &mut Writer<'_>, n: usize) -> Vec<Expr> {
        let names: Vec<String> = (0..n).map(|_| w.code.fresh("product")).collect();
        self.push(w, Warpgroup::Declare(names.clone()));
        names.into_iter().map(Expr::name).collect()
    }

    fn hold(&self, w: &mut Writer<'_>, sums: &[Expr]) {
        self.push(w, Warpgroup::Hold(sums.to_vec()));
    }

    /// The first column of one of the lane's pieces.
    fn column(&self, piece: u32) -> Expr {
        &self.number * (self.values.len() as u32 * COLUMNS) + piece * COLUMNS
    }

    /// The initial state of the lane's rows.
    fn rows(&self, w: &mut Writer<'_>) -> Result<Rows, Why> {
        let units = self.units;
        let first = w.code.set("own_row", &units.warp % WARPS * MATRIX_ROWS + &units.g);
        let at = [0, HALF].map(|below| w.code.set("own_row", &first + below));
        let (mut tops, mut totals) = (Vec::new(), Vec::new());
        for row in &at {
            let (top, total) = initial(w, units.attend, |w| members::head(w, units.place, row))?;
            tops.push(w.code.var("top", top));
            totals.push(w.code.var("total", total));
        }
        let both = |all: Vec<Expr>| std::array::from_fn(|i| all[i].clone());
        Ok(Rows { at, tops: both(tops), totals: both(totals) })
    }

    /// The number of the chunk that begins at a position, modulo two.
    fn parity(&self, start: &Expr) -> Expr {
        start / self.units.tile.chunk % 2u32
    }

    /// The first unit of the keys of the chunk at position `start`.
    fn keys_at(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        let Tile { chunk, key_units, .. } = self.units.tile;
        let at = self.parity(start) * (chunk * key_units) + self.units.keys / UNIT_WORDS;
        w.code.set("keys_at", at)
    }

    /// The first unit of the values of the chunk at position `start`: after the keys of two chunks, unless keys include values.
    fn values_at(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        let Tile { chunk, key_units, latent, .. } = self.units.tile;
        if latent {
            return self.keys_at(w, start);
        }
        let first = self.units.keys / UNIT_WORDS + 2 * chunk * key_units;
        let at = self.parity(start) * (chunk * self.units.tile.value_units()) + first;
        w.code.set("values_at", at)
    }

    /// Looks up the state rows of the positions of the chunk at `start`.
    fn look_up(&self, w: &mut Writer<'_>, run: &Run<'_>, start: &Expr) -> Result<(), Why> {
        let position = self.units.position(w, &run.pages_at, start, (None, &run.most));
        let at = self.parity(start) * self.units.tile.chunk + self.units.positions;
        let at = w.code.set("positions_at", at);
        self.units.keep_position_at(w, &at, position)
    }

    /// Begins to copy the chunk at `start`, whose rows have been looked up.
    fn copy(&self, w: &mut Writer<'_>, start: &Expr) {
        let Tile { chunk, key_units, .. } = self.units.tile;
        let value_units = self.units.tile.value_units();
        let parity = w.code.set("parity", self.parity(start));
        self.copy_rows(w, &self.keys, (&parity, key_units), 0);
        if value_units > 0 {
            self.copy_rows(w, &self.own_values, (&parity, value_units), 2 * chunk * key_units);
        }
        w.code.push(Stmt::EndCopies);
    }

    /// Begins to copy `units` units of each position. Those of the two chunks begin this many units after the first key.
    fn copy_rows(
        &self,
        w: &mut Writer<'_>,
        cached: &InState,
        (parity, units): (&Expr, u32),
        first_unit: u32,
    ) {
        let chunk = self.units.tile.chunk;
        // Eight lanes share a row, each with a unit of each of its blocks.
        let (row, unit) = (Expr::Lane / ROW_UNITS, Expr::Lane % ROW_UNITS);
        let own = swizzled(&row, &unit) + parity * (chunk * units * UNIT_WORDS);
        let to = w.code.set("copy_to", own + first_unit * UNIT_WORDS);
        let at_once = w.code.lanes / ROW_UNITS;
        for first in (0..chunk).step_by(at_once as usize) {
            let position = parity * chunk + &row + (self.units.positions + first);
            let from = Expr::Shared(position.into()) * cached.row_words + &unit * UNIT_WORDS + &cached.from;
            let from = w.code.set("copy_from", from);
            for block in 0..units / ROW_UNITS {
                let down = first * ROW_UNITS * UNIT_WORDS + self.units.keys;
                let to = &to + (block * BLOCK_UNITS * UNIT_WORDS + down);
                let from = &from + block * ROW_UNITS * UNIT_WORDS;
                w.code.push(Stmt::Copy { to, from: Expr::Four(Some(cached.slot), from.into()) });
            }
        }
    }

    /// Begins to copy the chunk of a run that begins at a position.
    fn begin(&self, w: &mut Writer<'_>, run: &Run<'_>, from: &Expr) -> Result<(), Why> {
        let chunk = self.units.tile.chunk;
        // Lanes may still be reading another run.
        w.code.barrier();
        self.look_up(w, run, from)?;
        self.look_up(w, run, &(from + chunk))?;
        w.code.barrier();
        self.copy(w, from);
        Ok(())
    }

    /// Multiplies queries by the warpgroup's half of a chunk, and begins to copy the next one. Returns the lane's scores.
    fn scores(&self, w: &mut Writer<'_>, run: &Run<'_>, start: &Expr) -> Result<Vec<Expr>, Why> {
        let Tile { chunk, reduce, steps, .. } = self.units.tile;
        let keys = self.keys_at(w, start);
        let own = w.code.set("own_keys", keys + &self.number * (chunk / 2 * ROW_UNITS));
        let each = steps / reduce;
        let shares: Vec<Vec<Expr>> = (0..reduce).map(|_| self.declare(w, SCORES)).collect();
        shares.iter().for_each(|sums| self.hold(w, sums));
        self.push(w, Warpgroup::Begin);
        for (share, sums) in (0..).zip(&shares) {
            for step in share * each..(share + 1) * each {
                let steps = COLUMNS / DEPTH;
                let at = step / steps * BLOCK_UNITS + step % steps * STEP_UNITS;
                let left = Left::Shared((self.units.queries / UNIT_WORDS + at).into());
                let fresh = step == share * each;
                self.push(w, Warpgroup::Multiply { sums: sums.clone(), left, right: &own + at, fresh });
            }
        }
        self.push(w, Warpgroup::End);
        // The buffer of the next chunk is free, because all lanes have passed a barrier since its last use.
        let after = w.code.set("next_start", start + chunk);
        w.when(after.less(&run.to), |w| {
            self.copy(w, &after);
            Ok(())
        })?;
        let later = w.code.set("later_start", after + chunk);
        self.look_up(w, run, &later)?;
        self.push(w, Warpgroup::Wait(0));
        shares.iter().for_each(|sums| self.hold(w, sums));
        let score = |i: usize| {
            let all = shares.iter().map(|sums| sums[i].clone()).reduce(|sum, share| sum + share);
            w.code.set("score", all.unwrap_or(0.0f32.into()))
        };
        Ok((0..SCORES).map(score).collect())
    }

    /// The scaled scores of each of the lane's two rows in the warpgroup's half of a chunk. The first one is the row's largest.
    fn of_rows(
        &self,
        w: &mut Writer<'_>,
        own: &Rows,
        run: &Run<'_>,
        start: &Expr,
        scores: &[Expr],
    ) -> [(Expr, Vec<Expr>); 2] {
        let first = &self.number * (self.units.tile.chunk / 2) + start + &self.units.t * 2u32;
        let first = w.code.set("first_position", first);
        [0, 1].map(|of| {
            let of_row = (0..SCORES).filter(|i| row_of(*i) == of);
            let seen = run.members.seen(w, &own.at[of]);
            let factor = w.load_shared(&own.at[of] + self.units.factors);
            let factor = w.code.set("factor", factor);
            let scores: Vec<Expr> = of_row
                .map(|i| {
                    let exists = (&first + column_of(i)).less(&seen);
                    let score = &scores[i] * &factor;
                    w.code.set("score", Expr::F32(LOWEST).unless(&exists, score))
                })
                .collect();
            let top = scores.iter().cloned().reduce(|a, b| a.max(b)).unwrap_or(Expr::F32(LOWEST));
            (reduce::subgroups(w, Fold::Max, top, TOGETHER), scores)
        })
    }

    /// Stores the weights of the warpgroup's half of a chunk, relative to the largest score of the whole chunk, and combines the sums of
    /// weights.
    fn weigh(
        &self,
        w: &mut Writer<'_>,
        own: &Rows,
        run: &Run<'_>,
        start: &Expr,
        scores: &[Expr],
    ) -> Result<Joins, Why> {
        let rows = self.units.tile.rows;
        let (tops, totals) = (self.units.tops, self.units.totals);
        let other = w.code.set("other", Expr::U32(1) - &self.number);
        let tells = self.units.t.equal(0u32);
        // A row's word for one of the halves of a chunk.
        let of_half = |of: usize, half: &Expr, from: u32| half * rows + &own.at[of] + from;
        let all = self.of_rows(w, own, run, start, scores);
        w.when(tells.clone(), |w| {
            for (of, (top, _)) in all.iter().enumerate() {
                w.code.store_shared(of_half(of, &self.number, tops), top.clone().bits());
            }
            Ok(())
        })?;
        w.code.barrier();
        let weighed = [0, 1].map(|of| {
            let (top, scores) = &all[of];
            let its = w.load_shared(of_half(of, &other, tops));
            let top = w.code.set("top", top.clone().max(its));
            // In other steps eight lanes have the weights of a row. Here a lane does the work of two of them, with alternate pairs, which
            // keeps the order of the sum.
            let totals = [(); 2].map(|()| w.code.var("total", 0.0f32));
            let pairs = scores.len() as u32 / 2;
            for (pair, two) in (0..).zip(scores.chunks(2)) {
                let weights = [0, 1].map(|beside| {
                    let weight = Expr::call(Fun::Exp, [&two[beside] - &top]);
                    let weight = w.code.set("weight", weight);
                    let total = &totals[pair as usize % 2];
                    w.code.assign(total, total + &weight);
                    weight
                });
                let at = swizzled(&own.at[of], &(&self.number * pairs + pair)) + &self.units.t;
                w.code.store_shared(at + self.units.weights, Expr::call(Fun::PackHalves, weights));
            }
            let [even, odd] = totals.map(|total| reduce::subgroups(w, Fold::Sum, total, TOGETHER));
            (top, w.code.set("total", even + odd))
        });
        w.when(tells, |w| {
            for (of, (_, total)) in weighed.iter().enumerate() {
                w.code.store_shared(of_half(of, &self.number, totals), total.clone().bits());
            }
            Ok(())
        })?;
        w.code.barrier();
        let [above, below] = [0, 1].map(|of| {
            let (top, total) = weighed[of].clone();
            let its = w.load_shared(of_half(of, &other, totals));
            let total = w.code.set("total", total + its);
            let seen = run.members.seen(w, &own.at[of]);
            let is_in = run.members.is_in(&own.at[of], run.number);
            let joins = w.code.set("joins", is_in.both(&start.less(&seen)));
            let by = scaled(w, own.tops[of].clone(), top);
            let sum = together(own.totals[of].clone(), total, &by);
            w.code.assign(&own.totals[of], own.totals[of].clone().unless(&joins, sum));
            w.code.assign(&own.tops[of], own.tops[of].clone().unless(&joins, by.top.clone()));
            (joins, by)
        });
        Ok(Joins { joins: [above.0, below.0], by: [above.1, below.1] })
    }

    /// Loads the lane's words of a chunk's weights, step by step of products.
    fn operands(&self, w: &mut Writer<'_>) -> Vec<[Expr; 4]> {
        let row = w.code.set("weight_row", &self.units.warp % WARPS * MATRIX_ROWS + &self.units.row);
        (0..self.units.tile.chunk / DEPTH)
            .map(|step| {
                let unit = &self.units.word / UNIT_WORDS + step * STEP_UNITS;
                w.code.matrices("weight", swizzled(&row, &unit) + self.units.weights, false)
            })
            .collect()
    }

    /// Multiplies weights by the values of a chunk, and combines the products with earlier sums.
    fn values(&self, w: &mut Writer<'_>, joins: &Joins, start: &Expr) -> Result<(), Why> {
        let pieces = self.values.len();
        let weights = self.operands(w);
        let values = self.values_at(w, start);
        let columns = w.code.set("columns_at", values + &self.number * (pieces as u32 * BLOCK_UNITS));
        let products: Vec<Vec<Expr>> = (0..pieces).map(|_| self.declare(w, SUMS)).collect();
        for piece in 0..=pieces {
            if let Some(sums) = products.get(piece) {
                self.hold(w, sums);
                self.push(w, Warpgroup::Begin);
                for (step, left) in weights.iter().enumerate() {
                    let right = &columns + (piece as u32 * BLOCK_UNITS + step as u32 * DEPTH * ROW_UNITS);
                    let (sums, left, fresh) = (sums.clone(), Left::Lanes(left.clone().into()), step == 0);
                    self.push(w, Warpgroup::Multiply { sums, left, right, fresh });
                }
                self.push(w, Warpgroup::End);
            }
            let Some(before) = piece.checked_sub(1) else { continue };
            self.push(w, Warpgroup::Wait(u32::from(piece < pieces)));
            let sums = &products[before];
            self.hold(w, sums);
            for of in 0..OWN {
                w.when(joins.joins[of].clone(), |w| {
                    for i in (0..SUMS).filter(|i| row_of(*i) == of) {
                        let sum = &self.values[before][i];
                        w.code.assign(sum, together(sum.clone(), sums[i].clone(), &joins.by[of]));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}
