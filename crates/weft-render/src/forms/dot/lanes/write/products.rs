//! The products of `dot.lanes`. Each lane adds up some terms of a few columns for all rows of the tile, so that a weight is unpacked once
//! for all of them. Lanes that share a sum store their partial sums in workgroup memory, where they are added in a fixed order. That order
//! depends on the weight's shape alone, so results are batch-invariant, bit for bit.

use weft_kern::{Factor, Format, Part, Pick, Product, Sum, View};
use weft_shader::expr::Expr;

use crate::forms::dot::lanes::write::join::{Joined, Sharing};
use crate::lower::factors::Factors;
use crate::lower::loads::{Piece, Rows, Share, is_idle, own_columns};
use crate::lower::prologue::PrologueValues;
use crate::lower::quads;
use crate::lower::round::{self, Rounded};
use crate::lower::space::Place;
use crate::lower::tile::has_minima;
use crate::lower::writer::Writer;
use crate::refused::{Why, word};
use crate::split::{EARLY_REGISTERS, Split};

/// The most loads of a lane in flight at once. Each takes a register.
const MOST_LOADS: u32 = 32;

/// The products of a part.
pub(crate) struct Dot<'a> {
    part: &'a Part,
    place: &'a Place,
    split: &'a Split,
    made: PrologueValues,
    /// Each tile row's index along each axis.
    rows: Vec<Vec<Expr>>,
    /// The weights of each product that were loaded ahead, if there are any.
    early: Vec<Option<Early>>,
    /// Registers of a lane that are left for loads ahead.
    room: u32,
    /// Rounded activations that were copied to workgroup memory.
    copies: Vec<Copied>,
}

/// Rounded activations of the tile's rows in workgroup memory.
struct Copied {
    view: View,
    /// The number of values per row, from the view's first value on.
    n: u32,
    at: Rounded,
}

/// The indices by which a product selects its matrices, if it does.
fn numbers(product: &Product) -> Option<&View> {
    match &product.w.pick {
        Pick::Ids(ids) => Some(ids),
        Pick::Sum(sum) => Some(&sum.ids),
        Pick::Only | Pick::Axis(_) => None,
    }
}

/// A term and the pieces of its matrix, by index.
type Loaded = (Term, Vec<(Expr, Piece)>);

/// The pieces of a weight that a lane multiplies by, loaded ahead.
struct Early {
    lane: Lane,
    terms: Vec<Loaded>,
}

/// A product's columns for a lane.
#[derive(Clone)]
struct Lane {
    /// Its number among the lanes that share a sum.
    share: Expr,
    /// Its columns, numbered within the pass and within the part.
    own: Vec<Expr>,
    columns: Vec<Expr>,
    /// Whether they are groups of four neighbours.
    fours: bool,
}

/// The place of the results of products.
#[derive(Debug)]
pub(crate) enum Results {
    /// In workgroup memory, which all lanes can read: each product's first word. A tile row has as many words as the block has columns.
    Shared(Vec<u32>),
    /// In lanes: lane `l` has the result of row `l / width` and column `l % width`.
    Lanes(Vec<Expr>),
}

/// The place of a product in workgroup memory.
struct Memory {
    shares: u32,
    results: u32,
    /// The factors of a weighted sum's terms.
    weights: Vec<Expr>,
    /// Whether the terms are added up one after another.
    in_turn: bool,
}

impl Memory {
    fn joined(&self) -> Joined<'_> {
        Joined { shares: self.shares, results: self.results, weights: &self.weights }
    }
}

/// A term of a weighted sum.
struct Term {
    /// Row 0 of its matrix, among the parameter's rows.
    matrix: Expr,
    /// Values from the first term's activations to this term's.
    apart: Expr,
}

