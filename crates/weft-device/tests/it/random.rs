//! Random graphs compute the same as their plans, wherever the fuser cuts them.

use crate::support::check;
use weft_fuse::{Mode, decisions};
use weft_ir::{Builder, Dim, Graph, NodeId, Recurrence, RopeStyle, Shape, Switches};
use weft_quant::GgmlType;
use weft_random::Random;

/// Grows a graph by random operations on random earlier nodes.
struct Grower {
    g: Builder,
    random: Random,
    /// Nodes to choose operands from, with their axes after `T`.
    pool: Vec<(NodeId, Vec<usize>)>,
    weights: usize,
    states: usize,
    rounded: bool,
}

impl Grower {
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    /// A random node with this many axes after `T`, if there is one.
    fn pick(&mut self, rank: usize) -> Option<(NodeId, Vec<usize>)> {
        let fitting: Vec<_> = self.pool.iter().filter(|(_, dims)| dims.len() == rank).cloned().collect();
        if fitting.is_empty() { None } else { Some(fitting[self.below(fitting.len())].clone()) }
    }

    fn weight(&mut self, dims: &[usize]) -> NodeId {
        let row = dims[dims.len() - 1];
        let quantised = self.rounded && row.is_multiple_of(32) && self.below(2) == 0;
        let ty = if quantised { [GgmlType::Q8_0, GgmlType::Q4_1][self.below(2)] } else { GgmlType::F32 };
        self.weights += 1;
        let name = format!("w{}", self.weights);
        self.g.weight(name, ty, Shape::new(dims.iter().map(|d| Dim::Const(*d)).collect::<Vec<_>>()))
    }

    /// Keeps magnitudes near 1, so that errors stay those of rounding.
    fn keep(&mut self, id: NodeId, dims: Vec<usize>, large: bool) {
        let id = if large {
            let scale = self.g.scalar(0.2);
            let scaled = self.g.mul(id, scale);
            let half = self.g.sigmoid(scaled);
            let two = self.g.scalar(2.0);
            let wide = self.g.mul(half, two);
            let one = self.g.scalar(1.0);
            self.g.sub(wide, one)
        } else {
            id
        };
        self.pool.push((id, dims));
    }

    /// One random operation; `None` if the operands drawn do not fit it.
    fn grow(&mut self) -> Option<()> {
        let choice = self.below(17);
        let rank = 1 + self.below(2);
        let (x, mut dims) = self.pick(rank)?;
        let last = dims.len() - 1;
        match choice {
            0 => {
                let y = if self.below(2) == 0 { self.g.silu(x) } else { self.g.neg(x) };
                self.keep(y, dims, false);
            }
            1 | 2 => {
                let (y, other) = self.pick(rank)?;
                let fits = dims.iter().zip(&other).all(|(a, b)| a == b || *a == 1 || *b == 1);
                if !fits {
                    return None;
                }
                let z = if choice == 1 { self.g.add(x, y) } else { self.g.mul(x, y) };
                let dims = dims.iter().zip(&other).map(|(a, b)| *a.max(b)).collect();
                self.keep(z, dims, choice == 1);
            }
            3 => {
                let axis = self.below(dims.len());
                let y = if self.below(2) == 0 {
                    self.g.reduce_max(x, axis + 1)
                } else {
                    self.g.reduce_sum(x, axis + 1)
                };
                dims[axis] = 1;
                self.keep(y, dims, true);
            }
            4 if dims.len() == 1 && dims[0].is_multiple_of(4) => {
                let heads = [1, 2, 4][self.below(3)];
                let dims = vec![heads, dims[0] / heads];
                let y = self.g.reshape(x, [Dim::T, dims[0].into(), dims[1].into()]);
                self.keep(y, dims, false);
            }
            4 | 5 if dims.len() == 2 => {
                let n = dims[0] * dims[1];
                let y = self.g.reshape(x, [Dim::T, Dim::Const(n)]);
                self.keep(y, vec![n], false);
            }
            6 if dims[last].is_multiple_of(8) => {
                let len = dims[last] / 2;
                let start = [0, len, 4][self.below(3)];
                let y = self.g.slice(x, last + 1, start, len);
                dims[last] = len;
                self.keep(y, dims, false);
            }
            7 => {
                let (y, other) = self.pick(rank)?;
                if dims[..last] != other[..last] || dims[last] + other[last] > 96 {
                    return None;
                }
                let z = self.g.concat(&[x, y], last + 1);
                dims[last] += other[last];
                self.keep(z, dims, false);
            }
            8 if dims[last] == 8 => {
                let [cos, sin] =
                    ["cos", "sin"].map(|n| self.g.input(n, GgmlType::F32, [Dim::T, Dim::Const(4)]));
                let style = RopeStyle::ALL[self.below(2)];
                let y = self.g.rope(x, cos, sin, style);
                self.keep(y, dims, false);
            }
            9 | 10 => {
                let n = [8, 32, 64][self.below(3)];
                let w = self.weight(&[n, dims[last]]);
                let y = self.g.dot(x, w);
                dims[last] = n;
                self.keep(y, dims, true);
            }
            11 if dims.len() == 2 => {
                let transposed = self.below(2) == 0;
                let (n, k) = ([8, 32][self.below(2)], dims[1]);
                let w = self.weight(&if transposed { [dims[0], k, n] } else { [dims[0], n, k] });
                let y = if transposed { self.g.head_dot_transposed(x, w) } else { self.g.head_dot(x, w) };
                self.keep(y, vec![dims[0], n], true);
            }
            12 if dims[last] >= 2 && dims.len() == 1 && !self.rounded => {
                let k = 1 + self.below(2);
                let ids = self.g.topk(x, k);
                let taken = self.g.take(x, ids);
                self.keep(taken, vec![k], false);
                let (y, other) = self.pick(1)?;
                let w = self.weight(&[dims[0], 8, other[0]]);
                let z = self.g.select_dot(y, w, ids);
                self.keep(z, vec![k, 8], true);
            }
            // A gate and its operand.
            13 => {
                let n = [8, 32][self.below(2)];
                let [a, b] = [0, 1].map(|_| self.weight(&[n, dims[last]]));
                let (gate, up) = (self.g.dot(x, a), self.g.dot(x, b));
                let gate = self.g.sigmoid(gate);
                let y = self.g.mul(gate, up);
                dims[last] = n;
                self.keep(y, dims, true);
            }
            // A norm, of sorts.
            14 if dims.len() == 1 => {
                let squares = self.g.mul(x, x);
                let sum = self.g.reduce_sum(squares, 1);
                let one = self.g.scalar(1.0);
                let above_zero = self.g.add(sum, one);
                let scale = self.g.rsqrt(above_zero);
                let y = self.g.mul(x, scale);
                self.keep(y, dims, false);
            }
            // Experts, weighted and summed, some chosen twice.
            15 if dims.len() == 2 && dims[0] == 4 => {
                let ids = self.g.input("expert_ids", GgmlType::I32, [Dim::T, Dim::Const(4)]);
                let w = self.weight(&[3, 32, dims[1]]);
                let each = self.g.select_dot(x, w, ids);
                let (weights, _) = self.pool.iter().find(|(_, dims)| dims[..] == [4]).cloned()?;
                let weights = self.g.reshape(weights, [Dim::T, Dim::Const(4), Dim::Const(1)]);
                let weighted = self.g.mul(each, weights);
                let sum = self.g.reduce_sum(weighted, 1);
                let y = self.g.reshape(sum, [Dim::T, Dim::Const(32)]);
                self.keep(y, vec![32], true);
            }
            // A running sum over each sequence, which forgets.
            16 if dims.len() == 2 => {
                let decays = self.pool.iter().find(|(_, other)| other[..] == dims[..1]).cloned();
                let decay = self.g.sigmoid(decays?.0);
                self.states += 1;
                let width = self.g.scan_state(Recurrence::Decay, &[x, decay])?.values()?;
                let state = self.g.sequence_state(format!("s{}", self.states), [Dim::S, Dim::Const(width)]);
                let rows = self.g.scan_rows();
                let y = self.g.scan(Recurrence::Decay, &[x, decay], state, rows);
                self.keep(y, dims, true);
            }
            _ => return None,
        }
        Some(())
    }
}

