//! `attend`: attention over the cached rows of a sequence.

mod bar;
mod interp;

use std::fmt;

use weft_ir::{F32, STATE_TYPES};

pub(crate) use bar::bars;
pub use interp::Attention;
pub(super) use interp::Pages;

use super::room::Room;
use crate::program::{Access, Format, Param, ParamId, View};
use crate::text::{Attrs, Parsed, number, view};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// The anchor's word in the text form.
pub(super) const NAME: &str = "attend";

/// The operands of attention.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attend {
    /// Queries, `f32`.
    pub q: View,
    /// The state that holds keys, and their layout in its rows: value `c` of key head `g` is at
    /// `row·row_stride + offset + g·head_stride + c`.
    pub k: Cached,
    /// The state that holds values, and their layout in its rows.
    pub v: Cached,
    /// Positions, `i32[T]`.
    pub pos: ParamId,
    /// The index in `pages` where each token's sequence begins, `i32[T]`.
    pub first: ParamId,
    /// Page numbers, `i32[P]`. The first [`Sizes::pages`](crate::Sizes) are those of the step, and no position needs another.
    pub pages: ParamId,
    /// The factor of q·k.
    pub scale: F32,
    /// The number of query heads, H.
    pub heads: usize,
    /// The number of key heads, G.
    pub kv_heads: usize,
    /// The length of a query, Dk.
    pub k_len: usize,
    /// The rows of a page.
    pub page: usize,
    /// How many positions a token sees at most, its own included. `None` if it sees all.
    pub window: Option<usize>,
    /// A further score of each head's softmax, which has no value: `f32[H]`.
    pub sinks: Option<ParamId>,
    /// The positions that each token sees, instead of all: see [`weft_ir::Op::Attend`].
    pub list: Option<List>,
    /// The most pages of a sequence, if it is known: no token has a position beyond them.
    pub most_pages: Option<usize>,
}

impl Attend {
    /// The most positions that a token attends to in a step whose sequences have `pages` pages together; saturates.
    pub fn most_positions(&self, pages: usize) -> usize {
        let all = pages.min(self.most_pages.unwrap_or(usize::MAX)).saturating_mul(self.page);
        all.min(self.most_seen().unwrap_or(usize::MAX))
    }

    /// The most positions that any token sees, if there is a window or a list.
    pub fn most_seen(&self) -> Option<usize> {
        self.list.map(|list| list.most).or(self.window)
    }
}

/// The positions that each token sees, in the order in which they are attended to: `i32[T, most]`. Of a row, the first
/// `min(most, pos + 1)` entries count, or fewer with [pools](weft_ir::listed).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct List {
    /// The lists.
    pub param: ParamId,
    /// The length of a row.
    pub most: usize,
    /// The positions of a pool; 1 if there are no pools.
    pub pool: usize,
}

/// The layout of keys or values in the rows of a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cached {
    /// The state.
    pub param: ParamId,
    /// The offset of the first value in a row.
    pub offset: usize,
    /// The distance between two rows, in values.
    pub row_stride: usize,
    /// The distance between two key heads, in values.
    pub head_stride: usize,
}

impl Room for Attend {
    fn results(&self) -> usize {
        1
    }

    fn params(&self) -> Vec<ParamId> {
        let Attend { q, k, v, pos, first, pages, sinks, list, .. } = self;
        let more = sinks.iter().copied().chain(list.map(|list| list.param));
        [q.param, k.param, v.param, *pos, *first, *pages].into_iter().chain(more).collect()
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        let Attend { q, k, v, pos, first, pages, sinks, list, .. } = self;
        let more = sinks.iter_mut().chain(list.iter_mut().map(|list| &mut list.param));
        [&mut q.param, &mut k.param, &mut v.param, pos, first, pages].into_iter().chain(more).collect()
    }

    fn states(&self) -> Vec<ParamId> {
        vec![self.k.param, self.v.param]
    }

    fn uses_lists(&self) -> bool {
        self.list.is_some()
    }

    /// The positions of the context are also divided.
    fn divides_rows(&self) -> bool {
        true
    }

    fn most_positions(&self, pages: usize) -> usize {
        Attend::most_positions(self, pages)
    }

    fn verify(&self, cx: &Context<'_>) -> Result<(), String> {
        verify(cx, self)
    }