impl<'a> Dot<'a> {
    /// Prepares the products of a part. If the workgroup has yet to wait, loads weights whose rows are known, as far as registers allow.
    pub(crate) fn new(
        w: &mut Writer<'_>,
        part: &'a Part,
        place: &'a Place,
        split: &'a Split,
    ) -> Result<Dot<'a>, Why> {
        let rows: Vec<_> =
            (0..place.tile()).map(|i| place.row_to_read(&mut w.code, &Expr::U32(i)).axes).collect();
        let sums = rows.len() as u32 * split.upcast * part.products().len() as u32;
        let room = w.early_words.min(EARLY_REGISTERS / w.code.lanes).saturating_sub(4 * sums);
        let early = part.products().iter().map(|_| None).collect();
        let mut dot = Dot {
            part,
            place,
            split,
            made: PrologueValues::default(),
            rows,
            early,
            room,
            copies: Vec::new(),
        };
        if w.waits {
            dot.load(w, |_, product| numbers(product).is_none())?;
            dot.load(w, |w, product| numbers(product).is_some_and(|ids| w.is_stable(ids.param)))?;
        }
        Ok(dot)
    }

    /// Loads weights that are selected by index and have not been loaded, as far as registers allow. The workgroup must have waited.
    pub(crate) fn load_picked(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        if !w.quads {
            return Ok(());
        }
        let before = self.room;
        self.load(w, |_, product| numbers(product).is_some())?;
        if self.room < before {
            w.hold_loads();
        }
        Ok(())
    }

    /// Whether some product of these activations has a weight with minima.
    fn reads_sums(&self, w: &Writer<'_>, view: &View) -> bool {
        let own = |product: &&Product| matches!(&product.x, Factor::View(of) if of == view);
        self.part.products().iter().filter(own).any(|product| has_minima(w.format(product.w.param)))
    }

    /// Copies the rounded activations of products to workgroup memory, if they fit, so that they are loaded once and all at once.
    pub(crate) fn copy(&mut self, w: &mut Writer<'_>) -> Result<(), Why> {
        if !w.quads {
            return Ok(());
        }
        let most = if w.holds { w.pool.activations } else { w.pool.spare };
        for product in self.part.products() {
            let Factor::View(view) = &product.x else { continue };
            let n = match &product.w.pick {
                Pick::Sum(sum) => sum.apart * (sum.terms - 1) + product.w.k,
                _ => product.w.k,
            };
            let (n, rows) = (word(n)?, self.rows.len() as u32);
            let words = rows.saturating_mul(n / 4 + n / 32 + n / 16);
            let known = self.copies.iter().any(|copied| copied.view == *view && copied.n >= n);
            if known || !product.rounds(&w.kernel.params) || words as usize > most {
                continue;
            }
            let at = round::alloc(w, rows * n);
            let (slot, start, values) = (w.slot(view.param), w.start(view.param), w.values(view.param));
            let planes: Vec<_> =
                [at.quants, at.scales, at.sums].into_iter().zip(round::planes(&values)).collect();
            // Only formats with minima need sums.
            let planes = if self.reads_sums(w, view) { &planes[..] } else { &planes[..2] };
            for (i, axes) in self.rows.iter().enumerate() {
                let first = w.base(view, axes)?;
                let first = w.code.set("x", first);
                for (to, (per, plane)) in planes {
                    let (to, words) = (to + i as u32 * (n / per), n / per);
                    let from = w.code.set("from_word", &start + plane + &first / *per);
                    // Only the plane of quants is known to begin at a multiple of four words.
                    if *per == 4 {
                        quads::copy(w, words, slot, to, |_, c| Ok(&from + c))?;
                        continue;
                    }
                    w.share(words, |w, c| {
                        let word = Expr::Word(slot, (&from + &c).into());
                        w.code.store_shared(c + to, word);
                        Ok(())
                    })?;
                }
            }
            self.copies.push(Copied { view: view.clone(), n, at });
        }
        if !self.copies.is_empty() {
            w.code.barrier();
        }
        Ok(())
    }

    /// Loads the weights of these products, as far as registers allow.
    fn load(&mut self, w: &mut Writer<'_>, these: impl Fn(&Writer<'_>, &Product) -> bool) -> Result<(), Why> {
        if self.room == 0 || self.place.width() > self.pass_width(w) {
            return Ok(());
        }
        let reduce = self.split.reduce;
        for (i, product) in self.part.products().iter().enumerate() {
            let known = w.is_weight(product.w.param) && !product.transposed && !self.rows.is_empty();
            if !known || self.early[i].is_some() || !these(w, product) {
                continue;
            }
            w.code.open();
            let lane = self.lane(w, product, &Expr::U32(0));
            let terms = self.picked(w, product)?;
            let weights =
                terms.iter().map(|term| Rows::new(w, product, &term.matrix, (&lane.columns, lane.fours)));
            let weights: Vec<Rows> = weights.collect::<Result<_, _>>()?;
            let each = |weight: &Rows| weight.each(reduce).filter(|_| weight.can_be_early());
            let needed =
                weights.iter().map(|weight| Some(each(weight)? * weight.registers)).sum::<Option<u32>>();
            let needed = needed.unwrap_or(u32::MAX);
            let fits = needed <= self.room;
            w.code.close_if_kept(fits);
            if !fits {
                continue;
            }
            self.room -= needed;
            let load = |weight: &Rows| {
                let Share { first, step, to: _ } = weight.share(w, &lane.share, reduce);
                pieces(w, weight, &first, (step, weight.each(reduce).unwrap_or(0)), true)
            };
            let loaded: Vec<_> = weights.iter().map(load).collect::<Result<_, _>>()?;
            self.early[i] = Some(Early { lane, terms: terms.into_iter().zip(loaded).collect() });
        }
        Ok(())
    }

    /// The matrices of the tile's first row.
    fn picked(&self, w: &mut Writer<'_>, product: &Product) -> Result<Vec<Term>, Why> {
        let m = &product.w;
        let (count, first, stride) = (word(m.count)?, word(m.first)?, word(m.stride)?);
        let Some(axes) = self.rows.first() else { return Ok(Vec::new()) };
        let one = |number: Expr| Term { matrix: number * stride + first, apart: Expr::U32(0) };
        Ok(match &m.pick {
            Pick::Only => vec![one(Expr::U32(0))],
            Pick::Axis(axis) => vec![one(axes[*axis].clone())],
            Pick::Ids(view) => vec![one(w.index(view, axes, &Expr::U32(0), count)?)],
            Pick::Sum(sum) => {
                let term = |i| self.term(w, product, sum, &Expr::U32(i));
                (0..word(sum.terms)?).map(term).collect::<Result<_, _>>()?
            }
        })
    }

    /// Term `i` of a weighted sum.
    fn term(&self, w: &mut Writer<'_>, product: &Product, sum: &Sum, i: &Expr) -> Result<Term, Why> {
        let m = &product.w;
        let (count, first, stride) = (word(m.count)?, word(m.first)?, word(m.stride)?);
        let axes = self.rows.first().map_or(&[][..], |axes| axes);
        let number = w.index(&sum.ids, axes, i, count)?;
        Ok(Term { matrix: number * stride + first, apart: i * word(sum.apart)? })
    }

    /// The factor of term `i` of a weighted sum, for the tile's first row.
    fn weight(&self, w: &mut Writer<'_>, sum: &Sum, i: &Expr) -> Result<Expr, Why> {
        let axes = self.rows.first().map_or(&[][..], |axes| axes);
        let at = w.base(&sum.weights, axes)? + i * word(sum.weights.step)?;
        let weight = w.load(sum.weights.param, &at)?;
        Ok(w.code.set("weight", weight))
    }

    /// The factors of all terms of a weighted sum; none for other products.
    fn weights(&self, w: &mut Writer<'_>, product: &Product) -> Result<Vec<Expr>, Why> {
        let Pick::Sum(sum) = &product.w.pick else { return Ok(Vec::new()) };
        (0..word(sum.terms)?).map(|i| self.weight(w, sum, &i.into())).collect()
    }

    /// Writes the products with the prologue's values. Results stay in lanes if that is wanted and possible.
    pub(crate) fn write(
        mut self,
        w: &mut Writer<'_>,
        made: PrologueValues,
        in_lanes: bool,
    ) -> Result<Results, Why> {
        self.made = made;
        let (dot, part, width) = (&self, self.part, self.place.width());
        let sharing = Sharing {
            rows: self.rows.len() as u32,
            pass: self.pass_width(w),
            width,
            reduce: self.split.reduce,
            exchanging: self.exchanging(w),
        };
        let (passes, each) = (width.div_ceil(sharing.pass), sharing.words());
        let mut memory = Vec::new();
        for product in part.products() {
            let all = each.saturating_mul(terms(product));
            // Without room for the shares of all terms, terms are added up one after another.
            let in_turn = all > each && all as usize > w.pool.spare;
            let weights = if in_turn { Vec::new() } else { self.weights(w, product)? };
            let shares = w.pool.alloc(if in_turn { each } else { all });
            memory.push(Memory { shares, results: shares, weights, in_turn });
        }
        if passes > 1 || sharing.pass != width || memory.iter().any(|memory| memory.in_turn) {
            let all = sharing.rows.saturating_mul(width);
            memory.iter_mut().for_each(|memory| memory.results = w.pool.alloc(all));
        }
        let fits = sharing.pass == width && sharing.rows.saturating_mul(width) <= w.code.lanes;
        if in_lanes && fits && !memory.iter().any(|memory| memory.in_turn) {
            dot.shares(w, &Expr::U32(0), &sharing, &memory)?;
            let products: Vec<Joined<'_>> = memory.iter().map(Memory::joined).collect();
            return Ok(Results::Lanes(sharing.join_in_lanes(w, &products)?));
        }
        match passes {
            1 => dot.pass(w, &Expr::U32(0), &sharing, &memory)?,
            _ => w.count("at", (0u32.into(), width.into(), sharing.pass), |w, at| {
                dot.pass(w, &at, &sharing, &memory)
            })?,
        }
        Ok(Results::Shared(memory.iter().map(|memory| memory.results).collect()))
    }

    /// Columns per pass.
    fn pass_width(&self, w: &Writer<'_>) -> u32 {
        self.split.across(w.code.lanes) * self.split.upcast
    }

    /// The number of neighbouring lanes that add up their shares by an exchange within a subgroup, where the order of sums is free.
    fn exchanging(&self, w: &Writer<'_>) -> u32 {
        let neighbours = |p: &Product| !p.transposed && !p.rounds(&w.kernel.params);
        let can = w.quads && self.part.products().iter().all(neighbours);
        if can { self.split.reduce.min(w.subgroup) } else { 1 }
    }

    /// Computes all products for the columns from `at` on.
    fn pass(&self, w: &mut Writer<'_>, at: &Expr, sharing: &Sharing, memory: &[Memory]) -> Result<(), Why> {
        self.shares(w, at, sharing, memory)?;
        let joined = memory.iter().filter(|memory| !memory.in_turn).map(Memory::joined);
        sharing.join(w, at, &joined.collect::<Vec<_>>())
    }

    /// Computes each lane's shares of all products for the columns from `at` on.
    fn shares(&self, w: &mut Writer<'_>, at: &Expr, sharing: &Sharing, memory: &[Memory]) -> Result<(), Why> {
        for ((product, memory), early) in self.part.products().iter().zip(memory).zip(&self.early) {
            let (lane, early) = match early {
                Some(Early { lane, terms }) => (lane.clone(), Some(&terms[..])),
                None => (self.lane(w, product, at), None),
            };
            w.code.note(title(w, product));
            let each = sharing.words();
            let share = |w: &mut Writer<'_>, i: &Expr, term: &Term, early: Option<&[(Expr, Piece)]>| {
                let sums = self.sums(w, product, &lane, (term, early))?;
                let to = if memory.in_turn { Expr::U32(memory.shares) } else { i * each + memory.shares };
                sharing.store(w, (&lane.share, &lane.own, lane.fours), &sums, &to)
            };
            match (early, &product.w.pick) {
                (_, Pick::Sum(sum)) if memory.in_turn || early.is_none() => {
                    w.count("term", (0u32.into(), word(sum.terms)?.into(), 1), |w, i| {
                        let term = self.term(w, product, sum, &i)?;
                        share(w, &i, &term, None)?;
                        if !memory.in_turn {
                            return Ok(());
                        }
                        let weight = self.weight(w, sum, &i)?;
                        sharing.add_term(w, at, (&i, weight), (memory.shares, memory.results))
                    })?;
                }
                (Some(early), _) => {
                    for (i, (term, pieces)) in early.iter().enumerate() {
                        share(w, &(i as u32).into(), term, Some(pieces))?;
                    }
                }
                (None, _) => {
                    for term in self.picked(w, product)? {
                        share(w, &0u32.into(), &term, None)?;
                    }
                }
            }
        }
        w.code.barrier();
        Ok(())
    }

    /// The columns of a lane. Neighbouring lanes read neighbouring memory: rows of a tile, columns of a transposed matrix, or words of a
    /// row.
    fn lane(&self, w: &mut Writer<'_>, product: &Product, at: &Expr) -> Lane {
        let (reduce, across) = (self.split.reduce, self.split.across(w.code.lanes));
        let side_by_side = product.transposed || product.rounds(&w.kernel.params);
        let (first, share) = match side_by_side {
            true => (Expr::Lane % across, Expr::Lane / across),
            false => (Expr::Lane / reduce, Expr::Lane % reduce),
        };
        let share = if reduce == 1 { Expr::U32(0) } else { w.code.set("share", share) };
        // A pass may have more columns than the block. Those are computed and not stored.
        let within = self.place.width().is_multiple_of(self.pass_width(w));
        let fours = within && self.reads_fours(w, product);
        let own = own_columns(w, first, (across, self.split.upcast), fours);
        let columns = own.iter().map(|own| self.place.column_to_read(&mut w.code, &(at + own), within));
        Lane { share, columns: columns.collect(), own, fours }
    }

    /// Whether a lane's columns are groups of four neighbours, whose words of a tile it loads at once.
    fn reads_fours(&self, w: &Writer<'_>, product: &Product) -> bool {
        let m = &product.w;
        let tiles = matches!(w.format(m.param), Format::Ggml(ty) if ty.is_quantised());
        let (cols, width) = (self.place.cols(), self.place.width());
        let parts = [width, self.split.upcast].map(|n| n as usize);
        let even = parts.into_iter().chain([m.first, m.stride]).all(|n| n.is_multiple_of(4));
        w.quads && tiles && even && cols.is_multiple_of(width) && !product.transposed
    }

    fn zeros(&self, w: &mut Writer<'_>, name: &str) -> Vec<Vec<Expr>> {
        let rows = self.rows.len();
        (0..self.split.upcast).map(|_| (0..rows).map(|_| w.code.var(name, 0.0f32)).collect()).collect()
    }

    /// A lane's sums of products with one matrix, for each of its columns and each row.
    fn sums(
        &self,
        w: &mut Writer<'_>,
        product: &Product,
        lane: &Lane,
        (term, early): (&Term, Option<&[(Expr, Piece)]>),
    ) -> Result<Vec<Vec<Expr>>, Why> {
        let sums = self.zeros(w, "sum");
        let factors: Vec<Factors> =
            (0..self.rows.len()).map(|i| self.factors(w, product, i, term)).collect::<Result<_, _>>()?;
        if product.transposed {
            self.transposed(w, product, lane, term, &factors, &sums)?;
        } else if let Some(early) = early {
            early.iter().for_each(|(at, piece)| piece.multiply(w, at, &factors, &sums));
        } else {
            let weight = Rows::new(w, product, &term.matrix, (&lane.columns, lane.fours))?;
            let known = w.is_weight(product.w.param);
            rows(w, (&weight, known), (lane, self.split.reduce), &factors, &sums)?;
        }
        let blocks = word(product.w.k / 32)?;
        let tiles = !product.transposed && w.tiles(product.w.param, product.w.k)?.is_some();
        if tiles && let Some(idle) = is_idle(blocks, &lane.share, self.split.reduce) {
            for sum in sums.iter().flatten() {
                w.code.assign(sum, sum.clone().unless(&idle, 0.0f32));
            }
        }
        Ok(sums)
    }

    /// The place of row `i` of the activations.
    fn factors(&self, w: &mut Writer<'_>, product: &Product, i: usize, term: &Term) -> Result<Factors, Why> {
        let rounds = product.rounds(&w.kernel.params);
        let none = Expr::U32(0);
        let view: &View = match &product.x {
            Factor::View(view) => view,
            Factor::Prologue => {
                let n = word(product.x_len())?;
                let missing = || Why::Form("multiplies a prologue it does not have".into());
                return Ok(if rounds {
                    let r = self.made.rounded.ok_or_else(missing)?;
                    let at = |plane: u32, per: u32| Expr::U32(plane + i as u32 * (n / per));
                    let (values, scales, sums) = (at(r.quants, 4), at(r.scales, 32), at(r.sums, 16));
                    Factors { slot: None, values, scales, sums }
                } else {
                    let floats = self.made.floats.ok_or_else(missing)?;
                    let values = Expr::U32(floats + i as u32 * n);
                    Factors { slot: None, values, scales: none.clone(), sums: none }
                });
            }
        };
        if let Some(Copied { n, at, .. }) = self.copies.iter().find(|copied| rounds && copied.view == *view) {
            let plane = |plane: u32, per: u32| &term.apart / per + (plane + i as u32 * (n / per));
            let (values, scales, sums) = (plane(at.quants, 4), plane(at.scales, 32), plane(at.sums, 16));
            return Ok(Factors { slot: None, values, scales, sums });
        }
        let at = w.base(view, &self.rows[i])? + &term.apart;
        let at = w.code.set("x", at);
        if rounds {
            return Ok(Factors::planes(w, view.param, &at));
        }
        let (slot, start) = (Some(w.slot(view.param)), w.start(view.param));
        let values = w.code.set("x", start + at);
        Ok(Factors { slot, values, scales: none.clone(), sums: none })
    }

    /// y = x·w: the weight's columns are the output's.
    fn transposed(
        &self,
        w: &mut Writer<'_>,
        product: &Product,
        lane: &Lane,
        term: &Term,
        factors: &[Factors],
        sums: &[Vec<Expr>],
    ) -> Result<(), Why> {
        let (n, k) = (word(product.w.n)?, word(product.w.k)?);
        let tiles = w.tiles(product.w.param, product.w.k)?;
        w.count("n", (lane.share.clone(), n.into(), self.split.reduce), |w, at| {
            let row = w.code.set("row", &term.matrix + &at);
            let values: Vec<Expr> = match &tiles {
                Some(tiles) => {
                    let row = tiles.row(&mut w.code, &row);
                    lane.columns.iter().map(|c| tiles.value(&mut w.code, &row, c)).collect()
                }
                None => {
                    let at = lane.columns.iter().map(|c| &row * k + c);
                    at.map(|at| w.load(product.w.param, &at)).collect::<Result<_, _>>()?
                }
            };
            let values: Vec<Expr> = values.into_iter().map(|v| w.code.set("value", v)).collect();
            for (i, x) in factors.iter().enumerate() {
                let x = w.code.set("xv", x.float(&x.values + &at));
                for (value, sums) in values.iter().zip(sums) {
                    w.code.add_product(&sums[i], value.clone(), x.clone());
                }
            }
            Ok(())
        })
    }
}

