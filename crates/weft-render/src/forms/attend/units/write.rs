//! Attention on matrix units, in flash-attention form.
//!
//! A tile's rows (tokens × heads) share a key head. A chunk of the state is staged in workgroup memory once for all rows, and once for keys
//! and values where these are the same. Units multiply halves and add floats: queries and weights are rounded to halves, like keys and
//! values.
//!
//! A row's result depends on that row alone, and chunks begin at fixed positions. So its bits are the same in every tile, and whether one
//! workgroup visits all chunks or each chunk has its own.

use weft_kern::{Attend, Part};
use weft_shader::cooperative::Cooperative;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::attend::units::division::{HALF, PAIR, Sums, Units, multiply};
use crate::forms::attend::units::stage::{AHEAD, Copy};
use crate::forms::attend::units::{STEP, Tile};
use crate::forms::attend::warpgroups;
use crate::lower::attend::context::{chunk_words, chunks as chunks_of, initial, knows_positions, start_of};
use crate::lower::attend::join::{STAYS, Scaled, inverse, together};
use crate::lower::attend::members::{self, Members};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;
use crate::split::{MATRIX_ROWS, Split};

/// Pairs of columns of values for which a warp has sums at once, for a group of rows.
const AT_ONCE: u32 = 8;

/// Writes the attention of a tile. Returns the offset of its result in workgroup memory, and the words of a row. With `chunks`, computes
/// one chunk instead, and stores its results in this slot from this word on.
pub(crate) fn write(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    place: &Place,
    split: &Split,
    chunks: Option<(usize, u32)>,
) -> Result<Option<(u32, u32)>, Why> {
    let units = Units::new(w, part, attend, place, split)?;
    match (chunks, &place.chunk) {
        (Some(scratch), Some(chunk)) => {
            let beforehand = stable(w, attend);
            if !beforehand {
                w.wait();
            }
            let token = members::token(w, place, &Expr::U32(0));
            let position = w.param_word(attend.pos, token.clone());
            let seen = w.code.set("seen", units.bounds.seen(position));
            let begin = units.bounds.begin(w, &seen);
            let pages_at = w.param_word(attend.first, token);
            let pages_at = w.code.set("pages_at", pages_at);
            let start = w.code.set("chunk_start", start_of(split.chunk, chunk, begin.as_ref()));
            let copies = units.copies(w)?;
            let ahead = Ahead::new(w, &copies);
            // The chunk is loaded while this workgroup waits, or at least while queries are split.
            w.when(start.less(&seen), |w| {
                let position = units.position(w, &pages_at, &start, (begin.as_ref(), &seen));
                units.keep_position(w, position)?;
                w.code.barrier();
                ahead.load(w, &units);
                Ok(())
            })?;
            w.wait();
            w.when(start.less(&seen), |w| {
                w.hold_loads();
                units.queries(w)?;
                let shared_by = place.chunks_shared_by();
                let visit = |w: &mut Writer<'_>, chunk: &Expr| {
                    ahead.store(w, &units)?;
                    w.code.barrier();
                    let mut start = start.clone();
                    // The workgroup's next chunk, if it has several: its first position, and the state rows of its positions.
                    let next = shared_by.map(|shared_by| {
                        start = w.code.set("chunk_start", start_of(split.chunk, chunk, begin.as_ref()));
                        let next = w.code.set("next_start", &start + shared_by * split.chunk);
                        let position = units.position(w, &pages_at, &next, (None, &seen));
                        (next, position)
                    });
                    units.multiply_keys(w)?;
                    let next = next.map(|(next, position)| units.keep_position(w, position).map(|()| next));
                    let next = next.transpose()?;
                    w.code.barrier();
                    units.weigh(w, &start, |_, _| seen.clone(), None)?;
                    if let Some(next) = &next {
                        w.when(next.less(&seen), |w| {
                            ahead.load(w, &units);
                            Ok(())
                        })?;
                    }
                    units.store_chunk(w, chunk, scratch)?;
                    if next.is_some() {
                        w.code.barrier();
                    }
                    Ok(())
                };
                let Some(shared_by) = shared_by else { return visit(w, chunk) };
                let chunks = w.code.set("chunks", chunks_of(split.chunk, &seen, begin.as_ref()));
                w.count("visited", (chunk.clone(), chunks, shared_by), |w, chunk| visit(w, &chunk))
            })?;
            Ok(None)
        }
        _ if units.tile.warpgroups => warpgroups::write::write(w, &units).map(Some),
        _ => units.whole(w).map(|at| Some((at, place.cols()))),
    }
}

/// Whether the state, and lists of its positions, may be read before the previous launch has ended.
fn stable(w: &Writer<'_>, attend: &Attend) -> bool {
    let mut read = [attend.k.param, attend.v.param].into_iter().chain(attend.list.map(|list| list.param));
    knows_positions(w, attend) && read.all(|param| w.is_stable(param))
}

