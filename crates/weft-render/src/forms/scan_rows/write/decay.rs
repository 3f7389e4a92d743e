//! A running sum with exponential decay.

use weft_kern::{Scan, View};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::scan_rows::write::head::{Head, Kept, Rows};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// A lane's values of the state: one column in each round of lanes.
pub(super) struct Decay<'a> {
    x: &'a View,
    decay: &'a View,
    /// The values, and their columns within the workgroup's.
    values: Vec<(Expr, Expr)>,
    width: u32,
    column: Expr,
    /// All columns of a head.
    cols: u32,
}

impl<'a> Decay<'a> {
    pub(super) fn new(w: &mut Writer<'_>, (x, decay): (&'a View, &'a View), place: &Place) -> Decay<'a> {
        let (width, lanes) = (place.width(), w.code.lanes);
        let values = (0..width.div_ceil(lanes)).map(|i| {
            let own = w.code.set("own", Expr::Lane + i * lanes);
            (w.code.var("s", 0.0f32), own)
        });
        let (values, column) = (values.collect(), place.column.clone());
        Decay { x, decay, values, width, column, cols: place.cols() }
    }

    /// Visits the columns that exist.
    fn each(
        &self,
        w: &mut Writer<'_>,
        write: impl Fn(&mut Writer<'_>, &Expr, &Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        let whole = self.width.is_multiple_of(w.code.lanes);
        self.values.iter().try_for_each(|(value, own)| {
            let exists = if whole { Expr::True } else { own.less(self.width) };
            w.when(exists, |w| write(w, value, own))
        })
    }

    pub(super) fn begin(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head) -> Result<(), Why> {
        w.when(head.first.both(&head.resumes), |w| {
            self.each(w, |w, value, own| {
                let word = w.param_word(scan.state, &head.from + &self.column + own);
                w.code.assign(value, word.float());
                Ok(())
            })
        })?;
        head.each_kept(w, |w, row| {
            let decay = w.param_word(scan.state, row + self.cols).float();
            let decay = w.code.set("decay", decay);
            self.each(w, |w, value, own| {
                let x = w.param_word(scan.state, row + &self.column + own).float();
                w.code.assign(value, decay.times(value) + x);
                Ok(())
            })
        })
    }

    /// Stores the rows after the certain ones.
    pub(super) fn keep(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head) -> Result<(), Why> {
        let (own, exists) = (&head.head, Expr::True);
        let x = Kept {
            view: self.x,
            own,
            first: self.column.clone(),
            count: self.width,
            all: self.cols,
            at: 0,
            exists: exists.clone(),
        };
        let decay =
            Kept { view: self.decay, own, first: Expr::U32(0), count: 1, all: 1, at: self.cols, exists };
        head.keep(w, scan, &[x, decay])
    }

    pub(super) fn rows(&self, w: &mut Writer<'_>, head: &Head, rows: &Rows, results: u32) -> Result<(), Why> {
        w.count_or_once("r", (0u32.into(), rows.count.clone(), 1), |w, r| {
            let axes = head.axes(&w.code.set("i", &rows.first + &r));
            let decay = w.base(self.decay, &axes)?;
            let decay = w.load(self.decay.param, &decay)?;
            let decay = w.code.set("decay", decay);
            let base = w.base(self.x, &axes)?;
            let base = w.code.set("row", base);
            self.each(w, |w, value, own| {
                let at = &base + (&self.column + own) * word(self.x.step)?;
                let x = w.load(self.x.param, &at)?;
                w.code.assign(value, decay.times(value) + x);
                w.code.store_shared(&r * self.width + own + results, value.clone().bits());
                Ok(())
            })
        })
    }

    pub(super) fn end(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head) -> Result<(), Why> {
        w.when(head.first.clone(), |w| {
            self.each(w, |w, value, own| {
                let (slot, to) = (w.slot(scan.state), w.start(scan.state) + (&head.to + &self.column + own));
                w.code.push(Stmt::Store(slot, to, value.clone().bits()));
                Ok(())
            })
        })
    }
}
