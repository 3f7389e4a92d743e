//! Random graphs, with many of the patterns that laws match.

use weft_ir::{Builder, Dim, Graph, NodeId, Shape};
use weft_quant::GgmlType::F32;
use weft_random::Random;

/// The number of operations that grow a graph.
const STEPS: usize = 14;

struct Grower {
    g: Builder,
    random: Random,
    /// Values with their axes after `T`.
    pool: Vec<(NodeId, Vec<usize>)>,
    weights: usize,
}

fn tokens(dims: &[usize]) -> Shape {
    Shape::new(std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect::<Vec<_>>())
}

impl Grower {
    /// A weight, or a part of one twice as large.
    fn weight(&mut self, dims: &[usize], axis: usize) -> NodeId {
        self.weights += 1;
        let part = self.random.below(3);
        let mut whole = dims.to_vec();
        whole[axis] *= if part == 0 { 1 } else { 2 };
        let shape = whole.into_iter().map(Dim::Const).collect::<Vec<_>>();
        let weight = self.g.weight(format!("w{}", self.weights), F32, Shape::new(shape));
        match part {
            0 => weight,
            _ => self.g.slice(weight, axis, (part - 1) * dims[axis], dims[axis]),
        }
    }

    /// Adds two parts of the last axis.
    fn cut(&mut self, x: NodeId, dims: &[usize]) {
        let half = dims[dims.len() - 1] / 2;
        for start in [0, half] {
            let part = self.g.slice(x, dims.len(), start, half);
            let mut dims = dims.to_vec();
            *dims.last_mut().unwrap() = half;
            self.pool.push((part, dims));
        }
    }

    fn grow(&mut self) {
        let recent = self.pool.len().min(4);
        let (x, mut dims) = self.pool[self.pool.len() - 1 - self.random.below(recent)].clone();
        let last = dims.len() - 1;
        let grown = match (self.random.below(9), dims.len()) {
            (0, _) => {
                let one = self.g.scalar([1.0, 0.5][self.random.below(2)]);
                let two = self.g.scalar(2.0);
                let scalar = if self.random.below(2) == 0 { one } else { self.g.mul(one, two) };
                self.g.mul(x, scalar)
            }
            (1, 1) if dims[0].is_multiple_of(2) => {
                dims = vec![2, dims[0] / 2];
                self.g.reshape(x, tokens(&dims))
            }
            (1 | 2, 2) => {
                dims = vec![dims[0] * dims[1]];
                self.g.reshape(x, tokens(&dims))
            }
            (3, _) if dims[last] >= 4 && dims[last].is_multiple_of(2) => return self.cut(x, &dims),
            (4, _) => {
                let (y, other) = self.pool[self.random.below(self.pool.len())].clone();
                if other.len() != dims.len() || other[..last] != dims[..last] || dims[last] + other[last] > 32
                {
                    return;
                }
                dims[last] += other[last];
                let joined = self.g.concat(&[x, y], last + 1);
                return self.cut(joined, &dims);
            }
            (5 | 6, 1) => {
                let w = self.weight(&[8, dims[0]], 0);
                dims = vec![8];
                let y = self.g.dot(x, w);
                if self.random.below(2) == 0 {
                    return self.cut(y, &dims);
                }
                y
            }
            (5 | 6, _) => {
                let w = self.weight(&[dims[0], 4, dims[1]], 1);
                let inner = self.g.head_dot(x, w);
                let w = self.weight(&[dims[0], 8, 4], 1);
                dims[1] = 8;
                self.g.head_dot(inner, w)
            }
            (7, 1) if dims[0] >= 2 => {
                let ids = self.g.topk(x, 2);
                let weights = self.g.take(x, ids);
                let w = self.weight(&[dims[0], 4, dims[0]], 1);
                let up = self.g.select_dot(x, w, ids);
                let w = self.weight(&[dims[0], 8, 4], 1);
                let each = self.g.select_dot(up, w, ids);
                let weights = self.g.reshape(weights, tokens(&[2, 1]));
                let weighted = self.g.mul(weights, each);
                let sum = self.g.reduce_sum(weighted, 1);
                dims = vec![8];
                self.g.reshape(sum, tokens(&dims))
            }
            (7, 2) => {
                let w = self.weight(&[dims[0], 4, dims[1]], 1);
                let heads = self.g.head_dot(x, w);
                let joined = self.g.reshape(heads, tokens(&[dims[0] * 4]));
                let w = self.weight(&[8, dims[0] * 4], 0);
                dims = vec![8];
                self.g.dot(joined, w)
            }
            _ => self.g.sigmoid(x),
        };
        self.pool.push((grown, dims));
    }
}

/// The random graph of a seed. No node in it is dead, and no two are equal.
pub(super) fn random_graph(seed: u64) -> Graph {
    let random = Random::new(seed);
    let mut grower = Grower { g: Builder::new("random"), random, pool: Vec::new(), weights: 0 };
    for (name, dims) in [("a", vec![8]), ("b", vec![2, 8])] {
        let id = grower.g.input(name, F32, tokens(&dims));
        grower.pool.push((id, dims));
    }
    (0..STEPS).for_each(|_| grower.grow());
    // Nodes without users are outputs, unused inputs included.
    let draft = grower.g.finish().unwrap();
    let mut g = Builder::new("random");
    let mut map: Vec<NodeId> = Vec::new();
    for node in draft.nodes() {
        let inputs = node.inputs.iter().map(|input| map[input.index()]).collect();
        map.push(g.push(node.op.clone(), inputs, Some(node.ty.clone())));
    }
    for (at, _) in draft.users().iter().enumerate().filter(|(_, users)| users.is_empty()) {
        g.output(format!("y{at}"), map[at]);
    }
    g.finish().unwrap()
}
