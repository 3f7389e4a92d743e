//! `indexer`: chooses the positions that each token attends to, by the scores of a few small heads.

mod interp;

use std::fmt;

pub use interp::Indexing;

use weft_ir::F32;

use super::attend::{Attend, Cached, cached, verify_cached};
use super::room::Room;
use crate::program::{Access, Format, Param, ParamId, View};
use crate::text::{Attrs, Parsed, number, view};
use crate::traffic::{Counter, Operation, Seen};
use crate::verify::Context;

/// The anchor's word in the text form.
pub(super) const NAME: &str = "indexer";

/// The most positions in the pages of a step: a row program computes in `f32`, which holds every index below.
pub const MOST_POSITIONS: usize = 1 << 24;

/// The operands of an indexer. Its rows are tokens, its columns the chosen positions: see [`weft_ir::Op::Indexer`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Indexer {
    /// Queries, `f32`: those of all heads of a token.
    pub q: View,
    /// The distance between the queries of two heads, in values.
    pub q_stride: usize,
    /// The weight of each head's score, `f32`.
    pub w: View,
    /// The state that holds keys; all heads share one.
    pub k: Cached,
    /// Positions, `i32[T]`.
    pub pos: ParamId,
    /// The index in `pages` where each token's sequence begins, `i32[T]`.
    pub first: ParamId,
    /// Page numbers, `i32[P]`.
    pub pages: ParamId,
    /// The number of heads, H.
    pub heads: usize,
    /// The length of a query, D.
    pub k_len: usize,
    /// The rows of a page.
    pub page: usize,
    /// The positions that share a key, the row of the last of them; 1 if each has its own.
    pub pool: usize,
    /// The most pages of a sequence, if it is known: no token has a position beyond them.
    pub most_pages: Option<usize>,
}

impl Indexer {
    /// The attention whose scores are those of the heads. Its values are the keys, and nothing reads them. Where positions share a key,
    /// its rows are those of pools, and its positions are to be the numbers of pools.
    pub fn attention(&self) -> Attend {
        let token = self.q.strides.first().copied().unwrap_or(0);
        let last = self.k.row_stride * (self.pool - 1);
        let keys =
            Cached { offset: self.k.offset + last, row_stride: self.k.row_stride * self.pool, ..self.k };
        Attend {
            q: View { strides: vec![token, self.q_stride], ..self.q.clone() },
            k: keys,
            v: keys,
            pos: self.pos,
            first: self.first,
            pages: self.pages,
            scale: F32(1.0),
            heads: self.heads,
            kv_heads: 1,
            k_len: self.k_len,
            page: self.page / self.pool,
            window: None,
            sinks: None,
            list: None,
            most_pages: self.most_pages,
        }
    }

    /// The most pools that are chosen, or positions if each has a key, if the list has so many columns.
    pub fn chosen(&self, cols: usize) -> usize {
        (cols + 1).saturating_sub(self.pool) / self.pool
    }

    /// The most positions that a token sees in a step whose sequences have `pages` pages together; saturates.
    pub fn most_positions(&self, pages: usize) -> usize {
        pages.min(self.most_pages.unwrap_or(usize::MAX)).saturating_mul(self.page)
    }
}

impl Room for Indexer {
    fn results(&self) -> usize {
        1
    }

    fn params(&self) -> Vec<ParamId> {
        let Indexer { q, w, k, pos, first, pages, .. } = self;
        vec![q.param, w.param, k.param, *pos, *first, *pages]
    }

    fn params_mut(&mut self) -> Vec<&mut ParamId> {
        let Indexer { q, w, k, pos, first, pages, .. } = self;
        vec![&mut q.param, &mut w.param, &mut k.param, pos, first, pages]
    }

    fn states(&self) -> Vec<ParamId> {
        vec![self.k.param]
    }

    fn uses_lists(&self) -> bool {
        true
    }

    fn most_positions(&self, pages: usize) -> usize {
        Indexer::most_positions(self, pages)
    }