fn random_graph(seed: u64, rounded: bool) -> Graph {
    let random = Random::new(seed);
    let mut grower = Grower {
        g: Builder::new(format!("random_{seed}")),
        random,
        pool: Vec::new(),
        weights: 0,
        states: 0,
        rounded,
    };
    for (name, dims) in [("a", vec![32]), ("b", vec![8]), ("c", vec![4, 8]), ("d", vec![1]), ("e", vec![4])] {
        let shape: Vec<Dim> = std::iter::once(Dim::T).chain(dims.iter().map(|d| Dim::Const(*d))).collect();
        let id = grower.g.input(name, GgmlType::F32, Shape::new(shape));
        grower.pool.push((id, dims));
    }
    let mut grown = 0;
    while grown < 14 {
        grown += usize::from(grower.grow().is_some());
    }
    // The last nodes, and one from anywhere, which may also be used inside.
    let from_anywhere = grower.below(grower.pool.len());
    let mut outputs: Vec<NodeId> = grower.pool.iter().rev().take(3).map(|(id, _)| *id).collect();
    outputs.push(grower.pool[from_anywhere].0);
    for (i, id) in outputs.into_iter().enumerate() {
        grower.g.output(format!("y{i}"), id);
    }
    grower.g.finish().unwrap()
}

/// Compiles each graph with default decisions, with all on, all off, and each one switched.
fn check_all_ways(graph: &Graph, seed: u64, bound: f64) {
    check(graph, seed, bound, &Switches::default());
    for mode in [Mode::On, Mode::Off] {
        let mut all = Switches::default();
        decisions().for_each(|d| all.set(d, mode));
        check(graph, seed, bound, &all);
    }
    for decision in decisions() {
        for mode in [Mode::On, Mode::Off] {
            if mode != decision.default {
                let mut one = Switches::default();
                one.set(decision, mode);
                check(graph, seed, bound, &one);
            }
        }
    }
}

#[test]
fn random_graphs_of_plain_matrices() {
    for seed in 0..200 {
        // The bound allows for results that are products of a dozen rounded sums.
        check_all_ways(&random_graph(seed, false), seed, 1e-4);
    }
}

#[test]
fn random_graphs_of_quantised_matrices() {
    for seed in 1000..1200 {
        // 8-bit activations through a few matrices in a row, some results near zero.
        check_all_ways(&random_graph(seed, true), seed, 0.15);
    }
}
