//! Encoders for the formats with 32 values per block that weigh each value's error by its importance.
//!
//! They search for a block's scale and minimum as those of the K-quants do (`kquants_encode.rs`).

use crate::encoding::{reciprocal, write};
use crate::floats::{f16_bytes, read_f16};
use crate::kquants_encode::{CANDIDATES, fit_affine, fit_symmetric, round_to_byte};
use crate::legacy_encode::{pack_fifth_bits, pack_nibbles, poison};

/// The step and the numbers of a block with `q` in `-half..half`, `half` added; `None` if a value is infinite or NaN.
fn symmetric(values: &[f32; 32], importance: &[f32; 32], half: f32) -> Option<([u8; 2], [u8; 32])> {
    // The value of the largest magnitude becomes a number about `-half`, or about `half - 1`, or clips.
    let steps: [f32; 4 * CANDIDATES] = std::array::from_fn(|k| {
        let share = (k % (3 * CANDIDATES)) as f32 / (3 * CANDIDATES) as f32;
        if k < 3 * CANDIDATES { -half * (0.86 + 0.36 * share) } else { half * (0.82 + 0.6 * share) }
    });
    let d = f16_bytes(fit_symmetric(values, Some(importance), &steps, (-half, half - 1.0))?);
    let per_step = reciprocal(read_f16(&d));
    let mut q = [0; 32];
    for (q, x) in q.iter_mut().zip(values) {
        *q = round_to_byte(x * per_step + half, 0.0, 2.0 * half - 1.0);
    }
    Some((d, q))
}

/// The step, the minimum and the numbers of a block with `q` in `0..=top`; `None` if a value is infinite or NaN.
fn affine(values: &[f32; 32], importance: &[f32; 32], top: f32) -> Option<([u8; 2], [u8; 2], [u8; 32])> {
    let fit = fit_affine(values, Some(importance), top)?;
    let (d, min) = (f16_bytes(fit.scale), f16_bytes(-fit.drop));
    let (per_step, origin) = (reciprocal(read_f16(&d)), read_f16(&min));
    let mut q = [0; 32];
    for (q, x) in q.iter_mut().zip(values) {
        *q = round_to_byte((x - origin) * per_step, 0.0, top);
    }
    Some((d, min, q))
}

pub(crate) fn q4_0(values: &[f32; 32], importance: &[f32; 32], block: &mut [u8; 18]) {
    let Some((d, q)) = symmetric(values, importance, 8.0) else { return poison(block) };
    write(block, &[&d, &pack_nibbles(&q)]);
}

pub(crate) fn q4_1(values: &[f32; 32], importance: &[f32; 32], block: &mut [u8; 20]) {
    let Some((d, min, q)) = affine(values, importance, 15.0) else { return poison(block) };
    write(block, &[&d, &min, &pack_nibbles(&q)]);
}

pub(crate) fn q5_0(values: &[f32; 32], importance: &[f32; 32], block: &mut [u8; 22]) {
    let Some((d, q)) = symmetric(values, importance, 16.0) else { return poison(block) };
    write(block, &[&d, &pack_fifth_bits(&q), &pack_nibbles(&q)]);
}

pub(crate) fn q5_1(values: &[f32; 32], importance: &[f32; 32], block: &mut [u8; 24]) {
    let Some((d, min, q)) = affine(values, importance, 31.0) else { return poison(block) };
    write(block, &[&d, &min, &pack_fifth_bits(&q), &pack_nibbles(&q)]);
}
