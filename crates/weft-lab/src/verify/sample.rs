//! A sample of a kernel's columns: the interpreter is slow, and a product has many.

use weft_kern::{Anchor, Instr, Kernel, Part, View, q8};
use weft_random::Random;

/// Columns that are taken together, so that the sample includes the edges of a device's tiles, whatever their size.
const BLOCK: usize = q8::BLOCK;

/// Where a part of the sample comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// The part.
    pub(super) part: usize,
    /// Its first column there.
    pub(super) column: usize,
}

/// The same kernel with at most `most` columns of each product, if its columns can be computed independently; 0 is for all. The
/// sample has the first columns, the last, and some random ones between, always the same. Also returned is where each of its parts
/// comes from.
pub(super) fn sampled(kernel: &Kernel, most: usize) -> (Kernel, Vec<Origin>) {
    let (mut parts, mut origins) = (Vec::new(), Vec::new());
    for (index, part) in kernel.parts.iter().enumerate() {
        let cuts = part.products().iter().all(|p| !p.transposed) && part.columns_independent();
        if most == 0 || part.cols <= most || part.products().is_empty() || !cuts {
            parts.push(part.clone());
            origins.push(Origin { part: index, column: 0 });
            continue;
        }
        for block in drawn(part.cols.div_ceil(BLOCK), most.div_ceil(BLOCK).max(2)) {
            let column = block * BLOCK;
            parts.push(columns(part, column, BLOCK.min(part.cols - column)));
            origins.push(Origin { part: index, column });
        }
    }
    (Kernel { parts, ..kernel.clone() }, origins)
}

/// `count` of `blocks` blocks, or all of them, ascending: the first, the last, and one from each of the equal stretches between.
fn drawn(blocks: usize, count: usize) -> Vec<usize> {
    if blocks <= count {
        return (0..blocks).collect();
    }
    let mut random = Random::new(0);
    let middle = (1..count - 1).map(|i| {
        let [from, to] = [i, i + 1].map(|i| i * blocks / count);
        from + random.below(to - from)
    });
    std::iter::once(0).chain(middle).chain([blocks - 1]).collect()
}

/// A part that computes `len` columns of another, from `column` on.
fn columns(part: &Part, column: usize, len: usize) -> Part {
    let lens = part.lens();
    let of = |view: &View| View { offset: view.offset + column * view.step, ..view.clone() };
    let mut cut = Part { cols: len, ..part.clone() };
    if let Anchor::Dot(products) = &mut cut.anchor {
        products.iter_mut().for_each(|product| {
            product.w.first += column;
            product.w.n = len;
        });
    }
    for (instr, own) in cut.body.iter_mut().zip(&lens) {
        match instr {
            Instr::Load { view, len: own, .. } if *own == part.cols => {
                *view = of(view);
                *own = len;
            }
            Instr::Store { value, view, .. } if lens[*value] == part.cols => *view = of(view),
            _ => debug_assert!(*own != part.cols || instr.view().is_none()),
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_block_are_always_drawn() {
        for (blocks, count) in [(3, 2), (9, 8), (100, 4), (4840, 8)] {
            let drawn = drawn(blocks, count);
            assert_eq!((drawn.len(), drawn[0], drawn[count - 1]), (count, 0, blocks - 1));
            assert!(drawn.is_sorted_by(|a, b| a < b), "{drawn:?}");
        }
        assert_eq!(drawn(2, 8), [0, 1]);
    }
}
