//! The kernel: one launch of one part, or of several side by side, each an anchor with a row program before and after it.

use std::sync::Arc;

use weft_ir::{Binary, Dim, F32, Reduce, RopeStyle, Unary};
use weft_quant::GgmlType;

use crate::given::GivenText;

/// How a buffer's values are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// A GGML type: `f32` and `i32` for values, any type for weights, float types and `q8_0` for states.
    Ggml(GgmlType),
    /// Rounded activations, see [`crate::q8`].
    Q8,
}

impl Format {
    /// Plain 32-bit floats.
    pub const F32: Format = Format::Ggml(GgmlType::F32);
    /// Indices.
    pub const I32: Format = Format::Ggml(GgmlType::I32);

    /// Returns the size of a buffer of `values` values in bytes; `None` if that overflows or is not a whole number of blocks.
    pub fn bytes(self, values: usize) -> Option<usize> {
        match self {
            Format::Ggml(ty) => usize::try_from(ty.row_bytes(values as u64)?).ok(),
            Format::Q8 if values.is_multiple_of(crate::q8::BLOCK) => crate::q8::buffer_bytes(values),
            Format::Q8 => None,
        }
    }
}

/// Whether a kernel reads or writes a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written.
    Write,
}

/// A buffer that a kernel works on. A call binds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// Whether it is read or written.
    pub access: Access,
    /// How its values are stored.
    pub format: Format,
}

/// A parameter's index in [`Kernel::params`].
pub type ParamId = usize;

/// A value's index: that of the instruction in [`Part::body`] that computes it.
pub type ValueId = usize;

/// The layout of a row's values in a parameter, counted in values.
///
/// Value `c` of row `(r0, r1, …)` is at `offset + Σ ri·strides[i] + c·step`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct View {
    /// The parameter.
    pub param: ParamId,
    /// The offset of the first value.
    pub offset: usize,
    /// The distance between rows, for each axis of [`Part::rows`] (in a prologue: of its first axis).
    pub strides: Vec<usize>,
    /// The distance between columns; 0 repeats one value.
    pub step: usize,
}

/// A row picked by index: adds `index · stride` to the offset of a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Indexed {
    /// The index, from an `i32` parameter; its step is 0.
    pub index: View,
    /// The distance between two rows of the indexed parameter, in values.
    pub stride: usize,
}

/// One instruction of a row program, run for each row. Values are vectors of a known length, or scalars (length 1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// A scalar.
    Const(F32),
    /// `len` values from memory; `i32` and narrower floats are converted, quantised rows decoded.
    Load {
        /// Where they are read.
        view: View,
        /// The row, if it is picked by index.
        indexed: Option<Indexed>,
        /// The number of values, at most [`Part::cols`].
        len: usize,
    },
    /// Result number `.0` of the anchor, with a value for each column.
    Acc(usize),
    /// The indices of the `k` largest values, as whole numbers: the largest first; among equals, the lower index first. NaN
    /// comes before everything, so that it is not lost.
    TopK {
        /// The values.
        x: ValueId,
        /// The number of indices.
        k: usize,
    },
    /// `from[ids[i]]` for each `i`. A device refuses values that are not indices of `from`.
    Take {
        /// The values picked from.
        from: ValueId,
        /// The indices, which are whole numbers.
        ids: ValueId,
    },
    /// Elementwise.
    Unary(Unary, ValueId),
    /// Elementwise; a scalar operand is repeated.
    Binary(Binary, ValueId, ValueId),
    /// Reduces all values of a vector to a scalar.
    Reduce(Reduce, ValueId),
    /// Rotates the pairs of a row.
    Rope {
        /// How values are paired.
        style: RopeStyle,
        /// The row.
        x: ValueId,
        /// The cosines, half as many as values.
        cos: ValueId,
        /// The sines, half as many as values.
        sin: ValueId,
    },
    /// Writes a value, converted to the parameter's format. It has no value itself.
    Store {
        /// The value.
        value: ValueId,
        /// Where it is written.
        view: View,
        /// The row, if it is picked by index.
        indexed: Option<Indexed>,
    },
}

/// Which matrix of a stack a row is multiplied by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pick {
    /// There is only one.
    Only,
    /// The matrix with the row's index along this axis of [`Part::rows`]: one per head.
    Axis(usize),
    /// The matrix whose index is at this view of an `i32` parameter, with step 0: one per expert.
    Ids(View),
    /// Several, whose weighted products are added: all experts of a token.
    Sum(Box<Sum>),
}

