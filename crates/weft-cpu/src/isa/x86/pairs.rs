//! Pairs of 16-bit numbers in the registers of x86-64.

use std::arch::x86_64::*;

use super::super::pairs::{Line, Numbers, Pairs};
use super::{Avx2, Avx512};

/// The indices of the lower halves of two vectors' lanes among their 64 halves.
const LOWER: [i16; 32] = {
    let mut at = [0; 32];
    let mut i = 0;
    while i < 32 {
        at[i] = 2 * i as i16;
        i += 1;
    }
    at
};

/// The indices of the first and second sixteen pairs among the 64 numbers of two vectors.
const PAIRS: [[i16; 32]; 2] = {
    let mut at = [[0; 32]; 2];
    let mut i = 0;
    while i < 64 {
        at[i / 32][i % 32] = (i / 2 + i % 2 * 32) as i16;
        i += 1;
    }
    at
};

// SAFETY of every block below: a value of type `Avx512` exists only where AVX-512 F, BW, DQ, VL and VNNI are enabled, one of type
// `Avx2` only where AVX2 is, and AVX-VNNI if `VNNI`; every load and store is of a whole array or line, the latter aligned.
impl Pairs for Avx512 {
    const WIDE: bool = true;

    #[inline(always)]
    fn load(self, line: &Line) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_load_ps(line.0.as_ptr()) }
    }

    #[inline(always)]
    fn numbers(self, from: &[i16; 32]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn repeat(self, eight: &[i16; 8]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(eight.as_ptr().cast())) }
    }

    #[inline(always)]
    fn pair(self, pair: &[i16; 2]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_set1_epi32(both(pair)) }
    }

    #[inline(always)]
    fn dot_pairs(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { dpwssd(acc, a, b) }
    }

    #[inline(always)]
    fn sum_quarters(self, [a, b, c, d]: [__m512i; 4]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe {
            // Each quarter is [a0 + a2, b0 + b2, a1 + a3, b1 + b3], and the same of c and d.
            let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
        }
    }

    #[inline(always)]
    fn lower_halves(self, a: __m512, b: __m512) -> __m512i {
        // SAFETY: see above the impl.
        unsafe {
            let at = _mm512_loadu_si512(LOWER.as_ptr().cast());
            _mm512_permutex2var_epi16(_mm512_castps_si512(a), at, _mm512_castps_si512(b))
        }
    }

    #[inline(always)]
    fn widen(self, x: &[u8; 32], m: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe {
            // The product of 64 x and m, divided by 2¹⁵.
            let x = _mm512_slli_epi16::<6>(_mm512_cvtepi8_epi16(_mm256_loadu_si256(x.as_ptr().cast())));
            _mm512_mulhrs_epi16(x, m)
        }
    }

    #[inline(always)]
    fn widen_fives(self, low: &[u8; 16], high: &[u8; 4], m: __m512i, c: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe {
            // A number without its fifth bit is 16 less: the upper half of its byte is ones.
            let less = _mm256_maskz_set1_epi8(!u32::from_le_bytes(*high), -16);
            let x = _mm512_cvtepi8_epi16(_mm256_or_si256(nibbles(low), less));
            _mm512_add_epi16(_mm512_mulhrs_epi16(_mm512_slli_epi16::<9>(x), m), c)
        }
    }

    #[inline(always)]
    fn interleave(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (first, second) =
                (_mm512_loadu_si512(PAIRS[0].as_ptr().cast()), _mm512_loadu_si512(PAIRS[1].as_ptr().cast()));
            [_mm512_permutex2var_epi16(a, first, b), _mm512_permutex2var_epi16(a, second, b)]
        }
    }

    #[inline(always)]
    fn store_numbers(self, x: __m512i, to: &mut Numbers) {
        // SAFETY: see above the impl.
        unsafe { _mm512_store_si512(to.0.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn store_ints(self, x: __m512i, to: &mut [i32; 16]) {
        // SAFETY: see above the impl.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn append(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_add_epi32(_mm512_slli_epi32::<7>(a), b) }
    }

    #[inline(always)]
    fn sub_ints(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_sub_epi32(a, b) }
    }

    // (No closures, nor iterators over arrays of vectors: they would be compiled without the instruction set.)
    #[inline(always)]
    fn transpose(self, x: &[[i32; 16]; 16], to: &mut [[i32; 16]; 16]) {
        // SAFETY: see above the impl.
        unsafe {
            // Four vectors for rows 4i to 4i + 3: they have columns j, 4 + j, 8 + j and 12 + j, each with its four rows.
            let mut fours = [[_mm512_setzero_si512(); 4]; 4];
            for i in 0..4 {
                let mut rows = [_mm512_setzero_si512(); 4];
                for j in 0..4 {
                    rows[j] = _mm512_loadu_si512(x[4 * i + j].as_ptr().cast());
                }
                let [a, b, c, d] = rows;
                let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
                fours[0][i] = _mm512_unpacklo_epi64(ab, cd);
                fours[1][i] = _mm512_unpackhi_epi64(ab, cd);
                let (ab, cd) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
                fours[2][i] = _mm512_unpacklo_epi64(ab, cd);
                fours[3][i] = _mm512_unpackhi_epi64(ab, cd);
            }
            for j in 0..4 {
                let [a, b, c, d] = fours[j];
                // Quarters 0 and 2 of two vectors; 1 and 3.
                let (ab, cd) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
                _mm512_storeu_si512(to[j].as_mut_ptr().cast(), _mm512_shuffle_i32x4::<0x88>(ab, cd));
                _mm512_storeu_si512(to[8 + j].as_mut_ptr().cast(), _mm512_shuffle_i32x4::<0xdd>(ab, cd));
                let (ab, cd) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
                _mm512_storeu_si512(to[4 + j].as_mut_ptr().cast(), _mm512_shuffle_i32x4::<0x88>(ab, cd));
                _mm512_storeu_si512(to[12 + j].as_mut_ptr().cast(), _mm512_shuffle_i32x4::<0xdd>(ab, cd));
            }
        }
    }
}

/// `_mm512_dpwssd_epi32`, as one instruction: the compiler splits the intrinsic into a multiplication and an addition where it expects
/// shorter dependency chains, which here takes twice the time (LLVM avoids this only for target CPUs with the tuning `fast-dpwssd`).
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dpwssd(mut acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the instruction is part of AVX-512 VNNI, which is enabled, and has no effects beyond its operands.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {acc}, {a}, {b}",
            acc = inout(zmm_reg) acc,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    acc
}

/// The bits of two numbers as one.
#[inline(always)]
fn both(pair: &[i16; 2]) -> i32 {
    i32::from(pair[1]) << 16 | i32::from(pair[0] as u16)
}

impl<const VNNI: bool> Pairs for Avx2<VNNI> {
    const WIDE: bool = false;

    #[inline(always)]
    fn load(self, line: &Line) -> [__m256; 2] {
        let at = line.0.as_ptr();
        // SAFETY: see above the impl.
        unsafe { [_mm256_load_ps(at), _mm256_load_ps(at.add(8))] }
    }

    #[inline(always)]
    fn numbers(self, from: &[i16; 32]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [_mm256_loadu_si256(from.as_ptr().cast()), _mm256_loadu_si256(from[16..].as_ptr().cast())] }
    }

    #[inline(always)]
    fn repeat(self, eight: &[i16; 8]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        [unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(eight.as_ptr().cast())) }; 2]
    }

    #[inline(always)]
    fn pair(self, pair: &[i16; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        [unsafe { _mm256_set1_epi32(both(pair)) }; 2]
    }

    #[inline(always)]
    fn dot_pairs(self, acc: [__m256i; 2], a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [dot_pairs::<VNNI>(acc[0], a[0], b[0]), dot_pairs::<VNNI>(acc[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn sum_quarters(self, [a, b, c, d]: [[__m256i; 2]; 4]) -> [__m256i; 2] {
        let mut sums = a;
        for half in 0..2 {
            let (a, b, c, d) = (a[half], b[half], c[half], d[half]);
            // SAFETY: see above the impl.
            sums[half] = unsafe {
                let ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
                let cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
                _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))
            };
        }
        sums
    }

    #[inline(always)]
    fn lower_halves(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe { [lower(a), lower(b)] }
    }

    #[inline(always)]
    fn widen(self, x: &[u8; 32], m: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (_mm_loadu_si128(x.as_ptr().cast()), _mm_loadu_si128(x[16..].as_ptr().cast()));
            let (a, b) = (_mm256_cvtepi8_epi16(a), _mm256_cvtepi8_epi16(b));
            let (a, b) = (_mm256_slli_epi16::<6>(a), _mm256_slli_epi16::<6>(b));
            [_mm256_mulhrs_epi16(a, m[0]), _mm256_mulhrs_epi16(b, m[1])]
        }
    }

    #[inline(always)]
    fn widen_fives(self, low: &[u8; 16], high: &[u8; 4], m: [__m256i; 2], c: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: see above the impl.
        unsafe {
            // Each bit in a byte of its own; a number without its fifth bit is 16 less: the upper half of its byte is ones.
            let bytes = _mm256_set1_epi32(i32::from_le_bytes(*high));
            let each =
                _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
            let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            let bits = _mm256_and_si256(_mm256_shuffle_epi8(bytes, each), bit);
            let clear = _mm256_cmpeq_epi8(bits, _mm256_setzero_si256());
            let x = _mm256_or_si256(nibbles(low), _mm256_and_si256(clear, _mm256_set1_epi8(-16)));
            let a = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x));
            let b = _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(x));
            let (a, b) = (_mm256_slli_epi16::<9>(a), _mm256_slli_epi16::<9>(b));
            let (a, b) = (_mm256_mulhrs_epi16(a, m[0]), _mm256_mulhrs_epi16(b, m[1]));
            [_mm256_add_epi16(a, c[0]), _mm256_add_epi16(b, c[1])]
        }
    }

    #[inline(always)]
    fn interleave(self, a: [__m256i; 2], b: [__m256i; 2]) -> [[__m256i; 2]; 2] {
        // SAFETY: see above the impl.
        unsafe { [pairs(a[0], b[0]), pairs(a[1], b[1])] }
    }

    #[inline(always)]
    fn store_numbers(self, x: [__m256i; 2], to: &mut Numbers) {
        let at = to.0.as_mut_ptr();
        // SAFETY: see above the impl.
        unsafe {
            _mm256_store_si256(at.cast(), x[0]);
            _mm256_store_si256(at.add(16).cast(), x[1]);
        }
    }

    #[inline(always)]
    fn store_ints(self, x: [__m256i; 2], to: &mut [i32; 16]) {
        // SAFETY: see above the impl.
        unsafe {
            _mm256_storeu_si256(to.as_mut_ptr().cast(), x[0]);
            _mm256_storeu_si256(to[8..].as_mut_ptr().cast(), x[1]);
        }
    }
}

