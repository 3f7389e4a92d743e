//! A row of activations of products, in a slot or in workgroup memory.

use weft_kern::ParamId;
use weft_shader::expr::Expr;

use crate::lower::writer::Writer;

/// The first words of the planes of a row.
pub(crate) struct Factors {
    /// The slot, or `None` for workgroup memory.
    pub(crate) slot: Option<usize>,
    pub(crate) values: Expr,
    pub(crate) scales: Expr,
    pub(crate) sums: Expr,
}

impl Factors {
    /// The planes of rounded activations from value `at` of a parameter on.
    pub(crate) fn planes(w: &mut Writer<'_>, param: ParamId, at: &Expr) -> Factors {
        let (slot, start, n) = (Some(w.slot(param)), w.start(param), w.values(param));
        let values = w.code.set("x", &start + at / 4u32);
        let scales = w.code.set("xd", &start + &n / 4u32 + at / 32u32);
        let sums = w.code.set("xs", start + &n / 4u32 + n / 32u32 + at / 16u32);
        Factors { slot, values, scales, sums }
    }

    /// The sums of block `b`, by which minima are multiplied: one of each half, or one of both if there is one minimum.
    pub(crate) fn sums(&self, w: &mut Writer<'_>, stem: &str, b: &Expr, mins: u32) -> Vec<Expr> {
        let halves = (0..mins.min(1) * 2).map(|h| w.code.set(stem, self.float(&self.sums + b * 2u32 + h)));
        let halves: Vec<Expr> = halves.collect();
        match (mins, &halves[..]) {
            (1, [a, b]) => vec![a + b],
            _ => halves,
        }
    }

    /// The word at `at`.
    pub(crate) fn at(&self, at: Expr) -> Expr {
        match self.slot {
            Some(slot) => Expr::Word(slot, at.into()),
            None => Expr::Shared(at.into()),
        }
    }

    /// A value of a plane of floats.
    pub(crate) fn float(&self, at: Expr) -> Expr {
        self.at(at).float()
    }

    /// `n` words from `at` on, a multiple of four where the GPU loads four at once.
    pub(crate) fn words(&self, w: &mut Writer<'_>, stem: &str, at: &Expr, n: u32) -> Vec<Expr> {
        if w.quads && n.is_multiple_of(4) {
            let fours =
                (0..n / 4).flat_map(|i| w.code.four(stem, Expr::Four(self.slot, (at + i * 4).into())));
            return fours.collect();
        }
        (0..n).map(|i| w.code.set(stem, self.at(at + i))).collect()
    }
}