/// `Σ weight(i) · x(i)·W(id(i))ᵀ`: every product is rounded to `f32` and multiplied by its weight, and the terms are added in
/// order, starting with the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum {
    /// The number of terms.
    pub terms: usize,
    /// The indices of the matrices, from an `i32` parameter; the step is the distance between terms.
    pub ids: View,
    /// The weights of the products, `f32`; the step is the distance between terms.
    pub weights: View,
    /// The distance between the x of two terms, in values.
    pub apart: usize,
}

/// A matrix, or a stack of them, inside a weight parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Matrices {
    /// The parameter.
    pub param: ParamId,
    /// Which matrix multiplies a row.
    pub pick: Pick,
    /// The number of matrices.
    pub count: usize,
    /// The rows of a matrix that are used, N.
    pub n: usize,
    /// The length of a row, K.
    pub k: usize,
    /// The row of the parameter that is row 0 of matrix 0.
    pub first: usize,
    /// The distance between two matrices, in rows of the parameter.
    pub stride: usize,
}

/// What a part is built around.
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
}

/// y = x·wᵀ with the columns as N; transposed, y = x·w with the columns as K.
///
/// The text form calls it `dot`, or `select_dot` if the matrix is picked by index, or `select_sum` if several are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// K values per row (transposed: N), `q8` if the product [`rounds`](Product::rounds), otherwise `f32`.
    pub x: Factor,
    /// The weight.
    pub w: Matrices,
    /// Whether to multiply by the transposed matrices.
    pub transposed: bool,
}

impl Product {
    /// The length of a row of x.
    pub const fn x_len(&self) -> usize {
        if self.transposed { self.w.n } else { self.w.k }
    }

    /// Returns whether x is rounded to `q8`: if the weight is quantised and not transposed.
    pub fn rounds(&self, params: &[Param]) -> bool {
        let quantised = |p: &Param| matches!(p.format, Format::Ggml(ty) if ty.is_quantised());
        !self.transposed && params.get(self.w.param).is_some_and(quantised)
    }

    /// The columns of the result.
    pub const fn cols(&self) -> usize {
        if self.transposed { self.w.k } else { self.w.n }
    }
}

/// The left factor of a product with a weight.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// Values in memory.
    View(View),
    /// The prologue's value for the row's index along the first axis, rounded to `q8` if the weight is quantised.
    Prologue,
}

/// A row program that computes an operand of the products, instead of another kernel before them.
///
/// Its rows are the first axis of the part's rows (a single row if the part has no axes). It reads memory but does not write it,
/// because a device may run it any number of times, such as once per worker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prologue {
    /// The program.
    pub body: Vec<Instr>,
    /// The value that is multiplied.
    pub value: ValueId,
}

/// The operands of attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attend {
    /// Queries, `f32`.
    pub q: View,
    /// The state that holds keys, and their layout in its rows: value `c` of key head `g` is at
    /// `row·row_stride + offset + g·head_stride + c`.
    pub k: Cached,
    /// The same for values.
    pub v: Cached,
    /// Positions, `i32[T]`.
    pub pos: ParamId,
    /// The index in `pages` where each token's sequence begins, `i32[T]`.
    pub first: ParamId,
    /// Page numbers, `i32[P]`. The first [`Sizes::pages`](crate::Sizes) are those of the step, and no position needs another.
    pub pages: ParamId,
    /// The factor of q·k.
    pub scale: F32,
    /// The number of query heads, H.
    pub heads: usize,
    /// The number of key heads, G.
    pub kv_heads: usize,
    /// The length of a query, Dk.
    pub k_len: usize,
    /// The rows of a page.
    pub page: usize,
    /// How many positions a token sees at most, its own included. `None` if it sees all.
    pub window: Option<usize>,
    /// A further score of each head's softmax, which has no value: `f32[H]`.
    pub sinks: Option<ParamId>,
    /// The most pages of a sequence, if it is known: no token has a position beyond them.
    pub most_pages: Option<usize>,
}

impl Attend {
    /// The most positions that a token attends to in a step whose sequences have so many pages together; saturates.
    pub fn most_positions(&self, pages: usize) -> usize {
        let all = pages.min(self.most_pages.unwrap_or(usize::MAX)).saturating_mul(self.page);
        all.min(self.window.unwrap_or(usize::MAX))
    }

    /// The parameters that it reads.
    pub fn params(&self) -> impl Iterator<Item = ParamId> {
        let Attend { q, k, v, pos, first, pages, sinks, .. } = self;
        [q.param, k.param, v.param, *pos, *first, *pages].into_iter().chain(*sinks)
    }
}

