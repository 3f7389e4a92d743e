//! The layout of a node's values in memory: movement operations as index arithmetic.

use weft_ir::{Dim, Graph, NodeId, Op, Shape};

/// A node as a view of another one that is dense in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Strided {
    /// The node whose buffer is read.
    pub(crate) base: NodeId,
    /// The index of its first value.
    pub(crate) offset: usize,
    /// The distance between values, for each axis of the viewing node.
    pub(crate) strides: Vec<usize>,
}

/// Row-major strides. Only the first axis is symbolic, so all of them are numbers.
pub(crate) fn row_major(shape: &Shape) -> Vec<usize> {
    let mut strides = vec![1; shape.rank()];
    for i in (1..shape.rank()).rev() {
        strides[i - 1] = strides[i] * shape.dims()[i].known().unwrap_or(1);
    }
    strides
}

/// The operand of `node` and its strides, if it is a view: a reshape or slice that needs only index arithmetic.
pub(crate) fn view(graph: &Graph, node: NodeId) -> Strided {
    let n = graph.node(node);
    let itself = || Strided { base: node, offset: 0, strides: row_major(&n.ty.shape) };
    match &n.op {
        Op::Slice { axis, start, .. } => {
            let from = view(graph, n.inputs[0]);
            Strided { offset: from.offset + start * from.strides[*axis], ..from }
        }
        Op::Reshape => {
            let from = view(graph, n.inputs[0]);
            match reshaped(&graph.node(n.inputs[0]).ty.shape, &from.strides, &n.ty.shape) {
                Some(strides) => Strided { strides, ..from },
                // Its values have to be brought together: it is computed like any other node.
                None => itself(),
            }
        }
        _ => itself(),
    }
}

/// Strides of the same memory in another shape, if there are any.
///
/// Without axes of size 1, both shapes divide into runs of axes with equal products. Within each run of the old shape the memory
/// must be evenly spaced.
pub(crate) fn reshaped(from: &Shape, strides: &[usize], to: &Shape) -> Option<Vec<usize>> {
    let symbolic = usize::from(from.sym().is_some());
    let sizes = |s: &Shape| -> Vec<usize> { s.dims()[symbolic..].iter().filter_map(|d| d.known()).collect() };
    let (old_sizes, new) = (sizes(from), sizes(to));
    let old: Vec<(usize, usize)> =
        old_sizes.into_iter().zip(strides[symbolic..].iter().copied()).filter(|(n, _)| *n != 1).collect();
    let mut out = strides[..symbolic].to_vec();
    out.resize(to.rank(), 0);
    let (mut i, mut j) = (0, 0);
    while i < old.len() {
        let (first_i, first_j) = (i, j);
        let (mut have, mut want) = (old[i].0, 1);
        i += 1;
        while have != want {
            if have < want {
                have *= old.get(i)?.0;
                i += 1;
            } else {
                want *= new.get(j)?;
                j += 1;
            }
        }
        let even = old[first_i..i].windows(2).all(|w| w[0].1 == w[1].0 * w[1].1);
        if !even {
            return None;
        }
        let mut stride = old[i - 1].1;
        for k in (first_j..j).rev() {
            out[symbolic + k] = stride;
            stride *= new[k];
        }
    }
    Some(out)
}

/// The rows and columns of a shape: the last axis is the columns; the others, without axes of size 1, are the rows.
///
/// Shapes with the same space number their rows alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Space {
    pub(crate) rows: Vec<Dim>,
    pub(crate) cols: usize,
}

impl Space {
    pub(crate) fn of(shape: &Shape) -> Space {
        match shape.dims().split_last() {
            Some((Dim::Const(cols), rows)) => Space { rows: not_one(rows), cols: *cols },
            // A vector of indices, `i32[T]`: rows of one column.
            Some((_, _)) => Space { rows: not_one(shape.dims()), cols: 1 },
            None => Space { rows: Vec::new(), cols: 1 },
        }
    }
}

fn not_one(dims: &[Dim]) -> Vec<Dim> {
    dims.iter().copied().filter(|d| *d != Dim::Const(1)).collect()
}

/// Converts strides of a shape's axes to those of its space: one for each row axis, and the step between columns.
pub(crate) fn by_space(shape: &Shape, strides: &[usize]) -> (Vec<usize>, usize) {
    let cols_axis = match shape.dims().last() {
        Some(Dim::Const(_)) => shape.rank() - 1,
        _ => shape.rank(),
    };
    let rows = (0..cols_axis).filter(|i| shape.dims()[*i] != Dim::Const(1)).map(|i| strides[i]).collect();
    (rows, strides.get(cols_axis).copied().unwrap_or(0))
}

/// Strides for reading an operand at each value of a result that it broadcasts to.
pub(crate) fn broadcast(operand: &Shape, strides: &[usize], result: &Shape) -> Vec<usize> {
    let missing = result.rank() - operand.rank();
    (0..result.rank())
        .map(|i| match i.checked_sub(missing) {
            Some(j) if operand.dims()[j] != Dim::Const(1) => strides[j],
            _ => 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dims: &[usize]) -> Shape {
        Shape::new(std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect::<Vec<_>>())
    }

    #[test]
    fn reshapes_of_evenly_spaced_memory_need_no_copy() {
        let of =
            |from: &[usize], strides: &[usize], to: &[usize]| reshaped(&shape(from), strides, &shape(to));
        assert_eq!(of(&[5120], &[5120, 1], &[20, 256]), Some(vec![5120, 256, 1]));
        assert_eq!(of(&[20, 256], &[5120, 256, 1], &[5120]), Some(vec![5120, 1]));
        // The first 192 of each head: evenly spaced within a head only.
        assert_eq!(of(&[20, 192], &[5120, 256, 1], &[20 * 192]), None);
        assert_eq!(of(&[20, 192], &[5120, 256, 1], &[4, 5, 2, 96]), Some(vec![5120, 1280, 256, 96, 1]));
        assert_eq!(of(&[1, 64], &[576, 576, 1], &[64]), Some(vec![576, 1]));
        assert_eq!(of(&[4], &[4, 1], &[4, 1]), Some(vec![4, 1, 0]));
    }

    #[test]
    fn spaces_ignore_axes_of_one() {
        let a = Space::of(&shape(&[1, 64]));
        assert_eq!(a, Space::of(&shape(&[64])));
        assert_eq!(by_space(&shape(&[1, 64]), &[576, 9, 1]), (vec![576], 1));
        assert_eq!(Space::of(&shape(&[])), Space { rows: vec![Dim::T], cols: 1 });
        assert_eq!(by_space(&shape(&[]), &[1]), (vec![1], 0));
    }
}
