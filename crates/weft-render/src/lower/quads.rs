//! A row of values in the registers of a workgroup's lanes, in fours of neighbours.

use weft_kern::{Format, Instr, ValueId};
use weft_quant::GgmlType;
use weft_shader::expr::Expr;

use crate::lower::writer::Writer;
use crate::refused::Why;

/// Four neighbouring values of a lane.
#[derive(Clone, Debug)]
pub(crate) struct Four {
    /// The number of this four, whether the row has it, and the number to read, which the row always has.
    pub(crate) word: Expr,
    pub(crate) exists: Expr,
    read: Expr,
}

impl Four {
    /// The lane's four `time` in a row of `n` values.
    pub(crate) fn new(w: &mut Writer<'_>, n: u32, time: &Expr) -> Four {
        let (words, lanes) = (n / 4, w.code.lanes);
        let word = w.code.set("word", time * lanes + Expr::Lane);
        let all = match time.known() {
            Some(time) => (time + 1) * lanes <= words,
            None => words.is_multiple_of(lanes),
        };
        let exists = if all { Expr::True } else { word.less(words) };
        let last = word.clone().min(words - 1);
        let read = if all { word.clone() } else { w.code.set("word", last) };
        Four { word, exists, read }
    }

    /// The columns to read; a lane without values reads the last ones.
    pub(crate) fn columns(&self) -> [Expr; 4] {
        [0u32, 1, 2, 3].map(|j| &self.read * 4u32 + j)
    }
}

/// Copies `n` words, a multiple of four, from a slot to workgroup memory, with all loads before the first store. `from` maps the number of
/// the first word of a four to its place in the slot. Lanes see them after the next barrier.
pub(crate) fn copy(
    w: &mut Writer<'_>,
    n: u32,
    slot: usize,
    to: u32,
    mut from: impl FnMut(&mut Writer<'_>, Expr) -> Result<Expr, Why>,
) -> Result<(), Why> {
    let times = (n / 4).div_ceil(w.code.lanes);
    let mut loaded = Vec::new();
    for time in 0..times {
        let four = Four::new(w, n, &time.into());
        let at = from(w, &four.read * 4u32)?;
        loaded.push((four, w.code.four("x", Expr::Four(Some(slot), at.into()))));
    }
    for (Four { word, exists, .. }, words) in loaded {
        w.when(exists, |w| {
            for (j, value) in words.into_iter().enumerate() {
                w.code.store_shared(&word * 4u32 + (to + j as u32), value);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A row's fours, and its known values, each with its value id and column.
#[derive(Clone, Debug)]
pub(crate) struct Quads {
    /// The row's length.
    pub(crate) n: u32,
    fours: Vec<Four>,
    loaded: Vec<ValueId>,
    values: Vec<(ValueId, Expr, Expr)>,
}

impl Quads {
    pub(crate) fn new(w: &mut Writer<'_>, n: u32) -> Quads {
        let times = (n / 4).div_ceil(w.code.lanes);
        let fours = (0..times).map(|time| Four::new(w, n, &time.into())).collect();
        Quads { n, fours, loaded: Vec::new(), values: Vec::new() }
    }

    /// Loads the float vectors of a row program, for a row with these axes. With `early`, only loads weights that are the same for all
    /// rows.
    pub(crate) fn load(
        &mut self,
        w: &mut Writer<'_>,
        body: &[Instr],
        lens: &[usize],
        axes: &[Expr],
        early: bool,
    ) -> Result<(), Why> {
        for (v, instr) in body.iter().enumerate() {
            let Instr::Load { view, indexed: None, len: _ } = instr else { continue };
            let fours = |n: &usize| n.is_multiple_of(4);
            let aligned = fours(&view.offset) && view.strides.iter().all(fours) && view.step == 1;
            let wanted = lens[v] == self.n as usize && w.format(view.param) == Format::Ggml(GgmlType::F32);
            let fixed = w.is_weight(view.param) && view.strides.iter().all(|stride| *stride == 0);
            if !aligned || !wanted || self.loaded.contains(&v) || early && !fixed {
                continue;
            }
            let base = w.base(view, axes)?;
            let slot = w.slot(view.param);
            for four in &self.fours {
                let from = w.start(view.param) + (&base + &four.read * 4u32);
                let from = Expr::Four(Some(slot), from.into());
                let values = w.code.four("x", if early { Expr::Early(from.into()) } else { from });
                let known = four.columns().into_iter().zip(values);
                self.values.extend(known.map(|(column, value)| (v, column, value.float())));
            }
            self.loaded.push(v);
        }
        Ok(())
    }

    /// The known values.
    pub(crate) fn values(&self) -> &[(ValueId, Expr, Expr)] {
        &self.values
    }

    /// The row's fours.
    pub(crate) fn words(&self) -> &[Four] {
        &self.fours
    }

    /// The columns of each four.
    pub(crate) fn columns(&self) -> impl Iterator<Item = [Expr; 4]> {
        self.fours.iter().map(Four::columns)
    }
}
