//! `Attend`: causal attention over paged keys and values.
//!
//! A head walks the positions of its sequence in blocks of 32, counted from position 0, with an online softmax.
//! With `m` the largest score so far (at first −∞), `l` the sum and `y` the weighted values (at first 0), a block
//! of scores `s` does
//!
//! ```text
//! sᵢ = (q · kᵢ) · scale                 q · k in the order of `math::dots`
//! m′ = max(m, max sᵢ)
//! a  = exp(m − m′),  pᵢ = exp(sᵢ − m′)
//! l  = l · a + Σ pᵢ                      in the order of `math::sum`, 0 where there is no position
//! y  = y · a, then for each i: y += pᵢ · vᵢ
//! ```
//!
//! and the result is `y / l`. So the bits depend on the sequence alone. Work is cut by tokens and heads, and a
//! block is decoded once for all the heads of a thread that share it.

use std::ops::Range;

use weft_kern::{Attend as Operands, Cached, Format, Param};
use weft_quant::GgmlType;

use crate::convert::Decode;
use crate::cost;
use crate::isa::{Simd, Work};
use crate::math;
use crate::memory::Arg;
use crate::rowprog::Acc;
use crate::rows::{Fault, RowView, Space};
use crate::thread::{Needs, Scratch, Thread};

/// Positions of a block.
const BLOCK: usize = 32;

/// What a token costs beyond its positions, in positions.
const TOKEN: u64 = 8;

/// A prepared `Attend`.
#[derive(Debug, Clone)]
pub(crate) struct Attend {
    q: RowView,
    k: Rows,
    v: Rows,
    /// If the values are part of the keys: where they begin in them.
    v_in_k: Option<usize>,
    pos: usize,
    first: usize,
    pages: usize,
    scale: f32,
    heads: usize,
    /// Query heads on a key head.
    group: usize,
    page: usize,
}

/// Rows of a state: where the part of a key head is, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    cached: Cached,
    ty: GgmlType,
    len: usize,
}

impl Attend {
    /// Prepares the anchor of a verified part with as many columns.
    ///
    /// # Errors
    /// A sentence, if a state is of a type this device does not read.
    pub(crate) fn new(params: &[Param], cols: usize, a: &Operands) -> Result<Attend, String> {
        let rows = |cached: Cached, len| match params[cached.param].format {
            Format::Ggml(ty @ (GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)) => {
                Ok(Rows { cached, ty, len })
            }
            format => Err(format!("this device cannot attend to a state of {format:?}")),
        };
        let (k, v) = (rows(a.k, a.k_len)?, rows(a.v, cols)?);
        let same_rows = k.cached.param == v.cached.param
            && k.cached.row_stride == v.cached.row_stride
            && (a.kv_heads == 1 || k.cached.head_stride == v.cached.head_stride);
        let start = v.cached.offset.checked_sub(k.cached.offset);
        let v_in_k = start.filter(|start| same_rows && start + v.len <= k.len);
        Ok(Attend {
            q: RowView::new(&a.q),
            k,
            v,
            v_in_k,
            pos: a.pos,
            first: a.first,
            pages: a.pages,
            scale: a.scale.0,
            heads: a.heads,
            group: a.heads / a.kv_heads,
            page: a.page,
        })
    }

