//! Vectors of sixteen pairs of 16-bit numbers: the operations that attention uses, beyond [`Lanes`]; and lines, which others use, too.
//!
//! Here a vector of 64 bytes holds 32 numbers. Two vectors are multiplied pair by pair into sixteen exact sums: twice as many products per
//! instruction as with floats.

use super::lanes::Lanes;

/// Sixteen values on one cache line: no load of them touches two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [f32; 16]);

/// Thirty-two numbers on one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Numbers(pub(crate) [i16; 32]);

impl Line {
    /// The values of several lines.
    #[inline(always)]
    pub(crate) fn flat(lines: &[Line]) -> &[f32] {
        // SAFETY: a line is sixteen values and nothing else, as its size of 64 bytes is theirs.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 16 * lines.len()) }
    }

    /// The values of several lines, mutable.
    #[inline(always)]
    pub(crate) fn flat_mut(lines: &mut [Line]) -> &mut [f32] {
        // SAFETY: as in `flat`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 16 * lines.len()) }
    }
}

impl Numbers {
    /// The numbers of several lines.
    #[inline(always)]
    pub(crate) fn flat(lines: &[Numbers]) -> &[i16] {
        // SAFETY: a line is 32 numbers and nothing else, as its size of 64 bytes is theirs.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 32 * lines.len()) }
    }

    /// The bytes of several lines, mutable.
    #[inline(always)]
    pub(crate) fn bytes_mut(lines: &mut [Numbers]) -> &mut [i8] {
        // SAFETY: as in `flat`, and a number is two bytes, any of which are one; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 64 * lines.len()) }
    }
}

/// More operations on vectors. Operations on numbers take [`Lanes::Bytes`] as 32 numbers.
pub(crate) trait Pairs: Lanes {
    /// Whether there are registers for more than twenty vectors. Otherwise there are registers for eight.
    const WIDE: bool;

    /// Loads the values of a line.
    fn load(self, line: &Line) -> Self::Floats;

    /// Loads numbers.
    fn numbers(self, from: &[i16; 32]) -> Self::Bytes;

    /// Eight numbers in every quarter.
    fn repeat(self, eight: &[i16; 8]) -> Self::Bytes;

    /// A pair in every lane.
    fn pair(self, pair: &[i16; 2]) -> Self::Bytes;

    /// Adds to each lane the product of the pairs, `a₀ · b₀ + a₁ · b₁`. Neither pair may be −32768 twice.
    fn dot_pairs(self, acc: Self::Ints, a: Self::Bytes, b: Self::Bytes) -> Self::Ints;

    /// Lane `i` of a quarter is the sum of that quarter of vector `i`.
    fn sum_quarters(self, v: [Self::Ints; 4]) -> Self::Ints;

    /// The lower halves of floats' bits, those of `a` first.
    fn lower_halves(self, a: Self::Floats, b: Self::Floats) -> Self::Bytes;

    /// `x · m / 512` for signed bytes `x`, rounded to nearest, ties up; only the low 16 bits of the result count.
    fn widen(self, x: &[u8; 32], m: Self::Bytes) -> Self::Bytes;

    /// `(x − 16) · m / 64 + c` for numbers `x` of 5 bits, rounded and kept as by [`widen`](Self::widen). Their lower bits are halves of
    /// `low`'s bytes, first all lower halves, then all upper ones; their fifth bits are those of `high`, from the lowest of its first byte.
    fn widen_fives(self, low: &[u8; 16], high: &[u8; 4], m: Self::Bytes, c: Self::Bytes) -> Self::Bytes;

    /// Pairs of a number of `a` and one of `b`, in order.
    fn interleave(self, a: Self::Bytes, b: Self::Bytes) -> [Self::Bytes; 2];

    /// Stores numbers.
    fn store_numbers(self, x: Self::Bytes, to: &mut Numbers);

    /// Stores integers.
    fn store_ints(self, x: Self::Ints, to: &mut [i32; 16]);

    /// `128 · a + b`, in 32 bits.
    #[inline(always)]
    fn append(self, a: Self::Ints, b: Self::Ints) -> Self::Ints {
        each(self, a, b, |a, b| (a << 7).wrapping_add(b))
    }

    /// Differences, in 32 bits.
    #[inline(always)]
    fn sub_ints(self, a: Self::Ints, b: Self::Ints) -> Self::Ints {
        each(self, a, b, i32::wrapping_sub)
    }

    /// Makes columns of rows.
    #[inline(always)]
    fn transpose(self, x: &[[i32; 16]; 16], to: &mut [[i32; 16]; 16]) {
        for (i, to) in to.iter_mut().enumerate() {
            for (to, x) in to.iter_mut().zip(x) {
                *to = x[i];
            }
        }
    }
}

/// An operation on two vectors, lane by lane in plain Rust. Only an emulated tile unit uses it.
#[inline(always)]
fn each<P: Pairs>(simd: P, a: P::Ints, b: P::Ints, op: fn(i32, i32) -> i32) -> P::Ints {
    let (mut x, mut y) = ([0; 16], [0; 16]);
    simd.store_ints(a, &mut x);
    simd.store_ints(b, &mut y);
    for i in 0..16 {
        y[i] = op(x[i], y[i]);
    }
    simd.ints(&y)
}

