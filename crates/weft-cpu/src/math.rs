//! Elementwise functions and reductions over slices, with the same bits for every instruction set.

use weft_kern::exact::{self, ROUND};
use weft_kern::{Binary, Reduce, RopeStyle, Unary};

/// The number of lanes that sums are kept in, whatever the width of the machine's vectors.
pub(crate) const LANES: usize = 16;

/// eˣ to within 2 units in the last place, subnormal results included; 0 below −103.98, infinite above 88.73, NaN
/// for NaN.
///
/// With n the integer nearest to x / ln 2 and r = x − n · ln 2, |r| ≤ 0.3466, eˣ is 2ⁿ · eʳ, and eʳ its Taylor
/// polynomial of degree 7, whose remainder, below r⁸ / 8! = 5.2e-9, is a twentieth of an `f32`'s last place.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// ln 2 in two parts; the first has 16 bits, so that its product with n, of 8, is exact.
    const LN_2_HIGH: f32 = 45_426.0 / 65_536.0;
    const LN_2_LOW: f32 = 1.428_606_8e-6;

    // Beyond these bounds the result is 0 and infinite; `clamp` keeps NaN.
    let x = x.clamp(-105.0, 90.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut q = 1.0 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
        q = q * r + c;
    }
    let y = (q * (r * r) + r) + 1.0;
    // 2ⁿ in two factors, as n reaches from −152 to 130; only the last product rounds, to a subnormal.
    let n = rounded.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let power = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
    y * power(n >> 1) * power(n - (n >> 1))
}

/// ln(1 + eˣ) to within 4 units in the last place.
///
/// It is max(x, 0) + ln(1 + e) with e = e^−|x|, and ln(1 + e) = 2·artanh(z) with z = e / (2 + e), |z| ≤ ⅓. The first term that
/// the series of artanh leaves out, z¹⁷ / 17, is below 2⁻³⁰ of the sum.
#[inline(always)]
pub(crate) fn softplus(x: f32) -> f32 {
    let e = exp(-x.abs());
    let z = e / (2.0 + e);
    let square = z * z;
    let mut q = 1.0 / 15.0;
    for c in [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        q = q * square + c;
    }
    let positive = if x > 0.0 || x.is_nan() { x } else { 0.0 };
    positive + 2.0 * z * q
}

/// `out[i] = op(x[i])`.
#[inline(always)]
pub(crate) fn unary(op: Unary, out: &mut [f32], x: &[f32]) {
    macro_rules! each {
        ($x:ident => $f:expr) => {
            for (out, x) in out.iter_mut().zip(x) {
                let $x = *x;
                *out = $f;
            }
        };
    }
    match op {
        Unary::Neg => each!(x => -x),
        Unary::Exp => each!(x => exp(x)),
        Unary::Sigmoid => each!(x => exact::sigmoid(x)),
        Unary::Silu => each!(x => exact::silu(x)),
        Unary::Softplus => each!(x => softplus(x)),
        Unary::Rsqrt => each!(x => 1.0 / x.sqrt()),
        // Only the tables of rotary embeddings need these: a few hundred a step, of angles that reach hundreds of
        // thousands.
        Unary::Cos | Unary::Sin => each!(x => op.apply(x)),
    }
}

/// `out[i] = op(a[i], b[i])`; an operand of length 1 is repeated.
#[inline(always)]
pub(crate) fn binary(op: Binary, out: &mut [f32], a: &[f32], b: &[f32]) {
    // `f32::max` may return either zero for 0 and −0; these return the second. For a NaN they return the other operand.
    match op {
        Binary::Add => zip(out, a, b, |a, b| a + b),
        Binary::Sub => zip(out, a, b, |a, b| a - b),
        Binary::Mul => zip(out, a, b, |a, b| a * b),
        Binary::Div => zip(out, a, b, |a, b| a / b),
        Binary::Max => zip(out, a, b, |a, b| if a > b || b.is_nan() { a } else { b }),
        Binary::Min => zip(out, a, b, |a, b| if a < b || b.is_nan() { a } else { b }),
    }
}

#[inline(always)]
fn zip(out: &mut [f32], a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) {
    match (a, b) {
        (_, &[b]) => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, b)),
        (&[a], _) => out.iter_mut().zip(b).for_each(|(out, b)| *out = f(a, *b)),
        _ => out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = f(*a, *b)),
    }
}

