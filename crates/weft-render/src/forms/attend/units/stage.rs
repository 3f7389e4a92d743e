//! Copies chunks of the state to workgroup memory, for matrix units.

use weft_kern::{Attend, Cached};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::attend::units::division::Units;
use crate::forms::attend::units::{STEP, Tile, UNIT, UNIT_WORDS};
use crate::lower::attend::members;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// Neighbouring lanes that load units of the same row.
const BESIDE: u32 = 8;

/// The most loads of the state that a lane has in flight.
pub(crate) const AHEAD: u32 = 18;

/// A copy of a chunk's rows to workgroup memory: `units` of each, padded with zeros.
pub(crate) struct Copy {
    slot: usize,
    /// The first word of row 0, and the stride of rows in words.
    from: Expr,
    row_words: u32,
    units: u32,
    padded: u32,
    /// The number of rows, of units of all rows, and of units per lane.
    chunk: u32,
    all: u32,
    pub(crate) times: u32,
    /// Whether this is the only workgroup that reads the chunk.
    once: bool,
    /// The destination's offset, and its stride of rows in words.
    to: u32,
    stride: u32,
}

impl Copy {
    /// The lane's unit number `time`: its row, the unit within the row, and whether it exists.
    fn item(&self, w: &mut Writer<'_>, time: &Expr) -> (Expr, Expr, Expr) {
        let lanes = w.code.lanes;
        let rows = lanes / BESIDE;
        if self.padded.is_multiple_of(BESIDE) && self.chunk.is_multiple_of(rows) {
            // Eight lanes share a row at a time, and look up its place once.
            let each = self.padded / BESIDE;
            let row = Expr::Lane / BESIDE + (time / each) * rows;
            let unit = Expr::Lane % BESIDE + (time % each) * BESIDE;
            return (w.code.set("row", row), w.code.set("unit", unit), Expr::True);
        }
        let item = w.code.set("item", time * lanes + Expr::Lane);
        let whole = self.all.is_multiple_of(lanes);
        let exists = if whole { Expr::True } else { item.less(self.all) };
        (&item / self.padded, item % self.padded, exists)
    }

    /// Loads a lane's unit.
    pub(crate) fn load(&self, w: &mut Writer<'_>, units: &Units<'_>, time: &Expr) -> [Expr; 4] {
        let (row, unit, exists) = self.item(w, time);
        let row = if exists == Expr::True { row } else { row.min(self.chunk - 1) };
        let unit = w.code.set("unit", unit);
        let row = Expr::Shared((row + units.positions).into());
        let pads = self.units < self.padded;
        let read = if pads { unit.clone().min(self.units - 1) } else { unit.clone() };
        let at = &self.from + row * self.row_words + read * UNIT_WORDS;
        let at = w.code.set("unit_at", at);
        let words = Expr::Four(Some(self.slot), at.into());
        let words = w.code.four("words", if self.once { Expr::Once(words.into()) } else { words });
        match pads {
            false => words,
            true => words.map(|word| Expr::U32(0).unless(&unit.less(self.units), word)),
        }
    }

    /// Stores a lane's unit.
    pub(crate) fn store(&self, w: &mut Writer<'_>, time: &Expr, words: [Expr; 4]) -> Result<(), Why> {
        let (row, unit, exists) = self.item(w, time);
        let at = row * self.stride + unit * UNIT_WORDS + self.to;
        w.when(exists, |w| {
            w.code.push(Stmt::StoreFour(at, words));
            Ok(())
        })
    }
}

/// The first word of a tile's row 0 of a state of halves.
pub(crate) fn state_from(
    w: &mut Writer<'_>,
    (attend, place): (&Attend, &Place),
    cached: &Cached,
) -> Result<Expr, Why> {
    let axes = members::axes(w, place, &Expr::U32(0));
    let head = axes.get(1).cloned().unwrap_or(Expr::U32(0));
    let group = head / word(attend.heads / attend.kv_heads.max(1))?;
    let head = group * word(cached.head_stride / 2)? + word(cached.offset / 2)?;
    let from = w.start(cached.param) + head;
    Ok(w.code.set("state_at", from))
}

