//! Parameters as operands: a weight, or a part of one that is read in place, row by row; and where their rows come from.

use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::shape::Dim;

impl Graph {
    /// Follows reshapes and slices to the node that they are parts of.
    pub fn base(&self, mut id: NodeId) -> NodeId {
        while let Op::Reshape | Op::Slice { .. } = self.node(id).op {
            id = self.node(id).inputs[0];
        }
        id
    }

    /// Returns whether a node is a parameter: a weight, one that is computed when a model is loaded, or a part of either.
    pub fn is_parameter(&self, id: NodeId) -> bool {
        let op = &self.node(self.base(id)).op;
        matches!(op, Op::Weight { .. }) || op.is_computed_parameter()
    }
}

/// A source of weights for the oracle.
pub trait WeightRows {
    /// Decodes one row. `row` counts over all axes of the weight but the last, whose length is that of `out`.
    ///
    /// # Errors
    /// A sentence saying why the row cannot be read.
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String>;
}

/// A weight as an operand: a range of one axis of a parameter, read row by row.
#[derive(Debug)]
pub(crate) struct WeightView<'a> {
    pub(crate) name: &'a str,
    /// The rows of the view, outermost axes first, without the row length.
    axes: Vec<usize>,
    /// Rows to skip at the start, and rows between two entries of the first axis.
    offset: usize,
    stride: usize,
}

impl<'a> WeightView<'a> {
    /// The node as whole rows of a weight, if it is that.
    pub(crate) fn of(graph: &'a Graph, id: NodeId) -> Option<WeightView<'a>> {
        // From the weight outwards, so that a long chain of views needs no stack.
        let mut chain = vec![id];
        while let Op::Reshape | Op::Slice { .. } = graph.node(chain[chain.len() - 1]).op {
            chain.push(graph.node(chain[chain.len() - 1]).inputs[0]);
        }
        let weight = chain.pop()?;
        let Op::Weight { name } = &graph.node(weight).op else { return None };
        let axes = row_axes(graph, weight)?;
        let stride = axes.iter().skip(1).product();
        let first = WeightView { name, axes, offset: 0, stride };
        chain.iter().rev().try_fold(first, |from, id| from.part(graph, *id))
    }

    /// A reshape or slice of this view.
    fn part(self, graph: &Graph, id: NodeId) -> Option<WeightView<'a>> {
        let node = graph.node(id);
        let axes = row_axes(graph, id)?;
        match node.op {
            Op::Reshape => {
                let (own, inner): (usize, usize) =
                    (self.axes.iter().product(), self.axes.iter().skip(1).product());
                // A view in another shape needs rows that are contiguous and keep their length.
                let rows_kept = graph.node(node.inputs[0]).ty.shape.last() == node.ty.shape.last();
                let whole = self.stride == inner && own == axes.iter().product::<usize>();
                let stride = axes.iter().skip(1).product();
                (rows_kept && whole).then_some(WeightView { axes, stride, ..self })
            }
            Op::Slice { axis, start, .. } if axis + 1 < node.ty.shape.rank() && node.ty.shape.rank() <= 3 => {
                let step = if axis == 0 && node.ty.shape.rank() == 3 { self.stride } else { 1 };
                Some(WeightView { offset: self.offset + start * step, axes, ..self })
            }
            _ => None,
        }
    }

    /// The parameter's row that holds row `(i, j)` of a view with two row axes, or row `j` of one with a single axis.
    pub(crate) fn row(&self, i: usize, j: usize) -> usize {
        self.offset + i * self.stride + j
    }

    /// The parameter's row that holds row `r` of the view, counted over all its row axes.
    pub(crate) fn flat_row(&self, r: usize) -> usize {
        let inner: usize = self.axes.iter().skip(1).product();
        if self.axes.len() > 1 { self.row(r / inner, r % inner) } else { self.row(0, r) }
    }
}

/// The axes of a parameter without the last. None of them is symbolic.
fn row_axes(graph: &Graph, id: NodeId) -> Option<Vec<usize>> {
    let dims = graph.node(id).ty.shape.dims();
    dims[..dims.len().saturating_sub(1)].iter().map(|d: &Dim| d.known()).collect()
}
