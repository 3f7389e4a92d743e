//! Builds graphs: one method per operation, equal nodes interned, the first mistake kept.

use rustc_hash::FxHashMap;
use weft_quant::GgmlType;

use crate::graph::{Graph, Node, NodeId, Type};
use crate::infer::{infer, scan_state};
use crate::op::{Binary, F32, Op, Recurrence, Reduce, RopeStyle, ScanState, StateKind, Unary};
use crate::shape::{Dim, Shape};
use crate::verify::{VerifyError, verify};

/// Why a graph could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The inputs do not fit the operation. In a model's graph this means that sizes in the file contradict each other.
    #[error("graph `{graph}`, `{op}`: {why}")]
    Op {
        /// The graph's name.
        graph: String,
        /// The name of the operation.
        op: &'static str,
        /// The rule that is broken.
        why: String,
    },
    /// The finished graph breaks a rule.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// Builds a [`Graph`].
///
/// Methods do not return errors: the builder keeps the first mistake, ignores everything after it, and [`Builder::finish`]
/// reports it. A model's graph then reads like its formula.
///
/// ```
/// use weft_ir::{Builder, Dim};
/// use weft_quant::GgmlType;
///
/// let mut g = Builder::new("silu_mul");
/// let gate = g.input("gate", GgmlType::F32, [Dim::T, 8.into()]);
/// let up = g.input("up", GgmlType::F32, [Dim::T, 8.into()]);
/// let act = g.silu(gate);
/// let y = g.mul(act, up);
/// g.output("y", y);
/// let graph = g.finish().unwrap();
/// assert_eq!(graph.nodes().len(), 4);
/// ```
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    interned: FxHashMap<Node, NodeId>,
    error: Option<BuildError>,
}

/// The result of a mistake.
const POISON: NodeId = NodeId(u32::MAX);

impl Builder {
    /// Creates an empty graph.
    pub fn new(name: impl Into<String>) -> Builder {
        Builder {
            graph: Graph { name: name.into(), nodes: Vec::new(), outputs: Vec::new() },
            interned: FxHashMap::default(),
            error: None,
        }
    }

    /// Continues a graph. Nodes that are added are not looked for among its own.
    pub(crate) fn of(graph: Graph) -> Builder {
        Builder { graph, interned: FxHashMap::default(), error: None }
    }

    /// The type of a node; `None` after a mistake.
    pub fn ty(&self, id: NodeId) -> Option<&Type> {
        self.graph.nodes.get(id.index()).map(|n| &n.ty)
    }

    /// Adds any operation. `declared` is the type of a source or a reshape.
    pub fn push(&mut self, op: Op, inputs: Vec<NodeId>, declared: Option<Type>) -> NodeId {
        if self.error.is_some() || inputs.iter().any(|i| i.index() >= self.graph.nodes.len()) {
            return POISON;
        }
        let name = op.name();
        self.intern(op, inputs, declared).unwrap_or_else(|why| {
            self.error = Some(BuildError::Op { graph: self.graph.name.clone(), op: name, why });
            POISON
        })
    }

    /// Interns an operation on nodes that exist, or says why its inputs do not fit. That is no mistake yet.
    pub(crate) fn intern(
        &mut self,
        op: Op,
        inputs: Vec<NodeId>,
        declared: Option<Type>,
    ) -> Result<NodeId, String> {
        let types: Vec<&Type> = inputs.iter().map(|i| &self.graph.node(*i).ty).collect();
        let ty = infer(&op, &types, declared.as_ref())?;
        Ok(self.add_node(Node { op, inputs, ty }))
    }

    /// Adds a node whose type is known to be right, or finds the equal one.
    pub(crate) fn add_node(&mut self, node: Node) -> NodeId {
        let next = NodeId(self.graph.nodes.len() as u32);
        let id = *self.interned.entry(node.clone()).or_insert(next);
        if id == next {
            self.graph.nodes.push(node);
        }
        id
    }

    /// The graph so far.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The nodes so far.
    pub(crate) fn into_nodes(self) -> Vec<Node> {
        self.graph.nodes
    }

    /// Names a result.
    pub fn output(&mut self, name: impl Into<String>, id: NodeId) {
        self.graph.outputs.push((name.into(), id));
    }

