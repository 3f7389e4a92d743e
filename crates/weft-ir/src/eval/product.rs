//! Products of weights: what [`Op::Product`] means, and how a loader computes it.

use crate::graph::{Graph, NodeId, Type};
use crate::op::Op;
use crate::shape::Sizes;
use crate::weights::{WeightRows, WeightView};

/// A product of weights that is computed row by row. Rows do not depend on each other, so a loader can distribute them over
/// threads.
///
/// Sums are accumulated in `f64`, in the order of the contracted axis, rounded to `f32`, and then to the product's own type. The
/// oracle decodes the stored bytes.
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
    /// If the node is not a product of weights, or a weight cannot be read.
    pub fn new(graph: &'a Graph, id: NodeId, weights: &dyn WeightRows) -> Result<Product<'a>, String> {
        let node = graph.node(id);
        let wrong = || format!("{id} ({}) is not a product of weights", node.op.name());
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

    /// The number of rows, counted over all axes but the last.
    pub fn rows(&self) -> usize {
        self.count() / self.row_len()
    }

    /// The size of a stored row in bytes.
    pub fn row_bytes(&self) -> usize {
        self.row_len() / self.ty.dtype.block_len() * self.ty.dtype.block_bytes()
    }

    /// Computes one row and stores it in `out`.
    ///
    /// # Errors
    /// If a row of the left factor cannot be read, `row` is out of range, or `out` is not [`Product::row_bytes`] long.
    pub fn row(&self, row: usize, weights: &dyn WeightRows, out: &mut [u8]) -> Result<(), String> {
        if row >= self.rows() {
            return Err(format!("row {row} is out of range: the product has {} rows", self.rows()));
        }
        // A joined row holds all heads; any other belongs to one.
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

    /// All values, as decoded from the stored bytes.
    pub(super) fn values(&self, weights: &dyn WeightRows) -> Result<Vec<f32>, String> {
        let mut values = vec![0.0; self.count()];
        let mut bytes = vec![0; self.row_bytes()];
        for (r, values) in values.chunks_exact_mut(self.row_len()).enumerate() {
            self.row(r, weights, &mut bytes)?;
            weft_quant::decode(self.ty.dtype, &bytes, values).map_err(|e| e.to_string())?;
        }
        Ok(values)
    }

    /// The head of a row, unless heads are joined.
    fn head(&self, row: usize) -> usize {
        row / (self.rows() / self.heads)
    }

    fn row_len(&self) -> usize {
        if self.joined { self.heads * self.width } else { self.width }
    }

    /// The number of values.
    fn count(&self) -> usize {
        self.ty.shape.known_count().unwrap_or(0)
    }
}
