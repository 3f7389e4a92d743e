//! Narrows the choice of a token that sees many positions: each workgroup lists the candidates of a slice of them.
//!
//! The key of rank `most` among the largest keys of blocks is a bound: at least `most` positions have no lower one. So only keys from the
//! bound on can be chosen. All workgroups of a token find the same bound, in which they leave out the last digits. A block of scores has
//! few positions, and if blocks are many, lanes join some that are far apart: the more blocks have none of the highest keys in common, the
//! fewer candidates there are. About 1.4 times as many as are chosen is usual, and all keys is the worst case, which changes no list.

use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::forms::indexer::keys::{AHEAD, Held, Keys, of_lane};
use crate::forms::indexer::memory::{HELD, Memory, Slices};
use crate::forms::indexer::rank;
use crate::forms::indexer::token::Token;
use crate::forms::select_blocks::tops::before;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The most largest keys of blocks that a lane holds.
const BLOCKS: u32 = 32;

/// The digits of the bound: the sign, the exponent, and nine bits of the fraction.
const DIGITS: u32 = 6;

/// Lists the candidates of slice `slice` of a token, whose scratch memory begins at word `own`.
pub(super) fn write(
    w: &mut Writer<'_>,
    token: &Token<'_>,
    (memory, own): (&Memory, &Expr),
    (slices, slice): (&Slices, &Expr),
) -> Result<(), Why> {
    let seen = &token.context.seen;
    let begin = w.code.set("slice_begin", slice * slices.positions);
    // Lanes hold fewer keys in one workgroup.
    let all = token.is_scored().both(&seen.greater(HELD * w.code.lanes)).both(&begin.less(seen));
    w.when(all, |w| {
        let least = bound(w, token, (memory, own), slices)?;
        let of_lane = slices.positions / w.code.lanes;
        let first = w.code.set("first_key", Expr::Lane * of_lane + &begin);
        let mut keys = Vec::new();
        for four in 0..of_lane / 4 {
            // Loads beyond the last key stay in its group of keys.
            let last = (seen - 1u32) / 4u32 * 4u32;
            let position = w.code.set("position", &first + four * 4);
            let from = w.code.set("from_key", position.clone().min(last) + own);
            let words: Vec<Expr> = match w.quads {
                true => w.code.four("key", Expr::Four(Some(memory.slot), from.into())).into(),
                false => (0..4u32)
                    .map(|n| w.code.set("key", Expr::Word(memory.slot, (&from + n).into())))
                    .collect(),
            };
            for (n, key) in (0..4u32).zip(words) {
                let position = w.code.set("position", &position + n);
                let exists = position.less(seen);
                keys.push((w.code.set("key", Expr::U32(0).unless(&exists, key)), position));
            }
        }
        let count = w.code.var("own_count", 0.0f32);
        for (key, _) in &keys {
            w.code.assign(&count, &count + Expr::F32(0.0).unless(&key.greater(&least), 1.0f32));
        }
        let earlier = before(w, count)?;
        let place = w.code.var("place", earlier);
        let listed = w.code.set("listed_at", slice * (2 * slices.positions) + own + slices.listed);
        for (key, position) in keys {
            w.when(key.greater(&least), |w| {
                let to = w.code.set("to", &place + &listed);
                w.code.push(Stmt::Store(memory.slot, to.clone(), key));
                w.code.push(Stmt::Store(memory.slot, to + slices.positions, position));
                w.code.assign(&place, &place + 1u32);
                Ok(())
            })?;
        }
        w.when(Expr::Lane.equal(w.code.lanes - 1), |w| {
            w.code.push(Stmt::Store(memory.slot, own + slices.counts + slice, place));
            Ok(())
        })
    })
}

/// A key below all candidates.
fn bound(
    w: &mut Writer<'_>,
    token: &Token<'_>,
    (memory, own): (&Memory, &Expr),
    slices: &Slices,
) -> Result<Expr, Why> {
    let lanes = w.code.lanes;
    let chunks = token.context.chunks(w);
    let blocks = w.code.set("blocks", chunks * slices.blocks);
    let joined = w.code.set("joined", (&blocks + (lanes * BLOCKS - 1)) / (lanes * BLOCKS));
    let count = w.code.set("tops", (&blocks + (&joined - 1u32)) / &joined);
    let each = of_lane(w, &count);
    let held = Held::new(w, BLOCKS, each);
    let tops = w.code.set("tops_at", own + slices.tops);
    w.count("join", (0u32.into(), joined, 1), |w, join| {
        for (number, keys) in (0..).zip(&held.groups) {
            w.when(held.each.greater(AHEAD * number), |w| {
                let mut words = Vec::new();
                for i in 0..AHEAD {
                    // The order of blocks is free, and neighbouring lanes read neighbours.
                    let own = w.code.set("top", Expr::Lane + (AHEAD * number + i) * lanes);
                    let block = w.code.set("block", &join * &count + &own);
                    let exists = own.less(&count).both(&block.less(&blocks));
                    let at = w.code.set("at", block.min(&blocks - 1u32) + &tops);
                    let word = w.code.set("word", Expr::Word(memory.slot, at.into()));
                    words.push(Expr::U32(0).unless(&exists, word));
                }
                for (key, word) in keys.iter().zip(words) {
                    w.code.assign(key, Expr::call(Fun::Max, [key.clone(), word]));
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    let found = rank::find(w, &Keys::Held(held), token.most, (DIGITS, false))?;
    // Zeros are no keys. If there are fewer blocks than chosen positions, all keys are candidates.
    Ok(w.code.set("least_candidate", found.known.max(1u32) - 1u32))
}
