//! Quarters of vectors, the halves of the registers of AVX2.

use std::arch::x86_64::*;

use super::super::quarters::{Line, Quarters};
use super::{Avx2, Avx512};

// SAFETY of every block below: a value of type `Avx512` exists only where AVX-512 F and DQ are enabled, one of type `Avx2` only where
// AVX2 is, and every load is of a whole array or line, the latter aligned.
impl Quarters for Avx512 {
    const WIDE: bool = true;

    #[inline(always)]
    fn load(self, line: &Line) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_load_ps(line.0.as_ptr()) }
    }

    #[inline(always)]
    fn repeat(self, four: &[f32; 4]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_broadcast_f32x4(_mm_loadu_ps(four.as_ptr())) }
    }

    #[inline(always)]
    fn sum_quarters(self, [a, b, c, d]: [__m512; 4]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe {
            // Each quarter is [a0 + a2, b0 + b2, a1 + a3, b1 + b3], and the same of c and d.
            let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
            let (even, odd) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
            _mm512_add_ps(_mm512_castpd_ps(even), _mm512_castpd_ps(odd))
        }
    }
}

impl Quarters for Avx2 {
    const WIDE: bool = false;

    #[inline(always)]
    fn load(self, line: &Line) -> [__m256; 2] {
        let at = line.0.as_ptr();
        // SAFETY: see above the impl.
        unsafe { [_mm256_load_ps(at), _mm256_load_ps(at.add(8))] }
    }

    #[inline(always)]
    fn repeat(self, four: &[f32; 4]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        [unsafe { _mm256_broadcast_ps(&_mm_loadu_ps(four.as_ptr())) }; 2]
    }

    #[inline(always)]
    fn sum_quarters(self, [a, b, c, d]: [[__m256; 2]; 4]) -> [__m256; 2] {
        let mut sums = a;
        for (half, sum) in sums.iter_mut().enumerate() {
            let (a, b, c, d) = (a[half], b[half], c[half], d[half]);
            // SAFETY: see above the impl.
            *sum = unsafe {
                let ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                let (ab, cd) = (_mm256_castps_pd(ab), _mm256_castps_pd(cd));
                let (even, odd) = (_mm256_unpacklo_pd(ab, cd), _mm256_unpackhi_pd(ab, cd));
                _mm256_add_ps(_mm256_castpd_ps(even), _mm256_castpd_ps(odd))
            };
        }
        sums
    }
}