/// The halves of sixteen bytes: first all lower ones, then all upper ones.
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn nibbles(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: the caller's promise; the load is of the whole array.
    unsafe {
        let low = _mm_loadu_si128(bytes.as_ptr().cast());
        _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16::<4>(low), low), _mm256_set1_epi8(15))
    }
}

/// [`Pairs::dot_pairs`] of half a vector.
///
/// # Safety
/// AVX2 must be enabled where this is inlined, and AVX-VNNI if `VNNI`.
#[inline(always)]
unsafe fn dot_pairs<const VNNI: bool>(acc: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { if VNNI { half_dpwssd(acc, a, b) } else { _mm256_add_epi32(acc, _mm256_madd_epi16(a, b)) } }
}

/// [`dpwssd`] for half a vector.
#[inline]
#[target_feature(enable = "avx2,avxvnni")]
fn half_dpwssd(mut acc: __m256i, a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the instruction is part of AVX-VNNI, which is enabled, and has no effects beyond its operands.
    unsafe {
        std::arch::asm!(
            "{{vex}} vpdpwssd {acc}, {a}, {b}",
            acc = inout(ymm_reg) acc,
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    acc
}

/// [`Pairs::lower_halves`] of one vector.
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn lower([a, b]: [__m256; 2]) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let mask = _mm256_set1_epi32(0xffff);
        let a = _mm256_and_si256(_mm256_castps_si256(a), mask);
        let b = _mm256_and_si256(_mm256_castps_si256(b), mask);
        // Within each half of a register first a, then b.
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(a, b))
    }
}

/// [`Pairs::interleave`] of half a vector.
///
/// # Safety
/// AVX2 must be enabled where this is inlined.
#[inline(always)]
unsafe fn pairs(a: __m256i, b: __m256i) -> [__m256i; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        // Numbers 0 to 3 and 8 to 11; 4 to 7 and 12 to 15.
        let (even, odd) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
        [_mm256_permute2x128_si256::<0x20>(even, odd), _mm256_permute2x128_si256::<0x31>(even, odd)]
    }
}
