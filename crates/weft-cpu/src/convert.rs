//! Conversion of stored numbers to `f32` and back.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use weft_kern::{Format, q8};
use weft_quant::ints::{IntFormat, Part};
use weft_quant::with_int_format;
use weft_quant::{GgmlType, f16_to_f32};

use crate::isa::{Simd, Work};
use crate::memory::Arg;
use crate::rows::Fault;

/// Whether [`Decode`] knows a type.
pub(crate) fn can_decode(ty: GgmlType) -> bool {
    ty.int_layout().is_some() || matches!(ty, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 | GgmlType::I32)
}

/// Decodes whole blocks into `out.len()` values; integers are converted.
pub(crate) struct Decode<'a> {
    pub(crate) ty: GgmlType,
    pub(crate) bytes: &'a [u8],
    pub(crate) out: &'a mut [f32],
}

impl Work for Decode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Decode { ty, bytes, out } = self;
        match ty {
            GgmlType::F32 => each(bytes, out, f32::from_le_bytes),
            GgmlType::I32 => each(bytes, out, |b| i32::from_le_bytes(b) as f32),
            GgmlType::F16 => each(bytes, out, |b| f16_to_f32(u16::from_le_bytes(b))),
            GgmlType::BF16 => each(bytes, out, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16)),
            _ => with_int_format!(ty, F => decode_blocks::<F>(bytes, out), else out.fill(f32::NAN)),
        }
    }
}

#[inline(always)]
fn each<const N: usize>(bytes: &[u8], out: &mut [f32], convert: impl Fn([u8; N]) -> f32) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *out = convert(*bytes);
    }
}

/// `scale · q + min`, each operation rounded, as [`weft_quant::decode`] does it.
#[inline(always)]
fn decode_blocks<F: IntFormat>(bytes: &[u8], out: &mut [f32]) {
    let (mut q, mut scales, mut mins) = (F::Quants::ZERO, F::Scales::ZERO, F::Mins::ZERO);
    let blocks = bytes.chunks_exact(F::TYPE.block_bytes());
    for (block, out) in blocks.zip(out.chunks_exact_mut(F::TYPE.block_len())) {
        let Some((block, _)) = F::Block::split(block) else { return };
        F::unpack_block(block, &mut q, &mut scales, &mut mins);
        let groups = out.chunks_exact_mut(F::LAYOUT.group).zip(q.as_ref().chunks_exact(F::LAYOUT.group));
        for (i, (out, q)) in groups.enumerate() {
            let scale = scales.as_ref()[i];
            if F::LAYOUT.has_min {
                let min = mins.as_ref()[i];
                out.iter_mut().zip(q).for_each(|(out, q)| *out = scale * f32::from(*q) + min);
            } else {
                out.iter_mut().zip(q).for_each(|(out, q)| *out = scale * f32::from(*q));
            }
        }
    }
}

/// Rounds activations, a whole number of blocks, as a store to `q8` does.
pub(crate) struct Round<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) quants: &'a mut [i8],
    pub(crate) scales: &'a mut [f32],
    pub(crate) sums: &'a mut [f32],
}

impl Work for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let values = self.values.as_chunks::<{ q8::BLOCK }>().0.iter();
        let quants = self.quants.as_chunks_mut::<{ q8::BLOCK }>().0;
        let planes = quants.iter_mut().zip(self.scales).zip(self.sums.as_chunks_mut::<2>().0);
        for (values, ((quants, scale), sums)) in values.zip(planes) {
            let block = simd.quantise(values);
            (*quants, *scale, *sums) = (block.quants, block.scale, block.sums);
        }
    }
}

/// Writes values from `at` on, `step` apart, converted to the argument's format.
///
/// Rounded activations are written in whole blocks, with a step of 1.
#[inline(always)]
pub(crate) fn store<S: Simd>(
    simd: S,
    arg: &Arg,
    at: usize,
    step: usize,
    values: &[f32],
) -> Result<(), Fault> {
    match arg.format() {
        Format::F32 if step == 1 => arg.write_f32s(at, values),
        Format::Q8 => {
            let blocks = values.as_chunks::<{ q8::BLOCK }>().0;
            // Not closures: these would be compiled without the instruction set.
            for (i, block) in blocks.iter().enumerate() {
                arg.write_rounded(at + i * q8::BLOCK, &simd.quantise(block)).ok_or(Fault)?;
            }
            Some(())
        }
        Format::Ggml(ty) if ty.is_quantised() => {
            let mut blocks = values.as_chunks::<{ q8::BLOCK }>().0.iter().enumerate();
            blocks.try_for_each(|(i, values)| {
                let mut block = [0; GgmlType::Q8_0.block_bytes()];
                let block = block.get_mut(..ty.block_bytes())?;
                weft_quant::encode(ty, values, block).ok()?;
                arg.write_blocks(at + i * q8::BLOCK, block)
            })
        }
        _ => {
            // In runs, so that many values are converted at once.
            let runs = values.chunks(64).enumerate();
            runs.map(|(i, run)| (at + i * 64 * step, run))
                .try_for_each(|(at, run)| store_run(arg, at, step, run))
        }
    }
    .ok_or(Fault)
}

