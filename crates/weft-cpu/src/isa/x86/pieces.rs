//! Vectors of sixteen floats in the registers of x86-64: one of AVX-512, or two of AVX2.

use std::arch::x86_64::*;

use super::{Avx2, Avx512};
use crate::isa::Pieces;

// SAFETY of every block below: a value of type `Avx512` exists only where AVX-512 F is enabled, one of type `Avx2` only where AVX2, FMA and
// F16C are; every load and store is of a whole array, or of a half that is checked to be within it.
impl Pieces for Avx512 {
    type Piece = __m512;

    const PIECES: usize = 1;

    #[inline(always)]
    fn piece(self, from: &[f32; 16], _: usize) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn singles_piece(self, from: &[u8; 64], _: usize) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_ps(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn halves_piece(self, from: &[u8; 32], _: usize) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn upper_halves_piece(self, from: &[u8; 32], _: usize) -> __m512 {
        // SAFETY: see above the impl.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn mul_add_pieces(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn store_piece(self, x: __m512, to: &mut [f32; 16], _: usize) {
        // SAFETY: see above the impl.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
    }
}

impl<const VNNI: bool> Pieces for Avx2<VNNI> {
    type Piece = __m256;

    const PIECES: usize = 2;

    #[inline(always)]
    fn piece(self, from: &[f32; 16], piece: usize) -> __m256 {
        // SAFETY: see above the impl.
        unsafe { _mm256_loadu_ps(from[8 * piece..][..8].as_ptr()) }
    }

    #[inline(always)]
    fn singles_piece(self, from: &[u8; 64], piece: usize) -> __m256 {
        // SAFETY: see above the impl.
        unsafe { _mm256_loadu_ps(from[32 * piece..][..32].as_ptr().cast()) }
    }

    #[inline(always)]
    fn halves_piece(self, from: &[u8; 32], piece: usize) -> __m256 {
        // SAFETY: see above the impl.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from[16 * piece..][..16].as_ptr().cast())) }
    }

    #[inline(always)]
    fn upper_halves_piece(self, from: &[u8; 32], piece: usize) -> __m256 {
        // SAFETY: see above the impl.
        unsafe {
            let halves = _mm_loadu_si128(from[16 * piece..][..16].as_ptr().cast());
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves)))
        }
    }

    #[inline(always)]
    fn mul_add_pieces(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: see above the impl.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn store_piece(self, x: __m256, to: &mut [f32; 16], piece: usize) {
        // SAFETY: see above the impl.
        unsafe { _mm256_storeu_ps(to[8 * piece..][..8].as_mut_ptr(), x) }
    }
}