impl Units<'_> {
    /// The state row of position `start + lane` of a run. Positions beyond `end` are read as the last one, and those before `begin` as that
    /// one; they get no weight.
    pub(crate) fn position(
        &self,
        w: &mut Writer<'_>,
        pages_at: &Expr,
        start: &Expr,
        (begin, end): (Option<&Expr>, &Expr),
    ) -> Expr {
        let b = w.code.set("b", Expr::Lane % self.tile.chunk);
        let p = start + b;
        let p = begin.map_or_else(|| p.clone(), |begin| p.clone().max(begin));
        let mut p = w.code.set("p", p.min(end - 1u32));
        if let Some(list) = self.attend.list {
            // The rows of a tile are of one token.
            let token = members::token(w, self.place, &Expr::U32(0));
            p = self.bounds.listed(w, list, &token, &p);
        }
        let row = self.bounds.row(w, self.attend, pages_at, &p);
        w.code.set("position_at", row)
    }

    /// Stores the state rows of a chunk's positions. Lanes see them after the next barrier.
    pub(crate) fn keep_position(&self, w: &mut Writer<'_>, position: Expr) -> Result<(), Why> {
        self.keep_position_at(w, &self.positions.into(), position)
    }

    /// Stores the state row of the lane's position of the chunk from word `at` on.
    pub(crate) fn keep_position_at(&self, w: &mut Writer<'_>, at: &Expr, position: Expr) -> Result<(), Why> {
        w.share(self.tile.chunk, |w, b| {
            w.code.store_shared(b + at, position);
            Ok(())
        })
    }

    /// Copies a chunk to workgroup memory: keys, and also values unless these are the beginning of keys. Lanes see them after the next
    /// barrier.
    pub(crate) fn stage(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        for copy in self.copies(w)? {
            let ahead = (1..=AHEAD).rev().find(|n| copy.times.is_multiple_of(*n)).unwrap_or(1);
            w.count_or_once("time", (0u32.into(), copy.times.into(), ahead), |w, time| {
                let loaded: Vec<_> = (0..ahead).map(|a| copy.load(w, self, &(&time + a))).collect();
                loaded
                    .into_iter()
                    .enumerate()
                    .try_for_each(|(a, words)| copy.store(w, &(&time + a as u32), words))
            })?;
        }
        Ok(())
    }

    /// The copies of a chunk: keys, and values if they are separate.
    pub(crate) fn copies(&self, w: &mut Writer<'_>) -> Result<Vec<Copy>, Why> {
        let Tile { key_units, steps, cols, latent, .. } = self.tile;
        let padded = steps * (STEP / UNIT);
        let keys = (self.keys, self.tile.key_stride());
        let mut copies = vec![self.copy(w, &self.attend.k, (key_units, padded), keys)?];
        if !latent {
            let (units, values) = (cols / UNIT, (self.values, self.tile.value_stride()));
            copies.push(self.copy(w, &self.attend.v, (units, units), values)?);
        }
        Ok(copies)
    }

    /// Whether this is the only workgroup that reads a chunk: for one token in a long context, a tile has all heads that share keys. Then
    /// the L2 cache should keep the results of chunks, which are read at once, and not keys, which only the next token reads. For eight
    /// tokens this costs 2 % (H100, 4,096 positions each; `bench/runs/2026-11-27-cuda-depth.md`).
    fn reads_alone(&self) -> bool {
        let group = self.attend.heads / self.attend.kv_heads.max(1);
        self.place.is_long() && self.place.tile() as usize == group
    }

    /// The first word of the tile's row 0 of the state.
    pub(crate) fn state_from(&self, w: &mut Writer<'_>, cached: &Cached) -> Result<Expr, Why> {
        state_from(w, (self.attend, self.place), cached)
    }

    fn copy(
        &self,
        w: &mut Writer<'_>,
        cached: &Cached,
        (units, padded): (u32, u32),
        (to, stride): (u32, u32),
    ) -> Result<Copy, Why> {
        let all = self.tile.chunk * padded;
        let from = self.state_from(w, cached)?;
        Ok(Copy {
            slot: w.slot(cached.param),
            from,
            row_words: word(cached.row_stride / 2)?,
            units,
            padded,
            chunk: self.tile.chunk,
            all,
            times: all.div_ceil(w.code.lanes),
            once: self.reads_alone(),
            to,
            stride,
        })
    }
}
