//! Decides which values are written to memory, in which format, and where.
//!
//! A value goes to memory only if something outside its kernel reads it. Rounded copies for quantised matrices are written by the
//! kernel that computes the value, once for all readers. The parts of a concatenation and the rows of a store are written to
//! their places directly; only values that no kernel computes (an input, a slice of something else) are copied.

use std::collections::{BTreeMap, BTreeSet};

use weft_ir::{Graph, NodeId, Op, Recurrence, Switches};
use weft_kern::{Buffer, BufferId, Format, Source, q8};
use weft_quant::GgmlType;

use crate::decide;
use crate::error::FuseError;
use crate::group::{Class, Groups, class, is_product, through_identity};
use crate::strided::{Strided, by_space, reshaped, row_major, view};

/// A place that a value is written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) buffer: BufferId,
    pub(crate) offset: usize,
    /// The distance between rows, for each row axis of the value's space.
    pub(crate) rows: Vec<usize>,
    /// The distance between columns.
    pub(crate) step: usize,
    /// For rows selected by index: the node that holds the indices, and the distance between rows.
    pub(crate) indexed: Option<(NodeId, usize)>,
}

/// A value that is only written somewhere else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) from: NodeId,
    pub(crate) to: Target,
}

/// Where every value is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) copies: Vec<Copy>,
    /// Rows of weights that are read where they are needed.
    pub(crate) lookups: BTreeSet<NodeId>,
    dense: BTreeMap<NodeId, BufferId>,
    rounded: BTreeMap<NodeId, BufferId>,
    targets: BTreeMap<NodeId, Vec<Target>>,
}

impl Placed {
    /// The places that a computed node is written to.
    pub(crate) fn targets(&self, id: NodeId) -> &[Target] {
        self.targets.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The buffer that holds a node's values as they are, and their layout in it.
    ///
    /// # Panics
    /// If it was not requested; [`place`] requests all operands.
    pub(crate) fn dense(&self, graph: &Graph, id: NodeId) -> (BufferId, Strided) {
        let at = view(graph, id);
        (self.dense[&at.base], at)
    }

    /// The buffer that holds a node's values contiguously and nothing else.
    ///
    /// # Panics
    /// If it was not requested.
    pub(crate) fn whole(&self, graph: &Graph, id: NodeId) -> BufferId {
        self.dense.get(&id).copied().unwrap_or_else(|| self.dense[&view(graph, id).base])
    }

    /// The buffer that holds a node's values rounded to `q8`, and their layout in it.
    ///
    /// # Panics
    /// If it was not requested.
    pub(crate) fn rounded(&self, graph: &Graph, id: NodeId) -> (BufferId, Strided) {
        if let Some(copy) = self.rounded.get(&id) {
            let strides = row_major(&graph.node(id).ty.shape);
            return (*copy, Strided { base: id, offset: 0, strides });
        }
        let at = view(graph, id);
        (self.rounded[&at.base], at)
    }
}

/// Returns whether an anchor reads its first operand rounded.
pub(crate) fn reads_rounded(graph: &Graph, anchor: NodeId) -> bool {
    let node = graph.node(anchor);
    let transposed = node.op == Op::HeadDot { transposed: true };
    is_product(&node.op) && !transposed && graph.node(node.inputs[1]).ty.dtype.is_quantised()
}

/// Places all values of a graph.
pub(crate) fn place(graph: &Graph, groups: &Groups, switches: &Switches) -> Result<Placed, FuseError> {
    let round_in_place = switches.on(&decide::ROUND);
    let mut placer = Placer { graph, groups, round_in_place, out: Placed::default() };
    for (name, id) in graph.outputs() {
        placer.output(name, *id)?;
    }
    for (g, group) in groups.list.iter().enumerate() {
        for member in &group.members {
            for (i, input) in graph.node(*member).inputs.iter().enumerate() {
                let before = group.prologue.is_some_and(|p| groups.is_value(graph, *input, p));
                if i == 0 && before && group.anchors.contains(member) {
                    // Never in memory.
                } else if groups.is_lookup(*input) {
                    let rows = graph.node(*input);
                    placer.out.lookups.insert(*input);
                    placer.request_whole(rows.inputs[0])?;
                    placer.request_dense(rows.inputs[1])?;
                } else if i == 0 && reads_rounded(graph, *member) {
                    placer.request_rounded(*input)?;
                } else if whole(graph, *member, i) {
                    placer.request_whole(*input)?;
                } else if class(graph, *input) != Class::Scalar && !groups.is_value(graph, *input, g) {
                    placer.request_dense(*input)?;
                }
            }
        }
    }
    Ok(placer.out)
}

/// The plan's name for a parameter that no file has: `product%3`.
pub(crate) fn parameter_name(graph: &Graph, id: NodeId) -> String {
    format!("{}{id}", graph.node(id).op.name())
}

/// Returns whether an operand must be contiguous and alone in its buffer, because indices count from its start: tables, states of
/// whole sequences, and the lists of attention, indexers and scans.
fn whole(graph: &Graph, reader: NodeId, operand: usize) -> bool {
    match graph.node(reader).op {
        Op::Rows => operand == 0,
        Op::Attend { .. } | Op::Indexer { .. } => operand >= 3,
        // The weights of a convolution count, too.
        Op::Scan { rule } => operand >= rule.operands() || (rule == Recurrence::Convolution && operand == 1),
        _ => false,
    }
}

struct Placer<'a> {
    graph: &'a Graph,
    groups: &'a Groups,
    /// [`decide::ROUND`]
    round_in_place: bool,
    out: Placed,
}