#[cfg(test)]
mod tests {
    use super::super::{Arch, Isa, Simd, Work};
    use super::*;

    /// The results of all operations on three vectors of numbers.
    struct All<'a>([&'a [i16; 32]; 3]);

    impl Work for All<'_> {
        type Output = (Vec<[i16; 32]>, Vec<[i32; 16]>, [f32; 16], [[i32; 16]; 16]);

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let [a, b, c] = self.0;
            let (mut numbers, mut ints) = (Vec::new(), Vec::new());
            let line = Line(std::array::from_fn(|i| f32::from(a[i]) * 1.0001));
            let other = Line(std::array::from_fn(|i| f32::from(b[i]) * 0.9999));
            let [lo, hi] = simd.interleave(simd.numbers(a), simd.numbers(b));
            let small: [u8; 32] = std::array::from_fn(|i| c[i] as u8);
            let (low, high) = (small.first_chunk().unwrap(), small.last_chunk().unwrap());
            for x in [
                simd.numbers(a),
                simd.repeat(a.as_chunks().0.last().unwrap()),
                simd.pair(&[b[5], b[6]]),
                simd.lower_halves(simd.load(&line), simd.load(&other)),
                simd.widen(&small, simd.numbers(b)),
                simd.widen_fives(low, high, simd.numbers(b), simd.numbers(a)),
                lo,
                hi,
            ] {
                let mut out = Numbers::default();
                simd.store_numbers(x, &mut out);
                numbers.push(out.0);
            }
            let dot = |a, b| simd.dot_pairs(simd.int(-9), simd.numbers(a), simd.numbers(b));
            for x in [
                dot(a, b),
                simd.sum_quarters([dot(a, b), dot(b, c), dot(c, a), dot(a, a)]),
                simd.append(dot(a, b), dot(b, c)),
                simd.sub_ints(dot(a, b), dot(b, c)),
            ] {
                let mut out = [0; 16];
                simd.store_ints(x, &mut out);
                ints.push(out);
            }
            let mut floats = [0.0; 16];
            simd.store(simd.load(&line), &mut floats);
            let mut turned = [[0; 16]; 16];
            simd.transpose(&rows(a), &mut turned);
            (numbers, ints, floats, turned)
        }
    }

    /// Rows of different numbers.
    fn rows(a: &[i16; 32]) -> [[i32; 16]; 16] {
        std::array::from_fn(|row| std::array::from_fn(|i| i32::from(a[i]) * 1000 + row as i32))
    }

    #[test]
    fn every_instruction_set_computes_what_is_written() {
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16
        };
        for round in 0..200 {
            let mut x: [[i16; 32]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
            match round {
                0 => x = [[i16::MAX; 32]; 3],
                1 => x = [[i16::MAX; 32], [-i16::MAX; 32], [i16::MIN; 32]],
                _ => x.as_flattened_mut().iter_mut().for_each(|x| *x = (*x).max(-i16::MAX)),
            }
            let [a, b, c] = x;
            let dot = |a: &[i16; 32], b: &[i16; 32]| -> [i32; 16] {
                let product = |i: usize| i64::from(a[i]) * i64::from(b[i]);
                std::array::from_fn(|i| (product(2 * i) + product(2 * i + 1) - 9) as i32)
            };
            let line: [f32; 16] = std::array::from_fn(|i| f32::from(a[i]) * 1.0001);
            let other: [f32; 16] = std::array::from_fn(|i| f32::from(b[i]) * 0.9999);
            let widened = |i: usize| {
                let exact = f64::from(c[i] as i8) * f64::from(b[i]) / 512.0;
                (exact + 0.5).floor() as i64 as i16
            };
            let five = |i: usize| {
                let low = (c[i % 16] >> (i / 16 * 4)) & 15;
                let high = (c[28 + i / 8] >> (i % 8)) & 1;
                let exact = f64::from(low + 16 * high - 16) * f64::from(b[i]) / 64.0;
                ((exact + 0.5).floor() as i64 + i64::from(a[i])) as i16
            };
            let numbers = vec![
                a,
                std::array::from_fn(|i| a[24 + i % 8]),
                std::array::from_fn(|i| b[5 + i % 2]),
                std::array::from_fn(|i| [line, other][i / 16][i % 16].to_bits() as i16),
                std::array::from_fn(widened),
                std::array::from_fn(five),
                std::array::from_fn(|i| [a, b][i % 2][i / 2]),
                std::array::from_fn(|i| [a, b][i % 2][16 + i / 2]),
            ];
            let all = [dot(&a, &b), dot(&b, &c), dot(&c, &a), dot(&a, &a)];
            let quarter =
                |i: usize| all[i % 4][i / 4 * 4..][..4].iter().fold(0, |a: i32, b| a.wrapping_add(*b));
            let ints = vec![
                all[0],
                std::array::from_fn(quarter),
                std::array::from_fn(|i| all[0][i].wrapping_mul(128).wrapping_add(all[1][i])),
                std::array::from_fn(|i| all[0][i].wrapping_sub(all[1][i])),
            ];
            let turned = std::array::from_fn(|i| rows(&a).map(|row| row[i]));
            let expected = (numbers, ints, line, turned);
            for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
                assert_eq!(arch.dispatch(All([&a, &b, &c])), expected, "{arch:?}, round {round}");
            }
        }
    }
}
