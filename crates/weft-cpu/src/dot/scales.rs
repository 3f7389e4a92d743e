//! The scales of packed weights, as vectors of a tile's rows.

use std::marker::PhantomData;

use weft_quant::ints::IntFormat;
use weft_quant::packed::{Layout, Scales};

use crate::isa::Simd;

/// The scales of a tile.
pub(super) struct GroupScales<'a, F> {
    supers: &'a [[u8; 32]],
    groups: &'a [u8],
    format: PhantomData<F>,
}

impl<F> Clone for GroupScales<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for GroupScales<'_, F> {}

impl<'a, F: IntFormat> GroupScales<'a, F> {
    const LAYOUT: Layout = match Layout::of(F::TYPE) {
        Some(layout) => layout,
        None => panic!("integer formats have a layout"),
    };

    #[inline(always)]
    pub(super) fn new(scales: &'a [u8], k: usize) -> GroupScales<'a, F> {
        let at = Self::LAYOUT.groups_at(k).min(scales.len());
        let (supers, groups) = scales.split_at(at);
        GroupScales { supers: supers.as_chunks().0, groups, format: PhantomData }
    }

    /// The scales of super-block `at` of each row, by which those of its groups are multiplied.
    #[inline(always)]
    pub(super) fn supers<S: Simd>(&self, simd: S, power: f32, at: usize) -> Option<[S::Floats; 2]> {
        let layout = Self::LAYOUT;
        let none = simd.float(0.0);
        Some(match layout.scales {
            Scales::Half | Scales::HalfMin | Scales::Power => [none; 2],
            Scales::Super => {
                let scale = simd.halves(self.supers.get(at)?);
                [if layout.table.is_some() { simd.mul(scale, simd.float(power)) } else { scale }, none]
            }
            Scales::SuperMin => {
                let min = simd.halves(self.supers.get(2 * at + 1)?);
                [simd.halves(self.supers.get(2 * at)?), simd.mul(min, simd.float(-1.0))]
            }
        })
    }

    /// Scale and minimum of group `g` of each row, which is in the super-block with these scales.
    #[inline(always)]
    pub(super) fn group<S: Simd>(
        &self,
        simd: S,
        g: usize,
        supers: &[S::Floats; 2],
    ) -> Option<(S::Floats, S::Floats)> {
        let layout = Self::LAYOUT;
        let own = self.groups.get(g * layout.group_bytes()..)?;
        let none = simd.float(0.0);
        Some(match layout.scales {
            Scales::Half => (simd.halves(own.first_chunk()?), none),
            Scales::HalfMin => (simd.halves(own.first_chunk()?), simd.halves(own.get(32..)?.first_chunk()?)),
            Scales::Power => (simd.upper_halves(own.first_chunk()?), none),
            Scales::Super => (simd.mul(supers[0], simd.signed(own.first_chunk()?)), none),
            Scales::SuperMin => {
                let min = simd.unsigned(own.get(16..)?.first_chunk()?);
                (simd.mul(supers[0], simd.unsigned(own.first_chunk()?)), simd.mul(supers[1], min))
            }
        })
    }
}