    fn verify(&self, cx: &Context<'_>) -> Result<(), String> {
        let Indexer { q, q_stride, w, k, heads, k_len, page, pool, .. } = self;
        if cx.rows.len() != 1 {
            return Err("rows must be tokens".into());
        }
        if *heads == 0 || *k_len == 0 || *page == 0 || q.step != 1 || self.most_pages == Some(0) {
            return Err(format!(
                "cannot choose with {heads} heads, keys of {k_len} values and pages of {page} rows"
            ));
        }
        let whole = *pool > 0 && page.is_multiple_of(*pool) && (cx.cols + 1).is_multiple_of(*pool);
        // The rows of pools are counted, too.
        let last = k.row_stride.checked_mul(*pool).and_then(|n| n.checked_add(k.offset));
        if !whole || self.chosen(cx.cols) == 0 || last.is_none() {
            return Err(format!(
                "pages of {page} rows and lists of {} positions have no pools of {pool}",
                cx.cols
            ));
        }
        let len = (heads - 1).checked_mul(*q_stride).and_then(|n| n.checked_add(*k_len));
        cx.reads(q, len.ok_or("queries are too long")?, |f| f == Format::F32)?;
        cx.reads(w, *heads, |f| f == Format::F32)?;
        verify_cached(cx, k, *k_len, 1)?;
        for (param, n) in [(self.pos, cx.rows[0]), (self.first, cx.rows[0]), (self.pages, 1)] {
            if cx.format(param, Access::Read)? != Format::I32 || cx.values[param] < n {
                return Err(format!("p{param} must be at least {n} indices"));
            }
        }
        match cx.values[self.pages].checked_mul(*page) {
            Some(positions) if positions <= MOST_POSITIONS => Ok(()),
            _ => Err(format!("it chooses from at most {MOST_POSITIONS} positions")),
        }
    }

    fn operations(&self, counter: &Counter<'_>, _: usize, seen: &Seen) -> Vec<Operation> {
        let Indexer { q, w, k, pos, first, pages, heads, k_len, pool, .. } = self;
        let tokens = counter.sizes.tokens as u64;
        let touches = vec![
            counter.touch(q, None, heads * k_len, Access::Read),
            counter.touch(w, None, *heads, Access::Read),
            counter.values(*pos, Access::Read, tokens),
            counter.values(*first, Access::Read, tokens),
            counter.values(*pages, Access::Read, counter.sizes.pages as u64),
            counter.values(k.param, Access::Read, seen.rows / *pool as u64 * *k_len as u64),
        ];
        let multiplications = seen.pairs / *pool as u64 * (heads * k_len) as u64;
        vec![Operation { touches, multiplications, reads_state: true, ..counter.operation(NAME) }]
    }

    fn label(&self, _: &[Param], cols: usize) -> String {
        format!("{NAME}_{}x{}_{cols}", self.heads, self.k_len)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Indexer { q, q_stride, w, k, pos, first, pages, heads, k_len, page, pool, most_pages } = self;
        write!(f, "  {NAME} q={q} q_stride={q_stride} w={w} k={k} pos=p{pos} first=p{first} pages=p{pages}")?;
        write!(f, " heads={heads} k_len={k_len} page={page}")?;
        if *pool != 1 {
            write!(f, " pool={pool}")?;
        }
        most_pages.iter().try_for_each(|n| write!(f, " most_pages={n}"))?;
        writeln!(f)
    }
}

