//! The kernel: an anchor over a space of rows and columns, and a row program around it.

use weft_ir::{Binary, Dim, F32, Reduce, RopeStyle, Unary};
use weft_quant::GgmlType;

/// How a buffer's values are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// A GGML type: `f32` and `i32` for values, any type for weights, float types for states.
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

/// A value's index: that of the instruction in [`Kernel::body`] that makes it.
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
    /// Distance between rows, per axis of [`Kernel::rows`].
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
        /// How many: [`Kernel::cols`], 1, or half the columns for the tables of a rope.
        len: usize,
    },
    /// `from[ids[c]]` for each column: values of this row picked by number.
    Take {
        /// Where the row's value 0 is; its step is the distance between values.
        from: View,
        /// How many values there are to pick from.
        of: usize,
        /// The numbers, from an `i32` parameter.
        ids: View,
        /// How many numbers.
        len: usize,
    },
    /// What the anchor computed; `TopK` gives whole numbers.
    Acc,
    /// Elementwise.
    Unary(Unary, ValueId),
    /// Elementwise; a scalar operand is repeated.
    Binary(Binary, ValueId, ValueId),
    /// Over all columns, to a scalar.
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
    /// The one with the row's index along this axis of [`Kernel::rows`]: one a head.
    Axis(usize),
    /// The one whose number is at this view of an `i32` parameter: one an expert. Its step is 0.
    Ids(View),
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
    /// Nothing but reductions in the row program.
    Reduce,
    /// y = x·wᵀ with the columns as N; transposed, y = x·w with the columns as K. With picked matrices this is the
    /// `SelectDot` of the text form.
    Dot {
        /// K values a row (transposed: N), `q8` if the weight is quantised and `f32` otherwise or when transposed.
        x: View,
        /// The weight.
        w: Matrices,
        /// Multiply by the transposes.
        transposed: bool,
    },
    /// Attention as [`weft_ir::Op::Attend`] has it; rows are tokens × heads, columns the values of a head.
    Attend(Box<Attend>),
    /// Indices of the `cols` largest of the `n` values of a row, largest first, the lower index first among equals.
    TopK {
        /// The values, `f32`.
        x: View,
        /// How many.
        n: usize,
    },
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
    /// Page numbers, `i32[P]`.
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

/// A kernel: for every row of a space, the anchor and then the row program.
///
/// Rows are independent of each other, and so are the columns of a program without reduction, rope and take: a device may cut the work
/// there as it likes. In what order one output's terms are added is part of the definition (see [`crate::interp`] for the exact values and the
/// device's own tests for its bits): it may depend on nothing but the kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// What it is, for people; no two kernels of a plan share one.
    pub name: String,
    /// The buffers it works on.
    pub params: Vec<Param>,
    /// The axes of the row space; only the first may be symbolic.
    pub rows: Vec<Dim>,
    /// Columns of a row.
    pub cols: usize,
    /// What is computed first.
    pub anchor: Anchor,
    /// What is done with it.
    pub body: Vec<Instr>,
}

impl Kernel {
    /// Whether two kernels differ in nothing but their names.
    pub fn same_work(&self, other: &Kernel) -> bool {
        let Kernel { name: _, params, rows, cols, anchor, body } = self;
        (params, rows, cols, anchor, body)
            == (&other.params, &other.rows, &other.cols, &other.anchor, &other.body)
    }

    /// The length of each instruction's value; 0 for a store.
    pub fn lens(&self) -> Vec<usize> {
        let mut lens: Vec<usize> = Vec::with_capacity(self.body.len());
        for instr in &self.body {
            let of = |v: ValueId| lens.get(v).copied().unwrap_or(0);
            lens.push(match instr {
                Instr::Const(_) | Instr::Reduce(..) => 1,
                Instr::Load { len, .. } | Instr::Take { len, .. } => *len,
                Instr::Acc => self.cols,
                Instr::Unary(_, x) | Instr::Rope { x, .. } => of(*x),
                Instr::Binary(_, a, b) => of(*a).max(of(*b)),
                Instr::Store { .. } => 0,
            });
        }
        lens
    }

    /// Whether columns may be computed apart from each other: each value of every vector depends only on its own column.
    pub fn columns_independent(&self) -> bool {
        let lens = self.lens();
        let whole = |len: usize| len == self.cols;
        self.body.iter().enumerate().all(|(i, instr)| match instr {
            Instr::Reduce(..) | Instr::Rope { .. } => false,
            Instr::Load { .. } => lens[i] == 1 || whole(lens[i]),
            Instr::Store { value, .. } => whole(lens[*value]),
            _ => true,
        })
    }
}
