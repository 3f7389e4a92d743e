//! Vectors of AVX-512 with VNNI: one register each.

use std::arch::x86_64::*;

use super::Avx512;
use crate::isa::Lanes;

// SAFETY of every block below: a value of type `Avx512` exists only where AVX-512 F, BW, DQ, VL and VNNI are enabled, and every
// load and store is of a whole array.
impl Lanes for Avx512 {
    type Bytes = __m512i;
    type Ints = __m512i;
    type Floats = __m512;

    const SIGNED: bool = false;

    #[inline(always)]
    fn bytes(self, from: &[u8; 64]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn field(self, x: __m512i, right: i32, mask: u8) -> __m512i {
        // SAFETY: see above the impl.
        unsafe {
            let shifted = match right {
                0 => x,
                right if right > 0 => _mm512_srlv_epi16(x, _mm512_set1_epi16(right as i16)),
                _ => _mm512_sllv_epi16(x, _mm512_set1_epi16(-right as i16)),
            };
            _mm512_and_si512(shifted, _mm512_set1_epi8(mask as i8))
        }
    }

    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_or_si512(a, b) }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], x: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())), x) }
    }

    #[inline(always)]
    fn flip(self, x: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_xor_si512(x, _mm512_set1_epi8(i8::MIN)) }
    }

    #[inline(always)]
    fn less(self, x: __m512i, by: u8) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_sub_epi8(x, _mm512_set1_epi8(by as i8)) }
    }

    #[inline(always)]
    fn ints(self, from: &[i32; 16]) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn int(self, x: i32) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    fn dot(self, acc: __m512i, w: __m512i, x: &[i8; 4]) -> __m512i {
        let x = i32::from_le_bytes([x[0] as u8, x[1] as u8, x[2] as u8, x[3] as u8]);
        // SAFETY: see above the impl.
        unsafe { _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(x)) }
    }

    #[inline(always)]
    fn dot_large(self, acc: __m512i, w: __m512i, x: &[i8; 4]) -> __m512i {
        self.dot(acc, w, x)
    }

    #[inline(always)]
    fn add_ints(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: see above the impl.
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn to_floats(self, x: __m512i) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_cvtepi32_ps(x) }
    }

    #[inline(always)]
    fn float(self, x: f32) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn larger(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn add_scaled(self, acc: &mut [__m512; 8], sums: &[[i32; 16]; 8], scale: __m512, by: &[f32; 8]) {
        // SAFETY: see above the impl.
        *acc = unsafe { add_scaled(*acc, sums, scale, by) };
    }

    #[inline(always)]
    fn halves(self, from: &[u8; 32]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn upper_halves(self, from: &[u8; 32]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn unsigned(self, from: &[u8; 16]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn signed(self, from: &[u8; 16]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn floats(self, from: &[f32; 16]) -> __m512 {
        // SAFETY: see above the impl.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, x: __m512, to: &mut [f32; 16]) {
        // SAFETY: see above the impl.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
    }
}

/// [`Lanes::add_scaled`] for eight rows, one by one: the compiler would start with the products of scales of all of them, for
/// which there are not enough registers.
///
/// Integers become floats by an addition to the bits of a float whose last place is 1. This float's product with the scale, which is exact
/// because scales have 19 bits at most, is subtracted while the integer is multiplied by its scale: the difference is rounded once. Next to
/// a tile unit, conversions share one of the two units for vectors with multiplications.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_scaled(mut acc: [__m512; 8], sums: &[[i32; 16]; 8], scale: __m512, by: &[f32; 8]) -> [__m512; 8] {
    /// The instructions for a row, by the number of its register.
    macro_rules! row {
        ($row:literal) => {
            concat!(
                "vpaddd {sum}, {shift}, zmmword ptr [{sums} + 64 * ",
                $row,
                "]\n",
                "vfmadd213ps {sum}, {scale}, {less}\n",
                "vfmadd231ps {a",
                $row,
                "}, {sum}, dword ptr [{at} + 4 * ",
                $row,
                "]{{1to16}}",
            )
        };
    }
    let _sum: __m512;
    let shift = _mm512_set1_ps(1.5 * (1 << 23) as f32);
    let less = _mm512_mul_ps(scale, _mm512_set1_ps(-1.5 * (1 << 23) as f32));
    // SAFETY: the instructions are part of AVX-512 F, which is enabled, and read what the references refer to.
    unsafe {
        std::arch::asm!(
            row!(0),
            row!(1),
            row!(2),
            row!(3),
            row!(4),
            row!(5),
            row!(6),
            row!(7),
            scale = in(zmm_reg) scale,
            shift = in(zmm_reg) shift,
            less = in(zmm_reg) less,
            sums = in(reg) sums,
            at = in(reg) by,
            sum = out(zmm_reg) _sum,
            a0 = inout(zmm_reg) acc[0],
            a1 = inout(zmm_reg) acc[1],
            a2 = inout(zmm_reg) acc[2],
            a3 = inout(zmm_reg) acc[3],
            a4 = inout(zmm_reg) acc[4],
            a5 = inout(zmm_reg) acc[5],
            a6 = inout(zmm_reg) acc[6],
            a7 = inout(zmm_reg) acc[7],
            options(pure, readonly, nostack),
        );
    }
    acc
}
