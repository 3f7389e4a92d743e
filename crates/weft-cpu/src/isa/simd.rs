//! Instruction sets as compiled code sees them: names, vectors, and work that is generic over both.
//!
//! [`isa`](super) chooses one and calls code compiled for it; each instruction set has its own file.

use std::fmt;

use super::pairs::Pairs;
use super::pieces::Pieces;
use super::rounding::Rounding;

/// An instruction set that the leaves are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// The same as `Portable`, but products with many rows and attention of many rows are those of an emulated tile unit: for
    /// tests of the code for tiles where there is no such unit.
    PortableTiles,
    /// The baseline of the target.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// The same with AVX-VNNI.
    Avx2Vnni,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// The same with AMX, whose unit multiplies tiles of 8-bit integers: products with many rows use it, and attention of many rows.
    Amx,
    /// AArch64 with NEON and its dot products.
    Neon,
}

impl Isa {
    /// Every instruction set, slowest first.
    pub const ALL: [Isa; 7] =
        [Isa::PortableTiles, Isa::Portable, Isa::Avx2, Isa::Avx2Vnni, Isa::Avx512, Isa::Amx, Isa::Neon];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::PortableTiles => "portable-tiles",
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx2Vnni => "avx2-vnni",
            Isa::Avx512 => "avx512-vnni",
            Isa::Amx => "avx512-amx",
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
pub(crate) trait Simd: Pairs + Pieces + Rounding {
    /// This instruction set as a value, to start other work with.
    fn arch(self) -> Arch;

    /// Prefetches the cache line `ahead` bytes after the beginning of a slice, whether or not that is still part of it.
    fn prefetch(self, from: &[u8], ahead: usize);

    /// Prefetches a cache line of a slice into the second-level cache, if the slice has one there.
    fn fetch(self, from: &[u8], at: usize);
}

/// Work to compile for an instruction set. Implementations of `run`, and everything with loops that they call, are `#[inline(always)]`.
pub(crate) trait Work {
    /// The result.
    type Output;

    /// Runs the work.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// An instruction set that this machine is known to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arch(pub(super) Isa);
