//! The head of a row that a workgroup has, and the sequence that the row belongs to.

use weft_kern::{Part, Scan, Sym};

use crate::code::expr::Expr;
use crate::lower::space::{Place, size};
use crate::lower::writer::Writer;
use crate::refused::{Why, word};

/// The first number that is negative as an `i32`.
const NEGATIVE: u32 = 1 << 31;

/// The head of a row that a workgroup has, and the row's sequence.
pub(super) struct Head {
    pub(super) token: Expr,
    pub(super) head: Expr,
    /// The sequence's first row, and the one behind its last.
    pub(super) begin: Expr,
    pub(super) end: Expr,
    /// Whether the row is its first one.
    pub(super) first: Expr,
    /// Whether it begins with a state, and the first value of the head's there.
    pub(super) resumes: Expr,
    pub(super) from: Expr,
    /// The first value of the head's state that it writes.
    pub(super) to: Expr,
}

/// Rows that are taken at once: so many from row `first` on, at most `most`.
pub(super) struct Rows {
    pub(super) first: Expr,
    pub(super) count: Expr,
    pub(super) most: u32,
}

impl Head {
    /// Finds the sequence of a workgroup's row. Lists beyond a step's last sequence are arbitrary, and end no row's sequence.
    pub(super) fn new(w: &mut Writer<'_>, (part, scan): (&Part, &Scan), place: &Place) -> Result<Head, Why> {
        let row = place.row(&mut w.code, &Expr::U32(0));
        let [token, head] = &row.axes[..] else {
            return Err(Why::Form("has a scan whose rows are not tokens × heads".into()));
        };
        let (begin, number) = (w.code.var("begin", 0u32), w.code.var("sequence", 0u32));
        // Each sequence has a row at least.
        let most = w.values(scan.ends).min(token + 1u32);
        let most = w.code.set("most", most);
        w.count("q", (0u32.into(), most.clone(), 1), |w, q| {
            let end = w.param_word(scan.ends, q.clone());
            let end = w.code.set("its_end", end);
            let passed = number.equal(q.clone()).both(&end.less(token + 1u32));
            w.when(passed, |w| {
                w.code.assign(&begin, end);
                w.code.assign(&number, q + 1u32);
                Ok(())
            })
        })?;
        let lists = w.values(scan.ends);
        let number = w.code.set("number", number.min(lists - 1u32));
        let end = w.param_word(scan.ends, number.clone()).min(size(Sym::Tokens));
        let end = w.code.set("its_end", end);
        let width = scan.rule.width(part.cols).ok_or_else(|| Why::Form("has states too long".into()))?;
        let (width, all) = (word(width)?, word(width.saturating_mul(scan.heads))?);
        let states = w.values(scan.state) / all;
        let states = w.code.set("states", states.max(1u32) - 1u32);
        let place_of = |w: &mut Writer<'_>, name: &str, number: Expr| {
            w.code.set(name, number.min(states.clone()) * all + head * width)
        };
        let from = w.param_word(scan.from, number.clone());
        let from = w.code.set("state_row", from);
        let resumes = from.less(NEGATIVE);
        let from = place_of(w, "state_from", from);
        let to = w.param_word(scan.to, number);
        let to = place_of(w, "state_to", to);
        let (token, head) = (token.clone(), head.clone());
        let first = token.equal(begin.clone());
        Ok(Head { token, head, begin, end, first, resumes, from, to })
    }

    /// A row's axes.
    pub(super) fn axes(&self, token: &Expr) -> [Expr; 2] {
        [token.clone(), self.head.clone()]
    }
}
