//! The operation that a part is built around. Each anchor is a room of its own: its parameters, rules, memory traffic, text form,
//! interpreter and error bound.
//!
//! The rest of the house asks an [`Anchor`] instead of matching on it. A new anchor is a file here that implements
//! [`Room`], a variant, and a line in each of the functions of [`Anchor`] that match on it.

mod attend;
mod dot;
mod indexer;
mod room;
mod rows;
mod scan;

use std::fmt;

pub use attend::{Attend, Attention, Cached, List};
pub use dot::{Factor, Matrices, Pick, Product, Shares, Sum};
pub use indexer::{Indexer, Indexing, MOST_POSITIONS};
pub use scan::{DeltaRule, Scan, ScanRule};

pub(crate) use attend::bars;

use room::Room;

use crate::interp::{Buffer, Number, Stored};
use crate::program::{Param, ParamId, Prologue};
use crate::text::{Attrs, Parsed};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// The operation that a part is built around.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Anchor {
    /// Nothing: the row program is elementwise and movement.
    Map,
    /// Nothing but reductions and selections in the row program.
    Reduce,
    /// One or more products with the same rows and columns, each with its own result.
    Dot(Vec<Product>),
    /// Attention as [`weft_ir::Op::Attend`] defines it; rows are tokens × heads, columns the values of a head.
    Attend(Box<Attend>),
    /// The choice of positions to attend to, as [`weft_ir::Op::Indexer`] defines it; rows are tokens, columns the positions.
    Indexer(Box<Indexer>),
    /// A walk over the rows of each sequence, as [`weft_ir::Op::Scan`] defines it; rows are tokens × heads.
    Scan(Box<Scan>),
}

impl Anchor {
    fn room(&self) -> &dyn Room {
        match self {
            Anchor::Map => &rows::MAP,
            Anchor::Reduce => &rows::REDUCE,
            Anchor::Dot(products) => products,
            Anchor::Attend(attend) => &**attend,
            Anchor::Indexer(indexer) => &**indexer,
            Anchor::Scan(scan) => &**scan,
        }
    }

    fn room_mut(&mut self) -> Option<&mut dyn Room> {
        match self {
            // Without parameters.
            Anchor::Map | Anchor::Reduce => None,
            Anchor::Dot(products) => Some(products),
            Anchor::Attend(attend) => Some(&mut **attend),
            Anchor::Indexer(indexer) => Some(&mut **indexer),
            Anchor::Scan(scan) => Some(&mut **scan),
        }
    }

