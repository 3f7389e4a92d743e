//! Divides tiles of attention evenly among workgroups.
//!
//! A launch has at most one workgroup for each multiprocessor. The chunks of all tiles, one tile after another, are cut into as many shares
//! of the same length, so a share may begin and end within a tile. The workgroup whose share ends in a tile visits that tile first, and
//! passes its partial results on: sums of values and of weights, and largest scores. The next workgroup visits that tile last, and
//! continues from them. So the order of sums is that of one workgroup that visits the whole tile.
//!
//! No workgroup waits for long, because each one computes the partial results that another needs before anything else. If a tile is longer
//! than a share, workgroups visit it one after another.

use weft_kern::{Attend, Part, Sizes};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;
use weft_shader::warpgroup::{ROWS, WARPGROUP};

use crate::forms::attend::units::UNIT_WORDS;
use crate::gpu::Gpu;
use crate::lower::attend::context::{Bounds, chunks};
use crate::lower::attend::members;
use crate::lower::space::Space;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::shader::COUNTER_BYTES;
use crate::split::Split;

/// The work done once for each tile takes about as long as this many chunks. Before that work was made shorter, prompts of 2,048 tokens on
/// an H100 had 101,400 tokens/s with 4, and 106,400 to 109,800 with 6 to 12 (`bench/runs/2026-11-25-cuda-warpgroups.md`).
const BESIDES: u32 = 6;

/// The end of a share that includes the rest of its last tile.
const REST: u32 = u32::MAX;

/// Words of scratch memory that describe the tiles of a workgroup.
const SHARE_WORDS: u32 = 4;

/// Words of a lane besides its sums of values: the largest score and the sum of weights of each of its two rows.
const ROW_WORDS: u32 = 4;

/// The most tiles. Their lengths are in workgroup memory for a while.
const MOST_TILES: u32 = 8192;

/// The place of shares in scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shares {
    /// The slot of the partial results, and their first word, which comes after the words that describe the tiles. Each workgroup has
    /// `words` of them.
    pub(crate) slot: usize,
    pub(crate) at: u32,
    pub(crate) words: u32,
    /// The first of the words with which workgroups signal that their partial results are complete.
    pub(crate) signals: u32,
    /// The most workgroups, and the most tiles.
    pub(crate) groups: u32,
    pub(crate) tiles: u32,
}

/// The most tiles in a step of these sizes, if workgroups share them evenly, which they do if not all tiles run at once.
pub(crate) fn tiles(part: &Part, split: &Split, max: &Sizes, gpu: &Gpu) -> Option<u32> {
    let by_warpgroups = part.attention().is_some() && split.matrix && split.rows == ROWS;
    let rows: usize = part.rows.iter().map(|rows| rows.eval(max)).product();
    let tokens = part.rows.first().map_or(1, |rows| rows.eval(max));
    let tiles = match split.along_first {
        true => tokens.div_ceil(ROWS as usize) * (rows / tokens.max(1)),
        false => rows.div_ceil(ROWS as usize),
    };
    let tiles = u32::try_from(tiles).ok()?;
    let signals = u64::from(gpu.processors) <= COUNTER_BYTES / 4;
    let shares = gpu.features.shares_tiles && gpu.processors > 0 && signals;
    (by_warpgroups && shares && tiles > gpu.processors && tiles <= MOST_TILES).then_some(tiles)
}

impl Shares {
    /// The shares of this many tiles, without their place in scratch memory.
    pub(crate) fn new(cols: u32, tiles: u32, gpu: &Gpu) -> Shares {
        let words = SHARE_WORDS + ROWS * cols + ROW_WORDS * 2 * WARPGROUP;
        Shares { slot: 0, at: 0, words, signals: 0, groups: gpu.processors, tiles }
    }

    /// Words of scratch memory for all workgroups.
    pub(crate) fn all_words(&self) -> u64 {
        u64::from(self.words) * u64::from(self.groups)
    }
}

/// A workgroup's share.
pub(crate) struct Share {
    shares: Shares,
    group: Expr,
    /// The number of workgroups.
    groups: Expr,
    /// The first of the words that describe its tiles: the first and the last tile, the chunk at which it begins in the first, and the one
    /// before which it ends in the last.
    at: Expr,
}

