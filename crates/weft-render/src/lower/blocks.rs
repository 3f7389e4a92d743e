//! States of `q8_0`, `q5_1` and `q4_0`: blocks of 32 values, one after another. A block is a scale in half precision, in `q5_1` also the
//! least value, and the numbers: signed bytes, or the fifth bits of all and then pairs of four bits.
//!
//! A block of `q8_0` is 17 half-words and one of `q4_0` 9, so every other block begins in the middle of a word. The lower half of that word
//! is the end of the previous block, which may belong to another workgroup. Whole words are stored as usual, and such halves separately.

mod round;

use weft_kern::{Format, ParamId, q8};
use weft_quant::GgmlType;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::lower::round::Rounded;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// Values of a block, which are rounded together.
pub(crate) const BLOCK: u32 = q8::BLOCK as u32;

/// The values of a word.
const QUADS: u32 = BLOCK / 4;

/// A type of such states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Blocks {
    Q8,
    Q5,
    Q4,
}

impl Blocks {
    /// That of a state's format, if it is one.
    pub(crate) fn of(format: Format) -> Option<Blocks> {
        match format {
            Format::Ggml(GgmlType::Q8_0) => Some(Blocks::Q8),
            Format::Ggml(GgmlType::Q5_1) => Some(Blocks::Q5),
            Format::Ggml(GgmlType::Q4_0) => Some(Blocks::Q4),
            _ => None,
        }
    }

    /// Half-words of a block.
    pub(crate) const fn halves(self) -> u32 {
        match self {
            Blocks::Q8 => 1 + BLOCK / 2,
            Blocks::Q5 => 4 + BLOCK / 4,
            Blocks::Q4 => 1 + BLOCK / 4,
        }
    }

    /// Whether every block begins at a word.
    pub(crate) const fn are_words(self) -> bool {
        self.halves().is_multiple_of(2)
    }

    /// The most words that this many blocks touch; the exact number if they are aligned.
    pub(crate) const fn words(self, blocks: u32, aligned: bool) -> u32 {
        blocks * self.halves() / 2 + if aligned { 0 } else { 1 }
    }

    /// Four consecutive values of a state: group `quad` of four.
    pub(crate) fn quad(self, w: &mut Writer<'_>, param: ParamId, quad: &Expr) -> [Expr; 4] {
        let block = w.code.set("block", quad / QUADS);
        let within = w.code.set("within", quad % QUADS);
        match self {
            Blocks::Q8 => {
                let (scale, quants) = after_scale(w, param, block * self.halves(), within * 2u32);
                [24u32, 16, 8, 0].map(|up| {
                    let number = Expr::call(Fun::Signed, [&quants << up]) >> 24u32;
                    Expr::call(Fun::FloatOfI32, [number]) * &scale
                })
            }
            Blocks::Q4 => {
                let half = w.code.set("half", (&within % (QUADS / 2)) * 2u32);
                let (scale, quants) = after_scale(w, param, block * self.halves(), half);
                let quants = w.code.set("quants", quants >> (within / (QUADS / 2) * 4u32));
                [0u32, 8, 16, 24].map(|down| {
                    let number = Expr::call(Fun::FloatOfU32, [(&quants >> down) & 15u32]);
                    (number - 8.0f32) * &scale
                })
            }
            Blocks::Q5 => {
                let block = w.code.set("at", block * (self.halves() / 2));
                let both = w.param_word(param, block.clone());
                let both = w.code.set("both", both);
                let scale = w.code.set("scale", Expr::call(Fun::Half, [both.clone()]));
                let least = w.code.set("least", Expr::call(Fun::Half, [both >> 16u32]));
                let fifth = w.param_word(param, &block + 1u32) >> (&within * 4u32);
                let fifth = w.code.set("fifth", fifth);
                let quants = w.param_word(param, block + 2u32 + &within % (QUADS / 2));
                let quants = w.code.set("quants", quants >> (within / (QUADS / 2) * 4u32));
                [0u32, 1, 2, 3].map(|i| {
                    let number = ((&quants >> (8 * i)) & 15u32) | (((&fifth >> i) & 1u32) << 4u32);
                    // The product is exact.
                    Expr::call(Fun::FloatOfU32, [number]) * &scale + &least
                })
            }
        }
    }
}

