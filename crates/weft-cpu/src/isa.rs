//! Instruction sets: which one to use, and how one piece of code is compiled for each.
//!
//! Kernels are written once, as [`Work`] that is generic over [`Simd`], with plain loops over fixed-size arrays. [`Arch::dispatch`] calls
//! it inside a function that enables the instruction set; everything is inlined into that function, so the compiler vectorises the loops
//! for it. Only code that the compiler does not vectorise well (products of packed weights, attention and rounding) uses intrinsics: the
//! methods of [`Lanes`], [`Pieces`], [`Pairs`](pairs::Pairs) and [`Rounding`]. Some machines have a unit in addition to vectors, which
//! multiplies [`Tiles`]: [`Arch::dispatch_tiles`] calls [`TileWork`] with both.
//!
//! Rust never contracts a multiplication and an addition, and vectorises floating-point code only when the result is
//! the same, so all instruction sets give the same bits.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(any(test, all(windows, target_env = "gnu")))]
mod fused;
mod lanes;
mod pairs;
mod pieces;
mod portable;
mod rounding;
mod simd;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use lanes::Lanes;
pub(crate) use pairs::{Line, Numbers};
pub(crate) use pieces::Pieces;
pub(crate) use rounding::Rounding;
pub use simd::Isa;
pub(crate) use simd::{Arch, Simd, Work};
pub(crate) use tiles::{Quants, Sums, TILE, TileWork, Tiles, WHOLE, Whole};

use weft_device::DeviceError;

use portable::Portable;
use tiles::Emulated;

impl Isa {
    /// Whether this machine supports it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable | Isa::PortableTiles => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2Vnni => x86::has_avx2_vnni(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::has_avx512(),
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => x86::has_amx(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => aarch64::has_neon(),
            // Instruction sets of other architectures; every target has some.
            _ => false,
        }
    }

    /// Those this machine supports, fastest first.
    pub(crate) fn available() -> impl Iterator<Item = Isa> {
        Isa::ALL.into_iter().rev().filter(|isa| isa.is_available())
    }

    /// The fastest one this machine supports.
    pub fn best() -> Isa {
        Isa::available().next().unwrap_or(Isa::Portable)
    }

    /// The one of this name, in upper or lower case, or without a name the fastest. All give the same bits.
    ///
    /// # Errors
    /// [`DeviceError::Usage`] if this machine does not support it, or there is none of this name.
    pub(crate) fn named(name: Option<&str>) -> Result<Isa, DeviceError> {
        let Some(name) = name else { return Ok(Isa::best()) };
        Isa::available().find(|isa| isa.name().eq_ignore_ascii_case(name)).ok_or_else(|| missing(name))
    }
}

/// Why an instruction set cannot be used.
pub(crate) fn missing(name: &str) -> DeviceError {
    let available: Vec<_> = Isa::available().map(Isa::name).collect();
    DeviceError::Usage(format!("this processor does not have `{name}`; it has {}", available.join(", ")))
}

impl Arch {
    /// Returns `None` if the machine does not support it.
    pub(crate) fn new(isa: Isa) -> Option<Arch> {
        isa.is_available().then_some(Arch(isa))
    }

    /// The instruction set.
    pub(crate) fn isa(self) -> Isa {
        self.0
    }

    /// Runs work compiled for this instruction set.
    #[inline]
    pub(crate) fn dispatch<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Arch` is only made if the machine has the instruction set.
            Isa::Avx512 | Isa::Amx => unsafe { x86::run_avx512(work) },
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

    /// Whether there is a unit that multiplies tiles.
    #[inline]
    pub(crate) fn has_tiles(self) -> bool {
        matches!(self.0, Isa::Amx | Isa::PortableTiles)
    }

    /// Runs work with the unit that multiplies tiles, or its emulation, set for `quads` times four columns.
    #[inline]
    pub(crate) fn dispatch_tiles<W: TileWork>(self, quads: usize, work: W) -> W::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Arch` is only made if the machine has the instruction set, and `TileWork` does not start other such work.
            Isa::Amx => unsafe { x86::run_amx(quads, work) },
            _ => work.run(Portable, Emulated::new(quads)),
        }
    }
}

#[cfg(test)]
mod tests;
