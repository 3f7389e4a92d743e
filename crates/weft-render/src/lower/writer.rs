//! What every piece of the renderer writes with: statements, the workgroup's memory, and the parameters by their formats.

use std::collections::BTreeSet;

use weft_kern::{Format, Indexed, Kernel, ParamId, View};
use weft_quant::GgmlType;

use crate::code::builder::Builder;
use crate::code::expr::{Expr, Fun};
use crate::limits::Limits;
use crate::lower::tile::Tiles;
use crate::refused::{Why, word};

/// Renders a kernel.
pub(crate) struct Writer<'k> {
    pub(crate) kernel: &'k Kernel,
    /// The slot of each parameter.
    slots: &'k [usize],
    pub(crate) code: Builder,
    pub(crate) pool: Pool,
    /// Lanes that can ask each other for values: a power of two; 1 if none can.
    pub(crate) subgroup: u32,
    /// Parameters whose first word, or number of values, has been asked for.
    pub(crate) starts: BTreeSet<ParamId>,
    pub(crate) counts: BTreeSet<ParamId>,
}

/// Words of the workgroup's memory, given out one after another; parts begin anew, because a workgroup runs only one.
#[derive(Debug)]
pub(crate) struct Pool {
    next: u32,
    /// The most that was ever out since it began anew.
    pub(crate) top: u32,
    /// Words that may be kept at once of what need not be kept.
    pub(crate) spare: usize,
}

impl Pool {
    /// Room for some words; where it begins.
    pub(crate) fn room(&mut self, words: u32) -> u32 {
        let at = self.next;
        self.next = self.next.saturating_add(words);
        self.top = self.top.max(self.next);
        at
    }

    /// A third of what an adapter has may be used to save loads.
    fn new(limits: &Limits) -> Pool {
        Pool { next: 0, top: 0, spare: limits.shared_bytes as usize / 4 / 3 }
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        (self.next, self.top) = (0, 0);
    }
}

