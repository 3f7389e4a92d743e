//! The kernel: one launch, of one part or several side by side, each an anchor with a row program before and after it.

use weft_ir::{Binary, Dim, F32, Reduce, RopeStyle, Unary};
use weft_quant::GgmlType;

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

    /// Bytes of a buffer of `values` values, or `None` on overflow or if they are no whole number of blocks.
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

/// A buffer that a kernel works on; which one, the call says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// Read or written.
    pub access: Access,
    /// How its values are stored.
    pub format: Format,
}

/// A parameter's index in [`Kernel::params`].
pub type ParamId = usize;

/// A value's index: that of the instruction in [`Part::body`] that makes it.
pub type ValueId = usize;

/// Where a row's values lie in a parameter, counted in values.
///
/// Value `c` of row `(r0, r1, …)` is at `offset + Σ ri·strides[i] + c·step`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct View {
    /// The parameter.
    pub param: ParamId,
    /// Of the first value.
    pub offset: usize,
    /// Distance between rows, per axis of [`Part::rows`] (in a prologue: of its first axis).
    pub strides: Vec<usize>,
    /// Distance between columns; 0 repeats one value.
    pub step: usize,
}

/// A row picked by number: adds `index · stride` to the offset of a view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Indexed {
    /// The number, from an `i32` parameter; its step is 0.
    pub index: View,
    /// Values between two rows of the indexed parameter.
    pub stride: usize,
}

/// One instruction of a row program, run for each row. Values are vectors of a known length, or scalars (length 1).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// A scalar.
    Const(F32),
    /// `len` values from memory; `i32` and narrower floats are converted, quantised rows decoded.
    Load {
        /// From where.
        view: View,
        /// A row picked by number.
        indexed: Option<Indexed>,
        /// How many, at most [`Part::cols`].
        len: usize,
    },
    /// What the anchor computed: its result of this number, a value for each column.
    Acc(usize),
    /// The indices, as whole numbers, of the `k` largest values: the largest first, the lower index first among equals, NaN as −∞.
    TopK {
        /// The values.
        x: ValueId,
        /// How many indices.
        k: usize,
    },
    /// `from[ids[i]]` for each `i`. A device refuses numbers that are none of `from`'s indices.
    Take {
        /// The values picked from.
        from: ValueId,
        /// Whole numbers.
        ids: ValueId,
    },
    /// Elementwise.
    Unary(Unary, ValueId),
    /// Elementwise; a scalar operand is repeated.
    Binary(Binary, ValueId, ValueId),
    /// Over all values of a vector, to a scalar.
    Reduce(Reduce, ValueId),
    /// Rotates the pairs of a row.
    Rope {
        /// Which values make a pair.
        style: RopeStyle,
        /// The row.
        x: ValueId,
        /// Half as many cosines.
        cos: ValueId,
        /// Half as many sines.
        sin: ValueId,
    },
    /// Writes a value, converted to the parameter's format. Makes no value of its own.
    Store {
        /// What.
        value: ValueId,
        /// Where.
        view: View,
        /// A row picked by number.
        indexed: Option<Indexed>,
    },
}

/// Which matrix of a stack of equal ones a row is multiplied by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pick {
    /// There is only one.
    Only,
    /// The one with the row's index along this axis of [`Part::rows`]: one a head.
    Axis(usize),
    /// The one whose number is at this view of an `i32` parameter: one an expert. Its step is 0.
    Ids(View),
    /// Several, their products weighted and added: all of a token's experts.
    Sum(Box<Sum>),
}

/// `Σ weight(i) · x(i)·W(id(i))ᵀ`: every product is rounded to `f32` and multiplied, the terms are added in order, the first to nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum {
    /// How many terms.
    pub terms: usize,
    /// The numbers of the matrices, from an `i32` parameter; the step is the distance between terms.
    pub ids: View,
    /// What the products are multiplied with, `f32`; the step is the distance between terms.
    pub weights: View,
    /// Values between the x of two terms.
    pub apart: usize,
}

/// A matrix, or a stack of them, inside a weight parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Matrices {
    /// The parameter.
    pub param: ParamId,
    /// Which matrix multiplies a row.
    pub pick: Pick,
    /// How many matrices there are.
    pub count: usize,
    /// Rows of one matrix that are used, N.
    pub n: usize,
    /// Length of a row, K.
    pub k: usize,
    /// Row of the parameter that is row 0 of matrix 0.
    pub first: usize,
    /// Rows of the parameter between two matrices.
    pub stride: usize,
}

/// The part of a kernel that is not elementwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Anchor {
    /// Nothing: the row program is elementwise and movement.
    Map,
    /// Nothing but reductions and selections in the row program.
    Reduce,
    /// One product or several with the same rows and columns, each a result of its own.
    Dot(Vec<Product>),
    /// Attention as [`weft_ir::Op::Attend`] has it; rows are tokens × heads, columns the values of a head.
    Attend(Box<Attend>),
}

