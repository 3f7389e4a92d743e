//! Random graphs, with many of the patterns that rules match.

use weft_ir::{Builder, Dim, Graph, NodeId, RopeStyle, Shape};
use weft_quant::GgmlType;
use weft_random::Random;

/// Grows a graph by random operations on random earlier nodes.
struct Grower {
    g: Builder,
    random: Random,
    /// Nodes to choose operands from, with their axes after `T`.
    pool: Vec<(NodeId, Vec<usize>)>,
    weights: usize,
}

fn with_tokens(dims: &[usize]) -> Shape {
    Shape::new(std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect::<Vec<_>>())
}

impl Grower {
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    /// A random node with this many axes after `T`.
    fn pick(&mut self, rank: usize) -> (NodeId, Vec<usize>) {
        let fitting: Vec<_> = self.pool.iter().filter(|(_, dims)| dims.len() == rank).cloned().collect();
        // Prefer the latest: chains of operations are what rules match.
        let n = fitting.len();
        let at = if self.below(2) == 0 { n - 1 - self.below(n.min(3)) } else { self.below(n) };
        fitting[at].clone()
    }

    fn weight(&mut self, dims: &[usize]) -> NodeId {
        self.weights += 1;
        let shape: Vec<Dim> = dims.iter().map(|d| Dim::Const(*d)).collect();
        self.g.weight(format!("w{}", self.weights), GgmlType::F32, Shape::new(shape))
    }

    /// One, another number, or a number computed from constants.
    fn scalar(&mut self) -> NodeId {
        let number = [1.0, -0.5, 0.25, 0.0][self.below(4)];
        let number = self.g.scalar(number);
        if self.below(3) == 0 {
            let half = self.g.scalar(0.5);
            return if self.below(2) == 0 { self.g.mul(number, half) } else { self.g.neg(number) };
        }
        number
    }

    /// Slices the last axis into parts, which mostly do not overlap.
    fn cut(&mut self, x: NodeId, dims: &[usize]) {
        let last = dims.len() - 1;
        let (n, axis) = (dims[last], dims.len());
        let half = n / 2;
        let overlap = usize::from(self.below(5) == 0);
        for (start, len) in [(0, half), (half - overlap, n - half)] {
            let part = self.g.slice(x, axis, start, len);
            let mut dims = dims.to_vec();
            dims[last] = len;
            self.pool.push((part, dims));
        }
    }

    fn grow(&mut self) {
        let choice = self.below(14);
        let rank = 1 + self.below(2);
        let (x, mut dims) = self.pick(rank);
        let last = dims.len() - 1;
        let grown = match choice {
            0 => self.g.sigmoid(x),
            1 => {
                let scalar = self.scalar();
                match self.below(3) {
                    0 => self.g.mul(x, scalar),
                    1 => self.g.mul(scalar, x),
                    _ => self.g.add(x, scalar),
                }
            }
            2 => {
                let one = self.g.vector(&vec![1.0; dims[last]]);
                self.g.div(x, one)
            }
            3 if rank == 1 && dims[0].is_multiple_of(4) => {
                let heads = [1, 2, 4][self.below(3)];
                dims = vec![heads, dims[0] / heads];
                self.g.reshape(x, with_tokens(&dims))
            }
            3 | 4 if rank == 2 => {
                dims = vec![dims[0] * dims[1]];
                self.g.reshape(x, with_tokens(&dims))
            }
            5 if dims[last] >= 4 => return self.cut(x, &dims),
            6 => {
                let (y, other) = self.pick(rank);
                if dims[..last] != other[..last] || dims[last] + other[last] > 96 {
                    return;
                }
                let joined = self.g.concat(&[x, y], last + 1);
                dims[last] += other[last];
                if self.below(2) == 0 {
                    return self.cut(joined, &dims);
                }
                joined
            }
            7 | 8 => {
                let n = [8, 32][self.below(2)];
                let w = self.weight(&[n, dims[last]]);
                dims[last] = n;
                let y = self.g.dot(x, w);
                match self.below(3) {
                    0 => return self.cut(y, &dims),
                    1 if rank == 1 => {
                        dims = vec![2, n / 2];
                        let heads = self.g.reshape(y, with_tokens(&dims));
                        return self.cut(heads, &dims);
                    }
                    _ => y,
                }
            }
            9 if rank == 2 => {
                let n = [4, 8][self.below(2)];
                let w = self.weight(&[dims[0], n, dims[1]]);
                let y = self.g.head_dot(x, w);
                dims[1] = n;
                match self.below(3) {
                    0 => return self.cut(y, &dims),
                    1 => {
                        let width = dims[0] * n;
                        let w = self.weight(&[8, width]);
                        let rows: &[usize] = if self.below(2) == 0 { &[] } else { &[1] };
                        let joined = self.g.reshape(y, with_tokens(&[rows, &[width]].concat()));
                        dims = [rows, &[8]].concat();
                        self.g.dot(joined, w)
                    }
                    _ => {
                        let w = self.weight(&[dims[0], 8, n]);
                        dims[1] = 8;
                        self.g.head_dot(y, w)
                    }
                }
            }
            10 | 11 if rank == 1 && dims[0] >= 2 => {
                let ids = self.g.topk(x, 2);
                let weights = self.g.take(x, ids);
                let w = self.weight(&[dims[0], 8, dims[0]]);
                let up = self.g.select_dot(x, w, ids);
                if self.below(3) == 0 {
                    return self.cut(up, &[2, 8]);
                }
                let w = self.weight(&[dims[0], 8, 8]);
                let each = self.g.select_dot(up, w, ids);
                let weights = self.g.reshape(weights, with_tokens(&[2, 1]));
                let weighted =
                    if self.below(2) == 0 { self.g.mul(each, weights) } else { self.g.mul(weights, each) };
                if self.below(4) == 0 {
                    self.pool.push((weighted, vec![2, 8]));
                }
                let sum = self.g.reduce_sum(weighted, 1);
                dims = vec![8];
                self.g.reshape(sum, with_tokens(&dims))
            }
            12 if dims[last] == 8 => {
                let [cos, sin] = ["cos", "sin"].map(|n| self.g.input(n, GgmlType::F32, with_tokens(&[4])));
                self.g.rope(x, cos, sin, RopeStyle::Pairs)
            }
            13 => {
                let reduced = self.g.reduce_max(x, last + 1);
                self.g.sub(x, reduced)
            }
            _ => return,
        };
        self.pool.push((grown, dims));
    }
}

/// The random graph of a seed.
pub(crate) fn random_graph(seed: u64) -> Graph {
    let mut grower = Grower {
        g: Builder::new(format!("random_{seed}")),
        random: Random::new(seed),
        pool: Vec::new(),
        weights: 0,
    };
    for (name, dims) in [("a", vec![32]), ("b", vec![8]), ("c", vec![4, 8]), ("d", vec![2, 16])] {
        let id = grower.g.input(name, GgmlType::F32, with_tokens(&dims));
        grower.pool.push((id, dims));
    }
    (0..30).for_each(|_| grower.grow());
    // The latest nodes, and one from anywhere, which may have users too.
    let mut outputs: Vec<NodeId> = grower.pool.iter().rev().take(6).map(|(id, _)| *id).collect();
    let anywhere = grower.below(grower.pool.len());
    outputs.push(grower.pool[anywhere].0);
    for (i, id) in outputs.into_iter().enumerate() {
        grower.g.output(format!("y{i}"), id);
    }
    grower.g.finish().unwrap()
}
