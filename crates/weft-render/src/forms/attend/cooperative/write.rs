//! Attention by cooperative matrices, in flash-attention form.
//!
//! A tile's rows (tokens × heads) share a key head. A workgroup has little memory, so it loads keys in pieces and values a few positions at
//! a time. Matrices multiply halves and add floats: queries and weights are rounded to halves, like keys and values. The layout of sums in
//! lanes is unknown, so sums pass through workgroup memory: scores, which become weights, and each chunk's sums of values, unless the
//! driver can combine them with earlier ones element by element.
//!
//! A row's result depends on that row alone, and chunks begin at fixed positions. So its bits are the same in every tile, and whether one
//! workgroup visits all chunks or each chunk has its own. Another shader runs the row program.

mod placed;
mod queries;
mod scores;
mod values;

use weft_kern::{Attend, Part};
use weft_shader::cooperative::Cooperative;
use weft_shader::expr::Expr;
use weft_shader::stmt::Stmt;

use crate::forms::attend::cooperative::{CHUNK, Tile};
use crate::lower::attend::context::{Bounds, Context, LOWEST, chunk_words};
use crate::lower::attend::members::{self, Members};
use crate::lower::pass::{Pass, Queries};
use crate::lower::space::Place;
use crate::lower::writer::{WARP, Writer};
use crate::refused::Why;
use crate::split::Split;

pub(crate) use placed::Placed;
pub(crate) use queries::store as store_queries;

/// Attention of a tile.
struct Cooperating<'a> {
    attend: &'a Attend,
    place: &'a Place,
    tile: Tile,
    /// The lane's warp, and its number within the warp.
    warp: Expr,
    own: Expr,
    /// The place of the tile's queries in scratch memory, if they are stored there.
    queries: Option<Queries>,
    /// The offset in workgroup memory of each chunk position's row of the state.
    positions: u32,
    /// Offsets of values of each row: the factor of its scores, its largest score, the sum of its weights, and the weights of an old and a
    /// new result.
    factors: u32,
    tops: u32,
    totals: u32,
    old: u32,
    new: u32,
}

/// Writes the attention of a tile over one chunk or over all chunks. Results go to scratch memory.
pub(crate) fn write(
    w: &mut Writer<'_>,
    (part, attend): (&Part, &Attend),
    place: &Place,
    split: &Split,
    pass: Pass,
) -> Result<(), Why> {
    let tile = Tile::new(part, attend, split);
    w.arrays = tile.arrays();
    let positions = w.pool.alloc(CHUNK);
    let [factors, tops, totals, old, new] = [(); 5].map(|()| w.pool.alloc(tile.rows));
    let queries = match pass {
        Pass::Joined { queries, .. } => queries,
        _ => None,
    };
    let own = w.code.set("own_lane", Expr::Lane % WARP);
    let warp = w.code.set("own_warp", Expr::Lane / WARP);
    let of =
        Cooperating { attend, place, tile, warp, own, queries, positions, factors, tops, totals, old, new };
    match (pass, &place.chunk) {
        (Pass::Chunks { slot, at }, Some(chunk)) => of.chunk(w, chunk, (slot, at)),
        (Pass::Joined { slot, at, .. }, _) => of.joined(w, (slot, at)),
        _ => Err(Why::Form("has attention by cooperative matrices that nothing goes on with".into())),
    }
}

