//! Products of weights: what [`Op::Product`] means, and how a loader computes one.

use super::WeightRows;
use crate::graph::{Graph, NodeId, Type};
use crate::op::Op;
use crate::shape::Sizes;
use crate::weights::WeightView;

/// A product of weights that is being computed, row by row: rows do not depend on each other, so that a loader can share them out.
///
/// Sums are kept in `f64`, in the order of the axis that vanishes, rounded to `f32`, and then to the product's own type. The oracle
/// uses what the stored bytes decode to.
#[derive(Debug)]
pub struct Product<'a> {
    ty: &'a Type,
    left: WeightView<'a>,
    joined: bool,
    /// `[H, M, K]`.
    right: Vec<f64>,
    heads: usize,
    inner: usize,
    width: usize,
}

impl<'a> Product<'a> {
    /// Reads the right factor of the product `id` of a verified graph.
    ///
    /// # Errors
    /// If the node is no product of weights, or a weight cannot be read.
    pub fn new(graph: &'a Graph, id: NodeId, weights: &dyn WeightRows) -> Result<Product<'a>, String> {
        let node = graph.node(id);
        let wrong = || format!("{id} ({}) is no product of weights", node.op.name());
        let (Op::Product { joined }, [a, b]) = (&node.op, &node.inputs[..]) else { return Err(wrong()) };
        let left = WeightView::of(graph, *a).ok_or_else(wrong)?;
        let view = WeightView::of(graph, *b).ok_or_else(wrong)?;
        let [heads, inner, width] = graph.node(*b).ty.shape.eval(&Sizes::default())[..] else {
            return Err(wrong());
        };
        let mut row = vec![0.0; width];
        let mut right = Vec::with_capacity(heads * inner * width);
        for r in 0..heads * inner {
            weights.read_row(view.name, view.flat_row(r), &mut row)?;
            right.extend(row.iter().copied().map(f64::from));
        }
        Ok(Product { ty: &node.ty, left, joined: *joined, right, heads, inner, width })
    }

    /// How many rows it has, counted over all axes but the last.
    pub fn rows(&self) -> usize {
        self.count() / self.row_len()
    }

    /// Bytes of one row as it is stored.
    pub fn row_bytes(&self) -> usize {
        self.row_len() / self.ty.dtype.block_len() * self.ty.dtype.block_bytes()
    }

    /// Computes one row into the bytes it is stored as.
    ///
    /// # Errors
    /// If a row of the left factor cannot be read, there is no such row, or `out` has another length than [`Product::row_bytes`].
    pub fn row(&self, row: usize, weights: &dyn WeightRows, out: &mut [u8]) -> Result<(), String> {
        if row >= self.rows() {
            return Err(format!("row {row} of a product with {} rows", self.rows()));
        }
        // Joined, a row has all heads; else it is of one.
        let heads = if self.joined { 0..self.heads } else { self.head(row)..self.head(row) + 1 };
        let mut left = vec![0.0; heads.len() * self.inner];
        weights.read_row(self.left.name, self.left.flat_row(row), &mut left)?;
        let mut values = Vec::with_capacity(self.row_len());
        for (head, left) in heads.zip(left.chunks_exact(self.inner)) {
            let matrix = &self.right[head * self.inner * self.width..][..self.inner * self.width];
            let mut sums = vec![0.0f64; self.width];
            for (l, right) in left.iter().zip(matrix.chunks_exact(self.width)) {
                sums.iter_mut().zip(right).for_each(|(sum, r)| *sum += f64::from(*l) * r);
            }
            values.extend(sums.into_iter().map(|sum| sum as f32));
        }
        weft_quant::encode(self.ty.dtype, &values, out).map_err(|e| e.to_string())
    }

    /// All values, as the stored bytes decode.
    pub(super) fn values(&self, weights: &dyn WeightRows) -> Result<Vec<f32>, String> {
        let mut values = vec![0.0; self.count()];
        let mut bytes = vec![0; self.row_bytes()];
        for (r, values) in values.chunks_exact_mut(self.row_len()).enumerate() {
            self.row(r, weights, &mut bytes)?;
            weft_quant::decode(self.ty.dtype, &bytes, values).map_err(|e| e.to_string())?;
        }
        Ok(values)
    }

    /// The head that a row is of, where rows are of one.
    fn head(&self, row: usize) -> usize {
        row / (self.rows() / self.heads)
    }

    fn row_len(&self) -> usize {
        if self.joined { self.heads * self.width } else { self.width }
    }

    /// Values of the whole.
    fn count(&self) -> usize {
        self.ty.shape.known_count().unwrap_or(0)
    }
}
