//! Rounding with AVX-512. For AVX2, the compiler's code is good enough.

use std::arch::x86_64::*;

use weft_kern::q8;

use super::{Avx2, Avx512};
use crate::isa::Rounding;
use crate::isa::rounding::{NOTHING, scales};

impl<const VNNI: bool> Rounding for Avx2<VNNI> {}

impl Rounding for Avx512 {
    #[inline(always)]
    fn quantise(self, values: &[f32; q8::BLOCK]) -> q8::Block {
        // SAFETY: a value of type `Avx512` exists only where AVX-512 F, BW, DQ, VL and VNNI are enabled, and every load and store is of a
        // part of an array that is as long.
        unsafe {
            let from = values.as_ptr();
            let (a, b) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
            let magnitude = _mm512_set1_epi32(0x7fff_ffff);
            let of_a = _mm512_and_si512(_mm512_castps_si512(a), magnitude);
            let of_b = _mm512_and_si512(_mm512_castps_si512(b), magnitude);
            let top = _mm512_reduce_max_epi32(_mm512_max_epi32(of_a, of_b)) as u32;
            let Some((scale, inverse)) = scales(top) else { return NOTHING };
            let inverse = _mm512_set1_ps(inverse);
            // To nearest, ties to even. Rounding brings products slightly above 127 back to it.
            let a = _mm512_cvtps_epi32(_mm512_mul_ps(a, inverse));
            let b = _mm512_cvtps_epi32(_mm512_mul_ps(b, inverse));
            let mut quants = [0; q8::BLOCK];
            let to: *mut i8 = quants.as_mut_ptr();
            _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(a));
            _mm_storeu_si128(to.add(16).cast(), _mm512_cvtepi32_epi8(b));
            let sums = [_mm512_reduce_add_epi32(a) as f32 * scale, _mm512_reduce_add_epi32(b) as f32 * scale];
            q8::Block { quants, scale, sums }
        }
    }
}