/// At most 64 values of a format that stores one number per value.
fn store_run(arg: &Arg, at: usize, step: usize, values: &[f32]) -> Option<()> {
    fn put<T: Copy>(
        at: usize,
        step: usize,
        run: &[T],
        write: impl Fn(usize, &[T]) -> Option<()>,
    ) -> Option<()> {
        match step {
            1 => write(at, run),
            _ => run.iter().enumerate().try_for_each(|(i, v)| write(at + i * step, &[*v])),
        }
    }
    let n = values.len();
    match arg.format() {
        Format::F32 => put(at, step, values, |at, run| arg.write_f32s(at, run)),
        Format::I32 => {
            let mut run = [0; 64];
            run.iter_mut().zip(values).for_each(|(i, v)| *i = *v as i32);
            put(at, step, &run[..n], |at, run| arg.write_i32s(at, run))
        }
        Format::Ggml(GgmlType::F16) => {
            let mut run = [f16::ZERO; 64];
            run[..n].convert_from_f32_slice(values);
            put(at, step, &run.map(f16::to_bits)[..n], |at, run| arg.write_halves(at, run))
        }
        Format::Ggml(GgmlType::BF16) => {
            let mut run = [bf16::ZERO; 64];
            run[..n].convert_from_f32_slice(values);
            put(at, step, &run.map(bf16::to_bits)[..n], |at, run| arg.write_halves(at, run))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Arch, Isa};

    struct Quantise<'a>(&'a [f32; q8::BLOCK]);

    impl Work for Quantise<'_> {
        type Output = q8::Block;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> q8::Block {
            simd.quantise(self.0)
        }
    }

    /// Numbers of a linear congruential generator.
    fn noise(seed: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(seed), |s| Some(s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
            .map(|s| s ^ s >> 15)
            .skip(1)
    }

    #[test]
    fn every_type_decodes_as_its_codec_says() {
        for ty in GgmlType::ALL.iter().copied().filter(|ty| ty.can_decode()) {
            assert!(can_decode(ty), "{ty}");
            let n = 3 * ty.block_len();
            let len = 3 * ty.block_bytes();
            let bytes: Vec<u8> = noise(len as u32).map(|r| (r >> 7) as u8).take(len).collect();
            let mut expected = vec![0.0; n];
            weft_quant::decode(ty, &bytes, &mut expected).unwrap();
            for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
                let mut out = vec![0.0; n];
                arch.dispatch(Decode { ty, bytes: &bytes, out: &mut out });
                for (a, b) in out.iter().zip(&expected) {
                    assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{ty} {arch:?}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn rounding_is_that_of_the_definition() {
        let check = |values: &[f32; q8::BLOCK]| {
            let expected = q8::quantise(values);
            for arch in Isa::ALL.into_iter().filter_map(Arch::new) {
                let found = arch.dispatch(Quantise(values));
                if expected.scale.is_nan() {
                    assert!(found.scale.is_nan() && found.sums.iter().all(|s| s.is_nan()), "{values:?}");
                    assert_eq!(found.quants, expected.quants);
                } else {
                    assert_eq!(found, expected, "{values:?} with {arch:?}");
                }
            }
        };
        let mut random = noise(1);
        for _ in 0..2000 {
            // Random bits, and values of similar magnitude, some of them ties.
            check(&std::array::from_fn(|_| f32::from_bits(random.next().unwrap_or(0))));
            check(&std::array::from_fn(|_| (random.next().unwrap_or(0) as i32 >> 23) as f32 * 0.5));
            check(&std::array::from_fn(|_| (random.next().unwrap_or(0) as i32) as f32 * 1e-9));
        }
        for v in
            [0.0, -0.0, f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX, -f32::MAX, f32::INFINITY, f32::NAN]
        {
            check(&[v; q8::BLOCK]);
            check(&std::array::from_fn(|i| if i == 31 { v } else { 1.0 }));
            check(&std::array::from_fn(|i| [v, 0.0, -0.0, 1e-39, -1e-38][i % 5]));
        }
    }
}
