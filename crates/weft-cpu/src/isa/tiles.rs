//! Products of tiles: sixteen rows of x times the sixteen rows of a weight's tile at once, for a group of columns that share a scale.
//!
//! A unit holds the sums of two products, so that one can be stored while the next is computed.

use super::pairs::Numbers;
use super::simd::Simd;

/// Rows of x, and of a weight, in a product.
pub(crate) const TILE: usize = 16;

/// Thirty-two values of a row, which are never on two cache lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Quants(pub(crate) [i8; 32]);

/// The sums of a product: for each row of x, those of the weight's rows.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Sums(pub(crate) [[i32; TILE]; TILE]);

/// A unit that multiplies tiles of signed bytes.
pub(crate) trait Tiles {
    /// Computes the sums of a product. Of each of the sixteen rows `x` has 32 values, of which the columns from `from` on are multiplied;
    /// `w` has a vector of sixteen rows for each four of these columns.
    ///
    /// # Panics
    /// If `w` has not as many vectors as the unit is set for, or the columns do not end within the 32.
    fn multiply<const SLOT: usize>(&mut self, x: &[Quants; TILE], from: usize, w: &[Numbers]);

    /// Stores the sums that the last product with this slot, 0 or 1, has computed.
    fn store<const SLOT: usize>(&mut self, to: &mut Sums);
}

/// Work to compile for an instruction set that has such a unit; as [`Work`](super::Work). It must not start other work with a unit: a thread has
/// one.
pub(crate) trait TileWork {
    /// The result.
    type Output;

    /// Runs the work.
    fn run<S: Simd, U: Tiles>(self, simd: S, unit: U) -> Self::Output;
}

/// The unit in plain Rust.
#[derive(Debug)]
pub(super) struct Emulated {
    quads: usize,
    slots: [Sums; 2],
}

impl Emulated {
    pub(super) fn new(quads: usize) -> Emulated {
        Emulated { quads, slots: [Sums::default(); 2] }
    }
}

impl Tiles for Emulated {
    fn multiply<const SLOT: usize>(&mut self, x: &[Quants; TILE], from: usize, w: &[Numbers]) {
        assert!(w.len() == self.quads && from + 4 * self.quads <= 32, "{} vectors from {from}", w.len());
        for (sums, x) in self.slots[SLOT].0.iter_mut().zip(x) {
            sums.fill(0);
            for (x, w) in x.0[from..].as_chunks::<4>().0.iter().zip(w) {
                for (sum, pairs) in sums.iter_mut().zip(w.0.as_chunks::<2>().0) {
                    let [[a, b], [c, d]] =
                        pairs.map(|pair| pair.to_le_bytes().map(|byte| i32::from(byte as i8)));
                    let [p, q, r, s] = x.map(i32::from);
                    *sum += a * p + b * q + c * r + d * s;
                }
            }
        }
    }

    fn store<const SLOT: usize>(&mut self, to: &mut Sums) {
        *to = self.slots[SLOT];
    }
}
