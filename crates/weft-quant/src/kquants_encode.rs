//! Encoders for the K formats (Q2_K and Q3_K in [`kquants_low`](crate::kquants_low)): a weighted
//! least-squares search for every group's scale and minimum.
//!
//! The idea is that of GGML's `make_qkx2_quants` and `make_qx_quants`: round a group with several candidate steps,
//! solve for the scale (and minimum) that fit each rounding best, and keep the best fit. The weight of a value is its
//! magnitude plus the group's root mean square. There are two differences: the candidates are the lanes of one pass
//! over the group, and once the super-block's scales are known, both neighbours of every 6-bit scale and minimum are
//! tried. Sums run in a fixed order, so that a tensor encodes to the same bytes on every machine.
//!
//! With the importance of each value, weights are multiplied by it, and more candidates are tried: clipping a value that
//! matters little can pay.
//!
//! The inner loops stay separate functions: inlined, their arrays become scalars, and the loops no longer vectorise
//! and run at half the speed.

use crate::encoding::{F16_NAN, ROUNDER, range, reciprocal, write};
use crate::floats::{f16_bytes, read_f16};

/// The number of candidate steps per group.
pub(crate) const CANDIDATES: usize = 8;

/// Rounds to the nearest whole number within `low..=high`, which are whole numbers.
#[inline(always)]
pub(crate) fn round(x: f32, low: f32, high: f32) -> f32 {
    (x.max(low).min(high) + ROUNDER) - ROUNDER
}

/// Like [`round`], as a byte; negative numbers in two's complement.
#[inline(always)]
pub(crate) fn round_to_byte(x: f32, low: f32, high: f32) -> u8 {
    (x.max(low).min(high) + ROUNDER).to_bits() as u8
}