impl Placer<'_> {
    fn buffer(&mut self, source: Source, format: Format, of: NodeId) -> BufferId {
        self.out.buffers.push(Buffer { source, format, shape: self.graph.node(of).ty.shape.clone() });
        self.out.buffers.len() - 1
    }

    fn output(&mut self, name: &str, id: NodeId) -> Result<(), FuseError> {
        if self.graph.node(id).op == Op::Store {
            return self.request_dense(id);
        }
        let format = Format::Ggml(self.graph.node(id).ty.dtype);
        let buffer = self.buffer(Source::Output(name.into()), format, id);
        if matches!(class(self.graph, id), Class::Row | Class::Anchor | Class::Place) {
            self.out.dense.entry(id).or_insert(buffer);
        }
        let strides = row_major(&self.graph.node(id).ty.shape);
        self.write(id, buffer, 0, &strides, None)
    }

    /// Makes the memory available that a node views.
    fn request_dense(&mut self, id: NodeId) -> Result<(), FuseError> {
        let base = view(self.graph, id).base;
        if self.out.dense.contains_key(&base) {
            return Ok(());
        }
        let node = self.graph.node(base);
        let format = Format::Ggml(node.ty.dtype);
        let source = match &node.op {
            Op::Input { name } => Source::Input(name.clone()),
            Op::Weight { name } => Source::Weight(name.clone()),
            op if op.is_computed_parameter() => Source::Weight(parameter_name(self.graph, base)),
            Op::State { name, kind } => Source::State { name: name.clone(), kind: *kind },
            Op::Const { values } => Source::Constant(values.clone()),
            Op::Store => {
                let (state, rows, slots) = (node.inputs[0], node.inputs[1], node.inputs[2]);
                self.request_dense(state)?;
                self.request_dense(slots)?;
                let buffer = self.out.dense[&state];
                self.out.dense.insert(base, buffer);
                let width = self.graph.node(rows).ty.shape.last().unwrap_or(1);
                if self.groups.home(view(self.graph, slots).base).is_some() {
                    // The kernel that computes the indices may need the one that computes the rows.
                    let target = self.target(rows, buffer, 0, &[0, 1], Some((slots, width)));
                    return self.copy(rows, target);
                }
                return self.store(rows, buffer, (slots, width), node.ty.dtype.block_len());
            }
            _ => Source::Arena(0),
        };
        let computed = matches!(source, Source::Arena(_));
        let buffer = self.buffer(source, format, base);
        self.out.dense.insert(base, buffer);
        if computed {
            let strides = row_major(&node.ty.shape);
            self.write(base, buffer, 0, &strides, None)?;
        }
        Ok(())
    }

    /// Writes rows to a state of blocks of `block` values: where their parts are computed, if each of these is whole blocks, or
    /// else from a copy of the rows.
    fn store(
        &mut self,
        rows: NodeId,
        buffer: BufferId,
        indexed: (NodeId, usize),
        block: usize,
    ) -> Result<(), FuseError> {
        let before = (block > 1).then(|| self.out.clone());
        self.write(rows, buffer, 0, &[0, 1], Some(indexed))?;
        let Some(before) = before else { return Ok(()) };
        let whole = |of: NodeId, to: &Target| {
            let columns = self.graph.node(of).ty.shape.last().unwrap_or(1);
            let sizes = to.rows.iter().chain([&to.offset, &columns]);
            to.step == 1 && sizes.into_iter().all(|n| n.is_multiple_of(block))
        };
        let written = self.out.targets.iter().flat_map(|(of, all)| all.iter().map(move |to| (*of, to)));
        let copied = self.out.copies.iter().map(|copy| (copy.from, &copy.to));
        if written.chain(copied).all(|(of, to)| to.buffer != buffer || whole(of, to)) {
            return Ok(());
        }
        // Undo all of it: copying a part may have requested the memory that it views.
        self.out = before;
        let target = self.target(rows, buffer, 0, &[0, 1], Some(indexed));
        self.copy(rows, target)
    }

    /// Makes a node's values available contiguously and alone in a buffer.
    fn request_whole(&mut self, id: NodeId) -> Result<(), FuseError> {
        let at = view(self.graph, id);
        let values = |id: NodeId| self.graph.node(id).ty.shape.known_count();
        let shape = &self.graph.node(id).ty.shape;
        if at.offset == 0 && at.strides == row_major(shape) && values(id) == values(at.base) {
            return self.request_dense(id);
        }
        if self.out.dense.contains_key(&id) {
            return Ok(());
        }
        let buffer = self.buffer(Source::Arena(0), Format::Ggml(self.graph.node(id).ty.dtype), id);
        self.out.dense.insert(id, buffer);
        self.copy(id, self.target(id, buffer, 0, &row_major(shape), None))
    }

    /// Makes a node's values available rounded.
    fn request_rounded(&mut self, id: NodeId) -> Result<(), FuseError> {
        let at = view(self.graph, id);
        let whole = |n: usize| n.is_multiple_of(q8::BLOCK);
        let base_shape = &self.graph.node(at.base).ty.shape;
        let made_here = self.groups.home(at.base).is_some() && base_shape.last().is_some_and(whole);
        let (rows, step) = by_space(&self.graph.node(id).ty.shape, &at.strides);
        let direct =
            self.round_in_place && made_here && step == 1 && whole(at.offset) && rows.into_iter().all(whole);
        let key = if direct { at.base } else { id };
        if self.out.rounded.contains_key(&key) {
            return Ok(());
        }
        let buffer = self.buffer(Source::Arena(0), Format::Q8, key);
        self.out.rounded.insert(key, buffer);
        let strides = row_major(&self.graph.node(key).ty.shape);
        if direct {
            return self.write(key, buffer, 0, &strides, None);
        }
        self.copy(id, self.target(id, buffer, 0, &strides, None))
    }

    fn target(
        &self,
        id: NodeId,
        buffer: BufferId,
        offset: usize,
        strides: &[usize],
        indexed: Option<(NodeId, usize)>,
    ) -> Target {
        let (rows, step) = by_space(&self.graph.node(id).ty.shape, strides);
        Target { buffer, offset, rows, step, indexed }
    }

    /// Writes a node's values to a buffer, at `offset` and with `strides` for each of its axes.
    fn write(
        &mut self,
        id: NodeId,
        buffer: BufferId,
        offset: usize,
        strides: &[usize],
        indexed: Option<(NodeId, usize)>,
    ) -> Result<(), FuseError> {
        let target = self.target(id, buffer, offset, strides, indexed);
        let inner = through_identity(self.graph, id);
        if self.groups.home(inner).is_some() {
            self.out.targets.entry(inner).or_default().push(target);
            return Ok(());
        }
        let node = self.graph.node(id);
        if node.op == Op::Reshape
            && class(self.graph, id) == Class::Place
            && strides == row_major(&node.ty.shape)
        {
            // Dense in one shape is dense in the other.
            let input = node.inputs[0];
            return self.write(input, buffer, offset, &row_major(&self.graph.node(input).ty.shape), indexed);
        }
        if node.op == Op::Reshape {
            // Write to the same places with the strides of the other shape, if they exist.
            let from = &self.graph.node(node.inputs[0]).ty.shape;
            // (An axis of size 1 does not count as a row axis, and another one would take its place.)
            let (own, inner) = (node.ty.shape.dims().first(), from.dims().first());
            let rows_kept = indexed.is_none() || (own == inner && own != Some(&weft_ir::Dim::Const(1)));
            if let Some(strides) = reshaped(&node.ty.shape, strides, from).filter(|_| rows_kept) {
                return self.write(node.inputs[0], buffer, offset, &strides, indexed);
            }
        }
        // Indexed rows stay together: the parts of a concatenation of rows have other indices than the whole.
        if let Op::Concat { axis } = node.op
            && (axis > 0 || indexed.is_none())
        {
            let mut start = offset;
            for part in &node.inputs {
                self.write(*part, buffer, start, strides, indexed)?;
                let len = self.graph.node(*part).ty.shape.dims()[axis].known();
                start += len.unwrap_or(0) * strides[axis];
            }
            return Ok(());
        }
        self.copy(id, target)
    }

    fn copy(&mut self, from: NodeId, to: Target) -> Result<(), FuseError> {
        let ty = self.graph.node(from).ty.dtype;
        // A row program computes in `f32`, which cannot represent every index.
        if class(self.graph, from) == Class::Scalar || ty != GgmlType::F32 {
            return Err(FuseError::new(self.graph, from, format!("cannot copy {ty} values")));
        }
        self.request_dense(from)?;
        self.out.copies.push(Copy { from, to });
        Ok(())
    }
}
