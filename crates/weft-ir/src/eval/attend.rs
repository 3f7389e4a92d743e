//! The definitions of attention and of the indexer, which read cached rows of a token's sequence.

use super::tensor::{Tensor, floats, ints, multiply};

/// Where the rows of sequences are.
struct Pages<'a> {
    pos: &'a [i32],
    first: &'a [i32],
    pages: &'a [i32],
    page: usize,
    /// The rows of the state.
    slots: usize,
}

impl Pages<'_> {
    /// The number of positions up to a token's own.
    fn seen(&self, token: usize) -> Result<usize, String> {
        let pos = self.pos[token];
        Ok(usize::try_from(pos).map_err(|_| format!("position {pos} is negative"))? + 1)
    }

    /// The row of a position.
    fn row(&self, token: usize, position: usize) -> Result<usize, String> {
        let at = usize::try_from(self.first[token]).ok().and_then(|f| f.checked_add(position / self.page));
        let page =
            at.and_then(|at| self.pages.get(at)).ok_or_else(|| format!("position {position} has no page"))?;
        let row = i64::from(*page) * self.page as i64 + (position % self.page) as i64;
        let found = usize::try_from(row).ok().filter(|row| *row < self.slots);
        found.ok_or_else(|| format!("row {row} is out of range: there are {}", self.slots))
    }
}

/// The operands of [`Op::Attend`](crate::op::Op::Attend).
pub(super) fn attend(
    args: &[Tensor],
    scale: f32,
    groups: usize,
    (page, window, pool): (usize, Option<usize>, usize),
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let [q, k, v, pos, first, pages, more @ ..] = args else {
        return Err("attend takes six operands, or more".into());
    };
    let sinks = more.iter().find(|arg| !arg.is_i32()).map(floats).transpose()?;
    let lists = more.iter().find(|arg| arg.is_i32());
    let (tokens, heads, dv, dk) = (shape[0], shape[1], shape[2], q.shape()[2]);
    let (q, kv, vv) = (floats(q)?, floats(k)?, floats(v)?);
    let at = Pages { pos: ints(pos)?, first: ints(first)?, pages: ints(pages)?, page, slots: k.shape()[0] };
    let mut out = vec![0.0; tokens * heads * dv];
    for t in 0..tokens {
        let seen = at.seen(t)?;
        let begin = window.map_or(0, |window| seen.saturating_sub(window));
        let rows: Vec<usize> = match lists {
            Some(lists) => {
                let most = lists.shape()[1];
                let listed = ints(lists)?[t * most..].iter().take(listed(seen, most, pool));
                let row = |p: &i32| match usize::try_from(*p).ok().filter(|p| *p < seen) {
                    Some(position) => at.row(t, position),
                    None => Err(format!("position {p} of a list is out of range: the token sees {seen}")),
                };
                listed.map(row).collect::<Result<_, _>>()?
            }
            None => (begin..seen).map(|p| at.row(t, p)).collect::<Result<_, _>>()?,
        };
        for h in 0..heads {
            let g = h / (heads / groups);
            let query = &q[(t * heads + h) * dk..][..dk];
            let scores: Vec<f32> =
                rows.iter().map(|r| multiply(query, &kv[(r * groups + g) * dk..][..dk]) * scale).collect();
            let sink = sinks.map(|sinks| sinks[h]);
            let top = scores.iter().copied().chain(sink).fold(f32::NEG_INFINITY, f32::max);
            let weight = |s: f32| f64::from(s - top).exp();
            let weights: Vec<f64> = scores.iter().map(|s| weight(*s)).collect();
            let total = weights.iter().sum::<f64>() + sink.map_or(0.0, weight);
            for (i, y) in out[(t * heads + h) * dv..][..dv].iter_mut().enumerate() {
                let sum: f64 = rows
                    .iter()
                    .zip(&weights)
                    .map(|(r, w)| w * f64::from(vv[(r * groups + g) * dv + i]))
                    .sum();
                *y = (sum / total) as f32;
            }
        }
    }
    Ok(Tensor::f32(shape, out))
}

/// The operands of [`Op::Indexer`](crate::op::Op::Indexer).
pub(super) fn indexer(
    args: &[Tensor],
    (page, pool): (usize, usize),
    shape: Vec<usize>,
) -> Result<Tensor, String> {
    let [q, w, keys, pos, first, pages] = args else {
        return Err("an indexer takes six operands".into());
    };
    let [_, heads, d] = q.shape() else {
        return Err("queries of an indexer must be [T, H, D]".into());
    };
    let (heads, d, most, slots) = (*heads, *d, shape[1], keys.shape()[0]);
    let (q, w, keys) = (floats(q)?, floats(w)?, floats(keys)?);
    let at = Pages { pos: ints(pos)?, first: ints(first)?, pages: ints(pages)?, page, slots };
    let mut out = vec![-1; shape.iter().product()];
    for (t, list) in out.chunks_exact_mut(most).enumerate() {
        let seen = at.seen(t)?;
        let mut scores = Vec::with_capacity(seen / pool);
        for i in 0..seen / pool {
            let key = &keys[at.row(t, (i + 1) * pool - 1)? * d..][..d];
            let of_head = |h: usize| {
                let product = multiply(&q[(t * heads + h) * d..][..d], key);
                f64::from(w[t * heads + h]) * f64::from(product.max(0.0))
            };
            scores.push((0..heads).map(of_head).sum::<f64>() as f32);
        }
        let chosen = highest(&scores, (most + 1 - pool) / pool);
        for (entry, p) in list.iter_mut().zip(with_tail(&chosen, seen, pool)) {
            *entry = i32::try_from(p).map_err(|_| format!("position {p} is out of range"))?;
        }
    }
    Ok(Tensor::i32(shape, out))
}

/// How many entries of a list of at most `most` positions a token has that sees so many; see [`Op::Attend`](crate::op::Op::Attend).
pub fn listed(seen: usize, most: usize, pool: usize) -> usize {
    if seen > most { most + 1 - pool + seen % pool } else { seen }
}

/// The positions of these pools, then those behind the last complete pool, of a token that sees so many positions.
pub fn with_tail(pools: &[usize], seen: usize, pool: usize) -> impl Iterator<Item = usize> {
    let of_pools = pools.iter().flat_map(move |i| i * pool..(i + 1) * pool);
    of_pools.chain(seen / pool * pool..seen)
}

/// The indices of the `k` highest scores, or of all, in ascending order. Among equals the lower index is chosen first. NaN is above all
/// numbers, and −0 equals 0.
pub fn highest(scores: &[f32], k: usize) -> Vec<usize> {
    // The positive NaN is above all numbers; −0 + 0 is 0.
    let key = |i: usize| if scores[i].is_nan() { f32::NAN } else { scores[i] + 0.0 };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // A stable sort keeps equals in order.
    order.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
    order.truncate(k);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::highest;

    #[test]
    fn ties_are_decided_by_position() {
        assert_eq!(highest(&[1.0, 3.0, 2.0, 3.0], 2), [1, 3]);
        assert_eq!(highest(&[1.0, 3.0, 3.0, 3.0], 2), [1, 2]);
        assert_eq!(highest(&[0.0, 0.0, -0.0, 1.0, 0.0], 3), [0, 1, 3]);
        assert_eq!(highest(&[-0.0, 0.0, 1.0], 2), [0, 2], "−0 is not below 0");
        assert_eq!(highest(&[5.0, -f32::NAN, f32::INFINITY], 2), [1, 2]);
        assert_eq!(highest(&[2.0, 1.0], 5), [0, 1]);
    }
}