/// The layout of keys or values in the rows of a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cached {
    /// The state.
    pub param: ParamId,
    /// The offset of the first value in a row.
    pub offset: usize,
    /// The distance between two rows, in values.
    pub row_stride: usize,
    /// The distance between two key heads, in values.
    pub head_stride: usize,
}

/// A kernel: what a device launches. Its parts run side by side: none reads what another writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// Its name, unique in a plan.
    pub name: String,
    /// The buffers it works on.
    pub params: Vec<Param>,
    /// Its parts, at least one.
    pub parts: Vec<Part>,
    /// What a person gives to be run for it, each on devices of that language. It says nothing about what the kernel computes.
    pub texts: Vec<Arc<GivenText>>,
}

/// A part of a kernel: for every row of a space, the prologue, the anchor and then the row program.
///
/// Rows are independent of each other. So are the columns, if all values of the program are whole rows or scalars, without
/// reduction, rotation, selection and take ([`Part::columns_independent`]). A device may divide the work there as it likes. The
/// order in which it adds the terms of an output may depend on the part only. ([`crate::interp`] defines the exact values, a
/// device's own tests its bits.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// The axes of the row space; only the first may be symbolic.
    pub rows: Vec<Dim>,
    /// The columns of a row: the length of the anchor's results, and the largest length of a value.
    pub cols: usize,
    /// Computes an operand of the anchor.
    pub prologue: Option<Prologue>,
    /// Computed first.
    pub anchor: Anchor,
    /// What follows the anchor.
    pub body: Vec<Instr>,
}

impl Kernel {
    /// Returns whether two kernels differ only in their names.
    pub fn same_work(&self, other: &Kernel) -> bool {
        let Kernel { name: _, params, parts, texts } = self;
        (params, parts, texts) == (&other.params, &other.parts, &other.texts)
    }

    /// Returns whether a parameter is nothing but the weight of products that [round](Product::rounds), so that a device which has
    /// its tiles needs no rows.
    pub fn only_multiplies_by(&self, param: ParamId) -> bool {
        let is_it = |view: &View| view.param == param;
        let reads = |instr: &Instr| {
            instr.view().is_some_and(|(view, row)| is_it(view) || row.is_some_and(|row| is_it(&row.index)))
        };
        let otherwise = |product: &Product| {
            let by_pick = match &product.w.pick {
                Pick::Only | Pick::Axis(_) => false,
                Pick::Ids(ids) => is_it(ids),
                Pick::Sum(sum) => is_it(&sum.ids) || is_it(&sum.weights),
            };
            let unrounded = product.w.param == param && !product.rounds(&self.params);
            by_pick || unrounded || matches!(&product.x, Factor::View(view) if is_it(view))
        };
        let mut multiplies = false;
        for part in &self.parts {
            let program = part.prologue.iter().flat_map(|prologue| &prologue.body).chain(&part.body);
            let attends = match &part.anchor {
                Anchor::Attend(a) => a.params().any(|read| read == param),
                _ => false,
            };
            if attends || program.into_iter().any(reads) || part.products().iter().any(otherwise) {
                return false;
            }
            multiplies |= part.products().iter().any(|product| product.w.param == param);
        }
        multiplies
    }
}

impl Part {
    /// The products, if they are the anchor.
    pub fn products(&self) -> &[Product] {
        match &self.anchor {
            Anchor::Dot(products) => products,
            _ => &[],
        }
    }

    /// The axes of the prologue's rows.
    pub fn prologue_rows(&self) -> &[Dim] {
        &self.rows[..self.rows.len().min(1)]
    }

    /// The length of each value of the row program; 0 for a store.
    pub fn lens(&self) -> Vec<usize> {
        lens(&self.body, self.cols)
    }

    /// Returns whether columns may be computed independently: each value of every vector depends only on its own column.
    pub fn columns_independent(&self) -> bool {
        let lens = self.lens();
        self.body.iter().enumerate().all(|(i, instr)| match instr {
            Instr::Reduce(..) | Instr::Rope { .. } | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Store { value, .. } => lens[*value] == self.cols,
            _ => lens[i] == 1 || lens[i] == self.cols,
        })
    }

