//! Vectors of NEON: four registers each.

use std::arch::aarch64::*;
use std::arch::asm;

use super::Neon;
use crate::isa::Lanes;

/// An array of the results for each of the four registers `i`.
macro_rules! each {
    ($i:ident => $made:expr) => {
        [
            {
                let $i = 0;
                $made
            },
            {
                let $i = 1;
                $made
            },
            {
                let $i = 2;
                $made
            },
            {
                let $i = 3;
                $made
            },
        ]
    };
}
pub(super) use each;

/// Adds to each lane the products of its four bytes, signed, and those of the first lane of `x`.
///
/// Rust's `vdotq_laneq_s32` is not stable in 1.95.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn sdot(mut acc: int32x4_t, w: uint8x16_t, x: int32x4_t) -> int32x4_t {
    // SAFETY: the instruction is one of the dot products, which are enabled, and has no effects beyond its operands.
    unsafe {
        asm!(
            "sdot {acc:v}.4s, {w:v}.16b, {x:v}.4b[0]",
            acc = inout(vreg) acc,
            w = in(vreg) w,
            x = in(vreg) x,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    acc
}

// SAFETY of every block below: a value of type `Neon` exists only where NEON and its dot products are enabled, and every load and store
// is within an array.
impl Lanes for Neon {
    type Bytes = [uint8x16_t; 4];
    type Ints = [int32x4_t; 4];
    type Floats = [float32x4_t; 4];

    const SIGNED: bool = true;

    #[inline(always)]
    fn bytes(self, from: &[u8; 64]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vld1q_u8(from[16 * i..].as_ptr())) }
    }

    #[inline(always)]
    fn field(self, x: [uint8x16_t; 4], right: i32, mask: u8) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let (left, mask) = (vdupq_n_s8(-right as i8), vdupq_n_u8(mask));
            each!(i => vandq_u8(vshlq_u8(x[i], left), mask))
        }
    }

    #[inline(always)]
    fn or(self, a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vorrq_u8(a[i], b[i])) }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], x: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let table = vld1q_u8(table.as_ptr());
            each!(i => vqtbl1q_u8(table, x[i]))
        }
    }

    #[inline(always)]
    fn flip(self, x: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => veorq_u8(x[i], vdupq_n_u8(0x80))) }
    }

    #[inline(always)]
    fn less(self, x: [uint8x16_t; 4], by: u8) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vsubq_u8(x[i], vdupq_n_u8(by))) }
    }

    #[inline(always)]
    fn ints(self, from: &[i32; 16]) -> [int32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vld1q_s32(from[4 * i..][..4].as_ptr())) }
    }

    #[inline(always)]
    fn int(self, x: i32) -> [int32x4_t; 4] {
        // SAFETY: see above the impl.
        [unsafe { vdupq_n_s32(x) }; 4]
    }

    #[inline(always)]
    fn dot(self, acc: [int32x4_t; 4], w: [uint8x16_t; 4], x: &[i8; 4]) -> [int32x4_t; 4] {
        let x = i32::from_le_bytes([x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8]);
        // SAFETY: see above the impl.
        unsafe {
            let x = vsetq_lane_s32::<0>(x, vdupq_n_s32(0));
            each!(i => sdot(acc[i], w[i], x))
        }
    }

    #[inline(always)]
    fn dot_large(self, acc: [int32x4_t; 4], w: [uint8x16_t; 4], x: &[i8; 4]) -> [int32x4_t; 4] {
        self.dot(acc, w, x)
    }

    #[inline(always)]
    fn add_ints(self, a: [int32x4_t; 4], b: [int32x4_t; 4]) -> [int32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vaddq_s32(a[i], b[i])) }
    }

    #[inline(always)]
    fn to_floats(self, x: [int32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vcvtq_f32_s32(x[i])) }
    }

    #[inline(always)]
    fn float(self, x: f32) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        [unsafe { vdupq_n_f32(x) }; 4]
    }

    #[inline(always)]
    fn mul(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vmulq_f32(a[i], b[i])) }
    }

    #[inline(always)]
    fn larger(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vbslq_f32(vcgtq_f32(a[i], b[i]), a[i], b[i])) }
    }

    #[inline(always)]
    fn mul_add(self, a: [float32x4_t; 4], b: [float32x4_t; 4], c: [float32x4_t; 4]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vfmaq_f32(c[i], a[i], b[i])) }
    }

    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from[8 * i..].as_ptr())))) }
    }

    #[inline(always)]
    fn upper_halves(self, from: &[u8; 32]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            each!(i => {
                let halves = vreinterpret_u16_u8(vld1_u8(from[8 * i..].as_ptr()));
                vreinterpretq_f32_u32(vshll_n_u16::<16>(halves))
            })
        }
    }

    #[inline(always)]
    fn unsigned(self, from: &[u8; 16]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let bytes = vld1q_u8(from.as_ptr());
            let [low, high] = [vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes)];
            [
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))),
                vcvtq_f32_u32(vmovl_high_u16(low)),
                vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
                vcvtq_f32_u32(vmovl_high_u16(high)),
            ]
        }
    }

    #[inline(always)]
    fn signed(self, from: &[u8; 16]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let bytes = vreinterpretq_s8_u8(vld1q_u8(from.as_ptr()));
            let [low, high] = [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)];
            [
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                vcvtq_f32_s32(vmovl_high_s16(low)),
                vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                vcvtq_f32_s32(vmovl_high_s16(high)),
            ]
        }
    }

    #[inline(always)]
    fn floats(self, from: &[f32; 16]) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vld1q_f32(from[4 * i..].as_ptr())) }
    }

    #[inline(always)]
    fn store(self, x: [float32x4_t; 4], to: &mut [f32; 16]) {
        // SAFETY: see above the impl.
        unsafe { _ = each!(i => vst1q_f32(to[4 * i..].as_mut_ptr(), x[i])) }
    }
}
