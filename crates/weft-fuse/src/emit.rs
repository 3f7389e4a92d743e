//! Turns groups into parts of kernels.

use std::collections::BTreeMap;

use weft_ir::{Binary, Dim, Graph, NodeId, Op, Reduce, Shape};
use weft_kern::{
    Access, Anchor, Attend, BufferId, Cached, DeltaRule, Factor, Indexed, Indexer, Instr, List, Matrices,
    Param, ParamId, Part, Pick, Product, Prologue, Recurrence, Scan, ScanRule, Sum, ValueId, View,
};
use weft_quant::GgmlType;

use crate::error::FuseError;
use crate::group::{Group, Groups, is_last, is_product, through_identity};
use crate::place::{Copy, Placed, Target, reads_rounded};
use crate::strided::{Space, Strided, broadcast, by_space};

/// The most terms that are written out one by one.
const UNROLL_LIMIT: usize = 64;

/// A part with its arguments, before parts are put into kernels.
#[derive(Debug)]
pub(crate) struct EmittedPart {
    pub(crate) part: Part,
    pub(crate) params: Vec<Param>,
    pub(crate) args: Vec<BufferId>,
    /// Orders parts that may run in any order.
    pub(crate) key: NodeId,
    /// The group that it computes; `None` for a copy.
    pub(crate) group: Option<usize>,
}

/// Emits a part for every group and copy.
pub(crate) fn emit(graph: &Graph, groups: &Groups, placed: &Placed) -> Result<Vec<EmittedPart>, FuseError> {
    let groups_done = groups.parts().map(|(i, g)| group(graph, groups, placed, i, g));
    let copies_done = placed.copies.iter().map(|c| copy(graph, placed, c));
    groups_done.chain(copies_done).collect()
}

fn copy(graph: &Graph, placed: &Placed, copy: &Copy) -> Result<EmittedPart, FuseError> {
    let shape = &graph.node(copy.from).ty.shape;
    let mut w = Writer::new(graph, placed, Space::of(shape));
    let value = w.load(copy.from, shape);
    w.store(value, &copy.to);
    Ok(w.finish(None, Anchor::Map, copy.from, None))
}

fn group(
    graph: &Graph,
    groups: &Groups,
    placed: &Placed,
    index: usize,
    group: &Group,
) -> Result<EmittedPart, FuseError> {
    let mut w = Writer::new(graph, placed, group.space.clone());
    let prologue = match group.prologue {
        Some(p) => Some(w.prologue(groups, group, p)?),
        None => None,
    };
    let mut values: BTreeMap<NodeId, ValueId> = BTreeMap::new();
    let mut products = Vec::new();
    let mut alone = None;
    for (i, anchor) in group.anchors.iter().enumerate() {
        let before = |x: NodeId| group.prologue.is_some_and(|p| groups.is_value(graph, x, p));
        match is_product(&graph.node(*anchor).op) {
            true => products.push(w.product(*anchor, before(graph.node(*anchor).inputs[0]))?),
            false => alone = Some(w.alone(*anchor)?),
        }
        values.insert(*anchor, w.push(Instr::Acc(i)));
    }
    w.members(groups, index, group, &mut values)?;
    let chooses = |i: &Instr| matches!(i, Instr::Reduce(..) | Instr::TopK { .. });
    let anchor = match alone {
        Some(anchor) => anchor,
        None if !products.is_empty() => Anchor::Dot(products),
        None if w.body.iter().any(chooses) => Anchor::Reduce,
        None => Anchor::Map,
    };
    for member in &group.members {
        for target in placed.targets(*member) {
            w.store(values[member], target);
        }
    }
    let last =
        *group.members.last().ok_or_else(|| FuseError::new(graph, NodeId::FIRST, "its group is empty"))?;
    Ok(w.finish(prologue, anchor, last, Some(index)))
}

/// Writes one part.
struct Writer<'a> {
    graph: &'a Graph,
    placed: &'a Placed,
    space: Space,
    params: Vec<Param>,
    args: Vec<BufferId>,
    body: Vec<Instr>,
}

