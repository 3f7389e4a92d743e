//! Partial results, and the tree in which they are joined (see [`super`]).
//!
//! In that tree, 2ⁿ blocks that begin at a multiple of 2ⁿ are one node, whatever follows, made of two halves: a thread can join these as
//! soon as it has both. The remaining nodes of a sequence are joined from the last one on.

use std::ops::Range;

use crate::isa::{Line, Simd, Work};
use crate::math;

/// A node of the tree: 2^level blocks, from `index · 2^level` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) level: u32,
    pub(super) index: usize,
}

impl Node {
    /// The nodes that a stretch of blocks has in the tree, in order, if no row sees blocks before `begin`.
    pub(super) fn of(blocks: Range<usize>, begin: usize) -> impl Iterator<Item = Node> {
        let mut at = if blocks.start > begin { blocks.start } else { 0 };
        let all = std::iter::from_fn(move || {
            let left = blocks.end.checked_sub(at).filter(|left| *left > 0)?;
            let level = at.trailing_zeros().min(left.ilog2());
            let node = Node { level, index: at >> level };
            at += 1 << level;
            Some(node)
        });
        all.filter(move |node| (node.index + 1) << node.level > begin)
    }

    /// The node whose first half no row sees, if this is the second.
    fn alone(self, begin: usize) -> Option<Node> {
        let alone = !self.index.is_multiple_of(2) && self.index << self.level <= begin;
        alone.then_some(Node { level: self.level + 1, index: self.index / 2 })
    }

    /// The node it forms with the next one, if they are halves of one node.
    fn with(self, next: Node) -> Option<Node> {
        let halves = self.level == next.level && self.index.is_multiple_of(2) && next.index == self.index + 1;
        halves.then_some(Node { level: self.level + 1, index: self.index / 2 })
    }
}

/// The partial results of a unit's rows for consecutive ranges of blocks.
///
/// For each row: the largest score, the sum of weights, and the weighted values. A row that sees no position of a range has a sum
/// of 0 and no values, and is skipped when nodes are joined: so a token's bits do not depend on tokens that see more. Nor do they
/// depend on blocks before all windows. These are not on the stack, and count as halves without positions.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    pub(super) ids: &'a mut Vec<Node>,
    /// `rows · lines` for each node, then room for another.
    pub(super) values: &'a mut [Line],
    /// `rows` for each.
    pub(super) sums: &'a mut [(f32, f32)],
    pub(super) rows: usize,
    /// Lines of a row.
    pub(super) lines: usize,
    /// The first block that any row sees.
    pub(super) begin: usize,
}

impl Stack<'_> {
    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// One of its nodes, or the free room after the last.
    #[inline(always)]
    pub(super) fn node(&self, i: usize) -> (&[(f32, f32)], &[Line]) {
        let (rows, lines) = (self.rows, self.rows * self.lines);
        (&self.sums[i * rows..][..rows], &self.values[i * lines..][..lines])
    }

    /// The free room for another node.
    #[inline(always)]
    pub(super) fn next(&mut self) -> (&mut [(f32, f32)], &mut [Line]) {
        let (i, rows, lines) = (self.ids.len(), self.rows, self.rows * self.lines);
        (&mut self.sums[i * rows..][..rows], &mut self.values[i * lines..][..lines])
    }

    /// Pushes the node that was written to the free room, and joins halves.
    #[inline(always)]
    pub(super) fn push<S: Simd>(&mut self, simd: S, mut node: Node) {
        loop {
            if let Some(whole) = self.ids.last().and_then(|last| last.with(node)) {
                self.ids.pop();
                self.join(simd);
                node = whole;
            } else if let Some(whole) = node.alone(self.begin) {
                node = whole;
            } else {
                break;
            }
        }
        self.ids.push(node);
    }

    /// Joins the two nodes after the last one of the stack.
    #[inline(always)]
    fn join<S: Simd>(&mut self, simd: S) {
        let (i, rows, lines) = (self.ids.len(), self.rows, self.rows * self.lines);
        let (sums, next_sums) = self.sums[i * rows..][..2 * rows].split_at_mut(rows);
        let (values, next_values) = self.values[i * lines..][..2 * lines].split_at_mut(lines);
        let values = values.chunks_mut(self.lines).zip(next_values.chunks(self.lines));
        for (((m, l), (next_m, next_l)), (y, next_y)) in sums.iter_mut().zip(next_sums).zip(values) {
            if *next_l == 0.0 {
                continue;
            }
            if *l == 0.0 {
                (*m, *l) = (*next_m, *next_l);
                y.copy_from_slice(next_y);
                continue;
            }
            let top = math::max(&[*m, *next_m]);
            let (a, b) = (math::exp(*m - top), math::exp(*next_m - top));
            *m = top;
            *l = next_l.mul_add(b, *l * a);
            let (a, b) = (simd.float(a), simd.float(b));
            for (y, next_y) in y.iter_mut().zip(next_y) {
                simd.store(simd.mul_add(simd.load(next_y), b, simd.mul(simd.load(y), a)), &mut y.0);
            }
        }
    }

    /// The weighted values of the only node.
    pub(super) fn result(&self) -> &[Line] {
        self.node(0).1
    }
}