/// Σ a · b, in four lanes.
#[inline(never)]
fn dot<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f32 {
    let mut lanes = [0.0; 4];
    for (a, b) in a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0) {
        for k in 0..4 {
            lanes[k] += a[k] * b[k];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// `scale · (value − origin)` for every value. (`array::map` over that many would become a call.)
#[inline(always)]
pub(crate) fn scaled<const N: usize>(values: &[f32; N], origin: f32, scale: f32) -> [f32; N] {
    let mut out = [0.0; N];
    for (out, value) in out.iter_mut().zip(values) {
        *out = (value - origin) * scale;
    }
    out
}

/// The weight of an error in each value, for values scaled to about 1.
#[inline(always)]
pub(crate) fn weigh<const N: usize>(values: &[f32; N]) -> [f32; N] {
    let rms = (dot(values, values) / N as f32).sqrt();
    let mut weights = [0.0; N];
    for (weight, value) in weights.iter_mut().zip(values) {
        *weight = rms + value.abs();
    }
    weights
}

/// The weight of an error in each value, for values scaled to about 1 and with an importance.
#[inline(never)]
pub(crate) fn weigh_important<const N: usize>(values: &[f32; N], importance: &[f32; N]) -> [f32; N] {
    let mean_square = dot(values, values) / N as f32;
    let shares = shares(importance);
    let mut weights = [0.0; N];
    for ((weight, value), share) in weights.iter_mut().zip(values).zip(&shares) {
        *weight = share * (mean_square + value * value).sqrt();
    }
    weights
}

/// The importance of each value as a share of the largest, not less than a millionth. If there is none, all are 1.
fn shares<const N: usize>(importance: &[f32; N]) -> [f32; N] {
    let most = importance.iter().fold(0.0f32, |most, one| one.max(most));
    let mut shares = [1.0; N];
    if most > 0.0 && most.is_finite() {
        for (share, one) in shares.iter_mut().zip(importance) {
            *share = (one / most).max(1e-6);
        }
    }
    shares
}

/// Weighted sums over a group, with a lane for each candidate step; `q` is `t` times the step, rounded.
struct Sums {
    q: [f32; CANDIDATES],
    qq: [f32; CANDIDATES],
    qt: [f32; CANDIDATES],
}

/// Rounds `t` with every candidate step to whole numbers in `low..=high`.
#[inline(never)]
fn sums<const N: usize>(
    t: &[f32; N],
    weights: &[f32; N],
    steps: &[f32; CANDIDATES],
    (low, high): (f32, f32),
) -> Sums {
    let mut sums = Sums { q: [0.0; CANDIDATES], qq: [0.0; CANDIDATES], qt: [0.0; CANDIDATES] };
    for (t, weight) in t.iter().zip(weights) {
        for (k, step) in steps.iter().enumerate() {
            let q = round(t * step, low, high);
            let wq = weight * q;
            sums.q[k] += wq;
            sums.qq[k] += wq * q;
            sums.qt[k] += wq * t;
        }
    }
    sums
}

/// A group of a format with minima before its scale and minimum are rounded: value ≈ scale · q − drop.
#[derive(Clone, Copy)]
pub(crate) struct Affine<const N: usize> {
    pub(crate) scale: f32,
    pub(crate) drop: f32,
    weights: [f32; N],
}

impl<const N: usize> Affine<N> {
    pub(crate) const NONE: Affine<N> = Affine { scale: 0.0, drop: 0.0, weights: [0.0; N] };
}

/// Finds scale ≥ 0 and drop ≥ 0 for `q` in `0..=top`; `None` if a value is infinite or NaN.
#[inline(always)]
pub(crate) fn fit_affine<const N: usize>(
    values: &[f32; N],
    importance: Option<&[f32; N]>,
    top: f32,
) -> Option<Affine<N>> {
    let (min, max) = range(values)?;
    // All is in units of the span, so that no sum over- or underflows: t = (x − base) / span, in 0..=1.
    let base = min.min(0.0);
    let span = max - base;
    let per_span = reciprocal(span);
    let t = scaled(values, base, per_span);
    let magnitudes = scaled(values, 0.0, reciprocal(max.max(-min)));
    // The span as `top − 1` to `top + 1` steps; with more than `top`, the largest values clip and the others gain
    // precision.
    let (weights, candidates, most) = match importance {
        None => (weigh(&magnitudes), CANDIDATES, 2.0),
        Some(importance) => (weigh_important(&magnitudes, importance), 3 * CANDIDATES, 3.0),
    };
    let w = dot(&weights, &[1.0; N]);
    let wt = dot(&weights, &t);

    // Without a fit (all values equal, or a span that is not a normal number), the whole span is `top` steps.
    let (mut best_gain, mut scale, mut shift) = (0.0, 1.0 / top, 0.0);
    for first in (0..candidates).step_by(CANDIDATES) {
        let step = most / (candidates - 1) as f32;
        let steps = std::array::from_fn(|k| top - 1.0 + (first + k) as f32 * step);
        let s = sums(&t, &weights, &steps, (0.0, top));
        let (mut scales, mut shifts, mut gains) = ([0.0; CANDIDATES], [0.0; CANDIDATES], [0.0; CANDIDATES]);
        for k in 0..CANDIDATES {
            // The normal equations of t ≈ scale · q + shift; the minimum base + span · shift must not be above 0. If all
            // q are equal (the determinant is rounding noise only), shift stays 0.
            let determinant = w * s.qq[k] - s.q[k] * s.q[k];
            let free = (s.qq[k] * wt - s.q[k] * s.qt[k]) / determinant;
            shifts[k] = if determinant > 1e-5 * w * s.qq[k] { free.min(-base * per_span) } else { 0.0 };
            let rest = s.qt[k] - shifts[k] * s.q[k];
            scales[k] = rest / s.qq[k];
            // How much the fit lowers the weighted sum of squares Σ w t².
            gains[k] = scales[k] * rest + shifts[k] * (2.0 * wt - shifts[k] * w);
        }
        for k in 0..CANDIDATES {
            if gains[k] > best_gain {
                (best_gain, scale, shift) = (gains[k], scales[k], shifts[k]);
            }
        }
    }
    Some(Affine { scale: scale * span, drop: (-base - shift * span).max(0.0), weights })
}

/// A super-block of Q4_K or Q5_K, ready to be packed.
struct SuperBlock {
    d: [u8; 2],
    dmin: [u8; 2],
    scales: [u8; 8],
    mins: [u8; 8],
    q: [u8; 256],
}

/// Encodes 256 values with `q` in `0..=top`; `None` if a value is infinite or NaN.
#[inline(always)]
fn super_block(values: &[f32; 256], importance: Importance<'_>, top: f32) -> Option<SuperBlock> {
    let groups = values.as_chunks::<32>().0;
    let mut fits = [Affine::NONE; 8];
    for (g, (fit, values)) in fits.iter_mut().zip(groups).enumerate() {
        *fit = fit_affine(values, importance.map(|all| &all.as_chunks().0[g]), top)?;
    }
    let d = f16_bytes(fits.iter().fold(0.0, |max, fit| fit.scale.max(max)) / 63.0);
    let dmin = f16_bytes(fits.iter().fold(0.0, |max, fit| fit.drop.max(max)) / 63.0);

    let mut out = SuperBlock { d, dmin, scales: [0; 8], mins: [0; 8], q: [0; 256] };
    for (g, (values, fit)) in groups.iter().zip(&fits).enumerate() {
        let (scale, min) = round_pair(values, fit, [read_f16(&d), read_f16(&dmin)], top, 63);
        out.scales[g] = scale;
        out.mins[g] = min;
        let per_step = reciprocal(read_f16(&d) * f32::from(scale));
        let drop = read_f16(&dmin) * f32::from(min);
        for (q, x) in out.q[32 * g..][..32].iter_mut().zip(values) {
            *q = round_to_byte((x + drop) * per_step, 0.0, top);
        }
    }
    Some(out)
}

/// The scale and minimum of a group as numbers in `0..=most`: of those below and above the fitted ones, the
/// pair with the smallest error. They count the super-block's scale and minimum, `[d, dmin]`.
#[inline(never)]
pub(crate) fn round_pair<const N: usize>(
    values: &[f32; N],
    fit: &Affine<N>,
    [d, dmin]: [f32; 2],
    top: f32,
    most: u8,
) -> (u8, u8) {
    let floor = |x: f32| (x as i32).clamp(0, i32::from(most)) as u8;
    let (scale, min) = (floor(fit.scale * reciprocal(d)), floor(fit.drop * reciprocal(dmin)));
    let (next_scale, next_min) = ((scale + 1).min(most), (min + 1).min(most));
    let pairs = [(scale, min), (scale, next_min), (next_scale, min), (next_scale, next_min)];
    let steps = pairs.map(|(scale, _)| d * f32::from(scale));
    let per_step = steps.map(reciprocal);
    let drops = pairs.map(|(_, min)| dmin * f32::from(min));
    let mut errors = [0.0; 4];
    for (value, weight) in values.iter().zip(&fit.weights) {
        for k in 0..4 {
            let x = value + drops[k];
            let error = steps[k] * round(x * per_step[k], 0.0, top) - x;
            errors[k] += weight * error * error;
        }
    }
    let mut best = 0;
    for k in 1..4 {
        if errors[k] < errors[best] {
            best = k;
        }
    }
    pairs[best]
}

/// Packs 6-bit scales and minima as the decoder in `kquants.rs` reads them.
#[inline(always)]
pub(crate) fn pack_scales(scales: &[u8; 8], mins: &[u8; 8]) -> [u8; 12] {
    let mut out = [0; 12];
    for i in 0..4 {
        out[i] = scales[i] | ((scales[i + 4] >> 4) << 6);
        out[i + 4] = mins[i] | ((mins[i + 4] >> 4) << 6);
        out[i + 8] = (scales[i + 4] & 0x0f) | (mins[i + 4] << 4);
    }
    out
}

/// Packs the low nibbles of 256 numbers, those of two consecutive groups in 32 bytes.
#[inline(always)]
pub(crate) fn pack_nibbles(q: &[u8; 256]) -> [u8; 128] {
    let mut out = [0; 128];
    for (out, q) in out.as_chunks_mut::<32>().0.iter_mut().zip(q.as_chunks::<64>().0) {
        for i in 0..32 {
            out[i] = (q[i] & 0x0f) | (q[i + 32] << 4);
        }
    }
    out
}

/// The importance of each value of a super-block, if it is known.
pub(crate) type Importance<'a> = Option<&'a [f32; 256]>;

pub(crate) fn q4_k(values: &[f32; 256], importance: Importance<'_>, block: &mut [u8; 144]) {
    let Some(s) = super_block(values, importance, 15.0) else { return poison(block, 0) };
    write(block, &[&s.d, &s.dmin, &pack_scales(&s.scales, &s.mins), &pack_nibbles(&s.q)]);
}

pub(crate) fn q5_k(values: &[f32; 256], importance: Importance<'_>, block: &mut [u8; 176]) {
    let Some(s) = super_block(values, importance, 31.0) else { return poison(block, 0) };
    let mut high = [0; 32];
    for (g, q) in s.q.as_chunks::<32>().0.iter().enumerate() {
        for i in 0..32 {
            high[i] |= (q[i] >> 4) << g;
        }
    }
    write(block, &[&s.d, &s.dmin, &pack_scales(&s.scales, &s.mins), &high, &pack_nibbles(&s.q)]);
}

pub(crate) fn q6_k(values: &[f32; 256], importance: Importance<'_>, block: &mut [u8; 210]) {
    const D_AT: usize = 208;
    let groups = values.as_chunks::<16>().0;
    let mut fits = [0.0f32; 16];
    for (g, (fit, values)) in fits.iter_mut().zip(groups).enumerate() {
        // The extreme as 30.8 to 32.55 steps, the one on the other side as up to 31: values beyond clip and the others
        // gain precision.
        let steps: [f32; CANDIDATES] = std::array::from_fn(|k| -30.8 - 0.25 * k as f32);
        let more: [f32; 2 * CANDIDATES] = std::array::from_fn(|k| -29.8 - 0.25 * k as f32);
        let (importance, steps) = match importance {
            None => (None, &steps[..]),
            Some(all) => (Some(&all.as_chunks().0[g]), &more[..]),
        };
        let fitted = fit_symmetric(values, importance, steps, (-32.0, 31.0));
        let Some(scale) = fitted else { return poison(block, D_AT) };
        *fit = scale;
    }
    // The scale of the largest magnitude becomes −128, the 8-bit number of the largest magnitude.
    let farthest = fits.iter().fold(0.0f32, |max, scale| if scale.abs() > max.abs() { *scale } else { max });
    let d = f16_bytes(farthest / -128.0);
    let per_d = reciprocal(read_f16(&d));

    let mut scales = [0; 16];
    let mut q = [0; 256];
    for (g, values) in groups.iter().enumerate() {
        scales[g] = round_to_byte(fits[g] * per_d, -128.0, 127.0);
        let per_step = reciprocal(read_f16(&d) * f32::from(scales[g] as i8));
        for (q, x) in q[16 * g..][..16].iter_mut().zip(values) {
            *q = round_to_byte(x * per_step, -32.0, 31.0).wrapping_add(32);
        }
    }

    let (mut low, mut high) = ([0; 128], [0; 64]);
    let halves = low.as_chunks_mut::<64>().0.iter_mut().zip(high.as_chunks_mut::<32>().0);
    for ((low, high), q) in halves.zip(q.as_chunks::<128>().0) {
        for i in 0..32 {
            let [a, b, c, d] = [q[i], q[i + 32], q[i + 64], q[i + 96]];
            low[i] = (a & 0x0f) | (c << 4);
            low[i + 32] = (b & 0x0f) | (d << 4);
            high[i] = (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((d >> 4) << 6);
        }
    }
    write(block, &[&low, &high, &scales, &d]);
}

/// Finds the scale of either sign for `q` in `low..=high`, by trying the value of the largest magnitude as each of `steps`, a
/// multiple of eight; `None` if a value is infinite or NaN.
#[inline(always)]
pub(crate) fn fit_symmetric<const N: usize>(
    values: &[f32; N],
    importance: Option<&[f32; N]>,
    steps: &[f32],
    (low, high): (f32, f32),
) -> Option<f32> {
    let (min, max) = range(values)?;
    let extreme = if max > -min { max } else { min };
    let per_extreme = reciprocal(extreme);
    let t = scaled(values, 0.0, per_extreme);
    let weights = match importance {
        None => weigh(&t),
        Some(importance) => weigh_important(&t, importance),
    };
    // Without a fit (all zero, or an extreme whose reciprocal overflows), the extreme is the lowest number.
    let (mut best_gain, mut scale) = (0.0, 1.0 / low);
    for steps in steps.as_chunks().0 {
        let s = sums(&t, &weights, steps, (low, high));
        for k in 0..CANDIDATES {
            let candidate = s.qt[k] / s.qq[k];
            if candidate * s.qt[k] > best_gain {
                (best_gain, scale) = (candidate * s.qt[k], candidate);
            }
        }
    }
    Some(scale * extreme)
}

/// Makes a super-block decode to NaN. Its scale is at byte `at`.
pub(crate) fn poison(block: &mut [u8], at: usize) {
    block.fill(0);
    block[at..at + 2].copy_from_slice(&F16_NAN);
}