    /// Its kind, as the text form calls it: `map`, `reduce`, `dot`, `attend`, `indexer` or `scan`.
    pub fn name(&self) -> &'static str {
        match self {
            Anchor::Map => rows::MAP.name,
            Anchor::Reduce => rows::REDUCE.name,
            Anchor::Dot(_) => dot::NAME,
            Anchor::Attend(_) => attend::NAME,
            Anchor::Indexer(_) => indexer::NAME,
            Anchor::Scan(_) => scan::NAME,
        }
    }

    /// The number of its results, which [`Instr::Acc`](crate::Instr::Acc) reads.
    pub fn results(&self) -> usize {
        self.room().results()
    }

    /// Every parameter that it reads. A parameter may be among them more than once.
    pub fn params(&self) -> Vec<ParamId> {
        self.room().params()
    }

    /// Every parameter that it reads, to be renumbered.
    pub fn params_mut(&mut self) -> Vec<&mut ParamId> {
        self.room_mut().map(Room::params_mut).unwrap_or_default()
    }

    /// The states that it reads.
    pub fn states(&self) -> Vec<ParamId> {
        self.room().states()
    }

    /// Returns whether it reads the value of the prologue.
    pub fn reads_prologue(&self) -> bool {
        self.room().reads_prologue()
    }

    /// Returns whether a row depends on the rows before it in its sequence. Rows of other anchors are independent.
    pub fn walks_sequences(&self) -> bool {
        self.room().walks_sequences()
    }

    /// Returns whether it makes or reads a list of the positions to attend to.
    pub fn uses_lists(&self) -> bool {
        self.room().uses_lists()
    }

    /// Returns whether workers can divide a row whose columns depend on each other.
    pub fn divides_rows(&self) -> bool {
        self.room().divides_rows()
    }

    /// The most positions that a token reads from states in a step whose sequences have `pages` pages together.
    pub fn most_positions(&self, pages: usize) -> usize {
        self.room().most_positions(pages)
    }

    /// The name of a kernel with this anchor and `cols` columns, such as `attend_20x576`.
    pub fn label(&self, params: &[Param], cols: usize) -> String {
        self.room().label(params, cols)
    }

    /// States the most pages of a sequence, where that bounds the work.
    pub fn limit_pages(&mut self, most: Option<usize>) {
        match self {
            Anchor::Attend(attend) => attend.most_pages = most,
            Anchor::Indexer(indexer) => indexer.most_pages = most,
            Anchor::Map | Anchor::Reduce | Anchor::Dot(_) | Anchor::Scan(_) => {}
        }
    }

    /// Returns whether it reads the values of a parameter, rather than multiplying by its tiles.
    pub(crate) fn reads_values(&self, param: ParamId, params: &[Param]) -> bool {
        self.room().reads_values(param, params)
    }

    pub(crate) fn verify(&self, cx: &Context<'_>) -> Result<(), String> {
        self.room().verify(cx)
    }

    pub(crate) fn operations(&self, counter: &Counter<'_>, cols: usize, seen: &Seen) -> Vec<Operation> {
        self.room().operations(counter, cols, seen)
    }

    /// Computes the `cols` columns of each result for a row. Products read the value of the prologue `before` them.
    ///
    /// # Errors
    /// A sentence, if an index in the data is out of range.
    pub(crate) fn compute<N: Number>(
        &self,
        cols: usize,
        before: (&[Param], Option<&Prologue>),
        args: &[Buffer<'_>],
        row: &[usize],
    ) -> Result<Vec<Vec<N>>, String> {
        match self {
            Anchor::Map | Anchor::Reduce => Ok(Vec::new()),
            Anchor::Dot(products) => {
                products.iter().map(|product| dot::compute(product, before, args, row)).collect()
            }
            Anchor::Attend(attend) => {
                let attention = Attention::new(args, row, attend)?;
                Ok(vec![N::attended(&attention.result(cols), &attention)])
            }
            Anchor::Indexer(indexer) => {
                let indexing = Indexing::new(args, row, indexer)?;
                Ok(vec![N::listed(&indexing.list(cols), &indexing)])
            }
            Anchor::Scan(scan) => Ok(vec![scan::compute(scan, cols, args, row)?]),
        }
    }

    /// Walks all rows of a step, if it [walks sequences](Anchor::walks_sequences); `counts` are its tokens and sequences. Calls
    /// `result` with each row and its result; returns what is written to states once all rows are done.
    ///
    /// # Errors
    /// A sentence, if an index in the data is out of range.
    pub(crate) fn walk<N: Number>(
        &self,
        cols: usize,
        args: &[Buffer<'_>],
        counts: (usize, usize),
        result: &mut dyn FnMut([usize; 2], Vec<N>),
    ) -> Result<Vec<Stored<N>>, String> {
        match self {
            Anchor::Map | Anchor::Reduce | Anchor::Dot(_) | Anchor::Attend(_) | Anchor::Indexer(_) => {
                Ok(Vec::new())
            }
            Anchor::Scan(scan) => scan::walk(scan, cols, args, counts, result),
        }
    }

    /// Reads the line that begins an anchor.
    ///
    /// # Errors
    /// What was expected, and found.
    pub(crate) fn parse(line: &Attrs<'_>) -> Parsed<Anchor> {
        match line.plain.first().copied().unwrap_or_default() {
            name if name == rows::MAP.name => Ok(Anchor::Map),
            name if name == rows::REDUCE.name => Ok(Anchor::Reduce),
            name if dot::WORDS.contains(&name) => Ok(Anchor::Dot(vec![dot::parse(line)?])),
            indexer::NAME => Ok(Anchor::Indexer(Box::new(indexer::parse(line)?))),
            attend::NAME => Ok(Anchor::Attend(Box::new(attend::parse(line)?))),
            scan::NAME => Ok(Anchor::Scan(Box::new(scan::parse(line)?))),
            other => Err(format!("unknown anchor `{other}`")),
        }
    }

    /// Reads a further line of an anchor, if `first` is its first word; returns whether it is.
    ///
    /// # Errors
    /// What was expected, and found.
    pub(crate) fn parse_more(&mut self, first: &str, line: &str) -> Parsed<bool> {
        match self {
            Anchor::Dot(products) if dot::WORDS.contains(&first) => {
                products.push(dot::parse(&Attrs::new(line)?)?);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// The lines of the text form.
impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.room().write(f)
    }
}
