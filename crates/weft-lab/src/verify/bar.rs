//! Values with error bars: what the interpreter computes, and how far a device may be from it.
//!
//! This is forward error analysis (Higham, *Accuracy and Stability of Numerical Algorithms*, chapters 2 and 3), done on the very numbers. A
//! device and the interpreter are given the same bits; each rounds every operation, `fl(x op y) = (x op y)(1 + δ)` with |δ| ≤ u = 2⁻²⁴, so
//! they differ by what the operands' errors make of the result and by two roundings. For sums the worst case, n roundings all in one
//! direction, is hopelessly far off; rounding errors of unlike terms behave like independent ones, of which n sum up to λ√n u with a
//! probability of at least 1 − 2n·exp(−λ²/2) (Higham and Mary, *A new approach to probabilistic rounding error analysis*, 2019), whatever
//! the order of the terms. With λ = 9 that fails less than once in 10¹³ sums of ten thousand terms.
//!
//! Functions may be as far off as WebGPU allows them to be (WGSL, "Accuracy of concrete floating point expressions"), in units in the last
//! place (ulp): 2.5 for a division, 2 for 1/√x, 3 + 2|x| for eˣ. Sine and cosine, of which the tables of rotary embeddings are made, have to
//! be better than its 2⁻¹¹.

use weft_kern::{Binary, Unary, q8};
use weft_quant::{GgmlType, f16_to_f32};

/// The unit roundoff of `f32`.
pub(super) const U: f64 = 1.0 / 16_777_216.0;

/// An ulp is at most this part of a number.
pub(super) const ULP: f64 = 2.0 * U;

/// Devices may take what is smaller than any normal number for 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// The λ of the probabilistic bound.
const LAMBDA: f64 = 9.0;

/// A value of the interpreter's, and how far at most the device's is from it. Where that is infinite nothing is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bar {
    pub(super) value: f32,
    pub(super) error: f64,
}

/// How much of the sum of the magnitudes a sum of `n` terms may be off.
pub(super) fn sum_error(n: usize) -> f64 {
    let n = n as f64;
    n.min(LAMBDA * n.sqrt()) * U
}

/// How much a sum of independent errors of these magnitudes may be (Hoeffding, 1963, with the λ of above).
pub(super) fn independent(errors: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = errors.fold((0.0, 0.0), |(sum, squares), e| (sum + e, squares + e * e));
    // Infinite errors have no root of their squares to compare with.
    if squares.is_finite() { f64::min(sum, LAMBDA * f64::sqrt(squares)) } else { sum }
}

impl Bar {
    /// What both are given.
    pub(super) fn exact(value: f32) -> Bar {
        Bar { value, error: 0.0 }
    }

    /// A result that both round, after errors of `error`.
    pub(super) fn rounded(value: f32, error: f64) -> Bar {
        Bar::within(value, error, 0.0)
    }

    /// A result that the device computes to within `ulps` units in the last place more.
    fn within(value: f32, error: f64, ulps: f64) -> Bar {
        let size = f64::from(value).abs() + error;
        Bar { value, error: error + (ulps * ULP + 2.0 * U) * size + TINY }
    }

    /// What is not known any more.
    pub(super) fn unknown(value: f32) -> Bar {
        Bar { value, error: f64::INFINITY }
    }

    fn size(self) -> f64 {
        f64::from(self.value).abs()
    }

