//! Rounding activations to bytes, 32 at a time.

use weft_kern::exact::ROUND;
use weft_kern::q8;

/// The result of rounding a block with a value that is not finite.
pub(super) const NOTHING: q8::Block =
    q8::Block { quants: [0; q8::BLOCK], scale: f32::NAN, sums: [f32::NAN; 2] };

/// Rounding in an instruction set.
pub(crate) trait Rounding: Copy {
    /// [`q8::quantise`], bit for bit.
    #[inline(always)]
    fn quantise(self, values: &[f32; q8::BLOCK]) -> q8::Block {
        quantise(values)
    }

    /// The sums of the first sixteen numbers and the others.
    #[inline(always)]
    fn sum_halves(self, numbers: &[i8; q8::BLOCK]) -> [i32; 2] {
        // Not iterators with closures: these would be compiled without the instruction set.
        let mut sums = [0; 2];
        for i in 0..q8::BLOCK {
            sums[i / 16] += i32::from(numbers[i]);
        }
        sums
    }
}

/// The factors from numbers to values and back, for a block whose largest magnitude has these bits. `None` if a value is not finite:
/// magnitudes are ordered like their bits, and those come last.
#[inline(always)]
pub(super) fn scales(top: u32) -> Option<(f32, f32)> {
    if top >= f32::INFINITY.to_bits() {
        return None;
    }
    let [scale, inverse] = q8::scales(f32::from_bits(top));
    Some((scale, inverse))
}

/// Rounds in plain Rust, vectorised by the compiler.
#[inline(always)]
fn quantise(values: &[f32; q8::BLOCK]) -> q8::Block {
    let mut top = 0;
    for v in values {
        top = top.max(v.to_bits() & 0x7fff_ffff);
    }
    let Some((scale, inverse)) = scales(top) else { return NOTHING };
    let mut rounded = [0i32; q8::BLOCK];
    for (q, v) in rounded.iter_mut().zip(values) {
        *q = ((v * inverse + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32).clamp(-127, 127);
    }
    let mut sums = [0; 2];
    for (sum, half) in sums.iter_mut().zip(rounded.as_chunks::<16>().0) {
        for q in half {
            *sum += q;
        }
    }
    let mut quants = [0; q8::BLOCK];
    for (quant, q) in quants.iter_mut().zip(rounded) {
        *quant = q as i8;
    }
    q8::Block { quants, scale, sums: sums.map(|s| s as f32 * scale) }
}