/// The scale of the block that begins at this half-word, and two half-words behind it, of one word or of two.
fn after_scale(w: &mut Writer<'_>, param: ParamId, block: Expr, behind: Expr) -> (Expr, Expr) {
    let block = w.code.set("first", block);
    let scale = w.param_word(param, &block / 2u32) >> ((&block & 1u32) * 16u32);
    let scale = w.code.set("scale", Expr::call(Fun::Half, [scale]));
    let half = w.code.set("half", block + behind + 1u32);
    let odd = w.code.set("odd", &half & 1u32);
    let at = w.code.set("at", half / 2u32);
    let word = w.param_word(param, at.clone());
    let word = w.code.set("w", word);
    let next = w.param_word(param, at + &odd);
    let both = word.clone().unless(&odd.equal(1u32), (word >> 16u32) | (next << 16u32));
    (scale, w.code.set("quants", both))
}

/// Blocks to be copied from workgroup memory to a state.
pub(crate) struct Stored {
    pub(crate) blocks: Blocks,
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

impl Stored {
    /// Stores word `word` of those that the blocks touch, or the half of it that is theirs; nothing if there are fewer.
    pub(crate) fn store(&self, w: &mut Writer<'_>, word: &Expr) -> Result<(), Why> {
        let slot = w.slot(self.param);
        let start = w.start(self.param);
        let at = w.code.set("to", start + &self.to * self.blocks.halves() / 2u32 + word);
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
        let halves = self.blocks.halves();
        let block = w.code.set("block", &self.first + at / halves);
        let within = w.code.set("within", at % halves);
        let quants = w.code.set("quants", &block * QUADS + self.from.quants);
        if self.blocks == Blocks::Q8 {
            // The scale's half-word has no pair, so this is the last one, which exists.
            let pair = w.code.set("pair", (&within + (halves - 2)) % (BLOCK / 2));
            let quants = Expr::Shared((quants + &pair / 2u32).into());
            let quants = (quants >> ((pair & 1u32) * 16u32)) & 0xffffu32;
            let scale = w.load_shared(block + self.from.scales);
            let scale = Expr::call(Fun::PackHalves, [scale, 0.0f32.into()]);
            return w.code.set("bits", quants.unless(&within.equal(0u32), scale));
        }
        // Half-words before the pairs have none, so these are others, which exist.
        let before = halves - BLOCK / 4;
        let pair = w.code.set("pair", (&within + (BLOCK / 4 - before % (BLOCK / 4))) % (BLOCK / 4));
        let down = w.code.set("down", (&pair & 1u32) * 16u32);
        let shared = |at: Expr| Expr::Shared(at.into());
        let low = (shared(&quants + &pair / 2u32) >> &down) & 0x0f0fu32;
        let high = (shared(&quants + &pair / 2u32 + QUADS / 2) >> down) & 0x0f0fu32;
        let pairs = w.code.set("pairs", low | (high << 4u32));
        let header = Expr::Shared((block + self.from.scales).into());
        if self.blocks == Blocks::Q4 {
            return w.code.set("bits", pairs.unless(&within.equal(0u32), header & 0xffffu32));
        }
        let header = (header >> ((&within & 1u32) * 16u32)) & 0xffffu32;
        let first = w.code.set("first", quants + (&within & 1u32) * (QUADS / 2));
        // A product moves the bits 0, 8, 16 and 24 to 28, 29, 30 and 31, and adds no two of them.
        let fifth =
            |i: u32| ((((shared(&first + i) >> 4u32) & 0x0101_0101u32) * 0x1020_4080u32) >> 28u32) << (4 * i);
        let fifths = (1..4).fold(fifth(0), |all, i| all | fifth(i));
        let fifths = w.code.set("fifths", fifths);
        let front = header.unless(&within.greater(1u32), fifths);
        w.code.set("bits", front.unless(&within.greater(3u32), pairs))
    }
}
