//! Rounding with AVX-512. For AVX2, the compiler's code is good enough.

use std::arch::x86_64::*;

use weft_kern::q8;

use super::{Avx2, Avx512};
use crate::isa::Rounding;
use crate::isa::rounding::{NOTHING, scales};

impl<const VNNI: bool> Rounding for Avx2<VNNI> {
    #[inline(always)]
    fn sum_halves(self, numbers: &[i8; q8::BLOCK]) -> [i32; 2] {
        // SAFETY: a value of type `Avx2` exists only where AVX2 is enabled.
        unsafe { sum_halves(numbers) }
    }
}

/// [`Rounding::sum_halves`].
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn sum_halves(numbers: &[i8; q8::BLOCK]) -> [i32; 2] {
    // SAFETY: the caller's promise; the load is of the whole array.
    unsafe {
        let signs = _mm256_set1_epi8(i8::MIN);
        // Unsigned numbers, 128 more each; every sum is of eight.
        let unsigned = _mm256_xor_si256(_mm256_loadu_si256(numbers.as_ptr().cast()), signs);
        let sums = _mm256_sad_epu8(unsigned, _mm256_setzero_si256());
        let sums = _mm256_add_epi64(sums, _mm256_unpackhi_epi64(sums, sums));
        let (a, b) = (_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        [_mm_cvtsi128_si32(a) - 16 * 128, _mm_cvtsi128_si32(b) - 16 * 128]
    }
}

impl Rounding for Avx512 {
    #[inline(always)]
    fn sum_halves(self, numbers: &[i8; q8::BLOCK]) -> [i32; 2] {
        // SAFETY: a value of type `Avx512` exists only where AVX2 is enabled too.
        unsafe { sum_halves(numbers) }
    }

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
