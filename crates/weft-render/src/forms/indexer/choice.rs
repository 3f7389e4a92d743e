//! Chooses the positions of a token's highest scores. Of equal scores, the lower positions are chosen.
//!
//! Nothing is sorted: lanes find the score of rank `most` ([`rank`]), and then list their own positions behind those of earlier lanes. They
//! hold the keys in registers if they are few: all of them, or the candidates that other workgroups left ([`narrow`]). Otherwise they read
//! all keys in each round.
//!
//! [`narrow`]: super::narrow

use weft_shader::expr::{Expr, Fun};

use crate::forms::indexer::keys::{AHEAD, Held, Keys, Stored, of_lane};
use crate::forms::indexer::memory::{Memory, Slices};
use crate::forms::indexer::rank::{self, DIGITS, Found};
use crate::forms::indexer::token::Token;
use crate::forms::select_blocks::tops::before;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The choice of a token.
pub(super) struct Choice<'a> {
    memory: &'a Memory,
    /// The token's first word of scratch memory.
    own: &'a Expr,
    /// The number of keys, and of those that are chosen.
    seen: &'a Expr,
    most: u32,
    pool: u32,
    /// The most keys that a lane holds.
    held: u32,
    /// The first word of the list in workgroup memory.
    list: u32,
}

/// Which keys are chosen: those above `least`, and the first `ties` of those equal to it.
struct Chosen {
    least: Expr,
    ties: Expr,
}

/// The candidates of a token.
struct Candidates {
    /// Whether they are so few that lanes hold them, and their number.
    are_few: Expr,
    count: Expr,
    /// The offset in workgroup memory of the number of candidates before each slice.
    before: u32,
}

