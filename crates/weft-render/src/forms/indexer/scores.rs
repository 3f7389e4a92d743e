//! The scores of a chunk of positions, by lanes or on matrix units.

use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::indexer::found::{Found, Scored};
use crate::forms::indexer::lanes::scores::Lanes;
use crate::forms::indexer::token::Token;
use crate::forms::indexer::units::scores::Units;
use crate::lower::select;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// What scores positions.
pub(super) enum Scores {
    Lanes(Lanes),
    Units(Units),
}

/// Where keys that order like scores go.
pub(super) struct To<'a> {
    pub(super) slot: usize,
    /// The word of the chunk's first position.
    pub(super) at: &'a Expr,
    /// The word of the largest key of the first block, if the largest of each are stored.
    pub(super) tops: Option<&'a Expr>,
}

impl Scores {
    pub(super) fn new(w: &mut Writer<'_>, token: &Token<'_>) -> Result<Scores, Why> {
        Ok(match token.split.matrix {
            true => Scores::Units(Units::new(w, token)?),
            false => Scores::Lanes(Lanes::new(w, token)?),
        })
    }

    /// Frees its workgroup memory.
    pub(super) fn free(&self, w: &mut Writer<'_>) {
        match self {
            Scores::Lanes(own) => own.free(w),
            Scores::Units(own) => own.free(w),
        }
    }

    /// Loads what all chunks need: the weights, and the queries if there is room for all. Ends with a barrier.
    pub(super) fn begin(&self, w: &mut Writer<'_>, token: &Token<'_>) -> Result<(), Why> {
        match self {
            Scores::Lanes(own) => own.begin(w, token),
            Scores::Units(own) => own.begin(w, token),
        }
    }

    /// Scores the positions of the chunk that begins at `start`, and stores a key that orders like each score; if they are wanted, also the
    /// largest key of the positions of each subgroup.
    pub(super) fn chunk(
        &self,
        w: &mut Writer<'_>,
        token: &Token<'_>,
        start: &Expr,
        to: &To<'_>,
    ) -> Result<(), Why> {
        let end = token.context.end(w, start);
        let Found { stores, masks, scored } = match self {
            Scores::Lanes(own) => own.chunk(w, token, (start, &end))?,
            Scores::Units(own) => own.chunk(w, token, (start, &end))?,
        };
        let mut top = Expr::U32(0);
        for Scored { place, score } in scored {
            let exists = (start + &place).less(&end);
            let Some(_) = to.tops else {
                w.when(stores.both(&exists), |w| {
                    let key = select::key(w, score);
                    w.code.push(Stmt::Store(to.slot, to.at + place, key));
                    Ok(())
                })?;
                continue;
            };
            let key = select::key(w, score);
            let exists = w.code.set("exists", exists);
            top = w.code.set("top", Expr::U32(0).unless(&exists, key.clone()).max(top));
            w.when(stores.both(&exists), |w| {
                w.code.push(Stmt::Store(to.slot, to.at + place, key));
                Ok(())
            })?;
        }
        let Some(tops) = to.tops else { return Ok(()) };
        for mask in masks {
            let other = w.shuffled(&top, mask);
            top = w.code.set("top", top.max(other));
        }
        w.when((Expr::Lane % w.subgroup).equal(0u32), |w| {
            w.code.push(Stmt::Store(to.slot, Expr::Lane / w.subgroup + tops, top));
            Ok(())
        })
    }
}
