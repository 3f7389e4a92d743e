//! Encoders for Q2_K and Q3_K, the K formats with groups of sixteen values and few bits.
//!
//! The search is that of [`kquants_encode`](crate::kquants_encode). With so few steps it matters more which
//! scale a group gets, so both neighbours of every rounded scale are tried, and in Q3_K more candidates of
//! either sign.

use crate::encoding::{reciprocal, write};
use crate::floats::{f16_bytes, read_f16};
use crate::kquants_encode::{
    Affine, CANDIDATES, Importance, fit_affine, fit_symmetric, poison, round, round_pair, round_to_byte,
    scaled, weigh, weigh_important,
};
use crate::ternary::pack_two_bits;

pub(crate) fn q2_k(values: &[f32; 256], importance: Importance<'_>, block: &mut [u8; 84]) {
    const D_AT: usize = 80;
    // The largest code, and the largest number of a scale or minimum.
    const TOP: f32 = 3.0;
    const MOST: u8 = 15;
    let groups = values.as_chunks::<16>().0;
    let mut fits = [Affine::NONE; 16];
    for (g, (fit, values)) in fits.iter_mut().zip(groups).enumerate() {
        let importance = importance.map(|all| &all.as_chunks().0[g]);
        let Some(found) = fit_affine(values, importance, TOP) else { return poison(block, D_AT) };
        *fit = found;
    }
    let largest = |of: fn(&Affine<16>) -> f32| fits.iter().fold(0.0, |max: f32, fit| of(fit).max(max));
    let d = f16_bytes(largest(|fit| fit.scale) / f32::from(MOST));
    let dmin = f16_bytes(largest(|fit| fit.drop) / f32::from(MOST));

    let (mut scales, mut q) = ([0; 16], [0; 256]);
    for (g, (values, fit)) in groups.iter().zip(&fits).enumerate() {
        let (scale, min) = round_pair(values, fit, [read_f16(&d), read_f16(&dmin)], TOP, MOST);
        scales[g] = scale | (min << 4);
        let per_step = reciprocal(read_f16(&d) * f32::from(scale));
        let drop = read_f16(&dmin) * f32::from(min);
        for (q, x) in q[16 * g..][..16].iter_mut().zip(values) {
            *q = round_to_byte((x + drop) * per_step, 0.0, TOP);
        }
    }
    write(block, &[&scales, &pack_two_bits(&q), &d, &dmin]);
}

pub(crate) fn q3_k(values: &[f32; 256], importance: Importance<'_>, block: &mut [u8; 110]) {
    const D_AT: usize = 108;
    const LOW: f32 = -4.0;
    const HIGH: f32 = 3.0;
    // The extreme as 3.1 to 4.9 steps down, or as 2.5 to 3.55 steps up: values beyond clip and the others
    // gain precision.
    let steps: [f32; 3 * CANDIDATES] = std::array::from_fn(|k| match k {
        0..16 => -3.1 - 0.12 * k as f32,
        _ => 2.5 + 0.15 * (k - 16) as f32,
    });
    let groups = values.as_chunks::<16>().0;
    let mut fits = [0.0f32; 16];
    for (g, (fit, values)) in fits.iter_mut().zip(groups).enumerate() {
        let importance = importance.map(|all| &all.as_chunks().0[g]);
        let fitted = fit_symmetric(values, importance, &steps, (LOW, HIGH));
        let Some(scale) = fitted else { return poison(block, D_AT) };
        *fit = scale;
    }
    // The scale of the largest magnitude becomes −32, the 6-bit number of the largest magnitude.
    let farthest = fits.iter().fold(0.0f32, |max, scale| if scale.abs() > max.abs() { *scale } else { max });
    let d = f16_bytes(farthest / -32.0);
    let (step, per_step) = (read_f16(&d), reciprocal(read_f16(&d)));

    let (mut scales, mut q) = ([0; 16], [0; 256]);
    for (g, values) in groups.iter().enumerate() {
        let below = (fits[g] * per_step).floor().clamp(-32.0, 31.0);
        let both = [below, (below + 1.0).min(31.0)];
        let importance = importance.map(|all| &all.as_chunks().0[g]);
        let [a, b] = errors(values, importance, both.map(|number| step * number), (LOW, HIGH));
        let number = if b < a { both[1] } else { both[0] };
        scales[g] = (number + 32.0) as u8;
        let per_step = reciprocal(step * number);
        for (q, x) in q[16 * g..][..16].iter_mut().zip(values) {
            *q = round_to_byte(x * per_step, LOW, HIGH).wrapping_add(4);
        }
    }
    write(block, &[&third_bits(&q), &pack_two_bits(&q), &pack_sixteen(&scales), &d]);
}

/// The weighted sums of squared errors with two scales.
#[inline(never)]
fn errors(
    values: &[f32; 16],
    importance: Option<&[f32; 16]>,
    scales: [f32; 2],
    (low, high): (f32, f32),
) -> [f32; 2] {
    let largest = values.iter().fold(0.0f32, |max, x| max.max(x.abs()));
    let t = scaled(values, 0.0, reciprocal(largest));
    let weights = match importance {
        None => weigh(&t),
        Some(importance) => weigh_important(&t, importance),
    };
    scales.map(|scale| {
        let per_step = reciprocal(scale);
        let error = |x: &f32| scale * round(x * per_step, low, high) - x;
        values.iter().zip(&weights).map(|(x, weight)| weight * error(x) * error(x)).sum()
    })
}

/// The third bits of 256 numbers: bit `4 · half + group of 32` of byte `i` is that of value `i` of the group.
pub(crate) fn third_bits(q: &[u8; 256]) -> [u8; 32] {
    let mut out = [0; 32];
    for (g, q) in q.as_chunks::<32>().0.iter().enumerate() {
        out.iter_mut().zip(q).for_each(|(out, q)| *out |= ((q >> 2) & 1) << g);
    }
    out
}

/// Packs sixteen 6-bit scales of Q3_K as the decoder in `kquants.rs` reads them.
pub(crate) fn pack_sixteen(scales: &[u8; 16]) -> [u8; 12] {
    let mut out = [0; 12];
    for (i, scale) in scales.iter().enumerate() {
        out[i % 8] |= (scale & 0x0f) << (4 * (i / 8));
        out[8 + i % 4] |= ((scale >> 4) & 3) << (2 * (i / 4));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kquants::q3_scales;

    #[test]
    fn packed_scales_come_back() {
        let scales: [u8; 16] = std::array::from_fn(|i| (i * 37 % 64) as u8);
        assert_eq!(q3_scales(&pack_sixteen(&scales)), scales.map(|scale| scale as i8 - 32));
    }
}
