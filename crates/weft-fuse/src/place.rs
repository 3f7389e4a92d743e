//! Which values are written to memory, in which format, and where.
//!
//! A value goes to memory only if something outside its kernel reads it. Rounded copies for quantised matrices are written by the kernel that
//! makes the value, once for all that read it. The parts of a concatenation and the rows of a store are written to their places
//! directly; only what no kernel makes (an input, a cut of something else) is copied.

use std::collections::BTreeMap;

use weft_ir::{Graph, NodeId, Op, Switches};
use weft_kern::{Buffer, BufferId, Format, Source, q8};
use weft_quant::GgmlType;

use crate::FuseError;
use crate::decide;
use crate::group::{Class, Groups, class, is_product, through_identity};
use crate::strided::{Strided, by_space, reshaped, row_major, view};

/// A place that a value is written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) buffer: BufferId,
    pub(crate) offset: usize,
    /// Distance between rows of the value's space.
    pub(crate) rows: Vec<usize>,
    /// Distance between columns.
    pub(crate) step: usize,
    /// Rows picked by number: the node that holds the numbers, and the distance between rows.
    pub(crate) indexed: Option<(NodeId, usize)>,
}

/// A value that only has to be written somewhere else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) from: NodeId,
    pub(crate) to: Target,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) copies: Vec<Copy>,
    dense: BTreeMap<NodeId, BufferId>,
    rounded: BTreeMap<NodeId, BufferId>,
    targets: BTreeMap<NodeId, Vec<Target>>,
}

impl Placed {
    /// Where a computed node is written.
    pub(crate) fn targets(&self, id: NodeId) -> &[Target] {
        self.targets.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The buffer that holds a node's values as they are, and how they lie in it.
    ///
    /// # Panics
    /// If nothing asked for it; [`place`] asks for all operands.
    pub(crate) fn dense(&self, graph: &Graph, id: NodeId) -> (BufferId, Strided) {
        let at = view(graph, id);
        (self.dense[&at.base], at)
    }

    /// The buffer that holds a node's values side by side and by themselves.
    ///
    /// # Panics
    /// If nothing asked for it.
    pub(crate) fn whole(&self, graph: &Graph, id: NodeId) -> BufferId {
        self.dense.get(&id).copied().unwrap_or_else(|| self.dense[&view(graph, id).base])
    }

    /// The buffer that holds a node's values rounded to `q8`, and how they lie in it.
    ///
    /// # Panics
    /// If nothing asked for it.
    pub(crate) fn rounded(&self, graph: &Graph, id: NodeId) -> (BufferId, Strided) {
        if let Some(copy) = self.rounded.get(&id) {
            let strides = row_major(&graph.node(id).ty.shape);
            return (*copy, Strided { base: id, offset: 0, strides });
        }
        let at = view(graph, id);
        (self.rounded[&at.base], at)
    }
}

/// Whether an anchor reads its first operand rounded.
pub(crate) fn reads_rounded(graph: &Graph, anchor: NodeId) -> bool {
    let node = graph.node(anchor);
    let transposed = node.op == Op::HeadDot { transposed: true };
    is_product(&node.op) && !transposed && graph.node(node.inputs[1]).ty.dtype.is_quantised()
}

/// Decides for all values of a graph.
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
                } else if i == 0 && reads_rounded(graph, *member) {
                    placer.ask_rounded(*input)?;
                } else if whole(graph, *member, i) {
                    placer.ask_whole(*input)?;
                } else if class(graph, *input) != Class::Scalar && !groups.is_value(graph, *input, g) {
                    placer.ask_dense(*input)?;
                }
            }
        }
    }
    Ok(placer.out)
}

/// The name under which a plan reads a product of weights, which a file has not.
pub(crate) fn product_name(id: NodeId) -> String {
    format!("product{id}")
}