    /// Returns the finished graph, verified.
    ///
    /// # Errors
    /// The first mistake made while building, or what the verifier found.
    pub fn finish(self) -> Result<Graph, BuildError> {
        if let Some(e) = self.error {
            return Err(e);
        }
        verify(&self.graph)?;
        Ok(self.graph)
    }

    /// A value given by the caller.
    pub fn input(&mut self, name: impl Into<String>, dtype: GgmlType, shape: impl Into<Shape>) -> NodeId {
        self.push(Op::Input { name: name.into() }, vec![], Some(Type::new(dtype, shape)))
    }

    /// A parameter of the model.
    pub fn weight(&mut self, name: impl Into<String>, dtype: GgmlType, shape: impl Into<Shape>) -> NodeId {
        self.push(Op::Weight { name: name.into() }, vec![], Some(Type::new(dtype, shape)))
    }

    /// The Hadamard matrix with `n` rows, a parameter that no file has.
    pub fn hadamard(&mut self, n: usize) -> NodeId {
        self.push(Op::Hadamard, vec![], Some(Type::new(GgmlType::F32, [n, n].map(Dim::Const))))
    }

    /// A KV state.
    pub fn state(&mut self, name: impl Into<String>, dtype: GgmlType, shape: impl Into<Shape>) -> NodeId {
        let op = Op::State { name: name.into(), kind: StateKind::PerToken };
        self.push(op, vec![], Some(Type::new(dtype, shape)))
    }

    /// A state with a row for each sequence, see [`StateKind::PerSequence`].
    pub fn sequence_state(&mut self, name: impl Into<String>, shape: impl Into<Shape>) -> NodeId {
        let op = Op::State { name: name.into(), kind: StateKind::PerSequence };
        self.push(op, vec![], Some(Type::new(GgmlType::F32, shape)))
    }

    /// Walks the rows of each sequence by a rule with these operands, see [`Op::Scan`].
    pub fn scan(&mut self, rule: Recurrence, operands: &[NodeId], state: NodeId, rows: ScanRows) -> NodeId {
        let ScanRows { ends, from, to, certain, kept } = rows;
        let inputs = operands.iter().copied().chain([state, ends, from, to, certain, kept]).collect();
        self.push(Op::Scan { rule }, inputs, None)
    }

    /// The layout of the state of a scan with these operands. `None` if they do not fit the rule, or after a mistake.
    pub fn scan_state(&self, rule: Recurrence, operands: &[NodeId]) -> Option<ScanState> {
        let types: Option<Vec<&Type>> = operands.iter().map(|id| self.ty(*id)).collect();
        scan_state(rule, &types?)
    }

    /// The lists of a step's sequences, as inputs with their names.
    pub fn scan_rows(&mut self) -> ScanRows {
        let [ends, from, to, certain, kept] =
            SCAN_LISTS.map(|list| self.input(list, GgmlType::I32, [Dim::Q]));
        ScanRows { ends, from, to, certain, kept }
    }

    /// A scalar constant, shape `[]`.
    pub fn scalar(&mut self, value: f32) -> NodeId {
        let ty = Type::new(GgmlType::F32, Shape::default());
        self.push(Op::Const { values: vec![F32(value)] }, vec![], Some(ty))
    }

    /// A constant vector, shape `[values.len()]`.
    pub fn vector(&mut self, values: &[f32]) -> NodeId {
        let ty = Type::new(GgmlType::F32, [values.len().into()]);
        self.push(Op::Const { values: values.iter().map(|v| F32(*v)).collect() }, vec![], Some(ty))
    }

    /// `i32` to `f32`.
    pub fn cast(&mut self, x: NodeId) -> NodeId {
        self.push(Op::Cast, vec![x], None)
    }

    fn unary(&mut self, op: Unary, x: NodeId) -> NodeId {
        self.push(Op::Unary(op), vec![x], None)
    }

    fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.push(Op::Binary(op), vec![a, b], None)
    }

    /// Σ along an axis.
    pub fn reduce_sum(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.push(Op::Reduce { op: Reduce::Sum, axis }, vec![x], None)
    }

    /// The largest value along an axis.
    pub fn reduce_max(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.push(Op::Reduce { op: Reduce::Max, axis }, vec![x], None)
    }

    /// The same values in another shape.
    pub fn reshape(&mut self, x: NodeId, shape: impl Into<Shape>) -> NodeId {
        let ty = self.ty(x).map(|t| Type::new(t.dtype, shape));
        self.push(Op::Reshape, vec![x], ty)
    }

    /// `x[start..start + len]` along an axis.
    pub fn slice(&mut self, x: NodeId, axis: usize, start: usize, len: usize) -> NodeId {
        self.push(Op::Slice { axis, start, len }, vec![x], None)
    }

    /// All parts joined along an axis.
    pub fn concat(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        self.push(Op::Concat { axis }, parts.to_vec(), None)
    }

    /// Rows of a table: `[N, D]` and ids `[..]` give `[.., D]`.
    pub fn rows(&mut self, table: NodeId, ids: NodeId) -> NodeId {
        self.push(Op::Rows, vec![table, ids], None)
    }

    /// Values selected from each row: `[.., E]` and ids `[.., U]` give `[.., U]`.
    pub fn take(&mut self, x: NodeId, ids: NodeId) -> NodeId {
        self.push(Op::Take, vec![x, ids], None)
    }

    /// Rotary embedding: `[T, H, D]` or `[T, D]`, rotated by tables `[T, D/2]`.
    pub fn rope(&mut self, x: NodeId, cos: NodeId, sin: NodeId, style: RopeStyle) -> NodeId {
        self.push(Op::Rope { style }, vec![x, cos, sin], None)
    }

    /// Indices of the `k` largest values of each row.
    pub fn topk(&mut self, x: NodeId, k: usize) -> NodeId {
        self.push(Op::TopK { k }, vec![x], None)
    }

    /// y = x·wᵀ: `[.., K]` times `[N, K]` gives `[.., N]`.
    pub fn dot(&mut self, x: NodeId, w: NodeId) -> NodeId {
        self.push(Op::Dot, vec![x, w], None)
    }

    /// A product with one matrix per head: `[T, H, K]`, or `[T, 1, K]` for all heads, times `[H, N, K]` gives `[T, H, N]`.
    pub fn head_dot(&mut self, x: NodeId, w: NodeId) -> NodeId {
        self.push(Op::HeadDot { transposed: false }, vec![x, w], None)
    }

    /// A product with one transposed matrix per head: `[T, H, N]` times `[H, N, K]` gives `[T, H, K]`.
    pub fn head_dot_transposed(&mut self, x: NodeId, w: NodeId) -> NodeId {
        self.push(Op::HeadDot { transposed: true }, vec![x, w], None)
    }

    /// Each row times the matrices that its ids select: `[T, K]` or `[T, U, K]`, `[E, N, K]` and ids `[T, U]` give
    /// `[T, U, N]`.
    pub fn select_dot(&mut self, x: NodeId, w: NodeId, ids: NodeId) -> NodeId {
        self.push(Op::SelectDot, vec![x, w, ids], None)
    }

    /// The same by those matrices that ids from `from` on select; other rows are 0. See [`Op::SelectRange`].
    pub fn select_range(&mut self, x: NodeId, w: NodeId, ids: NodeId, from: usize) -> NodeId {
        self.push(Op::SelectRange { from }, vec![x, w, ids], None)
    }

    /// The weighted sum over choices: `[T, U, K]`, `[E, N, K]`, ids `[T, U]` and weights `[T, U]` give `[T, N]`.
    pub fn select_sum(&mut self, x: NodeId, w: NodeId, ids: NodeId, weights: NodeId) -> NodeId {
        self.push(Op::SelectSum, vec![x, w, ids, weights], None)
    }

    /// The state after `rows` are written at `slots`.
    pub fn store(&mut self, state: NodeId, rows: NodeId, slots: NodeId) -> NodeId {
        self.push(Op::Store, vec![state, rows, slots], None)
    }

    /// Causal attention in a paged cache; see [`Op::Attend`].
    pub fn attend(&mut self, inputs: AttendInputs, scale: f32, kv_heads: usize, page: usize) -> NodeId {
        self.attend_to_pools(inputs, scale, (kv_heads, page), 1)
    }

    /// The same, where the list of positions is of pools of so many.
    pub fn attend_to_pools(
        &mut self,
        inputs: AttendInputs,
        scale: f32,
        (kv_heads, page): (usize, usize),
        pool: usize,
    ) -> NodeId {
        let AttendInputs { q, k, v, pos, first, pages, window, sinks, list } = inputs;
        let mut operands = vec![q, k, v, pos, first, pages];
        operands.extend(sinks);
        operands.extend(list);
        self.push(Op::Attend { scale: F32(scale), kv_heads, page, window, pool }, operands, None)
    }

    /// The `k` positions of highest score for each token, by queries `[T, H, D]` with weights `[T, H]`; see [`Op::Indexer`].
    pub fn indexer(
        &mut self,
        queries: (NodeId, NodeId),
        keys: NodeId,
        lists: [NodeId; 3],
        k: usize,
        page: usize,
    ) -> NodeId {
        self.indexer_of_pools(queries, keys, lists, (k, 1), page)
    }

    /// The same, where pools of positions have scores: at most `k` positions of pools of so many, and those behind the last pool.
    pub fn indexer_of_pools(
        &mut self,
        (q, weights): (NodeId, NodeId),
        keys: NodeId,
        [pos, first, pages]: [NodeId; 3],
        (k, pool): (usize, usize),
        page: usize,
    ) -> NodeId {
        self.push(Op::Indexer { k, page, pool }, vec![q, weights, keys, pos, first, pages], None)
    }
}