    fn operations(&self, counter: &Counter<'_>, cols: usize, seen: &Seen) -> Vec<Operation> {
        vec![operation(counter, cols, self, seen)]
    }

    fn label(&self, _: &[Param], _: usize) -> String {
        format!("{NAME}_{}x{}", self.heads, self.k_len)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {self}")
    }
}

fn verify(cx: &Context<'_>, a: &Attend) -> Result<(), String> {
    if cx.rows.len() != 2 || cx.rows[1] != a.heads {
        return Err("rows must be tokens × heads".into());
    }
    if a.kv_heads == 0
        || !a.heads.is_multiple_of(a.kv_heads)
        || a.page == 0
        || a.k_len == 0
        || a.window == Some(0)
        || a.most_pages == Some(0)
        || a.list.is_some_and(|list| list.pool == 0 || list.most < list.pool)
    {
        return Err(format!(
            "cannot attend with {} heads, {} key heads, keys of {} values and pages of {} rows",
            a.heads, a.kv_heads, a.k_len, a.page
        ));
    }
    cx.reads(&a.q, a.k_len, |f| f == Format::F32)?;
    for (cached, len) in [(&a.k, a.k_len), (&a.v, cx.cols)] {
        verify_cached(cx, cached, len, a.kv_heads)?;
    }
    for (param, n) in [(a.pos, cx.rows[0]), (a.first, cx.rows[0]), (a.pages, 1)] {
        if cx.format(param, Access::Read)? != Format::I32 || cx.values[param] < n {
            return Err(format!("p{param} must be at least {n} indices"));
        }
    }
    if let Some(List { param, most, .. }) = a.list {
        let needed = cx.rows[0].checked_mul(most);
        if cx.format(param, Access::Read)? != Format::I32 || needed.is_none_or(|n| cx.values[param] < n) {
            return Err(format!("p{param} must be {most} positions for each token"));
        }
        if a.window.is_some() {
            return Err("attention to listed positions has no window".into());
        }
    }
    if let Some(param) = a.sinks
        && (cx.format(param, Access::Read)? != Format::F32 || cx.values[param] < a.heads)
    {
        return Err(format!("p{param} must be at least {} scores, f32", a.heads));
    }
    Ok(())
}

/// Checks that the heads of a state's rows are within them.
pub(super) fn verify_cached(cx: &Context<'_>, c: &Cached, len: usize, heads: usize) -> Result<(), String> {
    let format = cx.format(c.param, Access::Read)?;
    let block = match format {
        Format::Ggml(ty) if STATE_TYPES.contains(&ty) => ty.block_len(),
        _ => return Err(format!("p{} ({format}) is not a type of states", c.param)),
    };
    if [c.offset, c.row_stride, c.head_stride, len].iter().any(|n| !n.is_multiple_of(block)) {
        return Err(format!("p{} ({format}): rows and heads are not whole blocks of {block}", c.param));
    }
    let end = (heads - 1).checked_mul(c.head_stride).and_then(|n| n.checked_add(c.offset)?.checked_add(len));
    if end.is_some_and(|end| end <= c.row_stride) {
        Ok(())
    } else {
        Err(format!(
            "p{} ({format}): {heads} heads of {len} values do not fit rows of {}",
            c.param, c.row_stride
        ))
    }
}

fn operation(counter: &Counter<'_>, cols: usize, attend: &Attend, seen: &Seen) -> Operation {
    let Attend { q, k, v, pos, first, pages, heads, kv_heads, k_len, sinks, list, .. } = attend;
    let mut touches = vec![counter.touch(q, None, *k_len, Access::Read)];
    let tokens = counter.sizes.tokens as u64;
    let seen = attend.most_seen().map_or(*seen, |most| seen.within(most, tokens));
    touches.extend(list.map(|list| counter.values(list.param, Access::Read, seen.pairs)));
    for (param, count) in [(*pos, tokens), (*first, tokens), (*pages, counter.sizes.pages as u64)] {
        touches.push(counter.values(param, Access::Read, count));
    }
    touches.extend(sinks.map(|sinks| counter.values(sinks, Access::Read, *heads as u64)));
    let (keys, values) = (columns(k, *kv_heads, *k_len), columns(v, *kv_heads, cols));
    let state = |param, columns| counter.values(param, Access::Read, seen.rows * distinct(columns));
    if k.param == v.param {
        touches.push(state(k.param, [keys, values].concat()));
    } else {
        touches.extend([state(k.param, keys), state(v.param, values)]);
    }
    let multiplications = seen.pairs * *heads as u64 * (k_len + cols) as u64;
    Operation { touches, multiplications, reads_state: true, ..counter.operation(NAME) }
}