/// Reads the line of an indexer.
pub(super) fn parse(attrs: &Attrs<'_>) -> Parsed<Indexer> {
    Ok(Indexer {
        q: view(attrs.get("q")?)?,
        q_stride: attrs.num("q_stride")?,
        w: view(attrs.get("w")?)?,
        k: cached(attrs.get("k")?)?,
        pos: number(attrs.get("pos")?, "p")?,
        first: number(attrs.get("first")?, "p")?,
        pages: number(attrs.get("pages")?, "p")?,
        heads: attrs.num("heads")?,
        k_len: attrs.num("k_len")?,
        page: attrs.num("page")?,
        pool: attrs.get("pool").ok().map_or(Ok(1), |n| number(n, ""))?,
        most_pages: attrs.get("most_pages").ok().map(|n| number(n, "")).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use crate::interp::{Buffer, run};
    use crate::test_plans::INDEXER;
    use crate::{Seen, Sizes, parse_plan};

    /// Two heads of two values, three positions of six, in two pages of four rows whose order is turned around.
    fn chosen(keys: [[f32; 2]; 8], pos: [i32; 2]) -> Result<Vec<f32>, String> {
        chosen_by(INDEXER, keys, pos)
    }

    fn chosen_by(plan: &str, keys: [[f32; 2]; 8], pos: [i32; 2]) -> Result<Vec<f32>, String> {
        let plan = parse_plan(plan).unwrap();
        let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let ints = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let q = floats(&[1.0, 0.0, 0.0, 1.0].repeat(2));
        let w = floats(&[1.0, -2.0, 1.0, -2.0]);
        let bytes =
            [q, w, floats(keys.as_flattened()), ints(&pos), ints(&[0, 0]), ints(&[1, 0]), ints(&[7; 6])];
        let formats = plan.kernels[0].params.iter().map(|param| param.format);
        let mut args: Vec<Buffer<'_>> = bytes
            .iter()
            .zip(formats)
            .map(|(bytes, format)| Buffer::from_bytes(format, bytes.len() / 4, bytes).unwrap())
            .collect();
        run(&plan.kernels[0], &mut args, &Sizes::of(2).pages(2)).map_err(|e| e.to_string())?;
        Ok((0..6).map(|i| args[6].float(i)).collect())
    }

    #[test]
    fn the_highest_scores_are_chosen_in_order_of_positions() {
        // Positions 0 to 3 are rows 4 to 7. Scores: 1, 5, -2, 0, then 3, 0.
        let keys =
            [[3.0, -1.0], [-1.0, -9.0], [0.0; 2], [0.0; 2], [1.0, 0.0], [5.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
        assert_eq!(chosen(keys, [1, 5]).unwrap(), [0.0, 1.0, -1.0, 0.0, 1.0, 4.0]);
        assert_eq!(chosen(keys, [3, 2]).unwrap(), [0.0, 1.0, 3.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn among_equals_the_lower_position_comes_first() {
        assert_eq!(chosen([[1.0, 0.0]; 8], [5, 7]).unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        // A head's score that is not above 0 counts as 0, whatever its weight.
        let mut keys = [[-1.0, -1.0]; 8];
        keys[7] = [0.5, 0.0];
        assert_eq!(chosen(keys, [5, 5]).unwrap()[..3], [0.0, 1.0, 3.0]);
    }

    /// Pools of two: the keys are rows 5, 7, 1 and 3, and the list has a whole pool and the position behind the last.
    #[test]
    fn a_pool_is_chosen_by_the_key_of_its_last_position() {
        let plan = INDEXER.replace("page=4", "page=4 pool=2");
        assert_eq!(parse_plan(&plan).unwrap().to_string(), plan);
        let mut keys = [[9.0, 0.0]; 8];
        [keys[5], keys[7], keys[1], keys[3]] = [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0], [4.0, 0.0]];
        let of = |pos| chosen_by(&plan, keys, pos).unwrap();
        assert_eq!(of([0, 1]), [0.0, -1.0, -1.0, 0.0, 1.0, -1.0]);
        assert_eq!(of([2, 3]), [0.0, 1.0, 2.0, 2.0, 3.0, -1.0]);
        assert_eq!(of([4, 5]), [2.0, 3.0, 4.0, 2.0, 3.0, -1.0]);
        assert_eq!(of([6, 7]), [2.0, 3.0, 6.0, 6.0, 7.0, -1.0]);
    }

    #[test]
    fn hostile_positions_are_refused() {
        assert!(chosen([[1.0; 2]; 8], [8, 0]).unwrap_err().contains("has no page"));
        assert!(chosen([[1.0; 2]; 8], [-1, 0]).unwrap_err().contains("negative"));
    }

    #[test]
    fn its_text_is_read_back_and_its_traffic_counted() {
        let plan = parse_plan(INDEXER).unwrap();
        assert_eq!(plan.to_string(), INDEXER);
        let bounded = INDEXER.replace("page=4", "page=4 most_pages=1");
        assert_eq!(parse_plan(&bounded).unwrap().to_string(), bounded);
        let seen = Seen { rows: 6, pairs: 11 };
        let [operation] = &plan.kernels[0].traffic(&Sizes::of(2).pages(2), &seen)[..] else {
            panic!("one operation");
        };
        let bytes: Vec<_> = operation.touches.iter().map(|touch| (touch.param, touch.bytes)).collect();
        assert_eq!(bytes, [(0, 32), (1, 16), (3, 8), (4, 8), (5, 8), (2, 48), (6, 24)]);
        assert_eq!(
            (operation.anchor, operation.multiplications, operation.reads_state),
            ("indexer", 44, true)
        );
        for (from, to) in [
            ("heads=2", "heads=3"),
            ("k_len=2", "k_len=3"),
            ("page=4", "page=0"),
            ("page=4", "page=4 most_pages=0"),
            ("page=4", "page=4 pool=0"),
            ("page=4", "page=4 pool=3"),
            ("page=4", "page=4 pool=4"),
            ("k=p2[0; 2, 2; 1]", "k=p2[1; 2, 2; 1]"),
            ("rows [T] cols 3", "rows [T, 2] cols 3"),
        ] {
            assert!(parse_plan(&INDEXER.replace(from, to)).is_err(), "{to}");
        }
    }
}
