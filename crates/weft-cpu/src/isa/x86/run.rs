//! Where work begins to use an instruction set.
//!
//! Each has a module of its own, because the compiler translates a module's generic functions in one piece. With the work inlined,
//! these are two thirds of this crate's code: in one module they kept one core busy while the others had nothing left to compile.

use super::super::simd::Work;
use super::super::tiles::TileWork;
use super::amx::Amx;
use super::{Avx2, Avx512};

pub(super) mod avx2 {
    use super::{Avx2, Work};

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in crate::isa) fn run_avx2<W: Work>(work: W) -> W::Output {
        work.run(Avx2::<false>(()))
    }
}

pub(super) mod avx2_vnni {
    use super::{Avx2, Work};

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    pub(in crate::isa) fn run_avx2_vnni<W: Work>(work: W) -> W::Output {
        work.run(Avx2::<true>(()))
    }
}

pub(super) mod avx512 {
    use super::{Avx512, Work};

    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::isa) fn run_avx512<W: Work>(work: W) -> W::Output {
        work.run(Avx512(()))
    }
}

pub(super) mod amx {
    use super::{Amx, Avx512, TileWork};

    /// As [`run_avx512`](super::avx512::run_avx512), with the tile unit set for `quads` times four columns.
    ///
    /// # Safety
    /// [`has_amx`](super::super::has_amx) must have returned true, and this must not be called by such work: the unit has one user in a
    /// thread.
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::isa) unsafe fn run_amx<W: TileWork>(quads: usize, work: W) -> W::Output {
        // SAFETY: the caller's promise.
        work.run(Avx512(()), unsafe { Amx::new(quads) })
    }
}