    /// Scratch memory.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            acc: self.group.saturating_mul(self.v.len),
            softmax: self.group,
            queries: self.group.saturating_mul(self.k.len),
            keys: BLOCK.saturating_mul(self.k.len),
            values: if self.v_in_k.is_some() { 0 } else { BLOCK.saturating_mul(self.v.len) },
            ..Needs::default()
        }
    }

    /// What all heads of all tokens cost, see [`cost`].
    pub(crate) fn cost(&self, args: &[Arg], space: &Space) -> Result<u64, Fault> {
        let values = (self.k.len + self.v.len) as u64;
        Ok(self.positions(self.pos(args, space)?)?.saturating_mul(values * cost::ATTEND))
    }

    /// Each token's position.
    fn pos<'a>(&self, args: &'a [Arg], space: &Space) -> Result<&'a [i32], Fault> {
        args[self.pos].i32s(0, space.axes()[0]).ok_or(Fault)
    }

    /// Positions that all heads attend to, and what tokens cost beyond them.
    fn positions(&self, pos: &[i32]) -> Result<u64, Fault> {
        let mut total = 0;
        for pos in pos {
            total += (u64::try_from(*pos).map_err(|_| Fault)? + TOKEN) * self.heads as u64;
        }
        Ok(total)
    }

    /// Runs this thread's share.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let pos = self.pos(cx.args, &cx.space)?;
        let share = cx.share(self.positions(pos)?);
        let mut before = 0;
        for (token, pos) in pos.iter().enumerate() {
            let cost = *pos as u64 + TOKEN;
            let own = share.of(before, cost, self.heads);
            before += cost * self.heads as u64;
            let mut start = own.start;
            while start < own.end {
                let end = own.end.min((start / self.group + 1) * self.group);
                self.heads(cx, token, *pos as usize + 1, start..end, scratch)?;
                start = end;
            }
        }
        Ok(())
    }

    /// Computes heads of a token that share a key head.
    fn heads(
        &self,
        cx: &Thread<'_>,
        token: usize,
        seen: usize,
        heads: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let Scratch { registers, acc, softmax, queries, keys, values, .. } = scratch;
        let rows = heads.clone().map(|head| token * self.heads + head);
        for (row, query) in rows.clone().zip(queries.chunks_exact_mut(self.k.len)) {
            let at = self.q.at(&cx.space.coords(row));
            let from = cx.args[self.q.param].f32s(at, (self.k.len - 1) * self.q.step + 1).ok_or(Fault)?;
            for (i, q) in query.iter_mut().enumerate() {
                *q = from[i * self.q.step];
            }
        }
        let first = cx.args[self.first].i32s(token, 1).ok_or(Fault)?[0];
        let first = usize::try_from(first).map_err(|_| Fault)?;
        let softmax = &mut softmax[..heads.len()];
        let kv_head = heads.start / self.group;
        cx.arch.dispatch(Heads {
            attend: self,
            args: cx.args,
            first,
            seen,
            kv_head,
            queries,
            keys,
            values,
            softmax,
            acc,
        })?;
        cx.finish(rows, 0..cx.cols, Acc { values: acc, stride: cx.cols, apart: 0 }, registers)
    }

    /// Row of the states, of which there are `bound`, that holds position `p` of a sequence that begins at `first`
    /// in the page list.
    #[inline(always)]
    fn row(&self, args: &[Arg], first: usize, p: usize, bound: usize) -> Result<usize, Fault> {
        let at = first.checked_add(p / self.page).ok_or(Fault)?;
        let page = args[self.pages].i32s(at, 1).ok_or(Fault)?[0];
        let row = usize::try_from(page)
            .ok()
            .and_then(|page| page.checked_mul(self.page)?.checked_add(p % self.page));
        row.filter(|row| *row < bound).ok_or(Fault)
    }
}

impl Rows {
    /// How many rows the state has.
    fn count(&self, args: &[Arg]) -> usize {
        args[self.cached.param].values() / self.cached.row_stride
    }

    /// Decodes a key head's part of a row.
    #[inline(always)]
    fn decode<S: Simd>(
        &self,
        simd: S,
        args: &[Arg],
        row: usize,
        kv_head: usize,
        out: &mut [f32],
    ) -> Result<(), Fault> {
        let Cached { param, offset, row_stride, head_stride } = self.cached;
        let at = row * row_stride + offset + kv_head * head_stride;
        let bytes = args[param].blocks(at, self.len).ok_or(Fault)?;
        simd.arch().dispatch(Decode { ty: self.ty, bytes, out });
        Ok(())
    }
}

