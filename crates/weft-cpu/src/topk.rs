//! `TopK`: the indices of the largest values of a row.

use weft_kern::{Kernel, View};

use crate::rows::{Fault, RowView};
use crate::thread::{Needs, Scratch, Thread};

/// A prepared `TopK`.
#[derive(Debug, Clone)]
pub(crate) struct TopK {
    x: RowView,
    n: usize,
}

impl TopK {
    /// Prepares the anchor of a verified kernel.
    pub(crate) fn new(x: &View, n: usize) -> TopK {
        TopK { x: RowView::new(x), n }
    }

    /// Scratch memory.
    pub(crate) fn needs(&self, kernel: &Kernel) -> Needs {
        Needs { acc: kernel.cols, best: kernel.cols, ..Needs::default() }
    }

    /// Runs this thread's part.
    pub(crate) fn run(&self, cx: &Thread<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let rows = cx.space.count();
        for row in cx.share(rows as u64).of(0, 1, rows) {
            let at = self.x.at(&cx.space.coords(row));
            let x = cx.args[self.x.param].f32s(at, (self.n - 1) * self.x.step + 1).ok_or(Fault)?;
            let best = &mut scratch.best[..cx.cols];
            // A step of 0 repeats one value.
            largest((0..self.n).map(|i| x[i * self.x.step]), best);
            let acc = &mut scratch.acc[..cx.cols];
            for (acc, (_, i)) in acc.iter_mut().zip(best) {
                *acc = *i as f32;
            }
            cx.finish(std::iter::once(row), 0..cx.cols, (acc, 0), &mut scratch.registers)?;
        }
        Ok(())
    }
}

/// The largest values and their indices, largest first, the lower index first among equals; NaN counts as −∞. There
/// are at least as many values as there is room.
fn largest(values: impl Iterator<Item = f32>, best: &mut [(f32, usize)]) {
    for (i, value) in values.enumerate() {
        let value = if value.is_nan() { f32::NEG_INFINITY } else { value };
        let found = i.min(best.len());
        // After all that are not smaller, and so after equal ones, which came earlier.
        let at = best[..found].iter().rposition(|(b, _)| b.total_cmp(&value).is_ge()).map_or(0, |at| at + 1);
        if at < best.len() {
            let end = best.len().min(found + 1);
            best[at..end].rotate_right(1);
            best[at] = (value, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices<const K: usize>(values: &[f32]) -> [usize; K] {
        let mut best = [(0.0, 0); K];
        largest(values.iter().copied(), &mut best);
        best.map(|(_, i)| i)
    }

    #[test]
    fn order_ties_and_nan() {
        assert_eq!(indices(&[1.0, 3.0, 2.0, 3.0, 0.0]), [1, 3, 2]);
        assert_eq!(indices(&[5.0; 4]), [0, 1, 2, 3]);
        assert_eq!(indices(&[f32::NAN, f32::NEG_INFINITY, -1.0, f32::NAN]), [2, 0, 1, 3]);
        assert_eq!(indices(&[-0.0, 0.0, f32::INFINITY]), [2, 1]);
    }
}
