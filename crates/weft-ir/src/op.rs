//! The operations of the tensor graph.

use weft_quant::GgmlType;

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
    /// ln(1 + eˣ)
    Softplus,
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

/// The meaning of a row of a state. It decides how a sequence can be cut back, shared and saved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StateKind {
    /// One position: keys, values, latents. A sequence is cut back by dropping rows.
    #[default]
    PerToken,
    /// One of the last positions: a sliding window. A sequence can be cut back until its window is gone.
    Window,
    /// A whole sequence: the matrices of linear attention. A sequence can only be restored from a snapshot.
    PerSequence,
}

/// The types that states of rows can have: floats, and blocks of 32 values. Keys and values in blocks are rotated before they are
/// rounded.
pub const STATE_TYPES: [GgmlType; 6] =
    [GgmlType::F16, GgmlType::BF16, GgmlType::F32, GgmlType::Q8_0, GgmlType::Q5_1, GgmlType::Q4_0];

/// How a scan carries its state from row to row, and what a row of its result is. See [`Op::Scan`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recurrence {
    /// s ← a·s + x, with one decay a for a row of x: a running sum that forgets. The result is s.
    ///
    /// `(x [T, H, D], a [T, H])`; the state of a sequence is `[H, D]`. A kept row of a head is x, then a.
    Decay,
    /// A short causal convolution of each channel: y = Σ_j w[j] · x[t − (C − 1) + j], added in the order of j.
    ///
    /// `(x [T, H, D], w [H·D, C])`; the state is the last C − 1 rows of x, the oldest first, of each head: `[H, C − 1, D]`. A kept row
    /// is x.
    Convolution,
    /// The gated delta rule (Yang et al., *Gated Delta Networks*, 2024): S ← a ∘ S, then S ← S + u kᵀ with
    /// u = β · (v − S k). The result is S q, with the new S.
    ///
    /// `(q [T, K, Dk], k [T, K, Dk], v [T, H, Dv], a [T, H] or [T, H, Dk], β [T, H])`; the state is `[H, Dv, Dk]`. H value heads
    /// share K key heads: value head h has key head h div (H / K). A decay a is that of a head, or of each of its key channels. A kept
    /// row of a value head is k, v, a and β.
    Delta,
    /// [`Delta`](Recurrence::Delta) with other pairs of heads: value head h has key head h mod K.
    DeltaTiled,
    /// Linear attention that forgets, as in Mamba-2 (Dao and Gu, *Transformers are SSMs*, 2024): [`Delta`](Recurrence::Delta) with
    /// u = β · v. Its state is not corrected by what it already says of the key.
    Linear,
}

/// The most rows that are kept with a sequence's state, see [`Op::Scan`]. As many guesses of a step can be wrong without any row being
/// computed again.
pub const KEPT: usize = 4;

/// The layout of a row of the states of a scan: first the states of all heads, then [`KEPT`] kept rows of each head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanState {
    /// The number of heads.
    pub heads: usize,
    /// The values of a head's state.
    pub width: usize,
    /// The values of a kept row of a head: the operands with which a state is updated by that row.
    pub kept: usize,
}

impl ScanState {
    /// The values of all heads' states, which are all that a snapshot needs. `None` if they overflow.
    pub fn proper(&self) -> Option<usize> {
        self.heads.checked_mul(self.width)
    }

    /// All values of a sequence. `None` if they overflow.
    pub fn values(&self) -> Option<usize> {
        let of_head = self.kept.checked_mul(KEPT)?.checked_add(self.width)?;
        self.heads.checked_mul(of_head)
    }
}