macro_rules! elementwise {
    ($($method:ident($kind:ident::$variant:ident): $doc:literal,)*) => {
        impl Builder { $(elementwise!(@ $method $kind $variant $doc);)* }
    };
    (@ $method:ident Unary $variant:ident $doc:literal) => {
        #[doc = $doc]
        pub fn $method(&mut self, x: NodeId) -> NodeId { self.unary(Unary::$variant, x) }
    };
    (@ $method:ident Binary $variant:ident $doc:literal) => {
        #[doc = $doc]
        pub fn $method(&mut self, a: NodeId, b: NodeId) -> NodeId { self.binary(Binary::$variant, a, b) }
    };
}

elementwise! {
    neg(Unary::Neg): "−x",
    exp(Unary::Exp): "eˣ",
    sigmoid(Unary::Sigmoid): "1 / (1 + e⁻ˣ)",
    silu(Unary::Silu): "x · sigmoid(x)",
    softplus(Unary::Softplus): "ln(1 + eˣ)",
    rsqrt(Unary::Rsqrt): "1 / √x",
    cos(Unary::Cos): "cos x",
    sin(Unary::Sin): "sin x",
    add(Binary::Add): "a + b",
    sub(Binary::Sub): "a − b",
    mul(Binary::Mul): "a · b",
    div(Binary::Div): "a / b",
    max(Binary::Max): "The larger of a and b.",
    min(Binary::Min): "The smaller of a and b.",
}

/// The names of the lists of [`ScanRows`], in this order.
pub const SCAN_LISTS: [&str; 5] = ["ends", "from", "to", "certain", "kept"];

/// Where the rows of a step's sequences are, and their states. See [`Op::Scan`].
#[derive(Clone, Copy, Debug)]
pub struct ScanRows {
    /// The row after the last one of each sequence, `i32[Q]`.
    pub ends: NodeId,
    /// The row of the state that each sequence begins with, `i32[Q]`.
    pub from: NodeId,
    /// The row of the state that each sequence writes, `i32[Q]`.
    pub to: NodeId,
    /// The number of rows of each sequence after which its state is written, `i32[Q]`.
    pub certain: NodeId,
    /// The number of kept rows that each sequence begins with, `i32[Q]`.
    pub kept: NodeId,
}

/// Inputs of [`Builder::attend`], and which positions it sees; shapes as in [`Op::Attend`].
#[derive(Clone, Copy, Debug)]
pub struct AttendInputs {
    /// Queries `[T, H, Dk]`.
    pub q: NodeId,
    /// Keys `[S, G·Dk]`.
    pub k: NodeId,
    /// Values `[S, G·Dv]`.
    pub v: NodeId,
    /// The position of each token, `i32[T]`.
    pub pos: NodeId,
    /// The index in `pages` where each token's sequence begins, `i32[T]`.
    pub first: NodeId,
    /// Page numbers of all sequences, `i32[P]`.
    pub pages: NodeId,
    /// How many positions a token sees at most, its own included.
    pub window: Option<usize>,
    /// A further score of each head's softmax, `[H]`.
    pub sinks: Option<NodeId>,
    /// The positions that each token sees, `i32[T, K]`; all, or those of the window, if there is no list.
    pub list: Option<NodeId>,
}
