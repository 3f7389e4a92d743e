//! States of `q8_0`: blocks of 34 bytes, a scale in half precision and 32 signed bytes, one after another.
//!
//! Memory has words, and a block is 17 halves of words. So every other block begins in the middle of a word, whose lower half is the end of the
//! block before: perhaps another workgroup's. Whole words are stored as always, and such halves for themselves.

use weft_kern::{ParamId, q8};

use crate::code::expr::{Expr, Fun};
use crate::code::stmt::Stmt;
use crate::lower::round::Rounded;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Values of a block: as many as are rounded together.
pub(crate) const BLOCK: u32 = q8::BLOCK as u32;

/// Halves of words that a block is: its scale, and 16 pairs of values.
pub(crate) const HALVES: u32 = 1 + BLOCK / 2;

/// Four neighbouring values of a state: those after `quad` other such fours.
pub(crate) fn quad(w: &mut Writer<'_>, param: ParamId, quad: &Expr) -> [Expr; 4] {
    const QUADS: u32 = BLOCK / 4;
    let block = w.code.set("block", quad / QUADS * HALVES);
    let scale = w.param_word(param, &block / 2u32) >> ((&block & 1u32) * 16u32);
    let scale = w.code.set("scale", Expr::call(Fun::Half, [scale]));
    // Two halves of one word, or of two.
    let half = w.code.set("half", block + (quad % QUADS) * 2u32 + 1u32);
    let odd = w.code.set("odd", &half & 1u32);
    let at = w.code.set("at", half / 2u32);
    let word = w.param_word(param, at.clone());
    let word = w.code.set("w", word);
    let next = w.param_word(param, at + &odd);
    let both = word.clone().unless(&odd.equal(1u32), (word >> 16u32) | (next << 16u32));
    let quants = w.code.set("quants", both);
    [24u32, 16, 8, 0].map(|up| {
        let number = Expr::call(Fun::Signed, [&quants << up]) >> 24u32;
        Expr::call(Fun::FloatOfI32, [number]) * &scale
    })
}

/// Blocks on their way from the workgroup's memory to a state.
pub(crate) struct Blocks {
    pub(crate) param: ParamId,
    pub(crate) from: Rounded,
    /// The first one, of those that are kept and of those of the state.
    pub(crate) first: Expr,
    pub(crate) to: Expr,
    /// Halves of all of them: as many as `words` was told of, if that is known.
    pub(crate) halves: Expr,
    /// Whether they are known to begin and to end with a word.
    pub(crate) aligned: bool,
}

impl Blocks {
    /// Words that so many blocks touch, at most; exactly, if they are aligned.
    pub(crate) const fn words(blocks: u32, aligned: bool) -> u32 {
        blocks * HALVES / 2 + if aligned { 0 } else { 1 }
    }

    /// Stores word `word` of those that they touch, or as much of it as is theirs; nothing, if there are less.
    pub(crate) fn store(&self, w: &mut Writer<'_>, word: &Expr) -> Result<(), Why> {
        let slot = w.slot(self.param);
        let start = w.start(self.param);
        let at = w.code.set("to", start + &self.to * HALVES / 2u32 + word);
        if self.aligned {
            let lower = w.code.set("half", word * 2u32);
            let exists = if self.halves.known().is_some() { Expr::True } else { lower.less(&self.halves) };
            return w.when(exists, |w| {
                let word = self.half(w, &lower) | (self.half(w, &(&lower + 1u32)) << 16u32);
                w.code.push(Stmt::Store(slot, at, word));
                Ok(())
            });
        }
        // Of a word that only ends with theirs the lower half would be the one before the first, which wraps around.
        let lower = w.code.set("half", word * 2u32 - (&self.to & 1u32));
        let upper = w.code.set("next", &lower + 1u32);
        w.when(lower.less(&self.halves).both(&upper.less(&self.halves)), |w| {
            let word = self.half(w, &lower) | (self.half(w, &upper) << 16u32);
            w.code.push(Stmt::Store(slot, at.clone(), word));
            Ok(())
        })?;
        w.when(upper.equal(&self.halves), |w| {
            let half = self.half(w, &lower);
            w.code.push(Stmt::StoreHalf { slot, at: at.clone(), upper: false, half });
            Ok(())
        })?;
        w.when(lower.equal(u32::MAX), |w| {
            let half = self.half(w, &upper) << 16u32;
            w.code.push(Stmt::StoreHalf { slot, at, upper: true, half });
            Ok(())
        })
    }

    /// Half `at` of them, alone in a word.
    fn half(&self, w: &mut Writer<'_>, at: &Expr) -> Expr {
        let block = w.code.set("block", &self.first + at / HALVES);
        let within = w.code.set("within", at % HALVES);
        // Of the scale's half this is the last pair, which is there.
        let pair = w.code.set("pair", (&within + (HALVES - 2)) % (BLOCK / 2));
        let quants = Expr::Shared((&block * (BLOCK / 4) + &pair / 2u32 + self.from.quants).into());
        let quants = (quants >> ((pair & 1u32) * 16u32)) & 0xffffu32;
        let scale = w.kept(block + self.from.scales);
        let scale = Expr::call(Fun::PackHalves, [scale, 0.0f32.into()]);
        w.code.set("bits", quants.unless(&within.equal(0u32), scale))
    }
}
