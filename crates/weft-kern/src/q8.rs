//! `q8`, the format of activations between kernels: 8-bit integers in blocks of 32, with one `f32` scale per block.
//!
//! A buffer of `n` values has three planes: `n` bytes of quants, `n / 32` scales `d`, and `n / 16` sums `s` with
//! `s[h] = d · Σ quants of half block h`. A value is `d · quant`. The sums serve weight formats that have a minimum:
//! `Σ (scale·q_w + min)·x = scale · Σ q_w·q_x · d + min · s`. Since planes span the whole buffer, a view can start at any
//! multiple of 32, and a row can be read in another shape.

use crate::exact::reciprocal;

/// The number of values that share a scale.
pub const BLOCK: usize = 32;

/// The size of a buffer of `values` values in bytes, where `values` is a multiple of [`BLOCK`]; `None` on overflow.
pub const fn buffer_bytes(values: usize) -> Option<usize> {
    match values.checked_mul(11) {
        Some(n) => Some(n / 8),
        None => None,
    }
}

/// A block: quants, scale and the two half sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The quants, each in −127..=127.
    pub quants: [i8; BLOCK],
    /// The factor of the quants: the largest magnitude of the block times 1/127.
    pub scale: f32,
    /// `scale` times the sum of each half's quants.
    pub sums: [f32; 2],
}

impl Block {
    /// The values that the block represents.
    pub fn values(&self) -> [f32; BLOCK] {
        self.quants.map(|q| f32::from(q) * self.scale)
    }
}

/// A block whose largest magnitude is at most this, 2⁻¹¹⁹, is rounded to 0: its scale or the inverse of that could be no normal number.
pub const TINY: f32 = f32::from_bits(8 << 23);

/// The factors from quants to values and back, for a block with this largest magnitude, which is finite.
#[inline(always)]
pub fn scales(top: f32) -> [f32; 2] {
    let scale = top * (1.0 / 127.0);
    [scale, if top > TINY { reciprocal(scale) } else { 0.0 }]
}

/// Rounds 32 values to nearest, ties to even.
///
/// This function is the definition: every device computes the same bits. If a value is not finite, scale and sums are NaN, so
/// that the fault shows in the results instead of being rounded away.
#[inline(always)]
pub fn quantise(values: &[f32; BLOCK]) -> Block {
    let mut top = 0.0f32;
    let mut finite = true;
    for v in values {
        top = top.max(v.abs());
        finite &= v.is_finite();
    }
    if !finite {
        return Block { quants: [0; BLOCK], scale: f32::NAN, sums: [f32::NAN; 2] };
    }
    let [scale, inverse] = scales(top);
    let mut quants = [0i8; BLOCK];
    for (q, v) in quants.iter_mut().zip(values) {
        // The product is within ±127 up to rounding; the clamp keeps −128 out.
        *q = (v * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
    }
    let mut halves = [0i32; 2];
    for (i, q) in quants.iter().enumerate() {
        halves[i / 16] += i32::from(*q);
    }
    Block { quants, scale, sums: halves.map(|h| h as f32 * scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_within_half_a_step() {
        let values: [f32; BLOCK] = std::array::from_fn(|i| ((i * 37 % 64) as f32 - 31.5) * 0.173);
        let b = quantise(&values);
        for (q, v) in b.quants.iter().zip(values) {
            assert!((f32::from(*q) * b.scale - v).abs() <= b.scale * 0.5001);
        }
        let sum = |h: usize| b.quants[h * 16..][..16].iter().map(|q| i32::from(*q)).sum::<i32>() as f32;
        assert_eq!(b.sums, [sum(0) * b.scale, sum(1) * b.scale]);
    }

    #[test]
    fn extreme_values_are_rounded_as_defined() {
        assert_eq!(quantise(&[0.0; BLOCK]), Block { quants: [0; BLOCK], scale: 0.0, sums: [0.0; 2] });
        let tiny = quantise(&[f32::from_bits(1); BLOCK]);
        assert_eq!((tiny.quants, tiny.scale), ([0; BLOCK], 0.0));
        let small = quantise(&[1e-37; BLOCK]);
        assert_eq!(small.quants, [0; BLOCK]);
        let big = quantise(&[f32::MAX; BLOCK]);
        assert_eq!((big.quants, big.scale), ([127; BLOCK], f32::MAX * (1.0 / 127.0)));
        let mut nan = [1.0; BLOCK];
        nan[7] = f32::INFINITY;
        assert!(quantise(&nan).scale.is_nan());
        assert_eq!(buffer_bytes(64), Some(64 + 8 + 16));
    }
}
