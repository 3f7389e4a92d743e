//! The sequences of a workgroup's rows.

use weft_kern::{KEPT, Part, Scan, Sym, View};
use weft_shader::expr::Expr;
use weft_shader::grid::size;
use weft_shader::stmt::Stmt;

use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The first number that is negative as an `i32`.
const NEGATIVE: u32 = 1 << 31;

/// A head of a sequence.
pub(super) struct Head {
    /// The workgroup's row: the sequence's first one if a workgroup has all of its rows.
    pub(super) token: Expr,
    pub(super) head: Expr,
    /// The sequence's first row, and the one after its last.
    pub(super) begin: Expr,
    pub(super) end: Expr,
    /// Whether the row is its first one.
    pub(super) first: Expr,
    /// Whether it begins with a state, and the first value of the head in that state.
    pub(super) resumes: Expr,
    pub(super) from: Expr,
    /// The first value of the head in the state that it writes.
    pub(super) to: Expr,
    /// The row after the last certain one. The state is written before it.
    pub(super) certain: Expr,
    /// The number of kept rows that it begins with; 0 if it begins with no state.
    pub(super) kept: Expr,
    /// The first value of the head's kept rows in the state that is read and in the one that is written, and the number of values per row.
    pub(super) kept_from: Expr,
    pub(super) kept_to: Expr,
    pub(super) kept_len: u32,
}

/// A batch of rows: `count` rows from row `first` on, at most `most`.
pub(super) struct Rows {
    pub(super) first: Expr,
    pub(super) count: Expr,
    pub(super) most: u32,
}

impl Head {
    /// The only sequence of a step of one token.
    pub(super) fn only(w: &mut Writer<'_>, of: (&Part, &Scan), place: &Place) -> Result<Head, Why> {
        let [_, head] = axes(w, place)?;
        Head::of(w, of, (&Expr::U32(0), head), (0u32.into(), 1u32.into()), &Expr::U32(0))
    }

    /// The sequence of the workgroup's row.
    pub(super) fn of_row(w: &mut Writer<'_>, of: (&Part, &Scan), place: &Place) -> Result<Head, Why> {
        let [token, head] = axes(w, place)?;
        let lists = w.values(of.1.ends);
        let [begin, number] = ["begin", "number"].map(|name| w.code.var(name, 0u32));
        // Each sequence has at least one row.
        let until = w.code.var("until", lists.clone().min(&token + 1u32));
        w.count("q", (0u32.into(), until.clone(), 1), |w, q| {
            let end = w.param_word(of.1.ends, q.clone());
            let end = w.code.set("its_end", end);
            let passed = w.code.set("passed", end.less(&token + 1u32));
            // Lists beyond a step's last sequence are arbitrary, so the row belongs to the first sequence that ends after it.
            w.code.assign(&until, Expr::U32(0).unless(&passed, until.clone()));
            w.code.assign(&begin, begin.clone().unless(&passed, end));
            w.code.assign(&number, number.clone().unless(&passed, q + 1u32));
            Ok(())
        })?;
        let number = w.code.set("sequence", number.min(lists - 1u32));
        let end = w.param_word(of.1.ends, number.clone()).min(size(Sym::Tokens));
        let end = w.code.set("end_of_rows", end);
        Head::of(w, of, (&token, head), (begin, end), &number)
    }

    /// Sequence `q`, all of whose rows belong to the workgroup.
    pub(super) fn whole(w: &mut Writer<'_>, of: (&Part, &Scan), head: &Expr, q: &Expr) -> Result<Head, Why> {
        let before = w.param_word(of.1.ends, q.clone().max(1u32) - 1u32);
        let begin = w.code.set("begin", before.unless(&q.equal(0u32), 0u32));
        let end = w.param_word(of.1.ends, q.clone()).min(size(Sym::Tokens));
        let end = w.code.uniform("end_of_rows", end);
        let whole = Head::of(w, of, (&begin.clone(), head.clone()), (begin, end), q)?;
        // It is uniform, because loops end there.
        let certain = w.code.uniform("end_of_certain", whole.certain);
        Ok(Head { certain, ..whole })
    }

