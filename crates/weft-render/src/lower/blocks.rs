//! States of `q8_0`: blocks of 34 bytes, a scale in half precision and 32 signed bytes, one after
//! another.
//!
//! A block is 17 half-words, so every other block begins in the middle of a word. The lower half of that word is the end of the previous
//! block, which may belong to another workgroup. Whole words are stored as usual, and such halves separately.

use weft_kern::{ParamId, q8};
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::lower::round::Rounded;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Values of a block, which are rounded together.
pub(crate) const BLOCK: u32 = q8::BLOCK as u32;

/// Half-words of a block: its scale, and 16 pairs of values.
pub(crate) const HALVES: u32 = 1 + BLOCK / 2;

/// Four consecutive values of a state: group `quad` of four.
pub(crate) fn quad(w: &mut Writer<'_>, param: ParamId, quad: &Expr) -> [Expr; 4] {
    const QUADS: u32 = BLOCK / 4;
    let block = w.code.set("block", quad / QUADS * HALVES);
    let scale = w.param_word(param, &block / 2u32) >> ((&block & 1u32) * 16u32);
    let scale = w.code.set("scale", Expr::call(Fun::Half, [scale]));
    // Two half-words, of one word or of two.
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

/// Blocks to be copied from workgroup memory to a state.
pub(crate) struct Blocks {
    pub(crate) param: ParamId,
    pub(crate) from: Rounded,
    /// The number of the first block, in workgroup memory and in the state.
    pub(crate) first: Expr,
    pub(crate) to: Expr,
    /// Half-words of all blocks. If this is a constant, it is the argument of `words`.
    pub(crate) halves: Expr,
    /// Whether they are known to begin and end at word boundaries.
    pub(crate) aligned: bool,
}

impl Blocks {
    /// The most words that this many blocks touch; the exact number if they are aligned.
    pub(crate) const fn words(blocks: u32, aligned: bool) -> u32 {
        blocks * HALVES / 2 + if aligned { 0 } else { 1 }
    }

    /// Stores word `word` of those that the blocks touch, or the half of it that is theirs; nothing if there are fewer.
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
        // If the blocks begin in the middle of a word, its lower half has number −1, which wraps
        // around.
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

    /// Half-word `at` of the blocks, in the lower half of a word.
    fn half(&self, w: &mut Writer<'_>, at: &Expr) -> Expr {
        let block = w.code.set("block", &self.first + at / HALVES);
        let within = w.code.set("within", at % HALVES);
        // The scale's half-word has no pair, so this is the last one, which exists.
        let pair = w.code.set("pair", (&within + (HALVES - 2)) % (BLOCK / 2));
        let quants = Expr::Shared((&block * (BLOCK / 4) + &pair / 2u32 + self.from.quants).into());
        let quants = (quants >> ((pair & 1u32) * 16u32)) & 0xffffu32;
        let scale = w.load_shared(block + self.from.scales);
        let scale = Expr::call(Fun::PackHalves, [scale, 0.0f32.into()]);
        w.code.set("bits", quants.unless(&within.equal(0u32), scale))
    }
}
