//! Instruction sets: which one to use, and how one piece of code is compiled for each.
//!
//! Kernels are written once, as [`Work`] that is generic over [`Simd`], with plain loops over fixed-size arrays.
//! [`Arch::dispatch`] calls it inside a function that enables the instruction set, and as everything is inlined
//! into that function the compiler vectorises the loops for it. Only what the compiler does not find by itself, the
//! integer dot product, is written with intrinsics, as the one method of [`Simd`].
//!
//! Rust never contracts a multiplication and an addition by itself, and vectorises floating-point code only when
//! the result is the same, so all instruction sets give the same bits.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

/// An instruction set that the leaves are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// What every processor of the target has.
    Portable,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
}

impl Isa {
    /// Every instruction set, slowest first.
    pub const ALL: [Isa; 3] = [Isa::Portable, Isa::Avx2, Isa::Avx512];

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512-vnni",
        }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::has_avx512(),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
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

/// Weight rows whose dot products are computed together.
pub(crate) const TILE: usize = 8;

/// The instruction set that the surrounding code is compiled for.
pub(crate) trait Simd: Copy {
    /// This instruction set, to start other work with.
    fn arch(self) -> Arch;

    /// For each of eight weight rows the integer dot products with the first and the last 16 of 32 activations.
    /// Exact, if no activation is −128.
    fn half_sums(self, w: [&[i8; 32]; TILE], x: &[i8; 32]) -> [[i32; TILE]; 2];

    /// Asks for the cache line that is `ahead` bytes behind the beginning of a slice, whether that is still part of
    /// it or not.
    fn prefetch(self, from: &[u8], ahead: usize);
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
            Isa::Avx2 => unsafe { x86::run_avx2(work) },
            _ => work.run(Portable),
        }
    }
}

/// [`Isa::Portable`].
#[derive(Clone, Copy, Debug)]
struct Portable;

impl Simd for Portable {
    #[inline(always)]
    fn arch(self) -> Arch {
        Arch(Isa::Portable)
    }

    #[inline(always)]
    fn half_sums(self, w: [&[i8; 32]; TILE], x: &[i8; 32]) -> [[i32; TILE]; 2] {
        let mut sums = [[0; TILE]; 2];
        for (row, w) in w.into_iter().enumerate() {
            for (half, sums) in sums.iter_mut().enumerate() {
                for i in half * 16..half * 16 + 16 {
                    sums[row] += i32::from(w[i]) * i32::from(x[i]);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn prefetch(self, _: &[u8], _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sums<'a>(&'a [[i8; 32]; TILE], &'a [i8; 32]);

    impl Work for Sums<'_> {
        type Output = [[i32; TILE]; 2];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            simd.half_sums(self.0.each_ref(), self.1)
        }
    }

    #[test]
    fn integer_sums_are_exact_at_the_extremes() {
        let edges = [-128i8, -127, -1, 0, 1, 127];
        let mut seed = 1u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as i8
        };
        for round in 0..200 {
            let mut w = [[0i8; 32]; TILE];
            let mut x = [0i8; 32];
            w.as_flattened_mut().iter_mut().for_each(|w| *w = next());
            x.iter_mut().for_each(|x| *x = next().max(-127));
            if round < 36 {
                w = [[edges[round / 6]; 32]; TILE];
                x = [edges[round % 6].max(-127); 32];
            }
            let sum = |row: usize, half: usize| -> i32 {
                (half * 16..half * 16 + 16).map(|i| i32::from(w[row][i]) * i32::from(x[i])).sum()
            };
            let expected = [0, 1].map(|half| std::array::from_fn(|row| sum(row, half)));
            for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
                assert_eq!(arch.dispatch(Sums(&w, &x)), expected, "{arch:?}");
            }
        }
    }
}
