//! Adds up the shares of sums in workgroup memory, in a fixed order.
//!
//! The terms of a weighted sum are added up separately and then weighted: all at once if there is room for them, otherwise one after
//! another.

use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::lower::reduce::{self, Fold};
use crate::lower::writer::Writer;
use crate::refused::Why;

/// The division of the sums of a pass among lanes.
#[derive(Clone, Copy)]
pub(super) struct Sharing {
    /// Rows per tile, columns per pass, and columns per block.
    pub(super) rows: u32,
    pub(super) pass: u32,
    pub(super) width: u32,
    /// Lanes that share a sum, and the number of them that add up their shares by an exchange within a subgroup.
    pub(super) reduce: u32,
    pub(super) exchanging: u32,
}

/// A product's shares and its results in workgroup memory.
pub(super) struct Joined<'a> {
    pub(super) shares: u32,
    pub(super) results: u32,
    /// The factors of a weighted sum's terms, whose shares are stored one after another.
    pub(super) weights: &'a [Expr],
}

impl Sharing {
    /// Shares of a sum that are added in workgroup memory.
    pub(super) fn each(&self) -> u32 {
        self.reduce / self.exchanging
    }

    /// Words of all shares of a product with one matrix.
    pub(super) fn words(&self) -> u32 {
        self.rows.saturating_mul(self.pass).saturating_mul(self.each())
    }