/// The number of pieces of a weight to load before the first is used, to have more loads in flight: more than one only if they divide
/// evenly and a lane does little work per piece. Each piece takes this many `loads`.
fn ahead(each: Option<u32>, rows: &[Factors], loads: u32) -> u32 {
    let even = |n: &u32| each.is_some_and(|each| each.is_multiple_of(*n));
    let most = (MOST_LOADS / loads.max(1)).clamp(1, 8);
    if rows.len() > 2 { 1 } else { (1..=most).rev().find(even).unwrap_or(1) }
}

/// A weight's rows times activations, piece by piece.
fn rows(
    w: &mut Writer<'_>,
    (weight, is_weight): (&Rows, bool),
    (lane, reduce): (&Lane, u32),
    factors: &[Factors],
    sums: &[Vec<Expr>],
) -> Result<(), Why> {
    let each = weight.each(reduce);
    let ahead = ahead(each, factors, weight.registers);
    let Share { first, to, step } = weight.share(w, &lane.share, reduce);
    let multiply = |w: &mut Writer<'_>, first: Expr| {
        let held = w.quads && is_weight && weight.can_be_early() && each.is_some();
        let loaded = pieces(w, weight, &first, (step, ahead), held)?;
        if held {
            w.hold_loads();
        }
        loaded.iter().for_each(|(at, piece)| piece.multiply(w, at, factors, sums));
        Ok(())
    };
    match each == Some(ahead) {
        true => multiply(w, first),
        false => w.count(weight.stem(), (first, to, step * ahead), multiply),
    }
}

/// Loads `n` pieces, from `first` on and `step` apart.
fn pieces(
    w: &mut Writer<'_>,
    weight: &Rows,
    first: &Expr,
    (step, n): (u32, u32),
    early: bool,
) -> Result<Vec<(Expr, Piece)>, Why> {
    let piece = |a| {
        let at = w.code.address(weight.stem(), first + a * step);
        Ok((at.clone(), weight.load(w, &at, early)?))
    };
    (0..n).map(piece).collect()
}

/// The number of matrices whose products are added up separately.
fn terms(product: &Product) -> u32 {
    match &product.w.pick {
        Pick::Sum(sum) => u32::try_from(sum.terms).unwrap_or(u32::MAX),
        _ => 1,
    }
}

/// A product's title, for the comment above it.
fn title(w: &Writer<'_>, product: &Product) -> String {
    let m = &product.w;
    let turned = if product.transposed { ", transposed" } else { "" };
    format!("times {}[{}, {}]{turned}", w.format(m.param), m.n, m.k)
}
