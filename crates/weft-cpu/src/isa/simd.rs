//! What an instruction set is to the code that is compiled for it: its name, its vectors, and the work that is generic over them.
//!
//! Choosing one and calling code compiled for it is [`isa`](super); what each offers is in its own file.

use std::fmt;

use super::pairs::Pairs;
use super::rounding::Rounding;

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
pub(crate) struct Arch(pub(super) Isa);
