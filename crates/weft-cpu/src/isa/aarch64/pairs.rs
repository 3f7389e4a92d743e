//! Pairs of 16-bit numbers in the registers of NEON.

use std::arch::aarch64::*;

use super::Neon;
use super::neon::each;
use crate::isa::pairs::{Line, Numbers, Pairs};

/// Sixteen bytes as eight numbers.
///
/// # Safety
/// NEON must be enabled where this is inlined.
#[inline(always)]
unsafe fn numbers(x: uint8x16_t) -> int16x8_t {
    // SAFETY: the caller's promise.
    unsafe { vreinterpretq_s16_u8(x) }
}

/// Eight numbers as sixteen bytes.
///
/// # Safety
/// As for [`numbers`].
#[inline(always)]
unsafe fn bytes(x: int16x8_t) -> uint8x16_t {
    // SAFETY: the caller's promise.
    unsafe { vreinterpretq_u8_s16(x) }
}

/// The first numbers of two quarters' pairs, and the second ones.
///
/// # Safety
/// As for [`numbers`].
#[inline(always)]
unsafe fn apart(x: uint8x16_t, y: uint8x16_t) -> [int16x8_t; 2] {
    // SAFETY: the caller's promise.
    unsafe { [vuzp1q_s16(numbers(x), numbers(y)), vuzp2q_s16(numbers(x), numbers(y))] }
}

/// [`Pairs::dot_pairs`] of two deinterleaved quarters of a vector. A factor is deinterleaved once for all its products.
///
/// # Safety
/// As for [`numbers`].
#[inline(always)]
unsafe fn dot_pairs([p, q]: [int32x4_t; 2], a: [int16x8_t; 2], b: [int16x8_t; 2]) -> [int32x4_t; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let p = vmlal_s16(p, vget_low_s16(a[0]), vget_low_s16(b[0]));
        let q = vmlal_high_s16(q, a[0], b[0]);
        [vmlal_s16(p, vget_low_s16(a[1]), vget_low_s16(b[1])), vmlal_high_s16(q, a[1], b[1])]
    }
}

// SAFETY of every block below: a value of type `Neon` exists only where NEON is enabled, and every load and store is within an array.
impl Pairs for Neon {
    const WIDE: bool = false;

    #[inline(always)]
    fn load(self, line: &Line) -> [float32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vld1q_f32(line.0[4 * i..].as_ptr())) }
    }

    #[inline(always)]
    fn numbers(self, from: &[i16; 32]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => bytes(vld1q_s16(from[8 * i..].as_ptr()))) }
    }

    #[inline(always)]
    fn repeat(self, eight: &[i16; 8]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        [unsafe { bytes(vld1q_s16(eight.as_ptr())) }; 4]
    }

    #[inline(always)]
    fn pair(self, pair: &[i16; 2]) -> [uint8x16_t; 4] {
        let both = u32::from(pair[1] as u16) << 16 | u32::from(pair[0] as u16);
        // SAFETY: see above the impl.
        [unsafe { vreinterpretq_u8_u32(vdupq_n_u32(both)) }; 4]
    }

    #[inline(always)]
    fn dot_pairs(self, acc: [int32x4_t; 4], a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [int32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let [p, q] = dot_pairs([acc[0], acc[1]], apart(a[0], a[1]), apart(b[0], b[1]));
            let [r, s] = dot_pairs([acc[2], acc[3]], apart(a[2], a[3]), apart(b[2], b[3]));
            [p, q, r, s]
        }
    }

    #[inline(always)]
    fn sum_quarters(self, [a, b, c, d]: [[int32x4_t; 4]; 4]) -> [int32x4_t; 4] {
        // SAFETY: see above the impl.
        unsafe { each!(i => vpaddq_s32(vpaddq_s32(a[i], b[i]), vpaddq_s32(c[i], d[i]))) }
    }

    #[inline(always)]
    fn lower_halves(self, a: [float32x4_t; 4], b: [float32x4_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            let lower =
                |x, y| vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_f32(x), vreinterpretq_u16_f32(y)));
            [lower(a[0], a[1]), lower(a[2], a[3]), lower(b[0], b[1]), lower(b[2], b[3])]
        }
    }

    #[inline(always)]
    fn widen(self, x: &[u8; 32], m: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        // SAFETY: see above the impl.
        unsafe {
            each!(i => {
                // Twice the product of 64 x and m, divided by 2¹⁶.
                let x = vreinterpret_s8_u8(vld1_u8(x[8 * i..].as_ptr()));
                bytes(vqrdmulhq_s16(vshll_n_s8::<6>(x), numbers(m[i])))
            })
        }
    }

    #[inline(always)]
    fn widen_fives(
        self,
        low: &[u8; 16],
        high: &[u8; 4],
        m: [uint8x16_t; 4],
        c: [uint8x16_t; 4],
    ) -> [uint8x16_t; 4] {
        /// Each bit of a byte in a byte of its own.
        const BIT: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: see above the impl.
        unsafe {
            let bit = vld1_u8(BIT.as_ptr());
            each!(i => {
                let eight = vld1_u8(low[8 * (i % 2)..].as_ptr());
                let eight = if i < 2 { vand_u8(eight, vdup_n_u8(15)) } else { vshr_n_u8::<4>(eight) };
                // A number without its fifth bit is 16 less: the upper half of its byte is ones.
                let clear = vceqz_u8(vand_u8(vdup_n_u8(high[i]), bit));
                let x = vreinterpret_s8_u8(vorr_u8(eight, vshl_n_u8::<4>(clear)));
                // Twice the product of 512 x and m, divided by 2¹⁶.
                let x = vshlq_n_s16::<9>(vmovl_s8(x));
                bytes(vaddq_s16(vqrdmulhq_s16(x, numbers(m[i])), numbers(c[i])))
            })
        }
    }

    #[inline(always)]
    fn interleave(self, a: [uint8x16_t; 4], b: [uint8x16_t; 4]) -> [[uint8x16_t; 4]; 2] {
        // SAFETY: see above the impl.
        unsafe {
            let both = each!(i => {
                let (a, b) = (numbers(a[i]), numbers(b[i]));
                [bytes(vzip1q_s16(a, b)), bytes(vzip2q_s16(a, b))]
            });
            let [[p, q], [r, s], [t, u], [v, w]] = both;
            [[p, q, r, s], [t, u, v, w]]
        }
    }

    #[inline(always)]
    fn store_numbers(self, x: [uint8x16_t; 4], to: &mut Numbers) {
        // SAFETY: see above the impl.
        unsafe { _ = each!(i => vst1q_s16(to.0[8 * i..].as_mut_ptr(), numbers(x[i]))) }
    }

    #[inline(always)]
    fn store_ints(self, x: [int32x4_t; 4], to: &mut [i32; 16]) {
        // SAFETY: see above the impl.
        unsafe { _ = each!(i => vst1q_s32(to[4 * i..].as_mut_ptr(), x[i])) }
    }
}
