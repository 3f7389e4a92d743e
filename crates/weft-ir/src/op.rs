//! The operations of the tensor graph.

/// Elementwise functions of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// −x
    Neg,
    /// eˣ
    Exp,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x · sigmoid(x)
    Silu,
    /// 1 / √x
    Rsqrt,
    /// cos x, x in radians
    Cos,
    /// sin x, x in radians
    Sin,
}

/// Elementwise functions of two operands, with broadcasting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// the larger
    Max,
    /// the smaller
    Min,
}

/// Reductions along one axis, which stays with size 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// Σ
    Sum,
    /// the largest
    Max,
}

/// Which values of a head a rotary embedding turns together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RopeStyle {
    /// (0,1), (2,3), …: GGML's "norm" style (llama, DeepSeek-2, GLM).
    Pairs,
    /// (0, d/2), (1, d/2+1), …: GGML's "neox" style.
    Halves,
}

macro_rules! named {
    ($ty:ident: $($variant:ident = $name:literal),*) => {
        impl $ty {
            /// Every variant.
            pub const ALL: &'static [$ty] = &[$($ty::$variant,)*];
            /// The word the text form uses.
            pub const fn name(self) -> &'static str { match self { $($ty::$variant => $name,)* } }
            /// The variant of a word.
            pub fn from_name(name: &str) -> Option<$ty> { Self::ALL.iter().copied().find(|v| v.name() == name) }
        }
    };
}
impl Unary {
    /// The function's value. This is the definition; a device may differ by the rounding of its own exponential.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Unary::Neg => -x,
            Unary::Exp => x.exp(),
            Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Unary::Silu => x / (1.0 + (-x).exp()),
            Unary::Rsqrt => 1.0 / x.sqrt(),
            // Angles reach hundreds of thousands of radians: the argument is reduced in `f64`.
            Unary::Cos => f64::from(x).cos() as f32,
            Unary::Sin => f64::from(x).sin() as f32,
        }
    }
}

impl Binary {
    /// The function's value.
    pub fn apply(self, a: f32, b: f32) -> f32 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Max => a.max(b),
            Binary::Min => a.min(b),
        }
    }
}

impl RopeStyle {
    /// The two values of a head of `d` that make pair `i`.
    pub const fn pair(self, i: usize, d: usize) -> (usize, usize) {
        match self {
            RopeStyle::Pairs => (2 * i, 2 * i + 1),
            RopeStyle::Halves => (i, i + d / 2),
        }
    }
}

named!(Unary: Neg = "neg", Exp = "exp", Sigmoid = "sigmoid", Silu = "silu", Rsqrt = "rsqrt", Cos = "cos", Sin = "sin");
named!(Binary: Add = "add", Sub = "sub", Mul = "mul", Div = "div", Max = "max", Min = "min");
named!(Reduce: Sum = "reduce_sum", Max = "reduce_max");
named!(RopeStyle: Pairs = "pairs", Halves = "halves");

/// An `f32` that compares and hashes by its bits, so that nodes can be interned.
#[derive(Clone, Copy, Debug)]
pub struct F32(pub f32);

impl PartialEq for F32 {
    fn eq(&self, other: &F32) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for F32 {}

impl std::hash::Hash for F32 {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        self.0.to_bits().hash(h);
    }
}

