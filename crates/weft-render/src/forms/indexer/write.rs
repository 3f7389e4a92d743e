//! The text of an indexer: the scores of a chunk, the choice of a token, or both for one token after another.

use weft_kern::Part;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::indexer::choice::Choice;
use crate::forms::indexer::memory::{HELD, HELD_IN_TURN, Memory};
use crate::forms::indexer::narrow;
use crate::forms::indexer::scores::{Scores, To};
use crate::forms::indexer::token::Token;
use crate::lower::before_wait::BeforeWait;
use crate::lower::pass::Pass;
use crate::lower::space::{Place, Space};
use crate::lower::store;
use crate::lower::writer::Writer;
use crate::refused::Why;
use crate::split::Split;

/// Writes the work of a workgroup on an indexer.
pub(crate) fn write(
    w: &mut Writer<'_>,
    part: &Part,
    split: &Split,
    (space, pass): (&Space, Pass),
    group: &Expr,
) -> Result<(), Why> {
    let Some(indexer) = part.indexer() else { return Err(Why::Form("has no indexer".into())) };
    let attend = indexer.attention();
    let of = (indexer, &attend, split);
    if let Pass::InTurn { memory, groups } = pass {
        w.wait();
        let own = w.code.set("own_keys", group * memory.words.next_multiple_of(4) + memory.at);
        return w.count("turn", (group.clone(), space.rows_now(), groups), |w, tile| {
            let place = space.place(&mut w.code, &tile);
            let token = Token::new(w, of, &place)?;
            token.in_turn(w, part, &place, (&memory, &own))
        });
    }
    let place = space.place(&mut w.code, group);
    let before_wait = BeforeWait::new(w, part, &place)?;
    w.wait();
    before_wait.prologue(w, part, &place)?;
    let token = Token::new(w, of, &place)?;
    match (pass, &place.chunk) {
        (Pass::Scores(memory), Some(chunk)) => {
            let own = memory.of(w, &place);
            let start = w.code.set("chunk_start", token.context.start_of(chunk));
            let to = w.code.set("keys_at", &own + &start);
            let tops = memory.slices.map(|of| w.code.set("tops_at", own + of.tops + chunk * of.blocks));
            let scored = token.is_scored().both(&start.less(&token.context.seen));
            w.when(scored, |w| {
                let scores = Scores::new(w, &token)?;
                scores.begin(w, &token)?;
                scores.chunk(w, &token, &start, &To { slot: memory.slot, at: &to, tops: tops.as_ref() })
            })
        }
        (Pass::Narrow(memory), Some(slice)) => {
            let own = memory.of(w, &place);
            match &memory.slices {
                Some(slices) => narrow::write(w, &token, (&memory, &own), (slices, slice)),
                None => Err(Why::Form("has no slices".into())),
            }
        }
        (Pass::Choose(memory), _) => {
            let own = memory.of(w, &place);
            let list = w.pool.alloc(place.cols());
            w.when(token.is_scored(), |w| Choice::new((&memory, &own), &token, (HELD, list)).write(w))?;
            token.all(w, list)?;
            store::program(w, part, &place, vec![list])
        }
        (Pass::Whole, _) => {
            let list = w.pool.alloc(place.cols());
            token.all(w, list)?;
            store::program(w, part, &place, vec![list])
        }
        _ => Err(Why::Form("has no such pass of an indexer".into())),
    }
}

impl Memory {
    /// The first word of the workgroup's token.
    fn of(&self, w: &mut Writer<'_>, place: &Place) -> Expr {
        w.code.set("own_keys", place.tile_number() * self.words.next_multiple_of(4) + self.at)
    }
}

impl Token<'_> {
    /// Scores the positions of all chunks, chooses, and runs the row program. `keys` is the workgroup's scratch memory.
    fn in_turn(
        &self,
        w: &mut Writer<'_>,
        part: &Part,
        place: &Place,
        (memory, keys): (&Memory, &Expr),
    ) -> Result<(), Why> {
        let list = w.pool.alloc(place.cols());
        w.when(self.is_scored(), |w| {
            let scores = Scores::new(w, self)?;
            scores.begin(w, self)?;
            let all = (0u32.into(), self.context.seen.clone(), self.split.chunk);
            w.count("chunk_start", all, |w, start| {
                let to = w.code.set("to_keys", keys + &start);
                scores.chunk(w, self, &start, &To { slot: memory.slot, at: &to, tops: None })
            })?;
            // The choice overwrites the queries.
            w.code.push(Stmt::StorageBarrier);
            scores.free(w);
            Choice::new((memory, keys), self, (HELD_IN_TURN, list)).write(w)
        })?;
        self.all(w, list)?;
        store::program(w, part, place, vec![list])?;
        // The next token overwrites this memory.
        w.code.barrier();
        Ok(())
    }

    /// Lists all positions if they are no more than a list has, otherwise those behind the last pool. Ends with a barrier.
    fn all(&self, w: &mut Writer<'_>, list: u32) -> Result<(), Why> {
        w.when(self.positions.less(self.cols + 1), |w| {
            w.share(self.cols, |w, c| {
                let exists = c.less(&self.positions);
                let position = Expr::F32(-1.0).unless(&exists, Expr::call(Fun::FloatOfU32, [c.clone()]));
                w.code.store_shared(c + list, position.bits());
                Ok(())
            })
        })?;
        if self.pool > 1 {
            w.when(self.is_scored(), |w| {
                w.share(self.pool - 1, |w, c| {
                    let position = w.code.set("tail", &self.context.seen * self.pool + &c);
                    let exists = position.less(&self.positions);
                    let position = Expr::F32(-1.0).unless(&exists, Expr::call(Fun::FloatOfU32, [position]));
                    w.code.store_shared(c + (list + self.most * self.pool), position.bits());
                    Ok(())
                })
            })?;
        }
        w.code.barrier();
        Ok(())
    }
}
