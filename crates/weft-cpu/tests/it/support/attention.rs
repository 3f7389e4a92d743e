//! How attention rounds rows and weights, written as plainly as possible.

use weft_kern::{Cached, Format};
use weft_quant::GgmlType;

use super::{Arg, Case};

/// The limits of numbers, for keys of some length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// The largest magnitude of a number.
    pub(crate) number: f32,
    /// The largest sum of a block's weights.
    pub(crate) weights: f32,
}

/// A row of integers, and their scale.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) numbers: Vec<i32>,
    pub(crate) scale: f32,
}

/// The nearest integer to a product, ties to even. The product of two `f32` is exact as an `f64`.
fn nearest(x: f32, factor: f32) -> i32 {
    (f64::from(x) * f64::from(factor)).round_ties_even() as i32
}

/// `a / b`, or 0 if that is not finite.
fn ratio(a: f32, b: f32) -> f32 {
    if (a / b).is_finite() { a / b } else { 0.0 }
}

fn largest(x: impl Iterator<Item = f32>) -> f32 {
    x.fold(0.0, |top, x| top.max(x.abs()))
}

impl Law {
    pub(crate) fn of(k_len: usize) -> Law {
        let most = i32::MAX as usize;
        let number = (1..=4095).rev().find(|n| k_len * n * n <= most).unwrap();
        Law { number: number as f32, weights: (most / number - 128) as f32 }
    }

    /// Rounds values.
    pub(crate) fn row(self, x: &[f32]) -> Row {
        let top = largest(x.iter().copied());
        let numbers = x.iter().map(|x| nearest(*x, ratio(self.number, top))).collect();
        Row { numbers, scale: top / self.number }
    }

    /// Rounds a row of a state.
    pub(crate) fn cached(self, ty: GgmlType, bytes: &[u8]) -> Row {
        match ty {
            GgmlType::Q4_0 => self.scaled(ty, bytes, 16, 8.0),
            GgmlType::Q8_0 => self.scaled(ty, bytes, 1, 128.0),
            GgmlType::Q5_1 => self.with_minima(bytes),
            _ => {
                let mut values = vec![0.0; bytes.len() / ty.block_bytes()];
                weft_quant::decode(ty, bytes, &mut values).unwrap();
                self.row(&values)
            }
        }
    }

    /// Blocks of numbers times a scale. The numbers are multiplied by `up`.
    fn scaled(self, ty: GgmlType, bytes: &[u8], up: i32, unit: f32) -> Row {
        let (quants, scales, _) = unpacked(ty, bytes);
        let top = largest(scales.iter().copied());
        let factor = |i: usize| nearest(scales[i / 32], ratio(4.0 * self.number, top));
        let number = |(i, x): (usize, &i8)| (i32::from(*x) * up * factor(i) + 256) >> 9;
        let numbers = quants.iter().enumerate().map(number).collect();
        Row { numbers, scale: top * (unit / self.number) }
    }

    /// Blocks of `q5_1`, whose numbers are multiples of a scale above a least value.
    fn with_minima(self, bytes: &[u8]) -> Row {
        let (quants, scales, mins) = unpacked(GgmlType::Q5_1, bytes);
        let middles: Vec<f32> = scales.iter().zip(&mins).map(|(scale, min)| 16.0 * scale + min).collect();
        let top = largest(middles.iter().zip(&scales).map(|(c, d)| c.abs() + (16.0 * d).abs()));
        let inverse = ratio(self.number - 2.0, top);
        let number = |(i, x): (usize, &i8)| {
            let (factor, middle) =
                (nearest(scales[i / 32], inverse * 64.0), nearest(middles[i / 32], inverse));
            (((i32::from(*x) - 16) * 8 * factor + 256) >> 9) + middle
        };
        let numbers = quants.iter().enumerate().map(number).collect();
        Row { numbers, scale: top / (self.number - 2.0) }
    }

    /// Rounds the weights of a block, given also their sum in order.
    pub(crate) fn weights(self, w: &[f32], sum: f32) -> Row {
        let scale = (largest(w.iter().copied()) / 32767.0).max(sum / self.weights);
        Row { numbers: w.iter().map(|w| nearest(*w, ratio(1.0, scale))).collect(), scale }
    }
}

impl Row {
    /// The values of the numbers.
    pub(crate) fn values(&self) -> Vec<f32> {
        self.numbers.iter().map(|n| *n as f32 * self.scale).collect()
    }
}

/// Gives the interpreter the rows that the device computes with. All values of a query must be adjacent in their argument.
pub(crate) fn round(case: &mut Case) {
    let (mut args, mut beyond) = (case.args.clone(), 0.0f32);
    for part in &case.kernel.parts {
        let Some(a) = part.attention() else { continue };
        let law = Law::of(a.k_len);
        let mut q = args[a.q.param].floats(&args[a.q.param].bytes);
        q.chunks_exact_mut(a.k_len).for_each(|q| q.copy_from_slice(&law.row(q).values()));
        args[a.q.param] = Arg { per_token: args[a.q.param].per_token, ..Arg::f32(&q) };
        args[a.k.param] = round_state(&case.args[a.k.param], a.k, a.kv_heads, a.k_len, law);
        let within = a.v.offset >= a.k.offset && a.v.offset + part.cols <= a.k.offset + a.k_len;
        if !(a.v.param == a.k.param && within) {
            args[a.v.param] = round_state(&case.args[a.v.param], a.v, a.kv_heads, part.cols, law);
        }
        // Each of a block's 128 weights is rounded by half their scale, which is a 32767th of the largest weight, or less of their sum:
        // relative to the largest value, at most this much.
        beyond = beyond.max(largest(
            args[a.v.param].floats(&args[a.v.param].bytes).into_iter().filter(|v| v.is_finite()),
        ));
    }
    case.rounded = Some((args, beyond * 64.0 / 32767.0));
}

/// A state in which the values of each head are rounded, in every row.
pub(crate) fn round_state(arg: &Arg, at: Cached, heads: usize, len: usize, law: Law) -> Arg {
    let Format::Ggml(ty) = arg.format else { panic!("a state") };
    let bytes = |values: usize| values / ty.block_len() * ty.block_bytes();
    let mut values = arg.floats(&arg.bytes);
    for (r, row) in values.chunks_exact_mut(at.row_stride).enumerate() {
        for head in 0..heads {
            let start = at.offset + head * at.head_stride;
            let own = &arg.bytes[bytes(r * at.row_stride + start)..][..bytes(len)];
            row[start..start + len].copy_from_slice(&law.cached(ty, own).values());
        }
    }
    Arg::f32(&values)
}

/// The numbers of a row of blocks, and each block's scale and least value.
fn unpacked(ty: GgmlType, bytes: &[u8]) -> (Vec<i8>, Vec<f32>, Vec<f32>) {
    let blocks = bytes.len() / ty.block_bytes();
    let mins = if ty.int_layout().unwrap().has_min { blocks } else { 0 };
    let (mut quants, mut scales, mut mins) = (vec![0; 32 * blocks], vec![0.0; blocks], vec![0.0; mins]);
    weft_quant::ints::unpack_row(ty, bytes, &mut quants, &mut scales, &mut mins);
    (quants, scales, mins)
}
