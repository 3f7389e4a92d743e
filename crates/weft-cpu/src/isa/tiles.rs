//! Products of tiles: sixteen rows of x times the sixteen rows of a weight's tile at once, for a group of columns that share a scale.
//!
//! A unit holds the sums of two products, so that one can be stored while the next is computed. Attention has numbers of two bytes, whose
//! products are those of bytes: it multiplies whole tiles of 64 columns, and adds these up in the unit ([`Tiles::multiply_rows`],
//! [`Tiles::multiply_parts`]).

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

/// A unit that multiplies tiles of bytes.
pub(crate) trait Tiles {
    /// Computes the sums of a product. Of each of the sixteen rows `x` has 32 values, of which the columns from `from` on are multiplied;
    /// `w` has a vector of sixteen rows for each four of these columns.
    ///
    /// # Panics
    /// If `w` has not as many vectors as the unit is set for, or the columns do not end within the 32.
    fn multiply<const SLOT: usize>(&mut self, x: &[Quants; TILE], from: usize, w: &[Numbers]);

    /// Stores the sums that the last product with this slot, 0 or 1, has computed.
    fn store<const SLOT: usize>(&mut self, to: &mut Sums);

    /// Multiplies both of `x` by both of `w`, as signed bytes.
    ///
    /// # Panics
    /// If there are too few lines, or the unit is not set for [`WHOLE`].
    fn multiply_rows(&mut self, of: Whole<'_>, to: &mut [[Sums; 2]; 2]);

    /// Multiplies numbers that are given as upper and lower bytes: the upper bytes' products, the sum of those of an upper and a
    /// lower, and the lower ones'. The bytes of `x` are unsigned, those of `w` signed.
    ///
    /// # Panics
    /// As there.
    fn multiply_parts(&mut self, of: Whole<'_>, to: &mut [Sums; 3]);
}

/// The number of vectors that a unit is set for to multiply tiles of 64 columns.
pub(crate) const WHOLE: usize = 16;

/// Whole tiles of bytes, in pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    /// Sixteen rows of `steps` lines each.
    pub(crate) x: [&'a [Numbers]; 2],
    /// Lines from one row of an `x` to the next.
    pub(crate) stride: usize,
    /// For each step sixteen lines, of four columns of sixteen rows.
    pub(crate) w: [&'a [Numbers]; 2],
    /// Steps of 64 columns.
    pub(crate) steps: usize,
}

impl Whole<'_> {
    /// Panics unless there are enough lines.
    #[inline(always)]
    pub(super) fn check(&self) {
        let Whole { x, stride, w, steps } = self;
        let rows = (TILE - 1).checked_mul(*stride).and_then(|lines| lines.checked_add(*steps));
        let enough = |lines: &&[Numbers]| rows.is_some_and(|rows| lines.len() >= rows);
        let columns = |lines: &&[Numbers]| lines.len() / WHOLE >= *steps;
        assert!(x.iter().all(enough) && w.iter().all(columns), "{steps} steps of rows {stride} lines apart");
    }

    /// The sums of the products of each `x` by each `w`, in plain Rust, with the bytes of `x` as `number` reads them.
    fn sums(&self, number: fn(u8) -> i32) -> [[Sums; 2]; 2] {
        let byte = |line: &Numbers, at: usize| line.0[at / 2].to_le_bytes()[at % 2];
        let product = |x: &[Numbers], w: &[Numbers]| {
            let mut sums = Sums::default();
            for (row, sums) in sums.0.iter_mut().enumerate() {
                for column in 0..64 * self.steps {
                    let x = number(byte(&x[row * self.stride + column / 64], column % 64));
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let w = byte(&w[column / 4], 4 * i + column % 4);
                        *sum = sum.wrapping_add(x * i32::from(w as i8));
                    }
                }
            }
            sums
        };
        self.x.map(|x| self.w.map(|w| product(x, w)))
    }
}

/// Work to compile for an instruction set that has such a unit; as [`Work`](super::Work). It must not start other work with a
/// unit: a thread has one.
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

    fn multiply_rows(&mut self, of: Whole<'_>, to: &mut [[Sums; 2]; 2]) {
        assert_eq!(self.quads, WHOLE);
        of.check();
        *to = of.sums(|byte| i32::from(byte as i8));
    }

    fn multiply_parts(&mut self, of: Whole<'_>, to: &mut [Sums; 3]) {
        assert_eq!(self.quads, WHOLE);
        of.check();
        let [[upper, mut middle], [other, lower]] = of.sums(i32::from);
        for (sum, other) in middle.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *sum = sum.wrapping_add(*other);
        }
        *to = [upper, middle, lower];
    }
}
