//! The rows of a tile on matrix units: their tokens, and the sequences of these tokens.
//!
//! A tile may have rows of several tokens. Neighbouring tokens of one sequence are a *run*: they read the same rows of the state, each up
//! to its own position. A workgroup visits the runs one after another; each row belongs to one of them.

use weft_kern::Attend;
use weft_shader::expr::{Expr, Fun};
use weft_shader::stmt::Stmt;

use crate::lower::attend::context::Bounds;
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The most tokens of a tile with few tokens.
const FEW_TOKENS: u32 = 8;

/// The state of a tile's rows in workgroup memory.
pub(crate) struct Members {
    /// The most tokens of the rows.
    tokens: u32,
    /// Offsets of values of each token: the beginning of its pages, the number of positions that it attends to (none if the tile has no row
    /// of it), and the token at which its run begins, counted within the tile.
    firsts: u32,
    attended: u32,
    run_of: u32,
    /// Offsets of the same values for each row's token.
    seen: u32,
    run: u32,
}

impl Members {
    /// Loads the state of the rows. Lanes see it after the next barrier.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        attend: &Attend,
        place: &Place,
        bounds: &Bounds,
        rows: u32,
    ) -> Result<Members, Why> {
        let tokens = place.tokens();
        let [firsts, attended, run_of] = [(); 3].map(|()| w.pool.alloc(tokens));
        let [seen, run] = [(); 2].map(|()| w.pool.alloc(rows));
        let members = Members { tokens, firsts, attended, run_of, seen, run };
        let first = token(w, place, &Expr::U32(0));
        // One token has one run.
        let several = tokens > 1;
        let last_token = token(w, place, &(rows - 1).into());
        w.share(tokens, |w, t| {
            // Tokens beyond the last one have no rows.
            let last = w.values(attend.first).max(1u32) - 1u32;
            let token = w.code.set("token", &first + &t);
            let from = w.param_word(attend.first, token.clone().min(last));
            w.code.store_shared(&t + firsts, from);
            if several {
                let position = w.param_word(attend.pos, token.clone().min(&last_token));
                let its = bounds.seen(position).unless(&last_token.less(token), 0u32);
                w.code.store_shared(t + attended, its);
            }
            Ok(())
        })?;
        w.code.push_if(several, Stmt::Barrier);
        w.share(rows, |w, row| {
            let token = token(w, place, &row);
            let position = w.param_word(attend.pos, token.clone());
            w.code.store_shared(&row + seen, bounds.seen(position));
            let own = w.code.set("own_token", token - &first);
            let run_begins = w.code.var("run_begins", 0u32);
            for t in 1..tokens {
                let [before, here] = [t - 1, t].map(|t| Expr::Shared(Expr::U32(t + firsts).into()));
                let begins = Expr::U32(t).unless(&before.equal(here), run_begins.clone());
                w.code.assign(&run_begins, begins.unless(&own.less(t), run_begins.clone()));
            }
            w.code.store_shared(row + run, run_begins.clone());
            if several {
                // All rows of a token store the same values.
                w.code.store_shared(own + run_of, run_begins);
            }
            Ok(())
        })?;
        Ok(members)
    }

    /// The most runs of a tile: at most one begins at each token.
    pub(crate) fn runs(&self) -> u32 {
        self.tokens
    }

    /// Visits each run. In a tile of many tokens, numbers at which no run begins are skipped, because finding the extent of a run takes
    /// long.
    pub(crate) fn each_run(
        &self,
        w: &mut Writer<'_>,
        mut visit: impl FnMut(&mut Writer<'_>, &Expr) -> Result<(), Why>,
    ) -> Result<(), Why> {
        match self.tokens {
            1 => visit(w, &Expr::U32(0)),
            runs => w.count("run", (0u32.into(), runs.into(), 1), |w, run| {
                if runs <= FEW_TOKENS {
                    return visit(w, &run);
                }
                let [its, seen] = [self.run_of, self.attended].map(|at| Expr::Shared((&run + at).into()));
                // The values of a token without rows are not a run.
                w.when(its.equal(run.clone()).both(&Expr::U32(0).less(&seen)), |w| visit(w, &run))
            }),
        }
    }

    /// The beginning of a run's pages.
    pub(crate) fn pages_at(&self, w: &mut Writer<'_>, run: &Expr) -> Expr {
        w.code.set("pages_at", Expr::Shared((run + self.firsts).into()))
    }

    /// The end, exclusive, of the positions that any row of a run sees; 0 where no run begins.
    pub(crate) fn most_seen(&self, w: &mut Writer<'_>, run: &Expr) -> Expr {
        self.of_run(w, run, (Fun::Max, 0))
    }

    /// The least end of the positions that any row of a run sees.
    pub(crate) fn least_seen(&self, w: &mut Writer<'_>, run: &Expr) -> Expr {
        self.of_run(w, run, (Fun::Min, u32::MAX))
    }

    /// The least or largest end of the positions of a run's tokens.
    fn of_run(&self, w: &mut Writer<'_>, run: &Expr, (fold, none): (Fun, u32)) -> Expr {
        if self.tokens == 1 {
            return self.seen(w, &Expr::U32(0));
        }
        let found = w.code.var("seen_by_run", none);
        for t in 0..self.tokens {
            let [its, seen] = [self.run_of, self.attended].map(|at| Expr::Shared(Expr::U32(t + at).into()));
            // The values of a token without rows are not a run.
            let counts = its.equal(run).both(&Expr::U32(0).less(&seen));
            let seen = Expr::U32(none).unless(&counts, seen);
            w.code.assign(&found, Expr::call(fold, [found.clone(), seen]));
        }
        found
    }

    /// The end, exclusive, of the positions that a row sees.
    pub(crate) fn seen(&self, w: &mut Writer<'_>, row: &Expr) -> Expr {
        w.code.set("seen", Expr::Shared((row + self.seen).into()))
    }

    /// Whether a row is in a run.
    pub(crate) fn is_in(&self, row: &Expr, run: &Expr) -> Expr {
        match self.tokens {
            1 => Expr::True,
            _ => Expr::Shared((row + self.run).into()).equal(run),
        }
    }
}

/// The axes of a row of the tile. Rows beyond the last have those of the last.
pub(crate) fn axes(w: &mut Writer<'_>, place: &Place, row: &Expr) -> Vec<Expr> {
    let row = w.code.set("own_row", row.clone().min(place.tile() - 1));
    place.row_to_read(&mut w.code, &row).axes
}

/// The head of a row of the tile.
pub(crate) fn head(w: &mut Writer<'_>, place: &Place, row: &Expr) -> Expr {
    axes(w, place, row).into_iter().nth(1).unwrap_or(Expr::U32(0))
}

/// The token of a row of the tile.
pub(crate) fn token(w: &mut Writer<'_>, place: &Place, row: &Expr) -> Expr {
    axes(w, place, row).into_iter().next().unwrap_or(Expr::U32(0))
}
