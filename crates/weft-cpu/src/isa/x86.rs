//! The instruction sets of x86-64.

use std::arch::x86_64::*;

use super::{Arch, Isa, Simd, TILE, Work};

pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

pub(super) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run(Avx2(()))
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run(Avx512(()))
}

/// [`Isa::Avx2`]; exists only inside [`run_avx2`].
#[derive(Clone, Copy, Debug)]
struct Avx2(());

/// [`Isa::Avx512`]; exists only inside [`run_avx512`].
#[derive(Clone, Copy, Debug)]
struct Avx512(());

impl Simd for Avx2 {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Avx2)
    }

    #[inline(always)]
    fn half_sums(self, w: [&[i8; 32]; TILE], x: &[i8; 32]) -> [[i32; TILE]; 2] {
        // SAFETY: a value of this type exists only where AVX2 is enabled.
        unsafe { sum_tile::<false>(w, x) }
    }

    #[inline(always)]
    fn prefetch(self, from: &[u8], ahead: usize) {
        prefetch(from, ahead);
    }
}

impl Simd for Avx512 {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Avx512)
    }

    #[inline(always)]
    fn half_sums(self, w: [&[i8; 32]; TILE], x: &[i8; 32]) -> [[i32; TILE]; 2] {
        // SAFETY: a value of this type exists only where AVX2, AVX-512 VL and AVX-512 VNNI are enabled.
        unsafe { sum_tile::<true>(w, x) }
    }

    #[inline(always)]
    fn prefetch(self, from: &[u8], ahead: usize) {
        prefetch(from, ahead);
    }
}

/// Products of 32 pairs, added up by fours. The first factor of the instructions is unsigned, so `w` gives its sign
/// to `x`. |w| may be 128, and two products are at most 2 · 128 · 127 < 2¹⁵, so that nothing saturates.
///
/// # Safety
/// AVX2, and for `VNNI` AVX-512 VL and AVX-512 VNNI, must be enabled where this is inlined.
#[inline(always)]
unsafe fn dot<const VNNI: bool>(w: &[i8; 32], x: __m256i) -> __m256i {
    // SAFETY: the instructions are enabled by the caller's promise; the load reads the whole array.
    unsafe {
        let w = _mm256_loadu_si256(w.as_ptr().cast());
        let (w, x) = (_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
        if VNNI {
            _mm256_dpbusd_epi32(_mm256_setzero_si256(), w, x)
        } else {
            _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1))
        }
    }
}

/// [`Simd::prefetch`].
#[inline(always)]
fn prefetch(from: &[u8], ahead: usize) {
    // SAFETY: every x86-64 processor has the instruction, and it does nothing to memory, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(ahead).cast()) };
}

/// [`Simd::half_sums`].
///
/// # Safety
/// That of [`dot`].
#[inline(always)]
unsafe fn sum_tile<const VNNI: bool>(w: [&[i8; 32]; TILE], x: &[i8; 32]) -> [[i32; TILE]; 2] {
    // SAFETY: the instructions are enabled by the caller's promise; the load reads a whole array, and the stores
    // write whole arrays.
    unsafe {
        let x = _mm256_loadu_si256(x.as_ptr().cast());
        // Each `hadd` adds neighbours within 128-bit halves, so the two halves of the 32 values stay apart.
        let a = _mm256_hadd_epi32(dot::<VNNI>(w[0], x), dot::<VNNI>(w[1], x));
        let b = _mm256_hadd_epi32(dot::<VNNI>(w[2], x), dot::<VNNI>(w[3], x));
        let c = _mm256_hadd_epi32(dot::<VNNI>(w[4], x), dot::<VNNI>(w[5], x));
        let d = _mm256_hadd_epi32(dot::<VNNI>(w[6], x), dot::<VNNI>(w[7], x));
        let (low, high) = (_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let mut sums = [[0; TILE]; 2];
        _mm256_storeu_si256(sums[0].as_mut_ptr().cast(), _mm256_permute2x128_si256::<0x20>(low, high));
        _mm256_storeu_si256(sums[1].as_mut_ptr().cast(), _mm256_permute2x128_si256::<0x31>(low, high));
        sums
    }
}
