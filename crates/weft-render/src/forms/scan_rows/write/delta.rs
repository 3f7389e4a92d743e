//! The gated delta rule, and linear attention.
//!
//! `reduce` neighbouring lanes share a row of the state, which belongs to a value channel, and hold it in registers while rows pass. The
//! operands of a batch of rows are in workgroup memory, so lanes synchronise once a batch.

use weft_kern::{DeltaRule, Scan};
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::scan_rows::choose::together;
use crate::forms::scan_rows::write::head::{Head, Kept, Rows};
use crate::lower::reduce::{self, Fold};
use crate::lower::space::Place;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::Split;

/// Independent partial sums per lane.
const PARTIAL: usize = 4;

/// A lane's values of the state, and the offsets of the operands of a batch.
pub(super) struct Delta<'a> {
    rule: &'a DeltaRule,
    inner: u32,
    /// Values that are loaded together, and the lanes that share a channel.
    together: u32,
    shares: u32,
    /// The lane's share.
    share: Expr,
    channels: Vec<Channel>,
    /// The workgroup's channels, and the first of them.
    width: u32,
    column: Expr,
    /// All channels of a head.
    cols: u32,
    /// The key head.
    key_head: Expr,
    /// The first words of operands in workgroup memory: queries, keys, values, decays and factors.
    at: [u32; 5],
}

/// A value channel of a lane.
struct Channel {
    /// Its number among the workgroup's channels, and whether it exists.
    own: Expr,
    exists: Expr,
    /// The lane's values of its row of the state.
    state: Vec<Expr>,
}

impl<'a> Delta<'a> {
    pub(super) fn new(
        w: &mut Writer<'_>,
        (scan, rule): (&Scan, &'a DeltaRule),
        place: &Place,
        (split, head): (&Split, &Head),
    ) -> Result<Delta<'a>, Why> {
        let (inner, width, shares) = (word(rule.inner)?, place.width(), split.reduce);
        let each = (w.code.lanes / shares).max(1);
        let share = w.code.set("share", Expr::Lane % shares);
        let channels = (0..width.div_ceil(each)).map(|i| {
            let own = w.code.set("channel", Expr::Lane / shares + i * each);
            let exists = if width.is_multiple_of(each) { Expr::True } else { own.less(width) };
            let column = w.code.set("column", &place.column + &own);
            let exists = exists.both(&place.has_column(&column));
            // Lanes without a channel repeat the last one, and store nothing.
            let own = if exists == Expr::True { own } else { w.code.set("channel", own.min(width - 1)) };
            let state = (0..inner / shares).map(|_| w.code.var("s", 0.0f32)).collect();
            Channel { own, exists, state }
        });
        let channels = channels.collect();
        let decays = if rule.channels { inner } else { 1 };
        let at = [inner, inner, width, decays, 1].map(|n| w.pool.alloc(split.upcast.saturating_mul(n)));
        let (heads, keys) = (word(scan.heads)?, word(rule.keys)?);
        let key_head = if rule.tiled { &head.head % keys } else { &head.head / (heads / keys) };
        Ok(Delta {
            rule,
            inner,
            together: together(rule.inner, w.quads) as u32,
            shares,
            share,
            channels,
            width,
            column: place.column.clone(),
            cols: place.cols(),
            key_head: w.code.set("key_head", key_head),
            at,
        })
    }

    /// The first values of a lane's pieces within a row.
    fn pieces(&self) -> Vec<Expr> {
        let pieces = self.inner / self.together / self.shares;
        (0..pieces).map(|j| (&self.share + j * self.shares) * self.together).collect()
    }

    /// The first value of a channel's row in a head's state, which begins at `from`.
    fn row_of(&self, w: &mut Writer<'_>, from: &Expr, place: &Place, channel: &Channel) -> Expr {
        let column = (&self.column + &channel.own).min(place.cols() - 1);
        w.code.set("row", from + column * self.inner)
    }

    pub(super) fn begin(
        &self,
        w: &mut Writer<'_>,
        scan: &Scan,
        head: &Head,
        place: &Place,
    ) -> Result<(), Why> {
        w.when(head.first.both(&head.resumes), |w| {
            for channel in &self.channels {
                let row = self.row_of(w, &head.from, place, channel);
                for (values, at) in channel.state.chunks(self.together as usize).zip(self.pieces()) {
                    let at = w.start(scan.state) + (&row + at);
                    let slot = w.slot(scan.state);
                    let words = match values {
                        [_] => vec![Expr::Word(slot, at.into())],
                        _ => w.code.four("kept", Expr::Four(Some(slot), at.into())).into(),
                    };
                    for (value, word) in values.iter().zip(words) {
                        w.code.assign(value, word.float());
                    }
                }
            }
            Ok(())
        })?;
        head.each_kept(w, |w, row| self.pass(w, scan, row))
    }