/// What a node computes from its inputs. Shapes are written outermost axis first.
///
/// The last six are what kernels are anchored on; the rest are parameters, elementwise, reductions and movement. Every operation
/// has one obvious definition, which [`crate::eval`] is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A value that the caller or an earlier graph gives.
    Input {
        /// Name in the caller's environment.
        name: String,
    },
    /// A parameter, in the precision of the file.
    Weight {
        /// Name in the binding of this graph's instance, not the tensor's own.
        name: String,
    },
    /// Rows that outlive the step: a KV cache.
    State {
        /// Name in the binding of this graph's instance.
        name: String,
    },
    /// A small constant vector, or a scalar when the node's shape is `[]`.
    Const {
        /// The values.
        values: Vec<F32>,
    },
    /// A parameter made of two others when the model is loaded: each head's matrices multiplied. The result is stored in the type
    /// that the node gives, which can be quantised, and is used like a weight.
    ///
    /// `(a [H, N, M], b [H, M, K]) → [H, N, K]`; joined, `(a [N, H·M], b [H, M, K]) → [N, H·K]`, where a row of `a` has the heads
    /// side by side and so has a row of the result. Both operands are weights, or parts of weights with whole rows.
    Product {
        /// Rows hold all heads side by side.
        joined: bool,
    },
    /// `i32` to `f32`.
    Cast,
    /// Elementwise, one operand.
    Unary(Unary),
    /// Elementwise, two operands.
    Binary(Binary),
    /// A reduction.
    Reduce {
        /// Which.
        op: Reduce,
        /// Along this axis.
        axis: usize,
    },
    /// The same values under another shape; the node's own shape says which.
    Reshape,
    /// A range of one axis.
    Slice {
        /// The axis.
        axis: usize,
        /// First index kept.
        start: usize,
        /// How many are kept.
        len: usize,
    },
    /// All inputs, one after another along one axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// `(table [N, D], ids i32[X]) → [X, D]`, the rows of a table.
    Rows,
    /// `(x [.., E], ids i32[.., U]) → [.., U]`, values picked from each row.
    Take,
    /// `(x [T, H, D] or [T, D], cos [T, D/2], sin [T, D/2])`: rotate each pair by its angle.
    Rope {
        /// Which values make a pair.
        style: RopeStyle,
    },
    /// `(state [S, W], rows [T, W], slots i32[T]) → [S, W]`: the state with row `slots[t]` replaced by `rows[t]`.
    Store,
    /// `(x [.., E]) → i32[.., K]`: indices of the largest values, largest first, the lower index first among equals.
    TopK {
        /// How many.
        k: usize,
    },
    /// `(x [.., K], w [N, K]) → [.., N]`: y = x·wᵀ.
    Dot,
    /// Each head its own matrix. `(x [T, H, K] or [T, 1, K], w [H, N, K]) → [T, H, N]`, where a single row of `x` is the same for
    /// all heads; transposed, `(x [T, H, N], w [H, N, K]) → [T, H, K]`.
    HeadDot {
        /// Multiply by the matrices' transposes.
        transposed: bool,
    },
    /// `(x [T, K] or [T, U, K], w [E, N, K], ids i32[T, U]) → [T, U, N]`: each row times the matrices its ids name.
    SelectDot,
    /// The weighted sum of what [`Op::SelectDot`] gives for each choice.
    ///
    /// `(x [T, U, K], w [E, N, K], ids i32[T, U], weights f32[T, U]) → [T, N]`: `Σ_u weights[t, u] · (w[ids[t, u]] · x[t, u])`. Each
    /// product is rounded before it is added, in the order of `u`: the bits are those of `select_dot`, `mul` and `reduce_sum`.
    SelectSum,
    /// Causal attention of each token over its own sequence, through pages.
    ///
    /// `(q [T, H, Dk], k [S, G·Dk], v [S, G·Dv], pos i32[T], first i32[T], pages i32[P]) → [T, H, Dv]`, where G key heads are
    /// shared by H query heads. Token `t` sees positions `0..=pos[t]`; position `p` lies in row
    /// `pages[first[t] + p / page] · page + p % page` of the state.
    Attend {
        /// Multiplies q·k before the softmax.
        scale: F32,
        /// Number of key heads, G.
        kv_heads: usize,
        /// Rows in a page.
        page: usize,
    },
}

impl Op {
    /// The word the text form uses.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input { .. } => "input",
            Op::Weight { .. } => "weight",
            Op::State { .. } => "state",
            Op::Const { .. } => "const",
            Op::Product { .. } => "product",
            Op::Cast => "cast",
            Op::Unary(u) => u.name(),
            Op::Binary(b) => b.name(),
            Op::Reduce { op, .. } => op.name(),
            Op::Reshape => "reshape",
            Op::Slice { .. } => "slice",
            Op::Concat { .. } => "concat",
            Op::Rows => "rows",
            Op::Take => "take",
            Op::Rope { .. } => "rope",
            Op::Store => "store",
            Op::TopK { .. } => "topk",
            Op::Dot => "dot",
            Op::HeadDot { .. } => "head_dot",
            Op::SelectDot => "select_dot",
            Op::SelectSum => "select_sum",
            Op::Attend { .. } => "attend",
        }
    }

    /// Whether the node has no inputs and its type is given rather than computed.
    pub fn is_source(&self) -> bool {
        matches!(self, Op::Input { .. } | Op::Weight { .. } | Op::State { .. } | Op::Const { .. })
    }
}
