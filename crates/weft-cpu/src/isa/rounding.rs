//! Rounding activations to bytes, 32 at a time.

use weft_kern::q8;

/// An instruction set that rounds.
pub(crate) trait Rounding: Copy {
    /// [`q8::quantise`], bit for bit.
    #[inline(always)]
    fn quantise(self, values: &[f32; q8::BLOCK]) -> q8::Block {
        quantise(values)
    }
}

/// Rounds by what compilers make of it.
#[inline(always)]
fn quantise(values: &[f32; q8::BLOCK]) -> q8::Block {
    /// Adding 1.5 · 2²³ rounds to an integer, ties to even, which then is in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // The order of magnitudes is that of their bits, where what is not finite comes last.
    let mut top = 0;
    for v in values {
        top = top.max(v.to_bits() & 0x7fff_ffff);
    }
    if top >= f32::INFINITY.to_bits() {
        return q8::Block { quants: [0; q8::BLOCK], scale: f32::NAN, sums: [f32::NAN; 2] };
    }
    let top = f32::from_bits(top);
    let scale = top / 127.0;
    let inverse = 127.0 / top;
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
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
