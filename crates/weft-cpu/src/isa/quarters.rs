//! Vectors seen as four quarters of four values: what attention is written in, beyond [`Lanes`].
//!
//! The compiler vectorises loops over arrays, but does not keep twenty sums of sixteen values in registers over a loop.
//! Code that needs that says which vectors it has.

use super::lanes::Lanes;

/// Sixteen values on a cache line of their own: no load of them touches two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [f32; 16]);

impl Line {
    /// Values `4 j` to `4 j + 3`.
    #[inline(always)]
    pub(crate) fn four(&self, j: usize) -> &[f32; 4] {
        &self.0.as_chunks().0[j]
    }

    /// The values of several.
    pub(crate) fn flat(lines: &[Line]) -> &[f32] {
        // SAFETY: a line is sixteen values and nothing else, as its size of 64 bytes is theirs.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 16 * lines.len()) }
    }

    /// The same, to write to.
    pub(crate) fn flat_mut(lines: &mut [Line]) -> &mut [f32] {
        // SAFETY: as in `flat`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 16 * lines.len()) }
    }
}

/// More operations on vectors of floats.
pub(crate) trait Quarters: Lanes {
    /// Whether there are registers for more than twenty vectors; otherwise there are for eight.
    const WIDE: bool;

    /// The values of a line.
    fn load(self, line: &Line) -> Self::Floats;

    /// The same four values in every quarter.
    fn repeat(self, four: &[f32; 4]) -> Self::Floats;

    /// Value `i` of a quarter is the sum `(x₀ + x₂) + (x₁ + x₃)` of that quarter of vector `i`.
    fn sum_quarters(self, v: [Self::Floats; 4]) -> Self::Floats;
}

impl Quarters for super::Portable {
    const WIDE: bool = false;

    #[inline(always)]
    fn load(self, line: &Line) -> [f32; 16] {
        line.0
    }

    #[inline(always)]
    fn repeat(self, four: &[f32; 4]) -> [f32; 16] {
        std::array::from_fn(|i| four[i % 4])
    }

    #[inline(always)]
    fn sum_quarters(self, v: [[f32; 16]; 4]) -> [f32; 16] {
        std::array::from_fn(|at| {
            let x = &v[at % 4][at / 4 * 4..];
            (x[0] + x[2]) + (x[1] + x[3])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arch, Isa, Simd, Work};
    use super::*;

    /// All operations on three lines.
    struct All([Line; 3]);

    impl Work for All {
        type Output = [Line; 3];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [Line; 3] {
            let [a, b, c] = [simd.load(&self.0[0]), simd.load(&self.0[1]), simd.load(&self.0[2])];
            let mut out = [Line::default(); 3];
            simd.store(b, &mut out[0].0);
            simd.store(simd.repeat(self.0[2].four(2)), &mut out[1].0);
            simd.store(simd.sum_quarters([a, b, c, a]), &mut out[2].0);
            out
        }
    }

    #[test]
    fn every_instruction_set_computes_what_is_written() {
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((seed >> 16) as u16) / 999.0 - 30.0
        };
        for _ in 0..100 {
            let x: [Line; 3] = std::array::from_fn(|_| Line(std::array::from_fn(|_| next())));
            let [Line(a), Line(b), Line(c)] = x;
            let sum = |x: &[f32]| (x[0] + x[2]) + (x[1] + x[3]);
            let sums = std::array::from_fn(|i| sum(&[a, b, c, a][i % 4][i / 4 * 4..]));
            let expected = [b, std::array::from_fn(|i| c[8 + i % 4]), sums].map(Line);
            for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
                assert_eq!(arch.dispatch(All(x)), expected, "{arch:?}");
            }
        }
    }
}
