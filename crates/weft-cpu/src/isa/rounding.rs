//! Rounding activations to bytes, 32 at a time.

use weft_kern::q8;

use crate::math::ROUND;

/// What a block with a value that is not finite is rounded to.
pub(super) const NOTHING: q8::Block =
    q8::Block { quants: [0; q8::BLOCK], scale: f32::NAN, sums: [f32::NAN; 2] };

/// An instruction set that rounds.
pub(crate) trait Rounding: Copy {
    /// [`q8::quantise`], bit for bit.
    #[inline(always)]
    fn quantise(self, values: &[f32; q8::BLOCK]) -> q8::Block {
        quantise(values)
    }
}

/// Of a block whose largest magnitude has these bits: what its numbers are multiplied by to be values, and its values to be numbers. Nothing
/// if a value is not finite: the order of magnitudes is that of their bits, where these come last.
#[inline(always)]
pub(super) fn scales(top: u32) -> Option<(f32, f32)> {
    if top >= f32::INFINITY.to_bits() {
        return None;
    }
    let top = f32::from_bits(top);
    let inverse = 127.0 / top;
    Some((top / 127.0, if inverse.is_finite() { inverse } else { 0.0 }))
}

/// Rounds by what compilers make of it.
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
