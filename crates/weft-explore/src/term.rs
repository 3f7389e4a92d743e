//! The language of the e-graph: terms of operations with their attributes as heads, and classes of equal values as operands.
//!
//! A head includes the type of its value. The type follows from the operation and the types of its operands, so it separates
//! nothing that is equal, and a term without a type cannot exist: [`infer`] finds it first.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use egg::{DidMerge, Id, Language};
use weft_ir::{Builder, NodeId, Op, Sym, Type};
use weft_quant::GgmlType;

/// An e-graph of tensor operations.
pub(crate) type EGraph = egg::EGraph<Term, Typing>;

/// An operation without its operands.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    /// Operation, attributes and type as text, by which heads are compared. It says all that `op` and `ty` do, and is ordered.
    label: String,
}

impl Head {
    pub(crate) fn new(op: Op, ty: Type) -> Arc<Head> {
        let label = format!("{op:?} {ty}");
        Arc::new(Head { op, ty, label })
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.label == other.label
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.label.cmp(&other.label)
    }
}

impl Hash for Head {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.label.hash(state);
    }
}

/// A node of the e-graph: an operation on classes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Term {
    pub(crate) head: Arc<Head>,
    pub(crate) operands: Vec<Id>,
}

impl Language for Term {
    type Discriminant = Arc<Head>;

    fn discriminant(&self) -> Arc<Head> {
        Arc::clone(&self.head)
    }

    fn matches(&self, other: &Term) -> bool {
        self.head == other.head && self.operands.len() == other.operands.len()
    }

    fn children(&self) -> &[Id] {
        &self.operands
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.operands
    }
}

/// What the e-graph knows of a class besides its terms.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Facts {
    pub(crate) ty: Type,
    /// The value, if it is a constant scalar.
    pub(crate) scalar: Option<f32>,
    /// How it can be read as a parameter, if it can.
    pub(crate) parameter: Option<Parameter>,
}

/// A weight, a product of weights, or a part of either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parameter {
    /// Whether it is part of a product of weights, which is not multiplied again.
    pub(crate) product: bool,
    pub(crate) rows: Rows,
}

/// The layout of a parameter's rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rows {
    /// Parts of rows, or a pattern that no kernel can follow.
    Cut,
    /// Whole rows with gaps: a range of the second of three axes.
    Apart,
    /// Whole, contiguous rows.
    Together,
}

/// Maintains [`Facts`] as terms are added and classes united.
#[derive(Default, Debug)]
pub(crate) struct Typing;

impl egg::Analysis<Term> for Typing {
    type Data = Facts;

    fn make(graph: &mut EGraph, term: &Term, _: Id) -> Facts {
        let of = |operand: usize| term.operands.get(operand).map(|id| &graph[*id].data);
        let scalar = match &term.head.op {
            Op::Const { values } if term.head.ty.shape.rank() == 0 => values.first().map(|v| v.0),
            _ => None,
        };
        let parameter = parameter(&term.head, of(0));
        Facts { ty: term.head.ty.clone(), scalar, parameter }
    }

    fn merge(&mut self, to: &mut Facts, from: Facts) -> DidMerge {
        let mut both = to.clone();
        both.scalar = both.scalar.or(from.scalar);
        both.parameter = [both.parameter, from.parameter].into_iter().flatten().max_by_key(|p| p.rows);
        let merged = DidMerge(both != *to, both != from);
        *to = both;
        merged
    }
}

/// How a part of a parameter can be read, by the rules of `WeightView` in `weft-ir`.
fn parameter(head: &Head, of: Option<&Facts>) -> Option<Parameter> {
    let shape = &head.ty.shape;
    match &head.op {
        Op::Weight { .. } => Some(Parameter { product: false, rows: Rows::Together }),
        op if op.is_computed_parameter() => Some(Parameter { product: true, rows: Rows::Together }),
        Op::Reshape => {
            let Facts { ty, parameter, .. } = of?;
            let from = (*parameter)?;
            let kept = ty.shape.last() == shape.last() && from.rows == Rows::Together;
            Some(Parameter { rows: if kept { Rows::Together } else { Rows::Cut }, ..from })
        }
        Op::Slice { axis, .. } => {
            let from = of?.parameter?;
            let rows = match (shape.rank() - axis, *axis) {
                (1, _) => Rows::Cut,
                (_, 0) if shape.rank() <= 3 => from.rows,
                (2, 1) => from.rows.min(Rows::Apart),
                _ => Rows::Cut,
            };
            Some(Parameter { rows, ..from })
        }
        _ => None,
    }
}

/// The type of an operation on operands of these types; `None` if they do not fit. `declared` is that of [`Builder::push`].
///
/// Since `weft-ir` infers types of nodes of graphs, this builds a graph with sources as operands.
pub(crate) fn infer(op: &Op, operands: &[Type], declared: Option<Type>) -> Option<Type> {
    let mut g = Builder::new("infer");
    let stand_ins: Vec<NodeId> = operands
        .iter()
        .enumerate()
        .map(|(i, Type { dtype, shape })| match (dtype, shape.sym()) {
            (GgmlType::F32 | GgmlType::I32, _) => g.input(format!("{i}"), *dtype, shape.clone()),
            (_, Some(Sym::Slots)) => g.state(format!("{i}"), *dtype, shape.clone()),
            _ => g.weight(format!("{i}"), *dtype, shape.clone()),
        })
        .collect();
    let id = g.push(op.clone(), stand_ins, declared);
    g.ty(id).cloned()
}