    /// A function of it.
    pub(super) fn unary(self, op: Unary) -> Bar {
        let (x, e) = (f64::from(self.value), self.error);
        let value = op.apply(self.value);
        let y = f64::from(value);
        // How much the function's value may change where the argument does by e, and ulps of the function itself.
        let exp_ulps = 3.0 + 2.0 * x.abs();
        let (error, ulps) = match op {
            Unary::Neg => return Bar { value, error: e },
            Unary::Exp => (y * e.exp_m1(), exp_ulps),
            // s' = s·(1 − s), at most 1/4, and at most s.
            Unary::Sigmoid => ((e / 4.0).min(y * e.exp_m1()), exp_ulps + 2.5),
            // |f'| < 1.1.
            Unary::Silu => (1.1 * e, exp_ulps + 2.5),
            Unary::Rsqrt if x > e => ((x - e).sqrt().recip() - x.sqrt().recip(), 2.0),
            Unary::Rsqrt => return Bar::unknown(value),
            // Slopes of no more than 1, and values too: a few ulps of 1.
            Unary::Cos | Unary::Sin => (e + 4.0 * ULP, 0.0),
        };
        // An exact argument makes no error, were the value infinite.
        Bar::within(value, if e == 0.0 && !matches!(op, Unary::Cos | Unary::Sin) { 0.0 } else { error }, ulps)
    }

    /// A function of two.
    pub(super) fn binary(op: Binary, a: Bar, b: Bar) -> Bar {
        let value = op.apply(a.value, b.value);
        match op {
            Binary::Add | Binary::Sub => Bar::rounded(value, a.error + b.error),
            Binary::Mul => Bar::rounded(value, a.size() * b.error + b.size() * a.error + a.error * b.error),
            Binary::Div if b.size() > b.error => {
                let y = f64::from(value).abs();
                Bar::within(value, (a.error + y * b.error) / (b.size() - b.error), 2.5)
            }
            Binary::Div => Bar::unknown(value),
            Binary::Max | Binary::Min => Bar { value, error: a.error.max(b.error) },
        }
    }

    /// A sum in any order; `value` is the interpreter's.
    pub(super) fn sum(value: f32, terms: &[Bar]) -> Bar {
        let errors: f64 = terms.iter().map(|t| t.error).sum();
        let sizes: f64 = terms.iter().map(|t| t.size()).sum();
        Bar::rounded(value, errors + sum_error(terms.len()) * (sizes + errors))
    }