impl<'a> Writer<'a> {
    fn new(graph: &'a Graph, placed: &'a Placed, space: Space) -> Writer<'a> {
        Writer { graph, placed, space, params: Vec::new(), args: Vec::new(), body: Vec::new() }
    }

    fn finish(
        self,
        prologue: Option<Prologue>,
        anchor: Anchor,
        key: NodeId,
        group: Option<usize>,
    ) -> EmittedPart {
        let Space { rows, cols } = self.space;
        let part = Part { rows, cols, prologue, anchor, body: self.body };
        EmittedPart { part, params: self.params, args: self.args, key, group }
    }

    /// Emits the members of a group that are not anchors.
    fn members(
        &mut self,
        groups: &Groups,
        index: usize,
        group: &Group,
        values: &mut BTreeMap<NodeId, ValueId>,
    ) -> Result<(), FuseError> {
        let graph = self.graph;
        for member in group.members.iter().filter(|m| !group.anchors.contains(m)) {
            let in_group = |id: NodeId| match groups.is_value(graph, id, index) {
                true => values.get(&through_identity(graph, id)).copied(),
                false => None,
            };
            let value = self.row_op(*member, in_group)?;
            values.insert(*member, value);
        }
        Ok(())
    }

    /// Emits group `p` as the prologue of a group whose products read it.
    fn prologue(&mut self, groups: &Groups, group: &Group, p: usize) -> Result<Prologue, FuseError> {
        let space = std::mem::replace(&mut self.space, groups.list[p].space.clone());
        let mut values = BTreeMap::new();
        let done = self.members(groups, p, &groups.list[p], &mut values);
        self.space = space;
        done?;
        let body = std::mem::take(&mut self.body);
        let read = group.anchors.iter().find_map(|anchor| {
            let x = self.graph.node(*anchor).inputs[0];
            groups.is_value(self.graph, x, p).then(|| values[&through_identity(self.graph, x)])
        });
        let value = read
            .ok_or_else(|| FuseError::new(self.graph, group.anchors[0], "it does not read its prologue"))?;
        Ok(Prologue { body, value })
    }

    /// Adds an instruction, or finds an equal one.
    fn push(&mut self, instr: Instr) -> ValueId {
        if let Some(same) = self.body.iter().position(|i| *i == instr) {
            return same;
        }
        self.body.push(instr);
        self.body.len() - 1
    }

    fn param(&mut self, buffer: BufferId, access: Access) -> ParamId {
        let known = self.args.iter().zip(&self.params).position(|(a, p)| *a == buffer && p.access == access);
        known.unwrap_or_else(|| {
            self.args.push(buffer);
            self.params.push(Param { access, format: self.placed.buffers[buffer].format });
            self.params.len() - 1
        })
    }

    fn shape(&self, id: NodeId) -> &'a Shape {
        &self.graph.node(id).ty.shape
    }

    /// A view of a node's memory, with strides for each axis of `shape`, whose space is the kernel's.
    fn view(&mut self, (buffer, at): (BufferId, Strided), shape: &Shape, strides: &[usize]) -> View {
        let (rows, step) = by_space(shape, strides);
        View { param: self.param(buffer, Access::Read), offset: at.offset, strides: self.rows(rows), step }
    }

    /// Strides for all axes of the kernel's rows. Views leave out an axis of size 1 (a single head), which is the last.
    fn rows(&self, mut strides: Vec<usize>) -> Vec<usize> {
        strides.resize(self.space.rows.len(), 0);
        strides
    }

    /// A node's memory as an operand of a result of this shape.
    fn operand(&mut self, id: NodeId, result: &Shape) -> View {
        let (buffer, at) = self.placed.dense(self.graph, id);
        let strides = broadcast(self.shape(id), &at.strides, result);
        self.view((buffer, at), result, &strides)
    }

    fn load(&mut self, id: NodeId, result: &Shape) -> ValueId {
        let view = self.operand(id, result);
        let len = if view.step == 0 { 1 } else { Space::of(result).cols };
        self.push(Instr::Load { view, indexed: None, len })
    }

    fn store(&mut self, value: ValueId, to: &Target) {
        let indexed = to.indexed.map(|(numbers, stride)| Indexed { index: self.numbers(numbers), stride });
        let param = self.param(to.buffer, Access::Write);
        let view = View { param, offset: to.offset, strides: self.rows(to.rows.clone()), step: to.step };
        self.body.push(Instr::Store { value, view, indexed });
    }

    /// One index per row of the first axis, from an `i32` vector.
    fn numbers(&mut self, id: NodeId) -> View {
        let (buffer, at) = self.placed.dense(self.graph, id);
        let mut strides = vec![0; self.space.rows.len()];
        if let Some(first) = strides.first_mut() {
            *first = at.strides[0];
        }
        View { param: self.param(buffer, Access::Read), offset: at.offset, strides, step: 0 }
    }

    /// Emits a node that is not an anchor. `in_group` finds operands that are values of this kernel.
    fn row_op(
        &mut self,
        id: NodeId,
        in_group: impl Fn(NodeId) -> Option<ValueId>,
    ) -> Result<ValueId, FuseError> {
        let node = self.graph.node(id);
        let shape = &node.ty.shape;
        let value = |w: &mut Self, i: usize, result: &Shape| -> ValueId {
            let input = node.inputs[i];
            match (&w.graph.node(input).op, in_group(input)) {
                (_, Some(value)) => value,
                (Op::Rows, None) if w.placed.lookups.contains(&input) => w.looked_up(input),
                (Op::Const { values }, None) if w.shape(input).rank() == 0 => w.push(Instr::Const(values[0])),
                _ => w.load(input, result),
            }
        };
        Ok(match &node.op {
            // Loads convert.
            Op::Cast => value(self, 0, shape),
            Op::Unary(op) => {
                let x = value(self, 0, shape);
                self.push(Instr::Unary(*op, x))
            }
            Op::Binary(op) => {
                let (a, b) = (value(self, 0, shape), value(self, 1, shape));
                self.push(Instr::Binary(*op, a, b))
            }
            Op::Reduce { op, axis } if is_last(self.graph, id, *axis) => {
                let x = value(self, 0, self.shape(node.inputs[0]));
                self.push(Instr::Reduce(*op, x))
            }
            Op::Reduce { op, axis } => self.unrolled(id, *op, *axis)?,
            Op::Rope { style } => {
                let x = value(self, 0, shape);
                let (cos, sin) = (self.table(node.inputs[1], shape), self.table(node.inputs[2], shape));
                self.push(Instr::Rope { style: *style, x, cos, sin })
            }
            Op::Rows => self.looked_up(id),
            Op::TopK { k } => {
                let x = value(self, 0, self.shape(node.inputs[0]));
                self.push(Instr::TopK { x, k: *k })
            }
            Op::Take => {
                // A row that is the same for all is read for each of them.
                let columns = self.shape(node.inputs[0]).last().unwrap_or(1);
                let from = value(self, 0, &shape.with(shape.rank() - 1, columns));
                let ids = value(self, 1, shape);
                self.push(Instr::Take { from, ids })
            }
            _ => return Err(FuseError::new(self.graph, id, "row programs cannot compute it")),
        })
    }

    /// Rows of a table, one for each row of the kernel.
    fn looked_up(&mut self, id: NodeId) -> ValueId {
        let (table, ids) = (self.graph.node(id).inputs[0], self.graph.node(id).inputs[1]);
        let (shape, width) = (self.shape(id), self.shape(id).last().unwrap_or(1));
        let (buffer, at) = self.placed.dense(self.graph, ids);
        let strides: Vec<usize> = at.strides.iter().copied().chain([0]).collect();
        let index = self.view((buffer, at), shape, &strides);
        let param = self.param(self.placed.whole(self.graph, table), Access::Read);
        let view = View { param, offset: 0, strides: vec![0; self.space.rows.len()], step: 1 };
        self.push(Instr::Load { view, indexed: Some(Indexed { index, stride: width }), len: width })
    }

    /// A reduction along an axis that is not the last, with one load per term.
    fn unrolled(&mut self, id: NodeId, op: Reduce, axis: usize) -> Result<ValueId, FuseError> {
        let input = self.graph.node(id).inputs[0];
        let shape = self.shape(id);
        let terms = self.shape(input).dims()[axis].known().unwrap_or(0);
        if terms == 0 || terms > UNROLL_LIMIT {
            return Err(FuseError::new(
                self.graph,
                id,
                format!("it has {terms} terms; at most {UNROLL_LIMIT} are supported"),
            ));
        }
        let first = self.operand(input, shape);
        let stride = self.placed.dense(self.graph, input).1.strides[axis];
        let len = if first.step == 0 { 1 } else { Space::of(shape).cols };
        let combine = match op {
            Reduce::Sum => Binary::Add,
            Reduce::Max => Binary::Max,
        };
        let term = |w: &mut Self, i: usize| {
            let view = View { offset: first.offset + i * stride, ..first.clone() };
            w.push(Instr::Load { view, indexed: None, len })
        };
        let mut sum = term(self, 0);
        for i in 1..terms {
            let next = term(self, i);
            sum = self.push(Instr::Binary(combine, sum, next));
        }
        Ok(sum)
    }

    /// A table of RoPE, `[T, D/2]`, as an operand of `[T, H, D]` or `[T, D]`.
    fn table(&mut self, id: NodeId, x: &Shape) -> ValueId {
        let (buffer, at) = self.placed.dense(self.graph, id);
        let mut strides = vec![0; x.rank()];
        strides[0] = at.strides[0];
        strides[x.rank() - 1] = at.strides[1];
        let view = self.view((buffer, at), x, &strides);
        self.push(Instr::Load { view, indexed: None, len: x.last().unwrap_or(2) / 2 })
    }

    fn product(&mut self, id: NodeId, prologue: bool) -> Result<Product, FuseError> {
        let node = self.graph.node(id);
        let x = match prologue {
            true => Factor::Prologue,
            false => Factor::View(self.operand_rows(id, node.inputs[0], &node.ty.shape)),
        };
        let w = self.matrices(id)?;
        Ok(Product { x, w, transposed: node.op == Op::HeadDot { transposed: true } })
    }

    /// An anchor that is the only one of its part.
    fn alone(&mut self, id: NodeId) -> Result<Anchor, FuseError> {
        match self.graph.node(id).op {
            Op::Attend { .. } => Ok(Anchor::Attend(Box::new(self.attend(id)?))),
            Op::Indexer { page, pool, .. } => Ok(Anchor::Indexer(Box::new(self.indexer(id, (page, pool))?))),
            Op::Scan { rule } => Ok(Anchor::Scan(Box::new(self.scan(id, rule)))),
            _ => Err(FuseError::new(self.graph, id, "it is not an anchor")),
        }
    }

    fn scan(&mut self, id: NodeId, rule: Recurrence) -> Scan {
        let node = self.graph.node(id);
        let out = &node.ty.shape;
        let [state, ends, from, to, certain, kept] =
            [0, 1, 2, 3, 4, 5].map(|list| node.inputs[rule.operands() + list]);
        let state = self.placed.whole(self.graph, state);
        let size = |operand: usize, axis: usize| {
            let dims = self.graph.node(node.inputs[operand]).ty.shape.dims();
            dims.get(axis).and_then(|dim| dim.known()).unwrap_or(1)
        };
        let rule = match rule {
            Recurrence::Decay => {
                ScanRule::Decay { x: self.scanned(node.inputs[0]), decay: self.scanned(node.inputs[1]) }
            }
            Recurrence::Convolution => {
                let taps = size(1, 1);
                ScanRule::Convolution {
                    x: self.scanned(node.inputs[0]),
                    w: self.vector(node.inputs[1]),
                    taps,
                }
            }
            Recurrence::Delta | Recurrence::DeltaTiled | Recurrence::Linear => {
                let (keys, inner) = (size(0, 1), size(0, 2));
                let channels = self.shape(node.inputs[3]).rank() == 3;
                let [q, k, v, decay, beta] =
                    [0, 1, 2, 3, 4].map(|operand| self.scanned(node.inputs[operand]));
                let (tiled, corrects) = (rule == Recurrence::DeltaTiled, rule != Recurrence::Linear);
                let operands = DeltaRule { q, k, v, decay, beta, keys, inner, channels, tiled, corrects };
                ScanRule::Delta(Box::new(operands))
            }
        };
        Scan {
            rule,
            state: self.param(state, Access::ReadWrite),
            ends: self.vector(ends),
            from: self.vector(from),
            to: self.vector(to),
            certain: self.vector(certain),
            kept: self.vector(kept),
            heads: out.dims()[1].known().unwrap_or(1),
        }
    }

    /// A scan's operand: rows are tokens × heads, without columns if it has one value for each.
    fn scanned(&mut self, id: NodeId) -> View {
        let (buffer, at) = self.placed.dense(self.graph, id);
        let step = at.strides.get(2).copied().unwrap_or(0);
        let strides = self.rows(at.strides[..2].to_vec());
        View { param: self.param(buffer, Access::Read), offset: at.offset, strides, step }
    }

    fn attend(&mut self, id: NodeId) -> Result<Attend, FuseError> {
        let node = self.graph.node(id);
        let Op::Attend { scale, kv_heads, page, window, pool } = node.op else {
            return Err(FuseError::new(self.graph, id, "it is not attention"));
        };
        let k_len = self.shape(node.inputs[0]).last().unwrap_or(1);
        let heads = node.ty.shape.dims()[1].known().unwrap_or(1);
        if node.ty.shape.dims()[0] == Dim::Const(1) && heads > 1 {
            return Err(FuseError::new(
                self.graph,
                id,
                "the number of tokens is fixed at one, with several heads",
            ));
        }
        [node.inputs[1], node.inputs[2]].into_iter().try_for_each(|cached| self.contiguous(id, cached))?;
        // Scores are floats; positions are not.
        let is_list = |more: &&NodeId| self.graph.node(**more).ty.dtype == GgmlType::I32;
        let (list, sinks) =
            (node.inputs[6..].iter().find(is_list), node.inputs[6..].iter().find(|m| !is_list(m)));
        Ok(Attend {
            q: self.operand_rows(id, node.inputs[0], &node.ty.shape),
            k: self.cached(node.inputs[1], k_len),
            v: self.cached(node.inputs[2], self.space.cols),
            pos: self.vector(node.inputs[3]),
            first: self.vector(node.inputs[4]),
            pages: self.vector(node.inputs[5]),
            scale,
            heads,
            kv_heads,
            k_len,
            page,
            window,
            sinks: sinks.map(|sinks| self.vector(*sinks)),
            list: list.map(|list| {
                let most = self.shape(*list).last().unwrap_or(1);
                List { param: self.vector(*list), most, pool }
            }),
            most_pages: None,
        })
    }

    fn indexer(&mut self, id: NodeId, (page, pool): (usize, usize)) -> Result<Indexer, FuseError> {
        let node = self.graph.node(id);
        let [q, w, keys, pos, first, pages] = [0, 1, 2, 3, 4, 5].map(|i| node.inputs[i]);
        let [tokens, heads, k_len] = [0, 1, 2].map(|axis| self.shape(q).dims()[axis]);
        if tokens == Dim::Const(1) {
            return Err(FuseError::new(self.graph, id, "the number of tokens is fixed at one"));
        }
        self.contiguous(id, q)?;
        self.contiguous(id, keys)?;
        let row = |w: &mut Self, operand: NodeId| {
            let (buffer, at) = w.placed.dense(w.graph, operand);
            let step = at.strides.last().copied().unwrap_or(1);
            let strides = w.rows(vec![at.strides[0]]);
            (View { param: w.param(buffer, Access::Read), offset: at.offset, strides, step }, at.strides[1])
        };
        let k_len = k_len.known().unwrap_or(1);
        let (q, q_stride) = row(self, q);
        Ok(Indexer {
            // Queries of one value are contiguous, whatever stride their shape gives them.
            q: View { step: 1, ..q },
            q_stride,
            w: row(self, w).0,
            k: self.cached(keys, k_len),
            pos: self.vector(pos),
            first: self.vector(first),
            pages: self.vector(pages),
            heads: heads.known().unwrap_or(1),
            k_len,
            page,
            pool,
            most_pages: None,
        })
    }

    /// Refuses an operand whose columns have other values between them.
    fn contiguous(&self, anchor: NodeId, operand: NodeId) -> Result<(), FuseError> {
        let (_, at) = self.placed.dense(self.graph, operand);
        if self.shape(operand).last() != Some(1) && at.strides.last() != Some(&1) {
            return Err(FuseError::new(self.graph, anchor, "the columns of an operand are not contiguous"));
        }
        Ok(())
    }

    /// An anchor's first operand: it has the leading axes of the result, and its own last axis. It may lack the second axis, have
    /// size 1 there (the same row for all heads), or have one axis more (the rows of a sum).
    fn operand_rows(&mut self, anchor: NodeId, x: NodeId, out: &Shape) -> View {
        let (buffer, at) = if reads_rounded(self.graph, anchor) {
            self.placed.rounded(self.graph, x)
        } else {
            self.placed.dense(self.graph, x)
        };
        let mut strides = at.strides.clone();
        let dims = self.shape(x).dims();
        if dims.len() < out.rank() {
            strides.insert(1, 0);
        } else if dims.len() > out.rank() {
            strides.remove(1);
        } else if dims.len() == 3 && dims[1] == Dim::Const(1) {
            strides[1] = 0;
        }
        // A single value is contiguous, whatever stride its shape gives it.
        if let (Some(Dim::Const(1)), Some(step)) = (dims.last(), strides.last_mut()) {
            *step = 1;
        }
        self.view((buffer, at), out, &strides)
    }

    fn matrices(&mut self, id: NodeId) -> Result<Matrices, FuseError> {
        let node = self.graph.node(id);
        let (w, out) = (node.inputs[1], &node.ty.shape);
        if !self.graph.is_parameter(w) {
            return Err(FuseError::new(self.graph, id, "it multiplies by something that is not a weight"));
        }
        let (buffer, at) = self.placed.dense(self.graph, w);
        let dims: Vec<usize> = self.shape(w).dims().iter().filter_map(|d| d.known()).collect();
        let (k, n) = (dims[dims.len() - 1], dims[dims.len() - 2]);
        let count = if dims.len() == 3 { dims[0] } else { 1 };
        let apart = if dims.len() == 3 { at.strides[0] } else { n * k };
        let rows_whole = at.strides[dims.len() - 2] == k && at.strides[dims.len() - 1] == 1;
        if !rows_whole || at.offset % k != 0 || apart % k != 0 {
            return Err(FuseError::new(self.graph, id, "it multiplies by parts of rows"));
        }
        let pick = match node.op {
            Op::HeadDot { .. } if count > 1 => {
                let dims = out.dims();
                Pick::Axis(usize::from(dims[0] != Dim::Const(1)))
            }
            Op::SelectDot | Op::SelectRange { .. } => {
                let ids = node.inputs[2];
                let (buffer, at) = self.placed.dense(self.graph, ids);
                let strides = [at.strides[0], at.strides[1], 0];
                Pick::Ids(self.view((buffer, at), out, &strides))
            }
            Op::SelectSum => Pick::Sum(Box::new(self.sum(id))),
            _ => Pick::Only,
        };
        let from = if let Op::SelectRange { from } = node.op { Some(from) } else { None };
        let param = self.param(buffer, Access::Read);
        Ok(Matrices { param, pick, from, count, n, k, first: at.offset / k, stride: apart / k })
    }

    /// The terms of a `select_sum`, along the second axis of ids, weights and rows.
    fn sum(&mut self, id: NodeId) -> Sum {
        let node = self.graph.node(id);
        let terms = self.shape(node.inputs[2]).last().unwrap_or(1);
        let x = match reads_rounded(self.graph, id) {
            true => self.placed.rounded(self.graph, node.inputs[0]).1,
            false => self.placed.dense(self.graph, node.inputs[0]).1,
        };
        let (ids, weights) = (self.terms(node.inputs[2]), self.terms(node.inputs[3]));
        Sum { terms, ids, weights, apart: x.strides[1] }
    }

    /// A row of terms, `[T, U]`, for each row.
    fn terms(&mut self, id: NodeId) -> View {
        let (buffer, at) = self.placed.dense(self.graph, id);
        self.view((buffer, at.clone()), self.shape(id), &at.strides)
    }

    fn cached(&mut self, id: NodeId, head_stride: usize) -> Cached {
        let (buffer, at) = self.placed.dense(self.graph, id);
        let param = self.param(buffer, Access::Read);
        Cached { param, offset: at.offset, row_stride: at.strides[0], head_stride }
    }

    fn vector(&mut self, id: NodeId) -> ParamId {
        let buffer = self.placed.whole(self.graph, id);
        self.param(buffer, Access::Read)
    }
}
