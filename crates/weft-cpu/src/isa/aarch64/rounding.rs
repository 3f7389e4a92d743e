//! Rounding with NEON: the compiler would pack bytes one by one.

use std::arch::aarch64::*;

use weft_kern::q8;

use super::Neon;
use super::neon::each;
use crate::isa::Rounding;
use crate::isa::rounding::{NOTHING, scales};

impl Rounding for Neon {
    #[inline(always)]
    fn quantise(self, values: &[f32; q8::BLOCK]) -> q8::Block {
        // SAFETY: a value of type `Neon` exists only where NEON is enabled, and every load and store is within an array.
        unsafe {
            let a = each!(i => vld1q_f32(values[4 * i..].as_ptr()));
            let b = each!(i => vld1q_f32(values[16 + 4 * i..].as_ptr()));
            let magnitude = |x| vreinterpretq_u32_f32(vabsq_f32(x));
            let tops = each!(i => vmaxq_u32(magnitude(a[i]), magnitude(b[i])));
            let top = vmaxvq_u32(vmaxq_u32(vmaxq_u32(tops[0], tops[1]), vmaxq_u32(tops[2], tops[3])));
            let Some((scale, inverse)) = scales(top) else { return NOTHING };
            // To nearest, ties to even. Rounding brings products slightly above 127 back to it.
            let a = each!(i => vcvtnq_s32_f32(vmulq_n_f32(a[i], inverse)));
            let b = each!(i => vcvtnq_s32_f32(vmulq_n_f32(b[i], inverse)));
            let mut quants = [0; q8::BLOCK];
            vst1q_s8(quants.as_mut_ptr(), bytes(a));
            vst1q_s8(quants[16..].as_mut_ptr(), bytes(b));
            q8::Block { quants, scale, sums: [sum(a) as f32 * scale, sum(b) as f32 * scale] }
        }
    }
}

/// Sixteen integers as bytes.
///
/// # Safety
/// NEON must be enabled where this is inlined.
#[inline(always)]
unsafe fn bytes(x: [int32x4_t; 4]) -> int8x16_t {
    // SAFETY: the caller's promise.
    unsafe {
        let low = vcombine_s16(vmovn_s32(x[0]), vmovn_s32(x[1]));
        let high = vcombine_s16(vmovn_s32(x[2]), vmovn_s32(x[3]));
        vcombine_s8(vmovn_s16(low), vmovn_s16(high))
    }
}

/// The sum of sixteen integers.
///
/// # Safety
/// As for [`bytes`].
#[inline(always)]
unsafe fn sum(x: [int32x4_t; 4]) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { vaddvq_s32(vaddq_s32(vaddq_s32(x[0], x[1]), vaddq_s32(x[2], x[3]))) }
}