/// A workgroup's piece of a tile.
pub(crate) struct Piece {
    pub(crate) tile: Expr,
    /// Its first chunk, and the one before which it ends.
    pub(crate) from: Expr,
    pub(crate) to: Expr,
}

impl Share {
    /// Computes the share of a workgroup, in chunks of `chunk` positions. It frees its workgroup memory afterwards.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        (attend, bounds): (&Attend, &Bounds),
        space: &Space,
        (shares, group): (Shares, &Expr),
        chunk: u32,
    ) -> Result<Share, Why> {
        let lanes = w.code.lanes;
        let sums = w.pool.alloc(lanes);
        let lengths = w.pool.alloc(shares.tiles);
        let tiles = space.count(&mut w.code);
        let each = w.code.set("tiles_each", (&tiles + (lanes - 1)) / lanes);
        let own = w.code.set("own_tiles", (Expr::Lane * &each).min(&tiles));
        let own_end = w.code.set("own_end", (&own + &each).min(&tiles));
        let sum = w.code.var("length", 0u32);
        w.count("tile", (own.clone(), own_end.clone(), 1), |w, tile| {
            let length = chunks_of(w, attend, bounds, (space, &tile), chunk)?;
            let length = w.code.set("tile_length", length + BESIDES);
            w.code.store_shared(tile + lengths, length.clone());
            w.code.assign(&sum, &sum + length);
            Ok(())
        })?;
        w.code.store_shared(Expr::Lane + sums, sum);
        w.code.barrier();
        // The total length of all tiles, and of those before the lane's own.
        let [all, before] = [(); 2].map(|()| w.code.var("length", 0u32));
        w.count("other", (0u32.into(), lanes.into(), UNIT_WORDS), |w, other| {
            let four = w.code.four("lengths", Expr::Four(None, (&other + sums).into()));
            for (i, length) in (0..).zip(four) {
                w.code.assign(&all, &all + &length);
                let is_before = (&other + i).less(&Expr::Lane);
                w.code.assign(&before, &before + Expr::U32(0).unless(&is_before, length));
            }
            Ok(())
        })?;
        // Few tiles have fewer shares, and a step without tokens has none.
        let groups = w.code.set("shares", tiles.min(shares.groups));
        let by = w.code.set("by", groups.clone().max(1u32));
        let [whole, more] = [&all / &by, &all % &by].map(|n| w.code.set("share", n));
        let start_of = |group: &Expr| group * &whole + group.clone().min(&more);
        let start = w.code.set("share_start", start_of(group));
        let end = w.code.set("share_end", start_of(&(group + 1u32)));
        let at = w.code.set("share_at", group * shares.words + shares.at);
        let share = Share { shares, group: group.clone(), groups, at };
        w.count("tile", (own, own_end, 1), |w, tile| {
            let length = w.code.set("tile_length", Expr::Shared((&tile + lengths).into()));
            let tile_end = w.code.set("tile_end", &before + &length);
            let chunk = |units: Expr| units.max(BESIDES) - BESIDES;
            // The share begins or ends within this tile.
            let begins = start.less(&tile_end).both(&(&start + 1u32).greater(&before));
            w.when(begins, |w| {
                share.keep(w, 0, tile.clone());
                share.keep(w, 2, chunk(&start - &before));
                Ok(())
            })?;
            let ends = end.less(&tile_end + 1u32).both(&end.greater(&before));
            w.when(ends, |w| {
                let to = w.code.set("to", chunk(&end - &before));
                let (none, rest) = (to.equal(0u32), to.equal(&length - BESIDES));
                share.keep(w, 1, &tile - Expr::U32(0).unless(&none, 1u32));
                share.keep(w, 3, to.unless(&none, REST).unless(&rest, REST));
                Ok(())
            })?;
            w.code.assign(&before, tile_end);
            Ok(())
        })?;
        w.code.barrier();
        w.pool.free_from(sums);
        Ok(share)
    }

    fn keep(&self, w: &mut Writer<'_>, i: u32, word: Expr) {
        w.code.push(Stmt::Store(self.shares.slot, &self.at + i, word));
    }

    /// One of the words that describe the workgroup's tiles. They are read again for each tile, because lanes have no registers to spare.
    fn word(&self, w: &mut Writer<'_>, i: u32) -> Expr {
        w.code.set("share", Expr::Word(self.shares.slot, (&self.at + i).into()))
    }

    /// Visits the workgroup's pieces. Its first piece is passed on, and its last one continues from another workgroup's.
    pub(crate) fn visit(
        &self,
        w: &mut Writer<'_>,
        write: impl FnOnce(&mut Writer<'_>, &Piece) -> Result<(), Why>,
    ) -> Result<(), Why> {
        w.when(self.group.less(self.groups.clone()), |w| {
            let [first, last] = [0, 1].map(|i| self.word(w, i));
            w.count("piece", (0u32.into(), last + 1u32 - first, 1), |w, piece| {
                let [first, last, from, to] = [0, 1, 2, 3].map(|i| self.word(w, i));
                let tile = w.code.set("tile", last - &piece);
                let from = w.code.set("from", Expr::U32(0).unless(&tile.equal(first), from));
                let to = w.code.set("to", Expr::U32(REST).unless(&piece.equal(0u32), to));
                write(w, &Piece { tile, from, to })
            })
        })
    }

    /// Loads the previous workgroup's partial results of a tile, if it had any: this many words of each lane.
    pub(crate) fn take(&self, w: &mut Writer<'_>, piece: &Piece, into: &[Expr]) -> Result<(), Why> {
        let Shares { slot, signals, words, .. } = self.shares;
        w.when(piece.from.greater(0u32), |w| {
            let before = w.code.set("before", &self.group - 1u32);
            w.code.push(Stmt::Await { slot, at: before + signals });
            let from = w.code.set("taken_at", self.kept_at() - words);
            for (i, into) in (0..).zip(into) {
                let word = Expr::Word(slot, (&from + i * w.code.lanes).into());
                w.code.assign(into, word.float());
            }
            Ok(())
        })
    }

    /// The first of the lane's words that the workgroup passes on.
    fn kept_at(&self) -> Expr {
        &self.at + Expr::Lane + SHARE_WORDS
    }

    /// Passes these values of each lane on to the next workgroup, if the piece ends within its tile.
    pub(crate) fn hand_on(&self, w: &mut Writer<'_>, piece: &Piece, values: &[Expr]) -> Result<(), Why> {
        let Shares { slot, signals, .. } = self.shares;
        w.when(piece.to.less(REST), |w| {
            let to = w.code.set("kept_at", self.kept_at());
            for (i, value) in (0..).zip(values) {
                let at = &to + i * w.code.lanes;
                w.code.push(Stmt::Store(slot, at, value.clone().bits()));
            }
            w.code.push(Stmt::Signal { slot, at: &self.group + signals });
            Ok(())
        })
    }
}