/// A lane's share of a chunk, loaded ahead if its registers have room for all of it.
struct Ahead<'a> {
    copies: &'a [Copy],
    words: Vec<[Expr; 4]>,
}

impl<'a> Ahead<'a> {
    fn new(w: &mut Writer<'_>, copies: &'a [Copy]) -> Ahead<'a> {
        let times = copies.iter().map(|copy| copy.times).sum::<u32>();
        let times = if times <= AHEAD { times } else { 0 };
        Ahead { copies, words: (0..times).map(|_| [(); 4].map(|()| w.code.var("next", 0u32))).collect() }
    }

    /// The lane's units of a chunk, each with its words.
    fn each(&self) -> impl Iterator<Item = (&Copy, u32, &[Expr; 4])> {
        let all = self.copies.iter().flat_map(|copy| (0..copy.times).map(move |time| (copy, time)));
        all.zip(&self.words).map(|((copy, time), words)| (copy, time, words))
    }

    /// Loads it, if there is room.
    fn load(&self, w: &mut Writer<'_>, units: &Units<'_>) {
        for (copy, time, into) in self.each() {
            let words = copy.load(w, units, &time.into());
            into.iter().zip(words).for_each(|(into, word)| w.code.assign(into, word));
        }
    }

    /// Stores it, or copies the chunk if there was no room.
    fn store(&self, w: &mut Writer<'_>, units: &Units<'_>) -> Result<(), Why> {
        if self.words.is_empty() {
            return units.stage(w);
        }
        self.each().try_for_each(|(copy, time, words)| copy.store(w, &time.into(), words.clone()))
    }
}

/// A run whose first chunk is being loaded.
struct LoadingRun {
    /// The first position of that chunk.
    first: Expr,
    /// The positions that the run's tokens see, at most.
    most: Expr,
    pages_at: Expr,
}