/// Joins all nodes, from the last on, and divides by the sums.
pub(super) struct Finish<'a, 'b> {
    pub(super) stack: &'a mut Stack<'b>,
    /// A further score of each head's softmax.
    pub(super) sinks: Option<&'a [f32]>,
}

impl Work for Finish<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let stack = self.stack;
        while stack.len() > 1 {
            stack.ids.truncate(stack.len() - 2);
            stack.join(simd);
            stack.ids.push(Node { level: 0, index: 0 });
        }
        let (rows, lines) = (stack.rows, stack.lines);
        if let Some(sinks) = self.sinks {
            let values = stack.values.chunks_exact_mut(lines);
            for (((m, l), y), sink) in stack.sums[..rows].iter_mut().zip(values).zip(sinks.iter().cycle()) {
                let top = math::max(&[*m, *sink]);
                let (a, b) = (math::exp(*m - top), math::exp(*sink - top));
                *l = *l * a + b;
                for line in y {
                    for y in &mut line.0 {
                        *y *= a;
                    }
                }
            }
        }
        for ((_, l), y) in stack.sums[..rows].iter().zip(stack.values.chunks_exact_mut(lines)) {
            for line in y {
                for y in &mut line.0 {
                    *y /= l;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a node.
    fn span(node: Node) -> std::ops::Range<usize> {
        node.index << node.level..(node.index + 1) << node.level
    }

    /// The nodes that stay on a stack after these are pushed.
    fn pushed(nodes: impl Iterator<Item = Node>, begin: usize, stack: &mut Vec<Node>) {
        for mut node in nodes {
            loop {
                if let Some(whole) = stack.last().and_then(|last| last.with(node)) {
                    stack.pop();
                    node = whole;
                } else if let Some(whole) = node.alone(begin) {
                    node = whole;
                } else {
                    break;
                }
            }
            stack.push(node);
        }
    }

    /// Nodes of one block each.
    fn single(blocks: Range<usize>) -> impl Iterator<Item = Node> {
        blocks.map(|index| Node { level: 0, index })
    }

    #[test]
    fn however_blocks_are_cut_the_same_nodes_are_left() {
        for (blocks, begin) in (1..40).flat_map(|blocks| [0, blocks / 3, blocks - 1].map(|at| (blocks, at))) {
            let mut whole = Vec::new();
            pushed(single(begin..blocks), begin, &mut whole);
            assert_eq!(whole, Node::of(begin..blocks, begin).collect::<Vec<_>>());
            for a in begin..=blocks {
                for b in a..=blocks {
                    let mut joined = Vec::new();
                    for cut in [begin..a, a..b, b..blocks] {
                        let mut own = Vec::new();
                        pushed(single(cut.clone()), begin, &mut own);
                        if !cut.is_empty() {
                            assert_eq!(own, Node::of(cut.clone(), begin).collect::<Vec<_>>(), "{cut:?}");
                        }
                        let covered: Vec<usize> = own.iter().flat_map(|n| span(*n)).collect();
                        let seen: Vec<usize> = covered.into_iter().filter(|block| *block >= begin).collect();
                        assert_eq!(seen, cut.collect::<Vec<_>>());
                        assert!(own.len() as u32 <= 2 * blocks.ilog2() + 1);
                        pushed(own.into_iter(), begin, &mut joined);
                    }
                    assert_eq!(joined, whole, "{a} and {b} of {begin}..{blocks}");
                }
            }
        }
    }

    /// Blocks that nothing sees are joined as if they were there: the same halves meet.
    #[test]
    fn blocks_before_the_window_change_no_node() {
        for (blocks, begin) in (1..40).flat_map(|blocks| (0..blocks).map(move |begin| (blocks, begin))) {
            let (mut all, mut seen) = (Vec::new(), Vec::new());
            pushed(single(0..blocks), 0, &mut all);
            pushed(single(begin..blocks), begin, &mut seen);
            all.retain(|node| span(*node).end > begin);
            assert_eq!(seen, all, "{begin}..{blocks}");
        }
    }
}
