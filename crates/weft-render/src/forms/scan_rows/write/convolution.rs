//! A short causal convolution of each column.
//!
//! Only a sequence's first rows need its state, so the workgroup of the first row computes these. Every other row has its own workgroup.

use weft_kern::{ParamId, Scan, View};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::scan_rows::write::head::{Head, Kept, Rows};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The operands.
pub(super) struct Convolution<'a> {
    pub(super) x: &'a View,
    pub(super) weights: ParamId,
    pub(super) taps: u32,
}

impl Convolution<'_> {
    /// The row after the last one of a workgroup.
    pub(super) fn last(&self, head: &Head) -> Expr {
        let before = self.taps - 1;
        let behind = head.end.clone().min(&head.token + before);
        if head.first == Expr::True {
            return behind;
        }
        let passed = &head.token - &head.begin;
        let own = head.token.clone().unless(&passed.greater(before - 1), &head.token + 1u32);
        own.unless(&head.first, behind)
    }

    /// An input of row `token`.
    fn input(&self, w: &mut Writer<'_>, head: &Head, token: &Expr, column: &Expr) -> Result<Expr, Why> {
        let at = w.base(self.x, &head.axes(token))? + column * word(self.x.step)?;
        w.load(self.x.param, &at)
    }

    /// An input before the sequence's first row, by its number among those of the state and the kept rows after it.
    fn input_before(
        &self,
        w: &mut Writer<'_>,
        scan: &Scan,
        (head, place): (&Head, &Place),
        row: Expr,
        column: &Expr,
    ) -> Expr {
        let (before, cols) = (self.taps - 1, place.cols());
        let row = w.code.set("input", row + &head.kept);
        let begin = (&head.kept_from - before * cols).unless(&row.less(before), head.from.clone());
        w.param_word(scan.state, begin + row * cols + column).float()
    }

    pub(super) fn rows(
        &self,
        w: &mut Writer<'_>,
        scan: &Scan,
        (head, place): (&Head, &Place),
        rows: &Rows,
        results: u32,
    ) -> Result<(), Why> {
        let (taps, width) = (self.taps, place.width());
        w.share(rows.most.saturating_mul(width), |w, item| {
            let (r, own) = match rows.most {
                1 => (Expr::U32(0), item.clone()),
                _ => (w.code.set("r", &item / width), w.code.set("own", &item % width)),
            };
            let exists = if rows.most == 1 { Expr::True } else { r.less(rows.count.clone()) };
            w.when(exists, |w| {
                let token = w.code.set("i", &rows.first + &r);
                let column = w.code.set("column", &place.column + own);
                let passed = w.code.set("passed", &token - &head.begin);
                let first = w.code.set("first_weight", (&head.head * place.cols() + &column) * taps);
                let mut sum: Option<Expr> = None;
                for (j, back) in (0..taps).zip((0..taps).rev()) {
                    let x = match back {
                        0 => self.input(w, head, &token, &column)?,
                        _ => {
                            let x = w.code.var("x", 0.0f32);
                            if passed.known() != Some(0) {
                                w.when(passed.greater(back - 1), |w| {
                                    let input = self.input(w, head, &(&token - back), &column)?;
                                    w.code.assign(&x, input);
                                    Ok(())
                                })?;
                            }
                            w.when(passed.less(back).both(&head.resumes), |w| {
                                let row = &passed + (taps - 1 - back);
                                let input = self.input_before(w, scan, (head, place), row, &column);
                                w.code.assign(&x, input);
                                Ok(())
                            })?;
                            x
                        }
                    };
                    let weight = w.load(self.weights, &(&first + j))?;
                    let term = weight.times(x);
                    sum = Some(w.code.set(
                        "sum",
                        match sum {
                            Some(sum) => sum + term,
                            None => term,
                        },
                    ));
                }
                let sum = sum.unwrap_or(Expr::F32(0.0));
                w.code.store_shared(item + results, sum.bits());
                Ok(())
            })
        })
    }

    /// Stores the last certain inputs, and those after them. A lane has the same columns as when it read the state.
    pub(super) fn end(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head, place: &Place) -> Result<(), Why> {
        let (before, cols) = (self.taps - 1, place.cols());
        w.when(head.first.clone(), |w| {
            let rows = w.code.set("rows", &head.certain - &head.begin);
            // Rows move towards the first one, which is written first, so that no row is lost if the state is updated in place.
            w.share(place.width(), |w, own| {
                let column = w.code.set("column", &place.column + own);
                for j in 0..before {
                    let kept = w.code.var("kept", 0.0f32);
                    let is_input = (&rows + j).greater(before - 1);
                    w.when(is_input, |w| {
                        let input = self.input(w, head, &(&head.certain + j - before), &column)?;
                        w.code.assign(&kept, input);
                        Ok(())
                    })?;
                    w.when((&rows + j).less(before).both(&head.resumes), |w| {
                        let input = self.input_before(w, scan, (head, place), &rows + j, &column);
                        w.code.assign(&kept, input);
                        Ok(())
                    })?;
                    let (slot, to) =
                        (w.slot(scan.state), w.start(scan.state) + (&head.to + j * cols + &column));
                    w.code.push(Stmt::Store(slot, to, kept.bits()));
                }
                Ok(())
            })
        })?;
        let (own, first, exists) = (&head.head, place.column.clone(), Expr::True);
        let x = Kept { view: self.x, own, first, count: place.width(), all: cols, at: 0, exists };
        head.keep(w, scan, &[x])
    }
}