impl Units<'_> {
    /// Visits all chunks of all runs. Returns the offset of the result.
    fn whole(&self, w: &mut Writer<'_>) -> Result<u32, Why> {
        let Tile { rows, chunk, .. } = self.tile;
        let beforehand = stable(w, self.attend);
        if !beforehand {
            w.wait();
        }
        let members = Members::new(w, self.attend, self.place, &self.bounds, rows)?;
        // The next chunk is loaded while weights are multiplied by the values of this one.
        let copies = self.copies(w)?;
        let next = Ahead::new(w, &copies);
        // The first chunk is loaded while this workgroup waits.
        let mut loading = None;
        if beforehand && members.runs() == 1 {
            w.code.barrier();
            loading = Some(self.begin(w, &members, &next, &Expr::U32(0))?);
        }
        w.wait();
        self.queries(w)?;
        w.share(rows, |w, row| {
            let (top, total) = initial(w, self.attend, |w| members::head(w, self.place, &row))?;
            w.code.store_shared(&row + self.totals, total.to_bits().into());
            w.code.store_shared(row + self.tops, top.bits());
            Ok(())
        })?;
        let sums: Vec<Sums> = (0..self.pairs()).map(|_| self.sums(w)).collect();
        w.code.barrier();
        members.each_run(w, |w, run| {
            let LoadingRun { first, most, pages_at } = match loading.take() {
                Some(loading) => loading,
                None => self.begin(w, &members, &next, run)?,
            };
            w.count("chunk_start", (first, most.clone(), chunk), |w, start| {
                next.store(w, self)?;
                w.code.barrier();
                let after = w.code.set("next_start", &start + chunk);
                let position = self.position(w, &pages_at, &after, (None, &most));
                self.multiply_keys(w)?;
                self.keep_position(w, position)?;
                w.code.barrier();
                let is_in = |row: &Expr| members.is_in(row, run);
                self.weigh(w, &start, |w, row| members.seen(w, row), Some(&is_in))?;
                w.when(after.less(&most), |w| {
                    next.load(w, self);
                    Ok(())
                })?;
                self.values(w, |w, pairs, chunk| {
                    pairs
                        .iter()
                        .zip(chunk)
                        .try_for_each(|(pair, chunk)| self.join(w, &sums[*pair as usize], chunk))
                })?;
                w.code.barrier();
                Ok(())
            })
        })?;
        self.finish(w, &sums)
    }

    /// Finds the first chunk of a run, and loads the lane's share of it.
    fn begin(
        &self,
        w: &mut Writer<'_>,
        members: &Members,
        ahead: &Ahead<'_>,
        run: &Expr,
    ) -> Result<LoadingRun, Why> {
        let (most, pages_at) = (members.most_seen(w, run), members.pages_at(w, run));
        let begin = match self.attend.window {
            None => None,
            Some(_) => {
                let least = members.least_seen(w, run);
                self.bounds.begin(w, &least)
            }
        };
        let first = start_of(self.tile.chunk, &0u32.into(), begin.as_ref());
        let first = if begin.is_some() { w.code.set("first_start", first) } else { Expr::U32(0) };
        // A run may be empty: none begins at some tokens.
        w.when(Expr::U32(0).less(&most), |w| {
            let position = self.position(w, &pages_at, &first, (begin.as_ref(), &most));
            self.keep_position(w, position)?;
            w.code.barrier();
            ahead.load(w, self);
            Ok(())
        })?;
        Ok(LoadingRun { first, most, pages_at })
    }

    /// Divides by the sums of weights. Returns where the result is.
    fn finish(&self, w: &mut Writer<'_>, sums: &[Sums]) -> Result<u32, Why> {
        // The result overwrites the keys.
        let (result, cols) = (self.keys, self.tile.cols);
        for (pair, sums) in sums.iter().enumerate() {
            self.each(w, pair as u32, sums, |w, row, column, sums| {
                let to = w.code.set("to", row * cols + column + result);
                let inverse = inverse(w, w.load_shared(row + self.totals));
                for (beside, sum) in sums.into_iter().enumerate() {
                    let value = sum * &inverse;
                    w.code.store_shared(&to + beside as u32, value.bits());
                }
                Ok(())
            })?;
        }
        w.code.barrier();
        Ok(result)
    }

    /// Multiplies the chunk's weights by its values, and calls a function with the sums of some of the warp's pairs of columns at a time.
    fn values(
        &self,
        w: &mut Writer<'_>,
        mut done: impl FnMut(&mut Writer<'_>, &[u32], &[Sums]) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let Tile { chunk, cols, .. } = self.tile;
        let (stride, value_stride) = (self.tile.weight_stride(), self.tile.value_stride());
        let pairs: Vec<u32> = (0..self.pairs()).collect();
        let at_once = (AT_ONCE / self.groups()).max(2);
        for some in pairs.chunks(at_once as usize) {
            let sums: Vec<Sums> = some.iter().map(|_| self.sums(w)).collect();
            let weight = w.code.set("weight_at", &self.row * stride + &self.word + self.weights);
            let columns: Vec<Expr> = some
                .iter()
                .map(|pair| {
                    let (pair, exists) = self.pair(w, *pair);
                    let pair = if exists == Expr::True { pair } else { pair.min(cols / PAIR - 1) };
                    let at = &self.row * value_stride + &self.word + pair * (PAIR / 2) + self.values;
                    w.code.set("value_at", at)
                })
                .collect();
            w.count_or_once("step", (0u32.into(), (chunk / STEP).into(), 1), |w, step| {
                let (depth, down) = (&step * (STEP / 2), &step * (STEP * value_stride));
                let (depth, down) = (w.code.set("depth", depth), w.code.set("down", down));
                let right: Vec<[Expr; 4]> =
                    columns.iter().map(|at| w.code.matrices("value", at + &down, true)).collect();
                for group in 0..self.groups() {
                    let offset = group * MATRIX_ROWS * stride;
                    let left = w.code.matrices("weight", &weight + &depth + offset, false);
                    for (sums, right) in sums.iter().zip(&right) {
                        for (half, sums) in sums.iter().enumerate() {
                            multiply(w, &sums[group as usize], &left, right, half);
                        }
                    }
                }
                Ok(())
            })?;
            done(w, some, &sums)?;
        }
        Ok(())
    }

    /// Combines the chunk's sums of a pair of columns with those of earlier chunks.
    fn join(&self, w: &mut Writer<'_>, sums: &Sums, chunk: &Sums) -> Result<(), Why> {
        for group in 0..self.groups() {
            for below in 0..2 {
                let row = &self.g + (group * MATRIX_ROWS + below * HALF);
                let [old, new] = [self.old, self.new].map(|at| w.load_shared(&row + at));
                let (old, new) = (w.code.set("by_old", old), w.code.set("by_new", new));
                let joins = w.code.set("joins", Expr::F32(STAYS).less(&old));
                let by = Scaled { top: 0.0f32.into(), old, new };
                for (sums, chunk) in sums.iter().zip(chunk) {
                    for i in [2 * below, 2 * below + 1] {
                        let [sum, new] = [sums, chunk].map(|of| of[group as usize][i as usize].clone());
                        w.code.assign(&sum, sum.clone().unless(&joins, together(sum.clone(), new, &by)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Visits the existing sums of a pair of columns, two neighbours at a time, with the row and the first column of each.
    fn each(
        &self,
        w: &mut Writer<'_>,
        pair: u32,
        sums: &Sums,
        mut see: impl FnMut(&mut Writer<'_>, &Expr, Expr, [Expr; 2]) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let rows = self.place.tile();
        let (pair, exists) = self.pair(w, pair);
        w.when(exists, |w| {
            let first = w.code.set("column", pair * PAIR + &self.t * 2u32);
            for group in 0..self.groups() {
                for below in 0..2 {
                    let least = group * MATRIX_ROWS + below * HALF;
                    let row = w.code.set("row", &self.g + least);
                    let exists = if least + HALF <= rows { Expr::True } else { row.less(rows) };
                    w.when(exists, |w| {
                        for (half, sums) in sums.iter().enumerate() {
                            let two = [0, 1]
                                .map(|beside| sums[group as usize][2 * below as usize + beside].clone());
                            see(w, &row, &first + half as u32 * HALF, two)?;
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Multiplies the chunk's values, and stores its results in the scratch slot, for the second shader.
    fn store_chunk(&self, w: &mut Writer<'_>, chunk: &Expr, (slot, first): (usize, u32)) -> Result<(), Why> {
        let (rows, cols) = (self.place.tile(), self.tile.cols);
        let words = chunk_words(cols);
        let begins = self.place.chunk_row(chunk, &Expr::U32(0), rows) * words + first;
        let begins = w.code.set("put_at", begins);
        self.values(w, |w, pairs, sums| {
            if self.passes_on(pairs) {
                return self.pass_on(w, pairs, sums, (slot, &begins));
            }
            pairs.iter().zip(sums).try_for_each(|(pair, sums)| {
                self.each(w, *pair, sums, |w, row, column, sums| {
                    let words_of = sums.map(Expr::bits);
                    w.code.push(Stmt::StoreTwo(slot, row * words + column + &begins, words_of));
                    Ok(())
                })
            })
        })?;
        w.share(rows, |w, row| {
            let to = w.code.set("to", &row * words + (&begins + cols));
            let [total, top] = [self.totals, self.tops].map(|at| Expr::Shared((&row + at).into()));
            w.code.push(Stmt::StoreTwo(slot, to, [total, top]));
            Ok(())
        })
    }

    /// Whether a warp stores its results of some pairs through workgroup memory, in the place of scores: in a long context, if rows are
    /// long enough and there is room for eight. At 32,768 positions this saves 2 % of a token on an H100; at 4,096, in the other text, it
    /// gained nothing (`bench/runs/2026-11-28-cuda-results.md`).
    fn passes_on(&self, pairs: &[u32]) -> bool {
        let columns = pairs.len() as u32 * PAIR;
        let whole = (self.tile.cols / PAIR).is_multiple_of(self.pairs() * self.warps);
        let room = self.warps * HALF * passed_stride(columns);
        self.place.is_long() && whole && columns.is_multiple_of(WARP) && room <= self.tile.score_words()
    }

    /// Stores a warp's results of some pairs of columns, eight rows at a time. Lanes have two columns of each row, so a direct store
    /// instruction would write 32 bytes of each of eight rows; this writes 128 bytes of one row.
    fn pass_on(
        &self,
        w: &mut Writer<'_>,
        pairs: &[u32],
        sums: &[Sums],
        (slot, begins): (usize, &Expr),
    ) -> Result<(), Why> {
        let (rows, words) = (self.place.tile(), chunk_words(self.tile.cols));
        let columns = pairs.len() as u32 * PAIR;
        let stride = passed_stride(columns);
        let first = w.code.set("first_column", (&self.warp * self.pairs() + pairs[0]) * PAIR);
        let own = w.code.set("passed_at", &self.warp * (HALF * stride) + self.scores);
        let to = w.code.set("to", &own + &self.g * stride + &self.t * 2u32);
        let lane = w.code.set("own_lane", Expr::Lane % WARP);
        let from = w.code.set("from", own + &lane);
        let stored = w.code.set("stored_at", begins + first + lane);
        for least in (0..rows).step_by(HALF as usize) {
            let (group, below) = ((least / MATRIX_ROWS) as usize, (least % MATRIX_ROWS / HALF) as usize);
            w.code.push(Stmt::Cooperative(Cooperative::SubgroupBarrier));
            for (pair, sums) in (0..).zip(sums) {
                for (half, sums) in (0..).zip(sums) {
                    for beside in 0..2 {
                        let sum = sums[group][2 * below + beside as usize].clone();
                        w.code.store_shared(&to + (pair * PAIR + half * HALF + beside), sum.bits());
                    }
                }
            }
            w.code.push(Stmt::Cooperative(Cooperative::SubgroupBarrier));
            for row in 0..HALF.min(rows - least) {
                for column in (0..columns).step_by(WARP as usize) {
                    let word = Expr::Shared((&from + (row * stride + column)).into());
                    w.code.push(Stmt::Store(slot, &stored + ((least + row) * words + column), word));
                }
            }
        }
        Ok(())
    }
}

/// The stride in words of these results: four rows are in different banks.
const fn passed_stride(columns: u32) -> u32 {
    columns + HALF
}