/// Whether an operand is read by its own numbers, so that a part of something else will not do: tables, and the lists of attention.
fn whole(graph: &Graph, reader: NodeId, operand: usize) -> bool {
    match graph.node(reader).op {
        Op::Rows => operand == 0,
        Op::Attend { .. } => operand >= 3,
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
            return self.ask_dense(id);
        }
        let format = Format::Ggml(self.graph.node(id).ty.dtype);
        let buffer = self.buffer(Source::Output(name.into()), format, id);
        if matches!(class(self.graph, id), Class::Row | Class::Anchor | Class::Place) {
            self.out.dense.entry(id).or_insert(buffer);
        }
        let strides = row_major(&self.graph.node(id).ty.shape);
        self.write(id, buffer, 0, &strides, None)
    }

    /// Sees to it that the memory a node views is there.
    fn ask_dense(&mut self, id: NodeId) -> Result<(), FuseError> {
        let base = view(self.graph, id).base;
        if self.out.dense.contains_key(&base) {
            return Ok(());
        }
        let node = self.graph.node(base);
        let format = Format::Ggml(node.ty.dtype);
        let source = match &node.op {
            Op::Input { name } => Source::Input(name.clone()),
            Op::Weight { name } => Source::Weight(name.clone()),
            Op::Product { .. } => Source::Weight(product_name(base)),
            Op::State { name } => Source::State(name.clone()),
            Op::Const { values } => Source::Constant(values.clone()),
            Op::Store => {
                let (state, rows, slots) = (node.inputs[0], node.inputs[1], node.inputs[2]);
                self.ask_dense(state)?;
                self.ask_dense(slots)?;
                let buffer = self.out.dense[&state];
                self.out.dense.insert(base, buffer);
                let width = self.graph.node(rows).ty.shape.last().unwrap_or(1);
                if self.groups.home(view(self.graph, slots).base).is_some() {
                    // What makes the numbers may need what makes the rows.
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

    /// Has rows written to a state of blocks of `block` values: where their parts are made, if each is whole blocks there, or else from a
    /// copy of the rows.
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
        // All of it: to copy a part may have asked for the memory that it views.
        self.out = before;
        let target = self.target(rows, buffer, 0, &[0, 1], Some(indexed));
        self.copy(rows, target)
    }

    /// Sees to it that a node's values are there, side by side and by themselves.
    fn ask_whole(&mut self, id: NodeId) -> Result<(), FuseError> {
        let at = view(self.graph, id);
        let values = |id: NodeId| self.graph.node(id).ty.shape.known_count();
        let shape = &self.graph.node(id).ty.shape;
        if at.offset == 0 && at.strides == row_major(shape) && values(id) == values(at.base) {
            return self.ask_dense(id);
        }
        if self.out.dense.contains_key(&id) {
            return Ok(());
        }
        let buffer = self.buffer(Source::Arena(0), Format::Ggml(self.graph.node(id).ty.dtype), id);
        self.out.dense.insert(id, buffer);
        self.copy(id, self.target(id, buffer, 0, &row_major(shape), None))
    }

    /// Sees to it that a node's values are there, rounded.
    fn ask_rounded(&mut self, id: NodeId) -> Result<(), FuseError> {
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

    /// Has a node's values written at `offset` and `strides` (one for each of its axes) of a buffer.
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
            // Dense under one shape is dense under the other.
            let input = node.inputs[0];
            return self.write(input, buffer, offset, &row_major(&self.graph.node(input).ty.shape), indexed);
        }
        if node.op == Op::Reshape {
            // The same places under the other shape, if there are such.
            let from = &self.graph.node(node.inputs[0]).ty.shape;
            // (An axis of 1 is no axis of rows, so that another one would take its place.)
            let (own, inner) = (node.ty.shape.dims().first(), from.dims().first());
            let rows_kept = indexed.is_none() || (own == inner && own != Some(&weft_ir::Dim::Const(1)));
            if let Some(strides) = reshaped(&node.ty.shape, strides, from).filter(|_| rows_kept) {
                return self.write(node.inputs[0], buffer, offset, &strides, indexed);
            }
        }
        // Rows picked by number go together: the parts of a concatenation of rows have other numbers than its own rows.
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
        // A row program computes in `f32`, which cannot hold every index.
        if class(self.graph, from) == Class::Scalar || ty != GgmlType::F32 {
            return Err(FuseError::new(self.graph, from, format!("{ty} values cannot be copied")));
        }
        self.ask_dense(from)?;
        self.out.copies.push(Copy { from, to });
        Ok(())
    }
}