/// Some heads of a token that share a key head.
struct Heads<'a> {
    attend: &'a Attend,
    args: &'a [Arg],
    /// Where the sequence begins in the page list, and how many of its positions the token sees.
    first: usize,
    seen: usize,
    kv_head: usize,
    /// A query for each head.
    queries: &'a [f32],
    /// Room for a block.
    keys: &'a mut [f32],
    values: &'a mut [f32],
    /// m and l of each head.
    softmax: &'a mut [(f32, f32)],
    /// The result of each head.
    acc: &'a mut [f32],
}

impl Work for Heads<'_> {
    type Output = Result<(), Fault>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Result<(), Fault> {
        let Heads { attend, args, kv_head, queries, keys, values, softmax, acc, .. } = self;
        let (k_len, v_len) = (attend.k.len, attend.v.len);
        softmax.fill((f32::NEG_INFINITY, 0.0));
        acc[..softmax.len() * v_len].fill(0.0);
        let bound = attend.k.count(args).min(attend.v.count(args));
        for start in (0..self.seen).step_by(BLOCK) {
            let positions = BLOCK.min(self.seen - start);
            for i in 0..positions {
                let row = attend.row(args, self.first, start + i, bound)?;
                attend.k.decode(simd, args, row, kv_head, &mut keys[i * k_len..][..k_len])?;
                if attend.v_in_k.is_none() {
                    attend.v.decode(simd, args, row, kv_head, &mut values[i * v_len..][..v_len])?;
                }
            }
            let (values, v_stride) = match attend.v_in_k {
                Some(at) => (&keys[at..], k_len),
                None => (&*values, v_len),
            };
            let heads = softmax.iter_mut().zip(queries.chunks_exact(k_len)).zip(acc.chunks_exact_mut(v_len));
            for (((m, l), query), y) in heads {
                let mut weights = [f32::NEG_INFINITY; BLOCK];
                let weights_seen = &mut weights[..positions];
                scores(query, keys, attend.scale, weights_seen);
                let top = math::max(&[*m, math::max(weights_seen)]);
                let rescale = math::exp(*m - top);
                for p in &mut weights {
                    *p = math::exp(*p - top);
                }
                *m = top;
                *l = *l * rescale + math::sum(&weights);
                for y in y.iter_mut() {
                    *y *= rescale;
                }
                accumulate(y, &weights[..positions], values, v_stride);
            }
        }
        for ((_, l), y) in softmax.iter().zip(acc.chunks_exact_mut(v_len)) {
            for y in y {
                *y /= l;
            }
        }
        Ok(())
    }
}

/// `(q · k) · scale` for each score's key.
#[inline(always)]
fn scores(query: &[f32], keys: &[f32], scale: f32, scores: &mut [f32]) {
    let n = query.len();
    let (fours, ones) = scores.as_chunks_mut::<4>();
    let done = 4 * fours.len();
    for (four, keys) in fours.iter_mut().zip(keys.chunks_exact(4 * n)) {
        *four = math::dots(query, std::array::from_fn(|i| &keys[i * n..][..n])).map(|s| s * scale);
    }
    for (one, key) in ones.iter_mut().zip(keys[done * n..].chunks_exact(n)) {
        let [s] = math::dots(query, [key]);
        *one = s * scale;
    }
}

/// `y += pᵢ · vᵢ` for each weight, one after the other.
#[inline(always)]
fn accumulate(y: &mut [f32], weights: &[f32], values: &[f32], stride: usize) {
    let n = y.len();
    let (fours, ones) = weights.as_chunks::<4>();
    for (four, at) in fours.iter().zip((0..).step_by(4 * stride)) {
        math::add_scaled(y, *four, std::array::from_fn(|i| &values[at + i * stride..][..n]));
    }
    for (one, at) in ones.iter().zip((4 * fours.len() * stride..).step_by(stride)) {
        math::add_scaled(y, [*one], [&values[at..][..n]]);
    }
}