    /// Returns how many neighbouring columns must be computed together: one if columns are [independent](Part::columns_independent),
    /// two if they are rotated in pairs; `None` if whole rows must be.
    pub fn columns_together(&self) -> Option<usize> {
        if self.columns_independent() {
            return Some(1);
        }
        let (lens, all) = (self.lens(), self.cols);
        // Cosines and sines have a value for each pair, which nothing else may read.
        let only_turns = |v: ValueId| {
            self.body.iter().all(|instr| match instr {
                Instr::Rope { x, .. } => *x != v,
                other => other.operands().all(|x| x != v),
            })
        };
        let apart = self.body.iter().enumerate().all(|(v, instr)| match instr {
            Instr::Reduce(..) | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Rope { style, x, .. } => *style == RopeStyle::Pairs && lens[*x] == all,
            Instr::Store { value, .. } => lens[*value] == all,
            _ if lens[v] == 1 || lens[v] == all => true,
            Instr::Load { len, .. } => 2 * len == all && only_turns(v),
            _ => false,
        });
        apart.then_some(2)
    }
}

impl Prologue {
    /// The length of each value.
    pub fn lens(&self) -> Vec<usize> {
        lens(&self.body, 0)
    }
}

impl Instr {
    /// The values it reads.
    pub fn operands(&self) -> impl Iterator<Item = ValueId> + use<> {
        let all = match self {
            Instr::Const(_) | Instr::Load { .. } | Instr::Acc(_) => [None; 3],
            Instr::Unary(_, x)
            | Instr::Reduce(_, x)
            | Instr::TopK { x, .. }
            | Instr::Store { value: x, .. } => [Some(*x), None, None],
            Instr::Binary(_, a, b) | Instr::Take { from: a, ids: b } => [Some(*a), Some(*b), None],
            Instr::Rope { x, cos, sin, .. } => [Some(*x), Some(*cos), Some(*sin)],
        };
        all.into_iter().flatten()
    }

    /// The view through which it reads or writes memory, and the index of its row.
    pub fn view(&self) -> Option<(&View, Option<&Indexed>)> {
        match self {
            Instr::Load { view, indexed, .. } | Instr::Store { view, indexed, .. } => {
                Some((view, indexed.as_ref()))
            }
            _ => None,
        }
    }
}

/// The lengths of a row program's values, given that an anchor's results are `cols` long.
fn lens(body: &[Instr], cols: usize) -> Vec<usize> {
    let mut lens: Vec<usize> = Vec::with_capacity(body.len());
    for instr in body {
        let of = |v: ValueId| lens.get(v).copied().unwrap_or(0);
        lens.push(match instr {
            Instr::Const(_) | Instr::Reduce(..) => 1,
            Instr::Load { len, .. } => *len,
            Instr::Acc(_) => cols,
            Instr::TopK { k, .. } => *k,
            Instr::Take { ids, .. } => of(*ids),
            Instr::Unary(_, x) | Instr::Rope { x, .. } => of(*x),
            Instr::Binary(_, a, b) => of(*a).max(of(*b)),
            Instr::Store { .. } => 0,
        });
    }
    lens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(param: ParamId, len: usize) -> Instr {
        let view = View { param, offset: 0, strides: Vec::new(), step: 1 };
        Instr::Load { view, indexed: None, len }
    }

    fn together(style: RopeStyle, more: &[Instr]) -> Option<usize> {
        let (value, view) = (3, View { param: 3, offset: 0, strides: Vec::new(), step: 1 });
        let mut body =
            vec![Instr::Acc(0), load(1, 32), load(2, 32), Instr::Rope { style, x: 0, cos: 1, sin: 2 }];
        body.extend_from_slice(more);
        body.push(Instr::Store { value, view, indexed: None });
        Part { rows: Vec::new(), cols: 64, prologue: None, anchor: Anchor::Map, body }.columns_together()
    }

    #[test]
    fn columns_are_apart_or_in_pairs_unless_rows_are_whole() {
        let scaled = [Instr::Const(F32(2.0)), Instr::Binary(Binary::Mul, 3, 4)];
        assert_eq!(together(RopeStyle::Pairs, &scaled), Some(2));
        assert_eq!(together(RopeStyle::Halves, &scaled), None);
        assert_eq!(together(RopeStyle::Pairs, &[Instr::Reduce(Reduce::Sum, 3)]), None);
        let more_of_cosines = [Instr::Unary(Unary::Neg, 1)];
        assert_eq!(together(RopeStyle::Pairs, &more_of_cosines), None, "which have a value for each pair");
        let body = vec![Instr::Acc(0), load(1, 64), Instr::Binary(Binary::Add, 0, 1)];
        let part = Part { rows: Vec::new(), cols: 64, prologue: None, anchor: Anchor::Map, body };
        assert_eq!(part.columns_together(), Some(1));
    }
}
