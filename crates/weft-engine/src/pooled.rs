//! The result of a prompt without a reply, made of the rows that a model computes: an embedding, or scores.

use weft_runtime::{Head, Logit, Pooling, Row};

use crate::request::Wanted;

/// Pools the rows of a prompt. They come in the order of its tokens, whatever steps computed them, so that the sums do not depend on that.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pool {
    pooling: Pooling,
    /// The values of a row that are wanted, if not all.
    some: Option<Vec<u32>>,
    /// The sum of the rows that were taken.
    sum: Vec<f64>,
    /// The number of rows that were taken.
    rows: usize,
}

impl Pool {
    /// Creates what a request asks a model with this head for. `None` if that is a reply.
    pub(crate) fn of(wanted: Wanted, head: Head) -> Option<Pool> {
        let some = match wanted {
            Wanted::Reply => return None,
            Wanted::Pooled => None,
            Wanted::Logits(tokens) => Some(tokens),
        };
        let pooling = match head {
            Head::Embedding(pooling) => pooling,
            Head::Logits | Head::Scores { .. } => Pooling::Last,
        };
        Some(Pool { pooling, some, sum: Vec::new(), rows: 0 })
    }

    /// Returns whether the row of a token is wanted that is not the last.
    pub(crate) fn wants(&self, at: usize) -> bool {
        match self.pooling {
            Pooling::Last => false,
            Pooling::Mean => at >= self.rows,
            Pooling::Cls => at == 0 && self.rows == 0,
        }
    }

    /// The number of tokens whose rows need not be computed again, and the one after them. `None` for all.
    pub(crate) fn reusable(&self) -> Option<usize> {
        match self.pooling {
            Pooling::Last => None,
            Pooling::Mean => Some(self.rows + 1),
            Pooling::Cls => (self.rows == 0).then_some(1),
        }
    }

    /// Takes the row of a token.
    pub(crate) fn add(&mut self, row: Row<'_>, is_last: bool) {
        let taken = match self.pooling {
            Pooling::Last => is_last,
            Pooling::Mean => true,
            Pooling::Cls => self.rows == 0,
        };
        if !taken {
            return;
        }
        self.rows += 1;
        match &self.some {
            Some(tokens) => self.sum = tokens.iter().map(|token| f64::from(row.logit(*token))).collect(),
            None => {
                let values = row.logits();
                self.sum.resize(values.len(), 0.0);
                self.sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(value.value()));
            }
        }
    }

    /// The mean of the rows.
    pub(crate) fn output(&self) -> Vec<f32> {
        let rows = self.rows.max(1) as f64;
        self.sum.iter().map(|sum| (sum / rows) as f32).collect()
    }
}

/// The first `dimensions` values of an embedding, or all if there are no more, scaled to a length of 1. An embedding of zeros stays as
/// it is. (Models that were trained for fewer dimensions, as Matryoshka representations, keep most of their quality.)
///
/// ```
/// assert_eq!(weft_engine::normalised(&[3.0, 4.0, 12.0], 2), [0.6, 0.8]);
/// assert_eq!(weft_engine::normalised(&[0.0, 0.0], usize::MAX), [0.0, 0.0]);
/// ```
pub fn normalised(embedding: &[f32], dimensions: usize) -> Vec<f32> {
    let kept = &embedding[..dimensions.min(embedding.len())];
    let length = kept.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
    kept.iter().map(|value| (f64::from(*value) * factor) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn pooled(pool: &mut Pool, rows: &[[f32; 2]]) -> Vec<f32> {
        for (at, values) in rows.iter().enumerate() {
            let is_last = at + 1 == rows.len();
            if is_last || pool.wants(at) {
                pool.add(Row::new(&row(values)), is_last);
            }
        }
        pool.output()
    }

    #[test]
    fn rows_are_pooled_as_the_head_says() {
        let rows = [[1.0, 2.0], [3.0, 5.0], [5.0, 11.0]];
        for (pooling, expected) in
            [(Pooling::Last, [5.0, 11.0]), (Pooling::Mean, [3.0, 6.0]), (Pooling::Cls, [1.0, 2.0])]
        {
            let mut pool = Pool::of(Wanted::Pooled, Head::Embedding(pooling)).unwrap();
            assert_eq!(pooled(&mut pool, &rows), expected, "{pooling:?}");
            let mut pool = Pool::of(Wanted::Pooled, Head::Embedding(pooling)).unwrap();
            assert_eq!(pooled(&mut pool, &rows[1..2]), rows[1], "{pooling:?}");
        }
        let mut pool = Pool::of(Wanted::Pooled, Head::Scores { labels: 2, relevant: 0 }).unwrap();
        assert_eq!(pooled(&mut pool, &rows), rows[2]);
        let mut pool = Pool::of(Wanted::Logits(vec![1, 0, 1]), Head::Logits).unwrap();
        assert_eq!(pooled(&mut pool, &rows), [11.0, 5.0, 11.0]);
        assert_eq!(Pool::of(Wanted::Reply, Head::Logits), None);
    }

    #[test]
    fn rows_that_were_taken_are_not_wanted_again() {
        let of = |pooling| Pool::of(Wanted::Pooled, Head::Embedding(pooling)).unwrap();
        let one = row(&[1.0, 1.0]);
        let mut mean = of(Pooling::Mean);
        assert_eq!((mean.wants(0), mean.reusable()), (true, Some(1)));
        mean.add(Row::new(&one), false);
        assert_eq!((mean.wants(0), mean.wants(1), mean.reusable()), (false, true, Some(2)));
        let mut cls = of(Pooling::Cls);
        assert_eq!((cls.wants(0), cls.wants(1), cls.reusable()), (true, false, Some(1)));
        cls.add(Row::new(&one), false);
        assert_eq!((cls.wants(0), cls.reusable()), (false, None));
        let last = of(Pooling::Last);
        assert_eq!((last.wants(0), last.reusable()), (false, None));
    }
}