impl Cooperating<'_> {
    /// Computes one chunk.
    fn chunk(&self, w: &mut Writer<'_>, chunk: &Expr, (slot, at): (usize, u32)) -> Result<(), Why> {
        let token = members::token(w, self.place, &Expr::U32(0));
        let context = Context::new(w, self.attend, &token, CHUNK)?;
        let start = w.code.set("chunk_start", context.start_of(chunk));
        w.when(start.less(&context.seen), |w| {
            self.keep_positions(w, &context.bounds, &context.pages_at, (&start, &context.seen))?;
            w.code.barrier();
            // Keys are loaded while queries are converted.
            let keys = self.keys_ahead(w, &[])?;
            self.queries(w)?;
            w.code.barrier();
            self.multiply_keys(w, keys)?;
            let values = self.values_ahead(w)?;
            self.weigh(w, &start, |_, _| context.seen.clone(), None)?;
            let rows = self.place.tile();
            let words = chunk_words(self.tile.cols);
            let begins = self.place.chunk_row(chunk, &Expr::U32(0), rows) * words + at;
            let begins = w.code.set("put_at", begins);
            self.multiply_values(w, values, |w, place, sum| {
                self.put(w, (slot, &begins), &place, (sum, &Expr::True))
            })?;
            self.store_rows(w, slot, &(begins + self.tile.cols))
        })
    }

    /// Computes all chunks of all runs, and combines their results.
    fn joined(&self, w: &mut Writer<'_>, (slot, at): (usize, u32)) -> Result<(), Why> {
        let Tile { rows, cols, .. } = self.tile;
        let bounds = Bounds::new(w, self.attend)?;
        let members = Members::new(w, self.attend, self.place, &bounds, rows)?;
        match self.queries {
            None => self.queries(w)?,
            Some(queries) => self.factors(w, &queries)?,
        }
        w.share(rows, |w, row| {
            w.code.store_shared(&row + self.totals, 0u32.into());
            w.code.store_shared(row + self.tops, LOWEST.to_bits().into());
            Ok(())
        })?;
        let words = chunk_words(cols);
        let begins = self.place.chunk_row(&Expr::U32(0), &Expr::U32(0), self.place.tile()) * words + at;
        let begins = w.code.set("put_at", begins);
        let by_value = w.cooperative_values;
        let sums: Vec<Expr> = match by_value {
            true => Vec::new(),
            false => (0..self.sums()).map(|_| w.code.var("joined", 0.0f32)).collect(),
        };
        let queries = self.query_units(w)?;
        w.code.barrier();
        let visit = |w: &mut Writer<'_>, run: &Expr| {
            // Element-wise operations combine all rows, so each run needs its own sums.
            let matrices: Vec<String> = match by_value {
                true => (0..self.matrices()).map(|_| self.zeros(w)).collect(),
                false => Vec::new(),
            };
            let most = members.most_seen(w, run);
            // It is uniform, because loops over it have barriers.
            let most = w.code.uniform("most_seen", most);
            let pages_at = members.pages_at(w, run);
            w.count("chunk_start", (0u32.into(), most.clone(), CHUNK), |w, start| {
                self.keep_positions(w, &bounds, &pages_at, (&start, &most))?;
                w.code.barrier();
                let keys = self.keys_ahead(w, &queries)?;
                self.multiply_keys(w, keys)?;
                let values = self.values_ahead(w)?;
                let is_in = |row: &Expr| members.is_in(row, run);
                self.weigh(w, &start, |w, row| members.seen(w, row), Some(&is_in))?;
                if by_value {
                    return self.matrices_of_values(w, values, |w, first, sums| {
                        self.join_matrices(w, &matrices, (first, sums));
                        Ok(())
                    });
                }
                let mut weights = None;
                self.multiply_values(w, values, |w, place, sum| {
                    // Neighbouring matrices have the same rows.
                    let by = match weights.take() {
                        Some((rows, by)) if rows == place.rows => by,
                        _ => self.weights_of(w, place.rows),
                    };
                    self.join(w, &sums[place.number as usize], sum, &by[place.down as usize]);
                    weights = Some((place.rows, by));
                    Ok(())
                })
            })?;
            let exchanged = self.exchanged(w);
            self.exchange(w, &exchanged, (0, &matrices), |w, place, sum| {
                let is_in = members.is_in(&place.row, run);
                self.put(w, (slot, &begins), &place, (sum, &is_in))
            })
        };
        match members.runs() {
            1 => visit(w, &Expr::U32(0))?,
            runs => w.count("run", (0u32.into(), runs.into(), 1), |w, run| visit(w, &run))?,
        }
        w.code.barrier();
        for (number, sum) in (0..).zip(sums) {
            let place = self.place_of(w, number);
            self.put(w, (slot, &begins), &place, (sum, &Expr::True))?;
        }
        self.store_rows(w, slot, &(begins + cols))
    }

    /// Whether a row of the tile's matrices is a row of the tile.
    fn exists(&self, row: &Expr) -> Expr {
        let rows = self.place.tile();
        if rows == self.tile.rows { Expr::True } else { row.less(rows) }
    }

    /// Stores each row's sum of weights and largest score from word `at` on.
    fn store_rows(&self, w: &mut Writer<'_>, slot: usize, at: &Expr) -> Result<(), Why> {
        w.share(self.place.tile(), |w, row| {
            let to = w.code.set("to", &row * chunk_words(self.tile.cols) + at);
            for (i, kept) in [self.totals, self.tops].into_iter().enumerate() {
                let word = Expr::Shared((&row + kept).into());
                w.code.push(Stmt::Store(slot, &to + i as u32, word));
            }
            Ok(())
        })
    }

    /// Looks up the state rows of a chunk's positions. Positions beyond its end are read as the last one, and get no weight. Lanes see them
    /// after the next barrier.
    fn keep_positions(
        &self,
        w: &mut Writer<'_>,
        bounds: &Bounds,
        pages_at: &Expr,
        (start, end): (&Expr, &Expr),
    ) -> Result<(), Why> {
        w.share(CHUNK, |w, b| {
            let p = w.code.set("p", (start + &b).min(end - 1u32));
            let row = bounds.row(w, self.attend, pages_at, &p);
            w.code.store_shared(b + self.positions, row);
            Ok(())
        })
    }

    /// Declares sums of a matrix, all of them 0.
    fn zeros(&self, w: &mut Writer<'_>) -> String {
        let name = w.code.fresh("sums");
        w.code.push(Stmt::Cooperative(Cooperative::Sums(name.clone())));
        name
    }
}