    /// Rounds 32 values to `q8` and reads them back. Who is near the middle of two steps may be rounded to either.
    pub(super) fn rounded_q8(block: &[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
        let rounded = q8::quantise(&block.map(|bar| bar.value));
        let error = largest(block.map(|bar| bar.error)) / 127.0 + 2.0 * U * f64::from(rounded.scale) + TINY;
        Bar::stepped(block, rounded.quants, rounded.scale, error)
    }

    /// The same for the type `q8_0`, whose scales are halves.
    pub(super) fn rounded_q8_0(block: &[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
        let mut bytes = [0; 2 + q8::BLOCK];
        let encoded = weft_quant::encode(GgmlType::Q8_0, &block.map(|bar| bar.value), &mut bytes);
        let (&[low, high, ref quants @ ..], true) = (&bytes, encoded.is_ok()) else {
            return block.map(|bar| Bar::unknown(bar.value));
        };
        let scale = f16_to_f32(u16::from_le_bytes([low, high]));
        let exact = largest(block.map(Bar::size)) / 127.0;
        let error = largest(block.map(|bar| bar.error)) / 127.0 + 2.0 * U * exact;
        // Halves lie no further apart than these, the smallest 2⁻²⁴.
        let apart = f64::from(scale) / 1024.0 + U;
        // The scale is as it is unless the exact one is near the middle of two.
        let middle = (exact - f64::from(scale)).abs() + error >= apart / 4.0;
        let scale_error = if middle { apart + error } else { 0.0 };
        Bar::stepped(block, quants.map(|q| q as i8), scale, scale_error)
    }

    /// Values that were rounded to whole numbers of a scale.
    fn stepped(
        block: &[Bar; q8::BLOCK],
        quants: [i8; q8::BLOCK],
        scale: f32,
        scale_error: f64,
    ) -> [Bar; q8::BLOCK] {
        let (top, top_error) = (largest(block.map(Bar::size)), largest(block.map(|bar| bar.error)));
        std::array::from_fn(|i| {
            let Bar { value, error } = block[i];
            let read = f32::from(quants[i]) * scale;
            if top <= top_error {
                // The device's block may be of any values as small as these.
                return Bar::rounded(read, top + 2.0 * top_error);
            }
            // In steps: the value, and how far off it may be, its product and the scale's inverse being rounded.
            let (quant, at) = (f64::from(quants[i]), f64::from(value) * 127.0 / top);
            let off = 127.0 * (error + f64::from(value).abs() * top_error / top) / (top - top_error)
                + 4.0 * U * at.abs();
            let steps = [at - off, at + off].map(|at| (at.round_ties_even() - quant).abs());
            // As far as quants reach.
            let steps = largest(steps).min(254.0);
            Bar::rounded(read, quant.abs() * scale_error + steps * (f64::from(scale) + scale_error))
        })
    }
}

fn largest<const N: usize>(values: [f64; N]) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what `f32` makes of an operation, on operands anywhere within their bars, is within the result's.
    fn holds(bar: Bar, found: f32) {
        let off = (f64::from(found) - f64::from(bar.value)).abs();
        assert!(found == bar.value || off <= bar.error, "{found} is {off:e} from {bar:?}");
    }

    const VALUES: [f32; 9] = [0.0, 1.0, -1.5, 1e-3, -80.0, 7.25, 3e4, 1e-30, 88.0];
    const ERRORS: [f32; 4] = [0.0, 1e-6, 1e-3, 0.1];

    /// A value, a bar around it, and what may be in the bar.
    fn bars() -> impl Iterator<Item = (Bar, [f32; 3])> {
        VALUES.into_iter().flat_map(|value| {
            ERRORS.into_iter().map(move |error| {
                let [low, high] = [value - error, value + error];
                let far =
                    (f64::from(low) - f64::from(value)).abs().max((f64::from(high) - f64::from(value)).abs());
                (Bar { value, error: far }, [low, value, high])
            })
        })
    }

    #[test]
    fn functions_stay_within_their_bars() {
        for (bar, inside) in bars() {
            let root = f64::from(bar.value) > bar.error;
            for op in Unary::ALL.iter().filter(|op| **op != Unary::Rsqrt || root) {
                let result = bar.unary(*op);
                inside.iter().for_each(|x| holds(result, op.apply(*x)));
            }
        }
        // 1/√x is unknown where x may be 0.
        assert_eq!(Bar { value: 1e-3, error: 2e-3 }.unary(Unary::Rsqrt).error, f64::INFINITY);
    }

    #[test]
    fn operations_stay_within_their_bars() {
        for (a, inside_a) in bars() {
            for (b, inside_b) in bars() {
                for op in Binary::ALL {
                    let result = Bar::binary(*op, a, b);
                    if result.error.is_finite() {
                        inside_a
                            .iter()
                            .for_each(|x| inside_b.iter().for_each(|y| holds(result, op.apply(*x, *y))));
                    }
                }
            }
        }
        let by_zero = Bar::binary(Binary::Div, Bar::exact(1.0), Bar { value: 1e-7, error: 1e-6 });
        assert_eq!(by_zero.error, f64::INFINITY);
    }

    /// Bars are no excuse: they are as narrow as a few roundings.
    #[test]
    fn bars_of_exact_operands_are_a_few_ulps() {
        for value in [1.0f32, -3.5, 0.01] {
            for op in Unary::ALL.iter().filter(|op| **op != Unary::Rsqrt || value > 0.0) {
                let bar = Bar::exact(value).unary(*op);
                assert!(bar.error <= 20.0 * ULP * f64::from(bar.value).abs().max(1.0), "{op:?}: {bar:?}");
            }
            let bar = Bar::binary(Binary::Mul, Bar::exact(value), Bar::exact(0.3));
            assert!(bar.error <= 1.1 * ULP * f64::from(bar.value).abs(), "{bar:?}");
        }
        assert_eq!((sum_error(16), sum_error(10_000)), (16.0 * U, 900.0 * U));
    }

    #[test]
    fn sums_in_another_order_stay_within_their_bars() {
        let terms: Vec<f32> = (0..5000).map(|i| ((i * 7919 % 1009) as f32 - 504.0) * 0.731).collect();
        let exact = terms.iter().map(|x| f64::from(*x)).sum::<f64>() as f32;
        let bar = Bar::sum(exact, &terms.iter().map(|x| Bar::exact(*x)).collect::<Vec<_>>());
        let forward: f32 = terms.iter().sum();
        let backward: f32 = terms.iter().rev().sum();
        assert!(forward != backward, "rounding shows");
        [forward, backward].into_iter().for_each(|sum| holds(bar, sum));
        // A forgotten term of the average size shows.
        let size = terms.iter().map(|x| x.abs()).sum::<f32>() / 5000.0;
        assert!(bar.error < f64::from(size), "{bar:?} hides {size}");
    }

    #[test]
    fn errors_that_are_independent_seldom_add_up() {
        assert_eq!(independent([1.0, 2.0].into_iter()), 3.0);
        assert_eq!(independent(std::iter::repeat_n(1.0, 10_000)), 900.0);
        assert_eq!(independent([f64::INFINITY, 1.0].into_iter()), f64::INFINITY);
    }

    #[test]
    fn rounding_goes_to_the_neighbour_only_where_it_may() {
        let mut values = [0.0f32; q8::BLOCK];
        values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32 * 4.0 - 62.3);
        // The step is 62.3 / 127: put one value in the middle of two.
        let step = 62.3f32 / 127.0;
        values[3] = step * 10.5;
        let block = values.map(|value| Bar { value, error: 1e-5 });
        let bars = Bar::rounded_q8(&block);
        for (i, bar) in bars.iter().enumerate() {
            assert_eq!(bar.error > 0.9 * f64::from(step), i == 3, "{i}: {bar:?}");
        }
        // Whatever the device's block is within the bars, its rounding is within theirs.
        for shift in [-1e-5f32, -0.5e-5, 0.5e-5, 1e-5] {
            for every in 1..5 {
                let moved: [f32; 32] =
                    std::array::from_fn(
                        |i| if i % every == 0 { values[i] + shift } else { values[i] - shift },
                    );
                let found = q8::quantise(&moved);
                let fits =
                    block.iter().zip(moved).all(|(bar, v)| (v - bar.value).abs() as f64 <= bar.error * 1.5);
                assert!(fits);
                let wider = Bar::rounded_q8(&values.map(|value| Bar { value, error: 2e-5 }));
                for (bar, quant) in wider.iter().zip(found.quants) {
                    holds(*bar, f32::from(quant) * found.scale);
                }
            }
        }
        // The same where the scale is a half, which may be rounded to either as well.
        for shift in [-1e-5f32, 1e-5] {
            let bars = Bar::rounded_q8_0(&block);
            let mut bytes = [0; 34];
            let mut found = [0.0; 32];
            weft_quant::encode(GgmlType::Q8_0, &values.map(|v| v + shift), &mut bytes).unwrap();
            weft_quant::decode(GgmlType::Q8_0, &bytes, &mut found).unwrap();
            bars.iter().zip(found).for_each(|(bar, found)| holds(*bar, found));
            assert!(bars[4].error < 0.2 * f64::from(step), "{:?}", bars[4]);
        }
        // Nothing but noise.
        let noise = Bar::rounded_q8(&[Bar { value: 1e-6, error: 1e-5 }; 32]);
        holds(noise[0], 1.1e-5);
        assert!(
            Bar::rounded_q8(&[Bar::exact(0.0); 32]).iter().all(|bar| bar.value == 0.0 && bar.error < 1e-37)
        );
    }
}
