//! Instruction sets: which one to use, and how one piece of code is compiled for each.
//!
//! Kernels are written once, as [`Work`] that is generic over [`Simd`], with plain loops over fixed-size arrays.
//! [`Arch::dispatch`] calls it inside a function that enables the instruction set, and as everything is inlined
//! into that function the compiler vectorises the loops for it. Only what the compiler does not find by itself, the
//! products of packed weights, attention and rounding, is written with intrinsics, as the methods of [`Lanes`], [`Pairs`] and [`Rounding`].
//!
//! Rust never contracts a multiplication and an addition by itself, and vectorises floating-point code only when
//! the result is the same, so all instruction sets give the same bits.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod lanes;
mod pairs;
mod portable;
mod rounding;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

pub(crate) use lanes::Lanes;
pub(crate) use pairs::{Line, Numbers, Pairs};
pub(crate) use rounding::Rounding;

/// An instruction set that the leaves are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// The same with AVX-VNNI.
    Avx2Vnni,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// AArch64 with NEON and its dot products.
    Neon,
}

impl Isa {
    /// Every instruction set, slowest first.
    pub const ALL: [Isa; 5] = [Isa::Portable, Isa::Avx2, Isa::Avx2Vnni, Isa::Avx512, Isa::Neon];

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx2Vnni => "avx2-vnni",
            Isa::Avx512 => "avx512-vnni",
            Isa::Neon => "neon-dotprod",
        }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2Vnni => x86::has_avx2_vnni(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::has_avx512(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => aarch64::has_neon(),
            // Those of other architectures, of which there always are some.
            _ => false,
        }
    }

    /// The fastest this machine has.
    pub fn best() -> Isa {
        Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Isa::Portable)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The instruction set that the surrounding code is compiled for.
pub(crate) trait Simd: Pairs + Rounding {
    /// This instruction set, to start other work with.
    fn arch(self) -> Arch;

    /// Asks for the cache line that is `ahead` bytes behind the beginning of a slice, whether that is still part of
    /// it or not.
    fn prefetch(self, from: &[u8], ahead: usize);

    /// Asks for a cache line of a slice, if it has one there, to be in the second-level cache.
    fn fetch(self, from: &[u8], at: usize);
}

/// Something to compute. Implementations of `run`, and all they call with loops in it, are `#[inline(always)]`.
pub(crate) trait Work {
    /// What comes out.
    type Output;

    /// Does it.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// An instruction set that this machine has been found to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arch(Isa);

impl Arch {
    /// If the machine has it.
    pub(crate) fn new(isa: Isa) -> Option<Arch> {
        isa.is_available().then_some(Arch(isa))
    }

    /// Does the work with this instruction set.
    #[inline]
    pub(crate) fn dispatch<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Arch` is only made if the machine has the instruction set.
            Isa::Avx512 => unsafe { x86::run_avx512(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx2Vnni => unsafe { x86::run_avx2_vnni(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx2 => unsafe { x86::run_avx2(work) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Isa::Neon => unsafe { aarch64::run_neon(work) },
            _ => work.run(Portable),
        }
    }
}

/// [`Isa::Portable`].
#[derive(Clone, Copy, Debug)]
struct Portable;

impl Rounding for Portable {}

impl Simd for Portable {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Portable)
    }

    #[inline(always)]
    fn prefetch(self, _: &[u8], _: usize) {}

    #[inline(always)]
    fn fetch(self, _: &[u8], _: usize) {}
}

#[cfg(test)]
mod tests;