impl<'a> Choice<'a> {
    /// The choice among the keys in `memory`, from word `own` on, with a list from word `list` of workgroup memory on.
    pub(super) fn new(
        (memory, own): (&'a Memory, &'a Expr),
        token: &'a Token<'_>,
        (held, list): (u32, u32),
    ) -> Choice<'a> {
        Choice { memory, own, seen: &token.context.seen, most: token.most, pool: token.pool, held, list }
    }

    /// Lists the chosen positions in ascending order, as floats. Lanes see them after the next barrier.
    pub(super) fn write(&self, w: &mut Writer<'_>) -> Result<(), Why> {
        let all = self.held * w.code.lanes;
        if self.memory.keys <= all {
            return self.of_held(w, None);
        }
        let are_many = w.code.set("are_many", Expr::U32(0).unless(&self.seen.greater(all), 1u32));
        let candidates = match &self.memory.slices {
            Some(slices) => Some(self.candidates(w, slices, &are_many)?),
            None => None,
        };
        let reads = match &candidates {
            Some(few) => w.code.set("reads", are_many.unless(&few.are_few, 0u32)),
            None => are_many,
        };
        let at = w.pool.alloc(0);
        w.when(reads.equal(0u32), |w| self.of_held(w, candidates.as_ref()))?;
        w.pool.free_from(at);
        w.when(reads.equal(1u32), |w| {
            let stored = Stored::new(w, self.memory.slot, self.own, self.seen);
            self.of(w, &Keys::Stored(stored))
        })
    }

    /// Counts the candidates if there are more keys than lanes hold.
    fn candidates(&self, w: &mut Writer<'_>, slices: &Slices, are_many: &Expr) -> Result<Candidates, Why> {
        let lanes = w.code.lanes;
        let ends = w.pool.alloc(lanes + 1);
        let count = w.code.var("candidates", 0u32);
        w.when(are_many.equal(1u32), |w| {
            let used = w.code.set("slices", (self.seen - 1u32) / slices.positions);
            let at = self.own + slices.counts + Expr::Lane.min(&used);
            let own = w.code.set("own_candidates", Expr::Word(self.memory.slot, at.into()));
            let exists = Expr::Lane.less(used + 1u32);
            let own = w.code.set("own_candidates", Expr::U32(0).unless(&exists, own));
            let earlier = before(w, Expr::call(Fun::FloatOfU32, [own.clone()]))?;
            w.when(Expr::Lane.equal(0u32), |w| {
                w.code.store_shared(ends.into(), 0u32.into());
                Ok(())
            })?;
            w.code.store_shared(Expr::Lane + (ends + 1), earlier + own);
            w.code.barrier();
            let all = w.code.uniform("all_candidates", Expr::Shared(Expr::U32(ends + lanes).into()));
            w.code.assign(&count, all);
            Ok(())
        })?;
        let few = count.less(self.held / 2 * lanes + 1).both(&are_many.equal(1u32));
        Ok(Candidates { are_few: few, count, before: ends })
    }

    /// The same of keys in registers: all, or the candidates if these are few.
    fn of_held(&self, w: &mut Writer<'_>, candidates: Option<&Candidates>) -> Result<(), Why> {
        let memory = self.memory;
        let most = self.held.min(memory.keys.div_ceil(w.code.lanes).next_multiple_of(AHEAD));
        let mut count = self.seen.clone();
        if let Some(few) = candidates {
            count = w.code.set("keys", count.unless(&few.are_few, few.count.clone()));
        }
        let each = of_lane(w, &count);
        let mut held = Held::new(w, most, each);
        let load = |w: &mut Writer<'_>, held: &Held| {
            let stored = Stored::new(w, memory.slot, self.own, self.seen);
            held.load(w, &stored)
        };
        match (candidates, &memory.slices) {
            (Some(few), Some(slices)) => {
                let listed = w.code.set("listed", Expr::U32(0).unless(&few.are_few, 1u32));
                w.when(listed.equal(0u32), |w| load(w, &held))?;
                w.when(listed.equal(1u32), |w| self.load(w, &held, few, slices))?;
                held.listed = Some(listed.equal(1u32));
            }
            _ => load(w, &held)?,
        }
        self.of(w, &Keys::Held(held))
    }

    /// Loads the candidates and their positions.
    fn load(&self, w: &mut Writer<'_>, held: &Held, few: &Candidates, slices: &Slices) -> Result<(), Why> {
        let listed = w.code.set("listed_at", self.own + slices.listed);
        let (keys, positions) = held.groups.split_at(held.groups.len() / 2);
        for (number, (keys, positions)) in (0..).zip(keys.iter().zip(positions)) {
            let from = AHEAD * number;
            w.when(held.each.greater(from), |w| {
                let mut words = Vec::new();
                for i in 0..AHEAD {
                    let number = w.code.set("number", &held.first + (from + i));
                    let exists = number.less(&few.count);
                    let number = w.code.set("number", number.min(&few.count - 1u32));
                    let at = few.place(w, &number, slices);
                    let at = w.code.set("listed_key", at + &listed);
                    let [key, position] = [at.clone(), at + slices.positions]
                        .map(|at| w.code.set("word", Expr::Word(self.memory.slot, at.into())));
                    words.push((Expr::U32(0).unless(&exists, key), position));
                }
                for ((key, position), words) in keys.iter().zip(positions).zip(words) {
                    w.code.assign(key, words.0);
                    w.code.assign(position, words.1);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Chooses among these keys.
    fn of(&self, w: &mut Writer<'_>, keys: &Keys<'_>) -> Result<(), Why> {
        let Chosen { least, ties } = self.chosen(w, keys)?;
        let [above, equal] = [(); 2].map(|()| w.code.var("own_count", 0.0f32));
        keys.each(w, |w, group| {
            for key in &group.keys {
                for (count, counts) in [(&above, key.greater(&least)), (&equal, key.equal(&least))] {
                    w.code.assign(count, count + Expr::F32(0.0).unless(&counts, 1.0f32));
                }
            }
            Ok(())
        })?;
        let (above, equal) = (before(w, above)?, before(w, equal)?);
        let rank = w.code.var("rank", equal);
        let place = w.code.var("place", above + rank.clone().min(&ties));
        keys.each(w, |w, group| {
            for (key, position) in group.keys.iter().zip(&group.positions) {
                let equal = key.equal(&least);
                let chosen = key.greater(&least).either(&equal.both(&rank.less(&ties)));
                w.when(chosen, |w| {
                    self.store(w, &place, position);
                    w.code.assign(&place, &place + 1u32);
                    Ok(())
                })?;
                w.code.assign(&rank, rank.clone().unless(&equal, &rank + 1u32));
            }
            Ok(())
        })
    }

    /// Stores the position with this number among the chosen, or the positions of this pool.
    fn store(&self, w: &mut Writer<'_>, place: &Expr, position: &Expr) {
        let (pool, list) = (self.pool, self.list);
        if pool == 1 {
            w.code.store_shared(place + list, Expr::call(Fun::FloatOfU32, [position.clone()]).bits());
        } else {
            for i in 0..pool {
                let own = Expr::call(Fun::FloatOfU32, [position * pool + i]);
                w.code.store_shared(place * pool + (list + i), own.bits());
            }
        }
    }

    /// Finds the key of rank `most`. It is exact after the last digit, or when all keys with the known digits are chosen.
    fn chosen(&self, w: &mut Writer<'_>, keys: &Keys<'_>) -> Result<Chosen, Why> {
        let Found { known, rest, exact } = rank::find(w, keys, self.most, (DIGITS, true))?;
        let exact = exact.equal(1u32);
        let least = known.clone().unless(&exact, known - 1u32);
        Ok(Chosen { least: w.code.set("least", least), ties: w.code.set("ties", rest.unless(&exact, 0u32)) })
    }
}

impl Candidates {
    /// The offset of the key of candidate `number` among the lists of slices. A list has keys and then as many positions.
    fn place(&self, w: &mut Writer<'_>, number: &Expr, slices: &Slices) -> Expr {
        // The last slice that begins with this candidate or an earlier one; empty slices begin with the next one's.
        let slice = w.code.var("slice", 0u32);
        let mut step = w.code.lanes / 2;
        while step > 0 {
            let begin = Expr::Shared((&slice + (self.before + step)).into());
            let later = begin.greater(number);
            w.code.assign(&slice, (&slice + step).unless(&later, slice.clone()));
            step /= 2;
        }
        let begin = Expr::Shared((&slice + self.before).into());
        w.code.set("listed", &slice * (2 * slices.positions) + number - begin)
    }
}
