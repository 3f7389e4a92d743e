//! The instruction sets of x86-64.

mod amx;
mod avx2;
mod avx512;
mod pairs;
mod pieces;
mod rounding;
mod run;

use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

pub(super) use run::amx::run_amx;
pub(super) use run::avx2::run_avx2;
pub(super) use run::avx2_vnni::run_avx2_vnni;
pub(super) use run::avx512::run_avx512;

use super::simd::{Arch, Isa, Simd};

pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

pub(super) fn has_avx2_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avxvnni")
}

pub(super) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

pub(super) fn has_amx() -> bool {
    has_avx512() && amx::is_usable()
}

/// [`Isa::Avx2`], or with `VNNI` [`Isa::Avx2Vnni`]; exists only inside [`run_avx2`] and [`run_avx2_vnni`].
#[derive(Clone, Copy, Debug)]
struct Avx2<const VNNI: bool>(());

/// [`Isa::Avx512`]; exists only inside [`run_avx512`] and [`run_amx`].
#[derive(Clone, Copy, Debug)]
struct Avx512(());

impl<const VNNI: bool> Simd for Avx2<VNNI> {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(if VNNI { Isa::Avx2Vnni } else { Isa::Avx2 })
    }

    #[inline(always)]
    fn prefetch(self, from: &[u8], ahead: usize) {
        prefetch(from, ahead);
    }

    #[inline(always)]
    fn fetch(self, from: &[u8], at: usize) {
        fetch(from, at);
    }
}

impl Simd for Avx512 {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Avx512)
    }

    #[inline(always)]
    fn prefetch(self, from: &[u8], ahead: usize) {
        prefetch(from, ahead);
    }

    #[inline(always)]
    fn fetch(self, from: &[u8], at: usize) {
        fetch(from, at);
    }
}

/// [`Simd::prefetch`].
#[inline(always)]
fn prefetch(from: &[u8], ahead: usize) {
    // SAFETY: every x86-64 CPU has the instruction, and it does not access memory, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(ahead).cast()) };
}

/// [`Simd::fetch`].
#[inline(always)]
fn fetch(from: &[u8], at: usize) {
    if at < from.len() {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.as_ptr().wrapping_add(at).cast()) };
    }
}
