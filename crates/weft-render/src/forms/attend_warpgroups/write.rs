//! Attention of many tokens by two warpgroups: 64 rows share a chunk. With latent attention these are tokens × heads, else the
//! tokens of one head.
//!
//! Each warpgroup scores half of a chunk's positions, for all rows, and has half of the columns of the result. A lane has the
//! scores of two rows, as products leave them. Lanes turn them into weights with three neighbours and the other warpgroup, by
//! way of workgroup memory. The next chunk is copied meanwhile.
//!
//! The order of every sum is that of [`attend.units`](crate::forms::AttendUnits): shares of a score, eight lanes that have the weights of a
//! row in half of a chunk, its halves, chunks. Hopper adds up products alike in both instructions, so all bits are the same; a test on a
//! card compares them.

use weft_kern::{Attend, Cached, Part};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;
use weft_shader::warpgroup::{
    self, COLUMNS, DEPTH, Left, ROW_UNITS, ROWS, UNIT_WORDS, WARPGROUP, Warpgroup, swizzled,
};

use crate::forms::attend_units::Tile;
use crate::forms::attend_units::units::{HALF, Units};
use crate::forms::attend_warpgroups::shares::{Piece, Share, Shares};
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

/// Units of 16 bytes of a block of 64 rows, and of as many halves of a row as are multiplied at once.
const BLOCK_UNITS: u32 = ROWS * ROW_UNITS;
const STEP_UNITS: u32 = DEPTH / 8;

/// Sums of a lane for a piece of 64 columns, and for half of the positions of a chunk.
const SUMS: usize = warpgroup::sums(COLUMNS);
const SCORES: usize = SUMS / 2;

/// Lanes that have a row's scores together.
const TOGETHER: u32 = 4;

/// Rows of a lane, eight apart.
const OWN: usize = 2;

/// What a lane knows of its rows, but for their sums of values.
struct Rows {
    /// Their numbers within the tile.
    at: [Expr; OWN],
    /// Their largest scores and sums of weights so far, which are variables.
    tops: [Expr; OWN],
    totals: [Expr; OWN],
}

/// A run of a tile's rows. What is known of each row is read where it is used: registers are for sums.
struct Run<'a> {
    members: &'a Members,
    number: &'a Expr,
    /// Where the run's pages begin, and the position up to which some row sees.
    pages_at: Expr,
    most: Expr,
    /// The position before which the workgroup's chunks of it end.
    to: Expr,
}

/// How each row joins a chunk's products to what it had before, if it does.
struct Joins {
    joins: [Expr; OWN],
    by: [Scaled; OWN],
}

/// Writes the attention of a tile. Returns where its result is in workgroup memory, and the words of a row.
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
    // Nothing else is in workgroup memory yet.
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
        // The next tile takes its place.
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
    /// Before any chunk.
    fn new(w: &mut Writer<'_>, units: &'a Units<'a>) -> Result<OfTile<'a>, Why> {
        let members = Members::new(w, units.attend, units.place, &units.bounds, units.tile.rows)?;
        units.queries(w)?;
        w.code.barrier();
        let by = Warpgroups::new(w, units)?;
        let own = by.rows(w)?;
        Ok(OfTile { members, by, own })
    }

    /// All that a lane has of the tile, as variables.
    fn state(&self) -> Vec<Expr> {
        let Rows { tops, totals, .. } = &self.own;
        self.by.values.iter().flatten().chain(tops).chain(totals).cloned().collect()
    }

    /// Visits its chunks, or those of a piece.
    fn visit(&self, w: &mut Writer<'_>, piece: Option<&Piece>) -> Result<(), Why> {
        // The chunks of the runs so far.
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

    /// The positions of a run that a piece has: the first, and the one before which it ends.
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

    /// Divides by the sums of weights. Returns where the result is in workgroup memory, in the place of the keys, and the words
    /// of a row.
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
        // The row program has what is behind it.
        w.pool.free_from(result + units.tile.rows * stride);
        Ok((result, stride))
    }
}

/// Which of its rows a lane's sum is of, and its column but for the lane's own two.
const fn row_of(sum: usize) -> usize {
    sum / 2 % 2
}

const fn column_of(sum: usize) -> u32 {
    (sum / 4) as u32 * HALF + (sum % 2) as u32
}

/// The warpgroups of a tile.
struct Warpgroups<'a> {
    units: &'a Units<'a>,
    /// The number of the lane's.
    number: Expr,
    /// The keys and the values in the state.
    keys: InState,
    own_values: InState,
    /// Sums of values, by pieces of 64 columns.
    values: Vec<Vec<Expr>>,
}

/// Rows of the state: the slot, the first word, and words from one to the next.
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

    /// So many sums, for one group of products.
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

    /// What is known of the lane's rows at first.
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

    /// The unit at which the keys of the chunk begin that begins at a position.
    fn keys_at(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        let Tile { chunk, key_units, .. } = self.units.tile;
        let at = self.parity(start) * (chunk * key_units) + self.units.keys / UNIT_WORDS;
        w.code.set("keys_at", at)
    }

    /// The unit at which the values of the chunk begin that begins at a position: after the keys of two chunks, unless keys have them.
    fn values_at(&self, w: &mut Writer<'_>, start: &Expr) -> Expr {
        let Tile { chunk, key_units, latent, .. } = self.units.tile;
        if latent {
            return self.keys_at(w, start);
        }
        let first = self.units.keys / UNIT_WORDS + 2 * chunk * key_units;
        let at = self.parity(start) * (chunk * self.units.tile.value_units()) + first;
        w.code.set("values_at", at)
    }

    /// Looks up where the positions of the chunk are that begins at one.
    fn look_up(&self, w: &mut Writer<'_>, run: &Run<'_>, start: &Expr) -> Result<(), Why> {
        let position = self.units.position(w, &run.pages_at, start, (None, &run.most));
        let at = self.parity(start) * self.units.tile.chunk + self.units.positions;
        let at = w.code.set("positions_at", at);
        self.units.keep_position_at(w, &at, position)
    }

    /// Begins to copy the chunk that begins at a position, which has been looked up.
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

    /// Begins to copy so many units of each position. Those of the two chunks begin so many units after the first key.
    fn copy_rows(
        &self,
        w: &mut Writer<'_>,
        cached: &InState,
        (parity, units): (&Expr, u32),
        first_unit: u32,
    ) {
        let chunk = self.units.tile.chunk;
        // Eight lanes have a row, and a unit of each of its blocks.
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
        // Another run may still be read.
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
        // The place of the next chunk is free, since all lanes have been at a barrier since it was used.
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

    /// The scaled scores of each of the lane's two rows in the warpgroup's half of a chunk, behind the largest one of the row.
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

    /// Stores the weights of the warpgroup's half of a chunk, relative to the largest score of all of it, and joins sums of weights.
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
        // What a row has in one of the halves of a chunk.
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
            // In other steps eight lanes have the weights of a row. Here a lane does what two of them do, each with every other
            // pair.
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

    /// Loads the lane's words of the weights of a chunk, one step of products after another.
    fn operands(&self, w: &mut Writer<'_>) -> Vec<[Expr; 4]> {
        let row = w.code.set("weight_row", &self.units.warp % WARPS * MATRIX_ROWS + &self.units.row);
        (0..self.units.tile.chunk / DEPTH)
            .map(|step| {
                let unit = &self.units.word / UNIT_WORDS + step * STEP_UNITS;
                w.code.matrices("weight", swizzled(&row, &unit) + self.units.weights, false)
            })
            .collect()
    }

    /// Multiplies weights by the values of a chunk, and joins the products to what there was before.
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