/// Reduces all values, of which there is at least one.
#[inline(always)]
pub(crate) fn reduce(op: Reduce, x: &[f32]) -> f32 {
    match op {
        Reduce::Sum => sum(x),
        Reduce::Max => max(x),
    }
}

/// The sum: lane `j` adds up the values `j`, `j + 16`, … in order, then the lanes are [`fold`]ed.
#[inline(always)]
pub(crate) fn sum(x: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (whole, tail) = x.as_chunks::<LANES>();
    for x in whole {
        for j in 0..LANES {
            lanes[j] += x[j];
        }
    }
    for (lane, x) in lanes.iter_mut().zip(tail) {
        *lane += x;
    }
    fold(lanes)
}

/// The sum of all lanes, adding the upper half to the lower until one is left.
#[inline(always)]
pub(crate) fn fold(lanes: [f32; LANES]) -> f32 {
    // Loops of fixed length, which the compiler turns into shuffles.
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for j in 0..8 {
        eight[j] = lanes[j] + lanes[j + 8];
    }
    for j in 0..4 {
        four[j] = eight[j] + eight[j + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// [`fold`] of several sums.
#[inline(always)]
pub(crate) fn folds<const N: usize>(lanes: &[[f32; LANES]; N]) -> [f32; N] {
    // All at once, step by step, so that a vector has parts of several.
    let (mut eight, mut four, mut sums) = ([[0.0; 8]; N], [[0.0; 4]; N], [0.0; N]);
    for i in 0..N {
        for j in 0..8 {
            eight[i][j] = lanes[i][j] + lanes[i][j + 8];
        }
    }
    for i in 0..N {
        for j in 0..4 {
            four[i][j] = eight[i][j] + eight[i][j + 4];
        }
    }
    for i in 0..N {
        sums[i] = (four[i][0] + four[i][2]) + (four[i][1] + four[i][3]);
    }
    sums
}

/// The largest value, or NaN if there is one.
#[inline(always)]
pub(crate) fn max(x: &[f32]) -> f32 {
    #[inline(always)]
    fn larger(a: f32, b: f32) -> f32 {
        if a > b || a.is_nan() { a } else { b }
    }
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, tail) = x.as_chunks::<LANES>();
    for x in whole {
        for j in 0..LANES {
            lanes[j] = larger(lanes[j], x[j]);
        }
    }
    let all = lanes.iter().chain(tail);
    all.fold(f32::NEG_INFINITY, |top, x| larger(top, *x))
}

/// The indices of the largest values, largest first, the lower index first among equals; NaN before everything. There are
/// at least as many values as there is room, and no more than `f32` has whole numbers.
#[inline(always)]
pub(crate) fn largest(x: &[f32], out: &mut [f32]) {
    // The positive NaN is above all numbers.
    let key = |v: f32| if v.is_nan() { f32::NAN } else { v };
    for (i, value) in x.iter().enumerate() {
        let found = i.min(out.len());
        let smaller = |at: &f32| key(x[*at as usize]).total_cmp(&key(*value)).is_lt();
        // After all values that are not smaller, and so after equal ones, which came earlier.
        let at = out[..found].iter().rposition(|at| !smaller(at)).map_or(0, |at| at + 1);
        if at < out.len() {
            let end = out.len().min(found + 1);
            out[at..end].rotate_right(1);
            out[at] = i as f32;
        }
    }
}

/// `y[i] += s · x[i]` for each row `x` and its `s`, one row after the other.
#[inline(always)]
pub(crate) fn add_scaled<const N: usize>(y: &mut [f32], scales: [f32; N], rows: [&[f32]; N]) {
    let rows = rows.map(|row| &row[..y.len()]);
    for (i, y) in y.iter_mut().enumerate() {
        let mut sum = *y;
        for (s, row) in scales.iter().zip(&rows) {
            sum += s * row[i];
        }
        *y = sum;
    }
}

/// Rotates each pair of `x` by its angle.
#[inline(always)]
pub(crate) fn rope(style: RopeStyle, out: &mut [f32], x: &[f32], cos: &[f32], sin: &[f32]) {
    match style {
        RopeStyle::Pairs => {
            let pairs = out.as_chunks_mut::<2>().0.iter_mut().zip(x.as_chunks::<2>().0);
            for (([y0, y1], [x0, x1]), (cos, sin)) in pairs.zip(cos.iter().zip(sin)) {
                *y0 = x0 * cos - x1 * sin;
                *y1 = x0 * sin + x1 * cos;
            }
        }
        RopeStyle::Halves => {
            let half = x.len() / 2;
            let ((y0, y1), (x0, x1)) = (out.split_at_mut(half), x.split_at(half));
            for i in 0..half {
                y0[i] = x0[i] * cos[i] - x1[i] * sin[i];
                y1[i] = x0[i] * sin[i] + x1[i] * cos[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the true value.
    fn ulps(found: f32, x: f32) -> f64 {
        let truth = f64::from(x).exp();
        let exponent = truth.log2().floor().max(-126.0);
        (f64::from(found) - truth).abs() / (exponent - 23.0).exp2()
    }

    #[test]
    fn exp_is_within_two_ulps_everywhere() {
        let mut worst = (0.0, 0.0);
        // Floats of either sign in steps of a prime, and every float near the ends.
        let ends = [88.0f32, 89.0, -87.0, -88.0, -103.0, -104.5].map(f32::to_bits);
        let near = ends.into_iter().flat_map(|b| (b - 20_000..b + 20_000).step_by(7));
        for bits in (0..=u32::MAX).step_by(4_099).chain(near) {
            let x = f32::from_bits(bits);
            if x.is_nan() || f64::from(x).exp() > f64::from(f32::MAX) {
                continue;
            }
            let error = ulps(exp(x), x);
            if error > worst.0 {
                worst = (error, x);
            }
        }
        assert!(worst.0 <= 2.0, "{} ulps at {}", worst.0, worst.1);
    }

    #[test]
    fn exp_has_the_right_ends() {
        assert_eq!([exp(0.0), exp(-0.0)], [1.0, 1.0]);
        assert_eq!([exp(f32::NEG_INFINITY), exp(-104.0), exp(f32::MIN)], [0.0; 3]);
        assert_eq!([exp(f32::INFINITY), exp(88.73), exp(f32::MAX)], [f32::INFINITY; 3]);
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp(-103.9), f32::from_bits(1));
    }

    #[test]
    fn sums_follow_the_lanes() {
        // A value that swallows small ones: only the order of the definition gives this result.
        let mut x = vec![1.0f32; 40];
        x[0] = 1e8;
        x[8] = -1e8;
        // Lane 0 holds 1e8 + 1 + 1 = 1e8, lane 8 the opposite with another 1; folded, they vanish and three ones
        // with them.
        assert_eq!(sum(&x), 35.0);
        assert_eq!(sum(&[-0.0]), 0.0);
    }

    #[test]
    fn the_largest_value_is_found_anywhere_and_nan_stays() {
        for n in [1, 5, 16, 33] {
            for at in 0..n {
                let mut x = vec![-2.0f32; n];
                x[at] = -1.0;
                assert_eq!(max(&x), -1.0, "{at} of {n}");
                x[at] = f32::NAN;
                assert!(max(&x).is_nan(), "{at} of {n}");
            }
        }
    }

    #[test]
    fn the_largest_come_in_order_with_ties_and_nan() {
        fn indices<const K: usize>(values: &[f32]) -> [f32; K] {
            let mut out = [f32::NAN; K];
            largest(values, &mut out);
            out
        }
        assert_eq!(indices(&[1.0, 3.0, 2.0, 3.0, 0.0]), [1.0, 3.0, 2.0]);
        assert_eq!(indices(&[5.0; 4]), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(indices(&[-1.0, f32::NAN, f32::INFINITY, -f32::NAN]), [1.0, 3.0, 2.0, 0.0]);
        assert_eq!(indices(&[-0.0, 0.0, f32::INFINITY]), [2.0, 1.0]);
    }

    #[test]
    fn operands_of_one_value_are_repeated() {
        let mut out = [0.0; 3];
        binary(Binary::Sub, &mut out, &[5.0], &[1.0, 2.0, 3.0]);
        assert_eq!(out, [4.0, 3.0, 2.0]);
        binary(Binary::Div, &mut out, &[4.0, 2.0, 1.0], &[2.0]);
        assert_eq!(out, [2.0, 1.0, 0.5]);
        binary(Binary::Max, &mut out, &[f32::NAN, 1.0, 0.0], &[1.0, f32::NAN, -0.0]);
        assert_eq!(out.map(f32::to_bits), [1.0f32, 1.0, -0.0].map(f32::to_bits));
    }
}
