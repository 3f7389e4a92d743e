//! Vectors of sixteen floats in the registers of NEON: two at a time.

use std::arch::aarch64::*;

use super::Neon;
use crate::isa::Pieces;

// SAFETY of every block below: a value of type `Neon` exists only where NEON is enabled, and every load and store is of four lanes within
// eight that are checked to be within an array.
impl Pieces for Neon {
    type Piece = [float32x4_t; 2];

    const PIECES: usize = 2;

    #[inline(always)]
    fn piece(self, from: &[f32; 16], piece: usize) -> [float32x4_t; 2] {
        let from = &from[8 * piece..][..8];
        // SAFETY: see above the impl.
        unsafe { [vld1q_f32(from.as_ptr()), vld1q_f32(from[4..].as_ptr())] }
    }

    #[inline(always)]
    fn singles_piece(self, from: &[u8; 64], piece: usize) -> [float32x4_t; 2] {
        let from = &from[32 * piece..][..32];
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (vld1q_u8(from.as_ptr()), vld1q_u8(from[16..].as_ptr()));
            [vreinterpretq_f32_u8(a), vreinterpretq_f32_u8(b)]
        }
    }

    #[inline(always)]
    fn halves_piece(self, from: &[u8; 32], piece: usize) -> [float32x4_t; 2] {
        let from = &from[16 * piece..][..16];
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (vld1_u8(from.as_ptr()), vld1_u8(from[8..].as_ptr()));
            [vcvt_f32_f16(vreinterpret_f16_u8(a)), vcvt_f32_f16(vreinterpret_f16_u8(b))]
        }
    }

    #[inline(always)]
    fn upper_halves_piece(self, from: &[u8; 32], piece: usize) -> [float32x4_t; 2] {
        let from = &from[16 * piece..][..16];
        // SAFETY: see above the impl.
        unsafe {
            let (a, b) = (vld1_u8(from.as_ptr()), vld1_u8(from[8..].as_ptr()));
            let wide = [vshll_n_u16::<16>(vreinterpret_u16_u8(a)), vshll_n_u16::<16>(vreinterpret_u16_u8(b))];
            [vreinterpretq_f32_u32(wide[0]), vreinterpretq_f32_u32(wide[1])]
        }
    }

    #[inline(always)]
    fn mul_add_pieces(
        self,
        a: [float32x4_t; 2],
        b: [float32x4_t; 2],
        c: [float32x4_t; 2],
    ) -> [float32x4_t; 2] {
        // SAFETY: see above the impl.
        unsafe { [vfmaq_f32(c[0], a[0], b[0]), vfmaq_f32(c[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn store_piece(self, x: [float32x4_t; 2], to: &mut [f32; 16], piece: usize) {
        let to = &mut to[8 * piece..][..8];
        // SAFETY: see above the impl.
        unsafe {
            vst1q_f32(to.as_mut_ptr(), x[0]);
            vst1q_f32(to[4..].as_mut_ptr(), x[1]);
        }
    }
}