impl<'k> Writer<'k> {
    pub(crate) fn new(kernel: &'k Kernel, slots: &'k [usize], lanes: u32, limits: &Limits) -> Writer<'k> {
        let (code, pool) = (Builder::new(lanes), Pool::new(limits));
        let subgroup = limits.subgroup.filter(|n| n.is_power_of_two()).map_or(1, |n| n.min(lanes));
        Writer { kernel, slots, code, pool, subgroup, starts: BTreeSet::new(), counts: BTreeSet::new() }
    }

    /// The first word of a parameter, within its slot.
    pub(crate) fn start(&mut self, param: ParamId) -> Expr {
        self.starts.insert(param);
        Expr::name(format!("p{param}"))
    }

    /// How many values a parameter has.
    pub(crate) fn values(&mut self, param: ParamId) -> Expr {
        self.counts.insert(param);
        Expr::name(format!("n{param}"))
    }

    pub(crate) fn format(&self, param: ParamId) -> Format {
        self.kernel.params[param].format
    }

    pub(crate) fn slot(&self, param: ParamId) -> usize {
        self.slots[param]
    }

    /// A word of a parameter.
    pub(crate) fn param_word(&mut self, param: ParamId, at: Expr) -> Expr {
        Expr::Word(self.slots[param], (self.start(param) + at).into())
    }

    /// Where a view's values begin for a row.
    pub(crate) fn base(&self, view: &View, row: &[Expr]) -> Result<Expr, Why> {
        let mut at = Expr::U32(0);
        for (stride, index) in view.strides.iter().zip(row) {
            at = at + index * word(*stride)?;
        }
        Ok(at + word(view.offset)?)
    }

    /// A value of a parameter of floats or numbers, as a float.
    pub(crate) fn load(&mut self, param: ParamId, at: &Expr) -> Result<Expr, Why> {
        Ok(match self.format(param) {
            Format::Ggml(GgmlType::F32) => self.param_word(param, at.clone()).float(),
            Format::Ggml(GgmlType::I32) => {
                let bits = self.param_word(param, at.clone());
                Expr::call(Fun::FloatOfI32, [Expr::call(Fun::Signed, [bits])])
            }
            Format::Ggml(ty @ (GgmlType::F16 | GgmlType::BF16)) => {
                let pair = self.param_word(param, at / 2u32);
                half(ty, pair, at & 1u32)
            }
            other => return Err(Why::Form(format!("loads single values of {other}"))),
        })
    }

    /// Two neighbouring values of a parameter of halves, the first of which has an even number.
    pub(crate) fn load_pair(&mut self, param: ParamId, ty: GgmlType, pair: Expr) -> [Expr; 2] {
        let both = self.param_word(param, pair);
        let both = self.code.set("pair", both);
        [0, 1].map(|i| half(ty, both.clone(), Expr::U32(i)))
    }

    /// The number at a view of numbers, as it is, for a row and a column.
    pub(crate) fn number(&mut self, view: &View, row: &[Expr], column: &Expr) -> Result<Expr, Why> {
        let at = self.base(view, row)? + column * word(view.step)?;
        Ok(self.param_word(view.param, at))
    }

    /// The number at a view, or the last that is less than `bound` if it is not: what is in memory is never trusted with an address. (A negative
    /// number is a large one.)
    pub(crate) fn index(
        &mut self,
        view: &View,
        row: &[Expr],
        column: &Expr,
        bound: u32,
    ) -> Result<Expr, Why> {
        let number = self.number(view, row, column)?;
        Ok(self.code.set("index", number.min(bound.saturating_sub(1))))
    }

    /// A row picked by number: the number and how many rows there are.
    pub(crate) fn picked(
        &mut self,
        view: &View,
        by: &Indexed,
        row: &[Expr],
    ) -> Result<(Expr, Expr, u32), Why> {
        let number = self.number(&by.index, row, &Expr::U32(0))?;
        let number = self.code.set("index", number);
        let stride = word(by.stride)?;
        let rows = self.values(view.param) / stride;
        Ok((number, rows, stride))
    }

    /// Where a loaded row begins, picked or not, in values; a number that is out of bounds picks the last row.
    pub(crate) fn loaded_row(
        &mut self,
        view: &View,
        by: Option<&Indexed>,
        row: &[Expr],
    ) -> Result<Expr, Why> {
        let base = self.base(view, row)?;
        let Some(by) = by else { return Ok(base) };
        let (number, rows, stride) = self.picked(view, by, row)?;
        // There may be less than one whole row.
        let last = rows.max(1u32) - 1u32;
        Ok(self.code.set("row", number.min(last) * stride) + base)
    }

    /// The tiles of a quantised parameter, in rows of `k` values; `None` if it is no quantised one.
    pub(crate) fn tiles(&mut self, param: ParamId, k: usize) -> Result<Option<Tiles>, Why> {
        match self.format(param) {
            Format::Ggml(ty) if ty.is_quantised() => {
                let start = self.start(param);
                Tiles::new(ty, k, self.slots[param], start).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A float kept for the workgroup.
    pub(crate) fn kept(&self, at: Expr) -> Expr {
        Expr::Shared(at.into()).float()
    }
}

impl Writer<'_> {
    /// The numbers below `n` among the lanes. The loop counts to a number that is known, so that compilers unroll it and have all its loads on their way at once.
    pub(crate) fn share(
        &mut self,
        n: u32,
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let lanes = self.code.lanes;
        let exists = |c: &Expr| if n.is_multiple_of(lanes) { Expr::True } else { c.less(n) };
        if n <= lanes {
            return self.when(exists(&Expr::Lane), |w| write(w, Expr::Lane));
        }
        self.count("time", (0u32.into(), n.div_ceil(lanes).into(), 1), |w, time| {
            let c = w.code.set("c", time * lanes + Expr::Lane);
            w.when(exists(&c), |w| write(w, c))
        })
    }

    /// `for c = from; c < to; c += step`.
    pub(crate) fn count(
        &mut self,
        stem: &str,
        range: (Expr, Expr, u32),
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let (name, (from, to, step)) = (self.code.fresh(stem), range);
        self.code.open();
        let done = write(self, Expr::name(name.clone()));
        self.code.close_for(name, from, to, step);
        done
    }

    /// The same, from a number that is less than `step`; without a loop if that is all there is to count.
    pub(crate) fn count_or_once(
        &mut self,
        stem: &str,
        range: (Expr, Expr, u32),
        write: impl FnOnce(&mut Self, Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let (from, to, step) = range;
        match to.known() {
            Some(to) if to == step => write(self, from),
            _ => self.count(stem, (from, to, step), write),
        }
    }

    /// The value of the lane whose number differs from one's own in these bits, for `mask` less than [`subgroup`](Writer::subgroup). All lanes must come here.
    pub(crate) fn shuffled(&mut self, value: &Expr, mask: u32) -> Expr {
        self.code.set("other", Expr::call(Fun::Shuffle, [value.clone(), mask.into()]))
    }

    /// What follows if a condition holds.
    pub(crate) fn when(
        &mut self,
        condition: Expr,
        write: impl FnOnce(&mut Self) -> Result<(), Why>,
    ) -> Result<(), Why> {
        if condition == Expr::True {
            return write(self);
        }
        self.code.open();
        let done = write(self);
        self.code.close_if(condition);
        done
    }
}

/// One of the two halves of a word, as a float.
fn half(ty: GgmlType, pair: Expr, which: Expr) -> Expr {
    if ty == GgmlType::F16 {
        return Expr::call(Fun::Half, [pair >> (which * 16u32)]);
    }
    // The upper half of a float is a brain float.
    match which.known() {
        Some(0) => (pair << 16u32).float(),
        Some(_) => (pair & 0xffff_0000u32).float(),
        None => ((pair >> (which * 16u32)) << 16u32).float(),
    }
}
