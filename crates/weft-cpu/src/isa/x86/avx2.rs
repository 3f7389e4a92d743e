//! Vectors of AVX2: two registers each. AVX-VNNI adds one instruction, which multiplies bytes and adds up the products.

use std::arch::x86_64::*;

use super::Avx2;
use crate::isa::Lanes;

/// [`Lanes::field`] of half a vector.
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn field(x: __m256i, right: i32, mask: u8) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let shifted = match right {
            0 => x,
            right if right > 0 => _mm256_srl_epi16(x, _mm_cvtsi32_si128(right)),
            _ => _mm256_sll_epi16(x, _mm_cvtsi32_si128(-right)),
        };
        _mm256_and_si256(shifted, _mm256_set1_epi8(mask as i8))
    }
}

/// Adds the products of unsigned bytes up to 128 and signed bytes above −128.
///
/// Without AVX-VNNI two products are added in 16 bits first, and saturate: 2 · 128 · 127 fits.
///
/// # Safety
/// AVX2 must be enabled where this is inlined, and AVX-VNNI if `VNNI`.
#[inline(always)]
unsafe fn dot<const VNNI: bool>(acc: __m256i, w: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        if VNNI {
            _mm256_dpbusd_avx_epi32(acc, w, x)
        } else {
            let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1));
            _mm256_add_epi32(acc, pairs)
        }
    }
}

/// The same for full-range bytes: unsigned if `VNNI`, which has no bound; otherwise signed, with their signs moved to the other factor.
///
/// # Safety
/// As for [`dot`].
#[inline(always)]
unsafe fn dot_large<const VNNI: bool>(acc: __m256i, w: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        if VNNI {
            dot::<true>(acc, w, x)
        } else {
            dot::<false>(acc, _mm256_abs_epi8(w), _mm256_sign_epi8(x, w))
        }
    }
}

/// Four bytes in every lane.
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn repeat(x: &[i8; 4]) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_set1_epi32(i32::from_le_bytes([x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8])) }
}

// SAFETY of every block below: a value of type `Avx2` exists only where AVX2, FMA and F16C are enabled, and AVX-VNNI if `VNNI`; every
// load and store is within an array.
impl<const VNNI: bool> Lanes for Avx2<VNNI> {
    const SIGNED: bool = !VNNI;

    type Bytes = [__m256i; 2];
    type Ints = [__m256i; 2];
    type Floats = [__m256; 2];

    #[inline(always)]
    fn bytes(self, from: &[u8; 64]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_loadu_si256(from.as_ptr().cast()), _mm256_loadu_si256(from[32..].as_ptr().cast())] }
    }

    #[inline(always)]
    fn field(self, x: [__m256i; 2], right: i32, mask: u8) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [field(x[0], right, mask), field(x[1], right, mask)] }
    }

    #[inline(always)]
    fn or(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])] }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], x: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            [_mm256_shuffle_epi8(table, x[0]), _mm256_shuffle_epi8(table, x[1])]
        }
    }

    #[inline(always)]
    fn flip(self, x: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let top = _mm256_set1_epi8(i8::MIN);
            [_mm256_xor_si256(x[0], top), _mm256_xor_si256(x[1], top)]
        }
    }

    #[inline(always)]
    fn less(self, x: [__m256i; 2], by: u8) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let by = _mm256_set1_epi8(by as i8);
            [_mm256_sub_epi8(x[0], by), _mm256_sub_epi8(x[1], by)]
        }
    }

    #[inline(always)]
    fn ints(self, from: &[i32; 16]) -> [__m256i; 2] {
        let at = from.as_ptr();
        // SAFETY: see above the impl.
        unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(8).cast())] }
    }

    #[inline(always)]
    fn int(self, x: i32) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        [unsafe { _mm256_set1_epi32(x) }; 2]
    }

    #[inline(always)]
    fn dot(self, acc: [__m256i; 2], w: [__m256i; 2], x: &[i8; 4]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let x = repeat(x);
            [dot::<VNNI>(acc[0], w[0], x), dot::<VNNI>(acc[1], w[1], x)]
        }
    }

    #[inline(always)]
    fn dot_large(self, acc: [__m256i; 2], w: [__m256i; 2], x: &[i8; 4]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let x = repeat(x);
            [dot_large::<VNNI>(acc[0], w[0], x), dot_large::<VNNI>(acc[1], w[1], x)]
        }
    }

    #[inline(always)]
    fn add_ints(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])] }
    }

    #[inline(always)]
    fn to_floats(self, x: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_cvtepi32_ps(x[0]), _mm256_cvtepi32_ps(x[1])] }
    }

    #[inline(always)]
    fn float(self, x: f32) -> [__m256; 2] {
        // SAFETY: see above the impl.
        [unsafe { _mm256_set1_ps(x) }; 2]
    }

    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn larger(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (_mm_loadu_si128(from.as_ptr().cast()), _mm_loadu_si128(from[16..].as_ptr().cast()));
            [_mm256_cvtph_ps(a), _mm256_cvtph_ps(b)]
        }
    }

    #[inline(always)]
    fn upper_halves(self, from: &[u8; 32]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (_mm_loadu_si128(from.as_ptr().cast()), _mm_loadu_si128(from[16..].as_ptr().cast()));
            let (a, b) = (_mm256_cvtepu16_epi32(a), _mm256_cvtepu16_epi32(b));
            [_mm256_castsi256_ps(_mm256_slli_epi32::<16>(a)), _mm256_castsi256_ps(_mm256_slli_epi32::<16>(b))]
        }
    }

    #[inline(always)]
    fn unsigned(self, from: &[u8; 16]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (_mm_loadl_epi64(from.as_ptr().cast()), _mm_loadl_epi64(from[8..].as_ptr().cast()));
            [_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(a)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(b))]
        }
    }

    #[inline(always)]
    fn signed(self, from: &[u8; 16]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (_mm_loadl_epi64(from.as_ptr().cast()), _mm_loadl_epi64(from[8..].as_ptr().cast()));
            [_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(a)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b))]
        }
    }

    #[inline(always)]
    fn floats(self, from: &[f32; 16]) -> [__m256; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from[8..].as_ptr())] }
    }

    #[inline(always)]
    fn store(self, x: [__m256; 2], to: &mut [f32; 16]) {
        // SAFETY: see above the impl.
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), x[0]);
            _mm256_storeu_ps(to[8..].as_mut_ptr(), x[1]);
        }
    }
}