impl Piece {
    /// Whether it is the rest of its tile.
    pub(crate) fn ends_tile(&self) -> Expr {
        self.to.equal(REST)
    }
}

/// The number of chunks of a tile: those of the sequences of its tokens ([`members`]).
fn chunks_of(
    w: &mut Writer<'_>,
    attend: &Attend,
    bounds: &Bounds,
    (space, tile): (&Space, &Expr),
    chunk: u32,
) -> Result<Expr, Why> {
    let place = space.place(&mut w.code, tile);
    let [first, last] = [0, place.tile() - 1].map(|row| members::token(w, &place, &row.into()));
    let [all, most] = [(); 2].map(|()| w.code.var("seen", 0u32));
    let pages = w.param_word(attend.first, first.clone());
    let pages = w.code.var("pages", pages);
    w.count("token", (first, last + 1u32, 1), |w, token| {
        let its = w.param_word(attend.first, token.clone());
        let its = w.code.set("its_pages", its);
        let position = w.param_word(attend.pos, token);
        let seen = w.code.set("its_seen", bounds.seen(position));
        let goes_on = its.equal(&pages);
        let before = w.code.set("chunks_before", chunks(chunk, &most, None));
        w.code.assign(&all, &all + before.unless(&goes_on, 0u32));
        let larger = Expr::call(Fun::Max, [most.clone(), seen.clone()]);
        w.code.assign(&most, seen.unless(&goes_on, larger));
        w.code.assign(&pages, its);
        Ok(())
    })?;
    Ok(w.code.set("chunks", all + chunks(chunk, &most, None)))
}