    /// Stores a lane's sums, of its columns `own` and each row, among the shares from `at` on. `fours` says whether its columns are groups
    /// of four neighbours.
    pub(super) fn store(
        &self,
        w: &mut Writer<'_>,
        (share, own, fours): (&Expr, &[Expr], bool),
        sums: &[Vec<Expr>],
        at: &Expr,
    ) -> Result<(), Why> {
        let Sharing { rows, pass, exchanging, .. } = *self;
        if fours && exchanging == 1 {
            for (own, sums) in own.chunks(4).zip(sums.chunks(4)) {
                for i in 0..rows {
                    let to = w.code.set("to", (share * rows + i) * pass + &own[0] + at);
                    let words = std::array::from_fn(|u| sums[u][i as usize].clone().bits());
                    w.code.push(Stmt::StoreFour(to, words));
                }
            }
            return Ok(());
        }
        for (own, sums) in own.iter().zip(sums) {
            for (i, sum) in sums.iter().enumerate() {
                let sum = match exchanging {
                    1 => sum.clone(),
                    n => reduce::subgroups(w, Fold::Sum, sum.clone(), n),
                };
                let row = share / exchanging * rows + i as u32;
                let to = w.code.set("to", row * pass + own + at);
                let first = (share % exchanging).equal(0u32);
                w.when(if exchanging == 1 { Expr::True } else { first }, |w| {
                    w.code.store_shared(to, sum.bits());
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Adds up the shares of term `i` of a weighted sum of one row, and adds it to the result.
    pub(super) fn add_term(
        &self,
        w: &mut Writer<'_>,
        at: &Expr,
        (i, weight): (&Expr, Expr),
        (shares, results): (u32, u32),
    ) -> Result<(), Why> {
        w.code.barrier();
        self.items(w, self.pass, at, |w, item, own| {
            let term = reduce::folded(w, Fold::Sum, &(item + shares), self.each(), self.pass);
            let to = w.code.set("to", own + results);
            let before = w.load_shared(to.clone()).unless(&i.equal(0u32), 0.0f32);
            w.code.store_shared(to, (before + weight.times(term)).bits());
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Adds up the shares of products.
    pub(super) fn join(&self, w: &mut Writer<'_>, at: &Expr, products: &[Joined<'_>]) -> Result<(), Why> {
        let (apart, pass, width) = (self.rows * self.pass, self.pass, self.width);
        let done = |joined: &Joined<'_>| joined.shares == joined.results && joined.weights.is_empty();
        if products.is_empty() || self.each() == 1 && products.iter().all(done) {
            return Ok(());
        }
        let each = self.join_some(w, products)?;
        self.items(w, apart, at, |w, item, own| {
            for joined in products {
                let sum = self.total(w, joined, item, each);
                w.code.store_shared((item / pass) * width + own + joined.results, sum.bits());
            }
        })?;
        w.code.barrier();
        Ok(())
    }

    /// Adds up the shares of products whose passes have all columns of the block. The result with number `l` is in lane `l`.
    pub(super) fn join_in_lanes(
        &self,
        w: &mut Writer<'_>,
        products: &[Joined<'_>],
    ) -> Result<Vec<Expr>, Why> {
        let each = self.join_some(w, products)?;
        let results: Vec<Expr> = products.iter().map(|_| w.code.var("result", 0.0f32)).collect();
        w.share(self.rows * self.pass, |w, item| {
            for (joined, result) in products.iter().zip(&results) {
                let sum = self.total(w, joined, &item, each);
                w.code.assign(result, sum);
            }
            Ok(())
        })?;
        Ok(results)
    }

    /// Adds up the terms of weighted sums by separate lanes, because one lane would have many shares of all terms to add. Returns the
    /// number of shares per sum afterwards.
    fn join_some(&self, w: &mut Writer<'_>, products: &[Joined<'_>]) -> Result<u32, Why> {
        if self.each() == 1 || products.iter().all(|joined| joined.weights.is_empty()) {
            return Ok(self.each());
        }
        self.join_terms(w, products)?;
        Ok(1)
    }

    /// A result, from this many shares of each sum.
    fn total(&self, w: &mut Writer<'_>, joined: &Joined<'_>, item: &Expr, each: u32) -> Expr {
        let apart = self.rows * self.pass;
        let folded =
            |w: &mut Writer<'_>, first: u32| reduce::folded(w, Fold::Sum, &(item + first), each, apart);
        if joined.weights.is_empty() {
            return folded(w, joined.shares);
        }
        let all = w.code.var("all", 0.0f32);
        for (i, weight) in joined.weights.iter().enumerate() {
            let term = folded(w, i as u32 * self.each() * apart + joined.shares);
            w.code.assign(&all, all.clone() + weight.times(term));
        }
        all
    }

    /// Adds up the shares of each term into its first share.
    fn join_terms(&self, w: &mut Writer<'_>, products: &[Joined<'_>]) -> Result<(), Why> {
        let (apart, each, lanes) = (self.rows * self.pass, self.each(), w.code.lanes);
        let mut first_lane = 0;
        for Joined { shares, weights, .. } in products {
            let terms = (weights.len() as u32).max(1);
            let n = terms.saturating_mul(apart);
            let term = |w: &mut Writer<'_>, item: Expr| {
                let first =
                    w.code.set("first_share", &item / apart * (each * apart) + &item % apart + *shares);
                let sum = reduce::folded(w, Fold::Sum, &first, each, apart);
                w.code.store_shared(first, sum.bits());
                Ok(())
            };
            // Each product has its own lanes, as long as lanes are left.
            if n > lanes - first_lane {
                w.share(n, term)?;
                continue;
            }
            let own = Expr::Lane.less(first_lane + n);
            let after = if first_lane == 0 { Expr::True } else { Expr::Lane.greater(first_lane - 1) };
            w.when(own.both(&after), |w| {
                let item = w.code.set("item", Expr::Lane - first_lane);
                term(w, item)
            })?;
            first_lane += n;
        }
        w.code.barrier();
        Ok(())
    }

    /// Divides `n` places of a pass among the lanes: each with its column in the block, if it has one.
    fn items(
        &self,
        w: &mut Writer<'_>,
        n: u32,
        at: &Expr,
        write: impl FnOnce(&mut Writer<'_>, &Expr, &Expr),
    ) -> Result<(), Why> {
        let Sharing { pass, width, .. } = *self;
        w.share(n, |w, item| {
            let own = w.code.set("own", at + &item % pass);
            let fits = if width.is_multiple_of(pass) { Expr::True } else { own.less(width) };
            w.when(fits, |w| {
                write(w, &item, &own);
                Ok(())
            })
        })
    }
}