/// How a rotary embedding pairs the values of a head.
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
            /// The name in the text form.
            pub const fn name(self) -> &'static str { match self { $($ty::$variant => $name,)* } }
            /// The variant with this name.
            pub fn from_name(name: &str) -> Option<$ty> { Self::ALL.iter().copied().find(|v| v.name() == name) }
        }
    };
}
impl Unary {
    /// Applies the function. This is the definition; a device may round its exponential differently.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Unary::Neg => -x,
            Unary::Exp => x.exp(),
            Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Unary::Silu => x / (1.0 + (-x).exp()),
            Unary::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Unary::Rsqrt => 1.0 / x.sqrt(),
            // Angles reach hundreds of thousands of radians, so the argument is reduced in `f64`.
            Unary::Cos => f64::from(x).cos() as f32,
            Unary::Sin => f64::from(x).sin() as f32,
        }
    }
}

impl Binary {
    /// Applies the function.
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

impl Recurrence {
    /// The number of operands of a scan before its state.
    pub const fn operands(self) -> usize {
        match self {
            Recurrence::Decay | Recurrence::Convolution => 2,
            Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => 5,
        }
    }

    /// The key head of value head `head` of `heads`, which share `keys` key heads.
    pub const fn key_head(self, head: usize, heads: usize, keys: usize) -> usize {
        match self {
            Recurrence::DeltaTiled => head % keys,
            _ => head / (heads / keys),
        }
    }
}

impl RopeStyle {
    /// The indices of pair `i` in a head of `d` values.
    pub const fn pair(self, i: usize, d: usize) -> (usize, usize) {
        match self {
            RopeStyle::Pairs => (2 * i, 2 * i + 1),
            RopeStyle::Halves => (i, i + d / 2),
        }
    }
}

named!(Unary: Neg = "neg", Exp = "exp", Sigmoid = "sigmoid", Silu = "silu", Softplus = "softplus", Rsqrt = "rsqrt", Cos = "cos", Sin = "sin");
named!(Binary: Add = "add", Sub = "sub", Mul = "mul", Div = "div", Max = "max", Min = "min");
named!(Reduce: Sum = "reduce_sum", Max = "reduce_max");
named!(Recurrence: Decay = "decay", Convolution = "convolution", Delta = "delta", DeltaTiled = "delta_tiled",
    Linear = "linear");
named!(StateKind: PerToken = "per_token", Window = "window", PerSequence = "per_sequence");
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

/// The operation of a node. Shapes are written outermost axis first.
///
/// The last seven, from [`Op::Dot`] on, are what kernels are built around. The others are sources, elementwise operations,
/// reductions, selections and movement. [`crate::eval`] defines each of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A value given by the caller or by an earlier graph.
    Input {
        /// Name in the caller's environment.
        name: String,
    },
    /// A parameter, in the precision of the file.
    Weight {
        /// The name that an instance of this graph binds, not the tensor's own.
        name: String,
    },
    /// Rows that outlive the step. There are `S` of them, or a fixed number.
    State {
        /// The name that an instance of this graph binds.
        name: String,
        /// The meaning of a row.
        kind: StateKind,
    },
    /// A small constant vector, or a scalar when the node's shape is `[]`.
    Const {
        /// The values.
        values: Vec<F32>,
    },
    /// A parameter that no file has: the orthonormal Hadamard matrix, `f32[N, N]` with N a power of two. See [`hadamard`].
    Hadamard,
    /// `i32` to `f32`.
    Cast,
    /// Elementwise, one operand.
    Unary(Unary),
    /// Elementwise, two operands.
    Binary(Binary),
    /// A reduction.
    Reduce {
        /// The function.
        op: Reduce,
        /// The axis.
        axis: usize,
    },
    /// The same values in another shape, which is the node's own.
    Reshape,
    /// A range of one axis.
    Slice {
        /// The axis.
        axis: usize,
        /// The first index kept.
        start: usize,
        /// The number of indices kept.
        len: usize,
    },
    /// All inputs joined along one axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// `(table [N, D], ids i32[..]) → [.., D]`: rows of a table.
    Rows,
    /// `(x [.., E] or [E], ids i32[.., U]) → [.., U]`: values selected from each row, or from one row for all. Indices if `x` has these.
    Take,
    /// `(x [T, H, D] or [T, D], cos [T, D/2], sin [T, D/2])`: each pair rotated by its angle.
    Rope {
        /// How values are paired.
        style: RopeStyle,
    },
    /// `(state [S, W], rows [T, W], slots i32[T]) → [S, W]`: the state with row `slots[t]` replaced by `rows[t]`.
    Store,
    /// `(x [.., E]) → i32[.., K]`: indices of the largest values, largest first; among equals, the lower index first.
    /// NaN comes before everything.
    TopK {
        /// The number of indices, K.
        k: usize,
    },
    /// `(x [.., K], w [N, K]) → [.., N]`: y = x·wᵀ.
    Dot,
    /// A product with one matrix per head. `(x [T, H, K] or [T, 1, K], w [H, N, K]) → [T, H, N]`, where a single row of `x`
    /// serves all heads; transposed, `(x [T, H, N], w [H, N, K]) → [T, H, K]`.
    HeadDot {
        /// Whether to multiply by the transposed matrices.
        transposed: bool,
    },
    /// `(x [T, K] or [T, U, K], w [E, N, K], ids i32[T, U]) → [T, U, N]`: each row times the matrices that its ids select.
    SelectDot,
    /// The same where `w` has only some of the matrices that ids select: a row whose id is not in `from..E` is 0. Two products by parts of
    /// a stack add up to the product by all of it.
    SelectRange {
        /// The first id that selects a matrix, which is matrix `from` of `w`.
        from: usize,
    },
    /// The weighted sum of [`Op::SelectDot`] over a token's choices.
    ///
    /// `(x [T, U, K], w [E, N, K], ids i32[T, U], weights f32[T, U]) → [T, N]`: `Σ_u weights[t, u] · (w[ids[t, u]] · x[t, u])`.
    /// Each product is rounded before it is added, in the order of `u`: the bits are those of `select_dot`, `mul` and
    /// `reduce_sum`.
    SelectSum,
    /// Causal attention of each token over its own sequence, in a paged cache.
    ///
    /// `(q [T, H, Dk], k [S, G·Dk], v [S, G·Dv], pos i32[T], first i32[T], pages i32[P]) → [T, H, Dv]`, where H query heads share
    /// G key heads. Token `t` sees positions `0..=pos[t]`, or the last `window` of them; position `p` is row
    /// `pages[first[t] + p / page] · page + p % page` of the state.
    ///
    /// With a seventh operand, `sinks f32[H]`, the softmax of head `h` also has the score `sinks[h]`, which has no value: it
    /// takes a share of the weights, and the others add up to less than 1.
    ///
    /// With a last operand `list i32[T, K]`, such as [`Op::Indexer`] makes, token `t` sees the positions that the first
    /// `min(K, pos[t] + 1)` entries of its row name, each at most `pos[t]`, in that order, and there is no window. A list of all positions
    /// in ascending order gives the bits of attention without a list. With a pool of more than one position, the rest of a list has the
    /// positions behind the last whole pool: if `pos[t] + 1` is above K, the first `K + 1 − pool + (pos[t] + 1) mod pool` entries count.
    Attend {
        /// The factor of q·k before the softmax.
        scale: F32,
        /// The number of key heads, G.
        kv_heads: usize,
        /// The rows of a page.
        page: usize,
        /// How many positions a token sees at most, its own included. `None` if it sees all.
        window: Option<usize>,
        /// The positions of a pool of the list; 1 without a list.
        pool: usize,
    },
    /// Chooses the positions that each token attends to: DeepSeek's lightning indexer (DeepSeek-V3.2, 2025,
    /// <https://arxiv.org/abs/2512.02556>, section 2.1).
    ///
    /// `(q [T, H, D], w [T, H], keys [S, D], pos i32[T], first i32[T], pages i32[P]) → i32[T, K]`. Position `p` of `0..=pos[t]`, whose
    /// row of `keys` is found as in [`Op::Attend`], has the score `Σ_h w[t, h] · max(q[t, h] · keys[p], 0)`, added in the order of `h`. A
    /// row of the result begins with the positions of the `min(K, pos[t] + 1)` highest scores in ascending order, and the rest of it is
    /// −1. Among equal scores the lower position is chosen first; NaN is above all numbers, and −0 equals 0.
    ///
    /// With a pool of N > 1 positions, the result is `i32[T, K + N − 1]`. Pools, not positions, have scores: pool `i` is positions `i ·
    /// N` to
    /// `i · N + N − 1`, and its key is the row of the last of them. Of the `(pos[t] + 1) div N` pools that are complete, the K / N of the
    /// highest scores are chosen. A row has their positions in ascending order, then those behind the last complete pool, then −1.
    Indexer {
        /// The most positions chosen, K: a multiple of the pool.
        k: usize,
        /// The rows of a page: a multiple of the pool.
        page: usize,
        /// The positions that share a key; 1 if each has its own.
        pool: usize,
    },
    /// Walks the rows of each sequence in order, and carries a state from row to row.
    ///
    /// `(operands of the rule, state [S, W], ends i32[Q], from i32[Q], to i32[Q], certain i32[Q], kept i32[Q]) → [T, H, D]`, where `state`
    /// is of the kind [`StateKind::PerSequence`], and W the [number of values](ScanState::values) of a sequence. The step's rows are in the
    /// order of its sequences: those of sequence `q` are `ends[q − 1]..ends[q]`, at least one, and those of the first begin at 0. The state
    /// of sequence `q` before its first row is row `from[q]` of `state` after its first `kept[q]` kept rows, or 0 if `from[q]` is negative.
    /// After the first `certain[q]` rows it is written to row `to[q]`, in place, and the first [`KEPT`] of the rows after them become the
    /// kept rows there. So of these rows, which may be guesses, the next step takes as many as were right.
    ///
    /// The rows `to` differ from each other. None is another sequence's `from`, because sequences run side by side, or its own where it
    /// has kept rows. `certain[q]` is at least 1 and at most the number of rows, `kept[q]` is at most [`KEPT`], and 0 without `from`.
    Scan {
        /// How the state follows from the one before.
        rule: Recurrence,
    },
}