/// The ranges of columns of a state that the heads read.
fn columns(cached: &Cached, heads: usize, len: usize) -> Vec<(usize, usize)> {
    let begin = |head: usize| cached.offset + head * cached.head_stride;
    (0..heads).map(|head| (begin(head), begin(head) + len)).collect()
}

/// The number of columns in any of these ranges.
fn distinct(mut ranges: Vec<(usize, usize)>) -> u64 {
    ranges.sort_unstable();
    let mut covered = 0;
    let sum = ranges.into_iter().map(|(from, to)| {
        let from = from.max(covered);
        covered = covered.max(to);
        to.saturating_sub(from)
    });
    sum.sum::<usize>() as u64
}

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}[{}; {}, {}; 1]", self.param, self.offset, self.row_stride, self.head_stride)
    }
}

impl fmt::Display for Attend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Attend { q, k, v, pos, first, pages, scale, heads, kv_heads, k_len, page, .. } = self;
        write!(f, "{NAME} q={q} k={k} v={v} pos=p{pos} first=p{first} pages=p{pages}")?;
        write!(f, " scale={:?} heads={heads} kv_heads={kv_heads} k_len={k_len} page={page}", scale.0)?;
        self.window.iter().try_for_each(|n| write!(f, " window={n}"))?;
        self.sinks.iter().try_for_each(|p| write!(f, " sinks=p{p}"))?;
        self.list.iter().try_for_each(|List { param, most, pool }| match pool {
            1 => write!(f, " list=p{param} listed={most}"),
            _ => write!(f, " list=p{param} listed={most} pool={pool}"),
        })?;
        self.most_pages.iter().try_for_each(|n| write!(f, " most_pages={n}"))
    }
}

/// Reads the line of an attention.
pub(super) fn parse(attrs: &Attrs<'_>) -> Parsed<Attend> {
    Ok(Attend {
        q: view(attrs.get("q")?)?,
        k: cached(attrs.get("k")?)?,
        v: cached(attrs.get("v")?)?,
        pos: number(attrs.get("pos")?, "p")?,
        first: number(attrs.get("first")?, "p")?,
        pages: number(attrs.get("pages")?, "p")?,
        scale: F32(number(attrs.get("scale")?, "")?),
        heads: attrs.num("heads")?,
        kv_heads: attrs.num("kv_heads")?,
        k_len: attrs.num("k_len")?,
        page: attrs.num("page")?,
        window: attrs.get("window").ok().map(|n| number(n, "")).transpose()?,
        sinks: attrs.get("sinks").ok().map(|p| number(p, "p")).transpose()?,
        list: attrs.get("list").ok().map(|p| list(p, attrs)).transpose()?,
        most_pages: attrs.get("most_pages").ok().map(|n| number(n, "")).transpose()?,
    })
}

fn list(param: &str, attrs: &Attrs<'_>) -> Parsed<List> {
    let pool = attrs.get("pool").ok().map_or(Ok(1), |n| number(n, ""))?;
    Ok(List { param: number(param, "p")?, most: attrs.num("listed")?, pool })
}

/// Reads the layout of cached rows.
pub(super) fn cached(text: &str) -> Parsed<Cached> {
    let View { param, offset, strides, .. } = view(text)?;
    let [row_stride, head_stride] = strides[..] else {
        return Err("rows of a state must have two strides".into());
    };
    Ok(Cached { param, offset, row_stride, head_stride })
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn columns_that_heads_share_are_counted_once() {
        assert_eq!(distinct(vec![(8, 12), (0, 4), (4, 8)]), 12);
        assert_eq!(distinct(vec![(0, 576), (0, 512)]), 576);
        assert_eq!(distinct(vec![(0, 4), (2, 6), (10, 10)]), 6);
        assert_eq!(distinct(Vec::new()), 0);
    }
}
