//! Encoders for the 4-bit formats with uneven steps.
//!
//! IQ4_NL and IQ4_XS have a weighted least-squares search for every group's scale, as the K-quants have. What differs is the
//! rounding: to the nearest of sixteen uneven steps. Weights are those of [`kquants_encode`](crate::kquants_encode).

use crate::encoding::{F16_NAN, range, reciprocal, write};
use crate::floats::{f16_bytes, read_f16};
use crate::iquants::{IQ4_VALUES, half_e8m0, pack_iq4_xs};
use crate::kquants_encode::{CANDIDATES, scaled, weigh, weigh_important};
use crate::legacy_encode::pack_nibbles;

/// The steps that the value of the largest magnitude is tried as: around both ends of the table. Beyond them it clips.
const STEPS: [f32; 4 * CANDIDATES] = {
    let mut steps = [0.0; 4 * CANDIDATES];
    let mut k = 0;
    while k < steps.len() {
        steps[k] = if k < 2 * CANDIDATES {
            -114.0 - 1.5 * k as f32
        } else {
            98.0 + 2.0 * (k - 2 * CANDIDATES) as f32
        };
        k += 1;
    }
    steps
};

/// Half-way between two neighbours of the table, and how far apart these are.
const BETWEEN: [(f32, f32); 15] = {
    let mut between = [(0.0, 0.0); 15];
    let mut i = 0;
    while i < 15 {
        let (a, b) = (IQ4_VALUES[i] as f32, IQ4_VALUES[i + 1] as f32);
        between[i] = ((a + b) / 2.0, b - a);
        i += 1;
    }
    between
};

/// The value of the table nearest to `x`.
#[inline(always)]
fn nearest(x: f32) -> f32 {
    let mut value = IQ4_VALUES[0] as f32;
    for (middle, step) in BETWEEN {
        value += if x > middle { step } else { 0.0 };
    }
    value
}

/// The code of the value nearest to `x`.
#[inline(always)]
fn code(x: f32) -> u8 {
    let mut code = 0;
    for (middle, _) in BETWEEN {
        code += u8::from(x > middle);
    }
    code
}

/// A group before its scale is rounded.
struct Fit {
    scale: f32,
    weights: [f32; 32],
}

/// For each candidate step Σ w · v · t and Σ w · v², where `v` is the value nearest to `t` times the step.
#[inline(never)]
fn sums(
    t: &[f32; 32],
    weights: &[f32; 32],
    steps: &[f32; CANDIDATES],
) -> ([f32; CANDIDATES], [f32; CANDIDATES]) {
    let (mut vt, mut vv) = ([0.0; CANDIDATES], [0.0; CANDIDATES]);
    for (t, weight) in t.iter().zip(weights) {
        for (k, step) in steps.iter().enumerate() {
            let v = nearest(t * step);
            vt[k] += weight * v * t;
            vv[k] += weight * v * v;
        }
    }
    (vt, vv)
}

/// Finds the scale, of either sign; `None` if a value is infinite or NaN.
fn fit(values: &[f32; 32], importance: Option<&[f32; 32]>) -> Option<Fit> {
    let (min, max) = range(values)?;
    let extreme = if max > -min { max } else { min };
    let t = scaled(values, 0.0, reciprocal(extreme));
    let weights = match importance {
        None => weigh(&t),
        Some(importance) => weigh_important(&t, importance),
    };
    // Without a fit (all zero, or an extreme whose reciprocal overflows), the extreme is the first of the table.
    let (mut best_gain, mut scale) = (0.0, 1.0 / f32::from(IQ4_VALUES[0]));
    for steps in STEPS.as_chunks().0 {
        let (vt, vv) = sums(&t, &weights, steps);
        for k in 0..CANDIDATES {
            let candidate = vt[k] / vv[k];
            if candidate * vt[k] > best_gain {
                (best_gain, scale) = (candidate * vt[k], candidate);
            }
        }
    }
    Some(Fit { scale: scale * extreme, weights })
}

