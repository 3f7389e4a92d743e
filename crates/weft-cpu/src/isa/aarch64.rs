//! The instruction set of AArch64: NEON, which all of these CPUs have, with dot products, which they have since ARMv8.4 and often before.

mod neon;
mod pairs;
mod pieces;
mod rounding;

use std::arch::{asm, is_aarch64_feature_detected};

use super::simd::{Arch, Isa, Simd, Work};

pub(super) fn has_neon() -> bool {
    is_aarch64_feature_detected!("neon") && is_aarch64_feature_detected!("dotprod")
}

#[target_feature(enable = "neon,dotprod")]
pub(super) fn run_neon<W: Work>(work: W) -> W::Output {
    work.run(Neon(()))
}

/// [`Isa::Neon`]; exists only inside [`run_neon`].
#[derive(Clone, Copy, Debug)]
struct Neon(());

impl Simd for Neon {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Neon)
    }

    #[inline(always)]
    fn prefetch(self, from: &[u8], ahead: usize) {
        let at = from.as_ptr().wrapping_add(ahead);
        // SAFETY: a prefetch does not access memory, whatever the address.
        unsafe {
            asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags))
        };
    }

    #[inline(always)]
    fn fetch(self, from: &[u8], at: usize) {
        if at < from.len() {
            let at = from.as_ptr().wrapping_add(at);
            // SAFETY: as above.
            unsafe {
                asm!("prfm pldl2keep, [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags))
            };
        }
    }
}