    /// Updates the state with a kept row, which has no queries. Few steps have such rows, so lanes load them without sharing.
    fn pass(&self, w: &mut Writer<'_>, scan: &Scan, row: &Expr) -> Result<(), Why> {
        let (v, decay) = (row + self.inner, row + self.inner + self.cols);
        let k = self.own_kept(w, scan, "k", row);
        let decays = match self.rule.channels {
            true => self.own_kept(w, scan, "a", &decay),
            false => vec![self.kept_word(w, scan, "decay", decay.clone())],
        };
        let beta = self.kept_word(w, scan, "beta", decay + if self.rule.channels { self.inner } else { 1 });
        let columns = self.channels.iter().map(|channel| {
            let column = (&self.column + &channel.own).min(self.cols - 1);
            self.kept_word(w, scan, "v", &v + column)
        });
        let values: Vec<Expr> = columns.collect();
        self.update(w, &k, &decays, &beta, values);
        Ok(())
    }

    fn kept_word(&self, w: &mut Writer<'_>, scan: &Scan, name: &str, at: Expr) -> Expr {
        let word = w.param_word(scan.state, at).float();
        w.code.set(name, word)
    }

    /// A lane's values of a kept row, which begins at `row`.
    fn own_kept(&self, w: &mut Writer<'_>, scan: &Scan, name: &str, row: &Expr) -> Vec<Expr> {
        let pieces = self.pieces().into_iter();
        let all = pieces.flat_map(|at| (0..self.together).map(move |i| &at + i));
        all.map(|at| self.kept_word(w, scan, name, row + at)).collect()
    }

    /// Stores the rows after the certain ones; of values, the workgroup's channels.
    pub(super) fn keep(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head) -> Result<(), Why> {
        let DeltaRule { k, v, decay, beta, channels, .. } = self.rule;
        let (inner, cols) = (self.inner, self.cols);
        let decays = if *channels { inner } else { 1 };
        let is_first = if self.width >= cols { Expr::True } else { self.column.equal(0u32) };
        let of_head = |view, own, count, at| Kept {
            view,
            own,
            first: Expr::U32(0),
            count,
            all: count,
            at,
            exists: is_first.clone(),
        };
        let (own, first, count) = (&head.head, self.column.clone(), self.width);
        let operands = [
            of_head(k, &self.key_head, inner, 0),
            of_head(decay, own, decays, inner + cols),
            of_head(beta, own, 1, inner + cols + decays),
            Kept { view: v, own, first, count, all: cols, at: inner, exists: Expr::True },
        ];
        head.keep(w, scan, &operands)
    }

    /// Loads the operands of rows into workgroup memory.
    fn stage(&self, w: &mut Writer<'_>, head: &Head, rows: &Rows) -> Result<(), Why> {
        let DeltaRule { q, k, v, decay, beta, channels, .. } = self.rule;
        let decays = if *channels { self.inner } else { 1 };
        let [at_q, at_k, at_v, at_decay, at_beta] = self.at;
        let (whole, none) = (Expr::U32(0), &self.key_head);
        for (n, first, operands) in [
            (self.inner, &whole, &[(q, at_q, none), (k, at_k, none)][..]),
            (self.width, &self.column, &[(v, at_v, &head.head)]),
            (decays, &whole, &[(decay, at_decay, &head.head)]),
            (1, &whole, &[(beta, at_beta, &head.head)]),
        ] {
            w.share(rows.most.saturating_mul(n), |w, item| {
                let (r, i) = match rows.most {
                    1 => (Expr::U32(0), item.clone()),
                    _ => (w.code.set("r", &item / n), w.code.set("c", &item % n)),
                };
                let exists = if rows.most == 1 { Expr::True } else { r.less(rows.count.clone()) };
                w.when(exists, |w| {
                    let token = w.code.set("i", &rows.first + r);
                    for (view, to, own) in operands {
                        let column = first + &i;
                        let base = w.base(view, &[token.clone(), (*own).clone()])?;
                        let value = w.load(view.param, &(base + column * word(view.step)?))?;
                        w.code.store_shared(&item + *to, value.bits());
                    }
                    Ok(())
                })
            })?;
        }
        w.code.barrier();
        Ok(())
    }