impl Op {
    /// The name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input { .. } => "input",
            Op::Weight { .. } => "weight",
            Op::State { .. } => "state",
            Op::Const { .. } => "const",
            Op::Hadamard => "hadamard",
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
            Op::SelectRange { .. } => "select_range",
            Op::SelectSum => "select_sum",
            Op::Attend { .. } => "attend",
            Op::Indexer { .. } => "indexer",
            Op::Scan { .. } => "scan",
        }
    }

    /// Whether the node has no inputs and a declared type.
    pub fn is_source(&self) -> bool {
        matches!(
            self,
            Op::Input { .. } | Op::Weight { .. } | Op::State { .. } | Op::Const { .. } | Op::Hadamard
        )
    }

    /// Whether the node is a parameter that is computed when a model is loaded.
    pub fn is_computed_parameter(&self) -> bool {
        matches!(self, Op::Hadamard)
    }
}

/// The values of [`Op::Hadamard`], row by row: `(-1)^|i & j| / √n` in row `i` and column `j`, where `|b|` is the number of ones
/// in `b` (Sylvester's construction). The matrix is symmetric and its own inverse.
///
/// ```
/// assert_eq!(weft_ir::hadamard(4)[4..8], [0.5, -0.5, 0.5, -0.5]);
/// ```
pub fn hadamard(n: usize) -> Vec<f32> {
    let value = (1.0 / (n as f64).sqrt()) as f32;
    let sign = |at: usize| if ((at / n) & (at % n)).count_ones().is_multiple_of(2) { value } else { -value };
    (0..n * n).map(sign).collect()
}