/// y = x·wᵀ with the columns as N; transposed, y = x·w with the columns as K.
///
/// In the text form it is called `dot`, `select_dot` if the matrix is picked by number, and `select_sum` if several are.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// K values a row (transposed: N), `q8` if the product [`rounds`](Product::rounds) and `f32` otherwise.
    pub x: Factor,
    /// The weight.
    pub w: Matrices,
    /// Multiply by the transposes.
    pub transposed: bool,
}

impl Product {
    /// Values of a row of x.
    pub const fn x_len(&self) -> usize {
        if self.transposed { self.w.n } else { self.w.k }
    }

    /// Whether x is rounded to `q8`: if the weight is quantised, unless rows are multiplied by its transpose.
    pub fn rounds(&self, params: &[Param]) -> bool {
        let quantised = |p: &Param| matches!(p.format, Format::Ggml(ty) if ty.is_quantised());
        !self.transposed && params.get(self.w.param).is_some_and(quantised)
    }

    /// Columns of the result.
    pub const fn cols(&self) -> usize {
        if self.transposed { self.w.k } else { self.w.n }
    }
}

/// What is multiplied by a weight.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// Values in memory.
    View(View),
    /// What the part's prologue computes for the row's index along the first axis, rounded to `q8` if the weight is quantised.
    Prologue,
}

/// A row program that computes what is multiplied, instead of another kernel before.
///
/// Its rows are the first axis of the part's (one row if the part has no axes). It reads memory and writes none, because a device may run it
/// as often as it likes: once for each worker, say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prologue {
    /// The program.
    pub body: Vec<Instr>,
    /// Which of its values is multiplied.
    pub value: ValueId,
}

/// The operands of attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attend {
    /// Queries, `f32`.
    pub q: View,
    /// The state that holds keys, and where in its rows: value `c` of key head `g` is at `row·row_stride + offset + g·head_stride + c`.
    pub k: Cached,
    /// The same for values.
    pub v: Cached,
    /// Positions, `i32[T]`.
    pub pos: ParamId,
    /// Where each token's sequence begins in `pages`, `i32[T]`.
    pub first: ParamId,
    /// Page numbers, `i32[P]`: as many as [`Sizes::pages`](crate::Sizes) says are those of the step, and no position needs another.
    pub pages: ParamId,
    /// Multiplies q·k.
    pub scale: F32,
    /// Query heads, H.
    pub heads: usize,
    /// Key heads, G.
    pub kv_heads: usize,
    /// Values of a query, Dk.
    pub k_len: usize,
    /// Rows in a page.
    pub page: usize,
}

/// Rows of a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cached {
    /// The state.
    pub param: ParamId,
    /// Of the first value used in a row.
    pub offset: usize,
    /// Values between two rows.
    pub row_stride: usize,
    /// Values between two key heads.
    pub head_stride: usize,
}

/// A kernel: what a device starts as one piece of work. Its parts run side by side: none reads what another writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// What it is, for people; no two kernels of a plan share one.
    pub name: String,
    /// The buffers it works on.
    pub params: Vec<Param>,
    /// What it does; at least one.
    pub parts: Vec<Part>,
}

/// A part of a kernel: for every row of a space, the prologue, the anchor and then the row program.
///
/// Rows are independent of each other, and so are the columns of a program whose values all are whole rows or scalars, without reduction, rope,
/// selection and take: a device may cut the work there as it likes. In what order one output's terms are added is part of the definition (see
/// [`crate::interp`] for the exact values and the device's own tests for its bits): it may depend on nothing but the part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// The axes of the row space; only the first may be symbolic.
    pub rows: Vec<Dim>,
    /// Columns of a row: the length of the anchor's results, and of no value more.
    pub cols: usize,
    /// What makes an operand of the anchor.
    pub prologue: Option<Prologue>,
    /// What is computed first.
    pub anchor: Anchor,
    /// What is done with it.
    pub body: Vec<Instr>,
}

impl Kernel {
    /// Whether two kernels differ in nothing but their names.
    pub fn same_work(&self, other: &Kernel) -> bool {
        let Kernel { name: _, params, parts } = self;
        (params, parts) == (&other.params, &other.parts)
    }
}

impl Part {
    /// The products, if the anchor is one.
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

    /// Whether columns may be computed apart from each other: each value of every vector depends only on its own column.
    pub fn columns_independent(&self) -> bool {
        let lens = self.lens();
        self.body.iter().enumerate().all(|(i, instr)| match instr {
            Instr::Reduce(..) | Instr::Rope { .. } | Instr::TopK { .. } | Instr::Take { .. } => false,
            Instr::Store { value, .. } => lens[*value] == self.cols,
            _ => lens[i] == 1 || lens[i] == self.cols,
        })
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

    /// The view it reads or writes memory through, and what picks its row.
    pub fn view(&self) -> Option<(&View, Option<&Indexed>)> {
        match self {
            Instr::Load { view, indexed, .. } | Instr::Store { view, indexed, .. } => {
                Some((view, indexed.as_ref()))
            }
            _ => None,
        }
    }
}

/// The lengths of a row program's values, an anchor's results being `cols` long.
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