/// The codes of a group with this scale.
#[inline(never)]
fn codes(values: &[f32; 32], scale: f32) -> [u8; 32] {
    let per_step = reciprocal(scale);
    let mut out = [0; 32];
    for (out, x) in out.iter_mut().zip(values) {
        *out = code(x * per_step);
    }
    out
}

/// The weighted sum of squared errors with this scale.
#[inline(never)]
fn error(values: &[f32; 32], weights: &[f32; 32], scale: f32) -> f32 {
    let per_step = reciprocal(scale);
    let mut sum = 0.0;
    for (x, weight) in values.iter().zip(weights) {
        let error = scale * nearest(x * per_step) - x;
        sum += weight * error * error;
    }
    sum
}

pub(crate) fn iq4_nl(values: &[f32; 32], importance: Option<&[f32; 32]>, block: &mut [u8; 18]) {
    let Some(fit) = fit(values, importance) else {
        block.fill(0);
        block[..2].copy_from_slice(&F16_NAN);
        return;
    };
    let d = f16_bytes(fit.scale);
    write(block, &[&d, &pack_nibbles(&codes(values, read_f16(&d)))]);
}

pub(crate) fn iq4_xs(values: &[f32; 256], importance: Option<&[f32; 256]>, block: &mut [u8; 136]) {
    let groups = values.as_chunks::<32>().0;
    let fits: [Option<Fit>; 8] =
        std::array::from_fn(|g| fit(&groups[g], importance.map(|all| &all.as_chunks().0[g])));
    let farthest = fits
        .iter()
        .flatten()
        .fold(0.0f32, |max, fit| if fit.scale.abs() > max.abs() { fit.scale } else { max });
    // The scale of the largest magnitude becomes −32, the 6-bit number of the largest magnitude.
    let d = f16_bytes(farthest / -32.0);
    let (step, per_step) = (read_f16(&d), reciprocal(read_f16(&d)));
    let (mut scales, mut u) = ([0; 8], [0; 256]);
    for (g, (fit, values)) in fits.iter().zip(groups).enumerate() {
        let Some(fit) = fit else {
            block.fill(0);
            block[..2].copy_from_slice(&F16_NAN);
            return;
        };
        // Of the numbers below and above, the one with the smaller error.
        let below = (fit.scale * per_step).floor().clamp(-32.0, 31.0);
        let both = [below, (below + 1.0).min(31.0)];
        let [a, b] = both.map(|number| error(values, &fit.weights, step * number));
        let number = if b < a { both[1] } else { both[0] };
        scales[g] = number as i8;
        u[32 * g..][..32].copy_from_slice(&codes(values, step * number));
    }
    pack_iq4_xs(d, &scales, &u, block);
}

/// The nearest code of MXFP4 for a value in units of half its scale; the smaller magnitude of two equally near ones. Negative zero is zero.
#[inline(always)]
fn e2m1_code(x: f32) -> u8 {
    let mut code = 0;
    for middle in [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0] {
        code += u8::from(x.abs() > middle);
    }
    if x < 0.0 && code > 0 { code | 8 } else { code }
}

/// As GGML's `quantize_row_mxfp4_ref`: the largest magnitude is at least 4 and less than 8 times the scale, so it may clip at 6.
/// (GGML takes the exponent from `log2f`, which can round up for a magnitude just below a power of two.) The format has no NaN in
/// GGML: a block with an infinity or a NaN decodes to infinities.
pub(crate) fn mxfp4(values: &[f32; 32], block: &mut [u8; 17]) {
    let Some((min, max)) = range(values) else {
        block.fill(0x77);
        block[0] = 0xff;
        return;
    };
    let largest = max.max(-min);
    // The exponent of the largest, less two; a magnitude below 2^−125 has the smallest scale.
    let e = ((largest.to_bits() >> 23) as u8).saturating_sub(2);
    let step = half_e8m0(e);
    let mut codes = [0; 32];
    for (code, x) in codes.iter_mut().zip(values) {
        *code = e2m1_code(x / step);
    }
    write(block, &[&[e], &pack_nibbles(&codes)]);
}