    fn of(
        w: &mut Writer<'_>,
        (part, scan): (&Part, &Scan),
        (token, head): (&Expr, Expr),
        (begin, end): (Expr, Expr),
        number: &Expr,
    ) -> Result<Head, Why> {
        let too_long = || Why::Form("has states too long".into());
        let layout = scan.layout(part.cols).ok_or_else(too_long)?;
        let all = word(layout.values().ok_or_else(too_long)?)?;
        let (width, kept_len, most) = (word(layout.width)?, word(layout.kept)?, word(KEPT)?);
        let of_states = word(layout.heads)? * width;
        let states = w.values(scan.state) / all;
        let states = w.code.set("states", states.max(1u32) - 1u32);
        let place_of = |w: &mut Writer<'_>, names: [&str; 2], number: Expr| {
            let row = w.code.set(names[0], number.min(states.clone()) * all);
            let kept = &row + of_states + &head * (most * kept_len);
            [w.code.set(names[0], row + &head * width), w.code.set(names[1], kept)]
        };
        let from = w.param_word(scan.from, number.clone());
        let from = w.code.set("state_row", from);
        let resumes = from.less(NEGATIVE);
        let [from, kept_from] = place_of(w, ["state_from", "kept_from"], from);
        let to = w.param_word(scan.to, number.clone());
        let [to, kept_to] = place_of(w, ["state_to", "kept_to"], to);
        let kept = w.param_word(scan.kept, number.clone()).min(most);
        let kept = w.code.set("kept_rows", Expr::U32(0).unless(&resumes, kept));
        let certain = match end.known() {
            // The only row is certain.
            Some(1) => end.clone(),
            _ => {
                let certain = w.param_word(scan.certain, number.clone()).max(1u32);
                w.code.set("certain", (&begin + certain.min(&end - &begin)).min(end.clone()))
            }
        };
        let first = if *token == begin { Expr::True } else { token.equal(begin.clone()) };
        let token = token.clone();
        Ok(Head {
            token,
            head,
            begin,
            end,
            first,
            resumes,
            from,
            to,
            certain,
            kept,
            kept_from,
            kept_to,
            kept_len,
        })
    }

    /// A row's axes.
    pub(super) fn axes(&self, token: &Expr) -> [Expr; 2] {
        [token.clone(), self.head.clone()]
    }

    /// Writes a loop over the kept rows with which the sequence begins, given the first value of each.
    pub(super) fn each_kept(
        &self,
        w: &mut Writer<'_>,
        write: impl FnOnce(&mut Writer<'_>, &Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        w.count("number", (0u32.into(), self.kept.clone(), 1), |w, number| {
            let row = w.code.set("kept_row", &self.kept_from + number * self.kept_len);
            write(w, &row)
        })
    }

    /// Stores these operands of the rows after the certain ones.
    pub(super) fn keep(&self, w: &mut Writer<'_>, scan: &Scan, operands: &[Kept<'_>]) -> Result<(), Why> {
        if self.certain == self.end {
            return Ok(());
        }
        let rows = w.code.set("rows_to_keep", (&self.end - &self.certain).min(word(KEPT)?));
        w.when(self.first.clone(), |w| {
            w.count("number", (0u32.into(), rows, 1), |w, number| {
                let token = w.code.set("i", &self.certain + &number);
                let row = w.code.set("kept_row", &self.kept_to + number * self.kept_len);
                operands.iter().try_for_each(|operand| {
                    let Kept { view, own, first, count, all, at, exists } = operand;
                    w.when(exists.clone(), |w| {
                        let base = w.base(view, &[token.clone(), (*own).clone()])?;
                        let base = w.code.set("row", base);
                        w.share(*count, |w, i| {
                            let column = w.code.set("column", first + i);
                            let is_own =
                                if all.is_multiple_of(*count) { Expr::True } else { column.less(*all) };
                            w.when(is_own, |w| {
                                let value = w.load(view.param, &(&base + &column * word(view.step)?))?;
                                let (slot, to) =
                                    (w.slot(scan.state), w.start(scan.state) + (&row + *at + &column));
                                w.code.push(Stmt::Store(slot, to, value.bits()));
                                Ok(())
                            })
                        })
                    })
                })
            })
        })
    }
}

/// An operand of rows that are kept.
pub(super) struct Kept<'a> {
    pub(super) view: &'a View,
    /// Its head.
    pub(super) own: &'a Expr,
    /// The first of the workgroup's columns, their number, and the number of all columns.
    pub(super) first: Expr,
    pub(super) count: u32,
    pub(super) all: u32,
    /// The operand's place in a kept row.
    pub(super) at: u32,
    /// Whether the workgroup keeps it.
    pub(super) exists: Expr,
}

/// The first row of a workgroup, and its head.
pub(super) fn axes(w: &mut Writer<'_>, place: &Place) -> Result<[Expr; 2], Why> {
    let row = place.row(&mut w.code, &Expr::U32(0));
    row.axes.try_into().map_err(|_| Why::Form("has a scan whose rows are not tokens × heads".into()))
}

/// The sequences that begin in a workgroup's `rows` rows from `token` on: the first, and the one after the last.
pub(super) fn beginning(w: &mut Writer<'_>, scan: &Scan, token: &Expr, rows: u32) -> [Expr; 2] {
    let behind = w.code.set("behind", (token + rows).min(size(Sym::Tokens)));
    let [begin, first, last] =
        ["begin", "first_sequence", "last_sequence"].map(|name| w.code.var(name, 0u32));
    // Each sequence has at least one row, and no row comes after those of the last one.
    let lists = w.values(scan.ends);
    let until = w.code.var("until", lists.min(&behind));
    let (name, end) = (w.code.fresh("q"), w.code.fresh("its_end"));
    let q = Expr::name(name.clone());
    w.code.open();
    let is_before = w.code.set("is_before", begin.less(&behind));
    w.code.assign(&last, last.clone().unless(&is_before, &q + 1u32));
    w.code.assign(&first, first.clone().unless(&begin.less(token), &q + 1u32));
    w.code.assign(&until, Expr::U32(0).unless(&is_before, until.clone()));
    let word = w.param_word(scan.ends, q);
    w.code.push(Stmt::Let(end.clone(), word));
    w.code.assign(&begin, begin.clone().unless(&is_before, Expr::name(end)));
    w.code.close_for(name, 0u32.into(), until, 1);
    [first, last].map(|of| w.code.uniform("sequence", of))
}