    pub(super) fn rows(&self, w: &mut Writer<'_>, head: &Head, rows: &Rows, results: u32) -> Result<(), Why> {
        self.stage(w, head, rows)?;
        w.count_or_once("r", (0u32.into(), rows.count.clone(), 1), |w, r| self.step(w, &r, results))
    }

    /// A lane's values of a row in workgroup memory.
    fn own(&self, w: &mut Writer<'_>, stem: &str, row: &Expr) -> Vec<Expr> {
        let pieces = self.pieces().into_iter();
        pieces.flat_map(|at| w.shared_words(stem, &(row + at), self.together)).map(Expr::float).collect()
    }

    /// Updates the state with a row, and computes its result.
    fn step(&self, w: &mut Writer<'_>, r: &Expr, results: u32) -> Result<(), Why> {
        let [at_q, at_k, at_v, at_decay, at_beta] = self.at;
        let k = self.own(w, "k", &(r * self.inner + at_k));
        let q = self.own(w, "q", &(r * self.inner + at_q));
        let decay = match self.rule.channels {
            true => self.own(w, "a", &(r * self.inner + at_decay)),
            false => {
                let decay = w.load_shared(r + at_decay);
                vec![w.code.set("decay", decay)]
            }
        };
        let beta = w.load_shared(r + at_beta);
        let beta = w.code.set("beta", beta);
        let of_channels = self.channels.iter();
        let values = of_channels.map(|channel| w.load_shared(r * self.width + &channel.own + at_v)).collect();
        self.update(w, &k, &decay, &beta, values);
        let sums: Vec<Expr> = self.channels.iter().map(|channel| self.dot(w, channel, &q)).collect();
        let found = reduce::subgroups_of(w, Fold::Sum, sums, self.shares);
        for (channel, found) in self.channels.iter().zip(found) {
            let stores = self.share.equal(0u32).both(&channel.exists);
            w.when(stores, |w| {
                w.code.store_shared(r * self.width + &channel.own + results, found.bits());
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Decays the state, and adds the keys to each channel's row, times the given value.
    fn update(&self, w: &mut Writer<'_>, k: &[Expr], decay: &[Expr], beta: &Expr, values: Vec<Expr>) {
        let mut sums = Vec::new();
        for channel in &self.channels {
            for (s, decay) in channel.state.iter().zip(decay.iter().cycle()) {
                w.code.assign(s, s.times(decay));
            }
            if self.rule.corrects {
                sums.push(self.dot(w, channel, k));
            }
        }
        let errors = if self.rule.corrects {
            let products = reduce::subgroups_of(w, Fold::Sum, sums, self.shares);
            values.into_iter().zip(products).map(|(v, product)| v - product).collect()
        } else {
            values
        };
        for (channel, error) in self.channels.iter().zip(errors) {
            let update = w.code.set("update", beta.times(error));
            for (s, k) in channel.state.iter().zip(k) {
                w.code.add_product(s, update.clone(), k.clone());
            }
        }
    }

    /// The lane's share of the product of a channel's row with another vector.
    fn dot(&self, w: &mut Writer<'_>, channel: &Channel, others: &[Expr]) -> Expr {
        let mut partial: Vec<Expr> = Vec::new();
        for (i, (s, other)) in channel.state.iter().zip(others).enumerate() {
            match partial.get(i % PARTIAL) {
                Some(sum) if i >= PARTIAL => w.code.add_product(&sum.clone(), s.clone(), other.clone()),
                _ => partial.push(w.code.var("sum", s.times(other))),
            }
        }
        let sum = partial.into_iter().reduce(|a, b| a + b).unwrap_or(Expr::F32(0.0));
        w.code.set("sum", sum)
    }

    pub(super) fn end(&self, w: &mut Writer<'_>, scan: &Scan, head: &Head, place: &Place) -> Result<(), Why> {
        w.when(head.first.clone(), |w| {
            for channel in &self.channels {
                w.when(channel.exists.clone(), |w| {
                    let row = self.row_of(w, &head.to, place, channel);
                    for (values, at) in channel.state.chunks(self.together as usize).zip(self.pieces()) {
                        let to = w.start(scan.state) + (&row + at);
                        let slot = w.slot(scan.state);
                        for (i, value) in (0u32..).zip(values) {
                            w.code.push(Stmt::Store(slot, &to + i, value.clone().bits()));
                        }
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })
    }
}
