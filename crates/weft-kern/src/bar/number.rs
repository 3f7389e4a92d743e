//! How error bars travel through the interpreter's operations.

use weft_ir::{Binary, Unary};
use weft_quant::GgmlType;

use super::scalars::Scalars;
use super::{Bar, TINY, U, ULP, largest, sum_error};
use crate::anchor;
use crate::interp::{Attention, Indexing, Number};
use crate::program::{Format, Instr};
use crate::q8;

/// Relative error of a product besides its sum's: from rounding a block's scale, its minimum, and the sums these multiply.
const SCALES: f64 = 8.0 * U;

/// The magnitudes that the error of a product depends on.
#[derive(Clone, Copy, Default)]
pub struct Terms {
    /// The sum of the magnitudes of its terms.
    sizes: f64,
    /// The sum of their errors caused by errors of x.
    errors: f64,
}

impl Bar {
    /// Turns bars that are stored in a format into those of the values read back, if the format rounds in blocks. (Rounding single
    /// values is monotonic: `Compare` applies it to the ends of the bars.)
    pub fn round_stored(format: Format, bars: &mut [Bar]) {
        let blocks = bars.as_chunks_mut().0.iter_mut();
        match format {
            Format::Q8 => blocks
                .for_each(|block| *block = Bar::rounded_q8(block, &q8::quantise(&block.map(Bar::value)))),
            Format::Ggml(GgmlType::Q8_0) => blocks.for_each(|block| *block = Bar::rounded_q8_0(block)),
            Format::Ggml(ty) if ty.is_quantised() => {
                blocks.for_each(|block| *block = Bar::rounded_to_few_bits(ty, block));
            }
            Format::Ggml(_) => {}
        }
    }
}

impl Number for Bar {
    type Sum = Terms;
    type Scalars = Scalars;

    const MAGNITUDES: bool = true;

    /// Both get the same bits.
    fn exact(value: f32) -> Bar {
        Bar { value, error: 0.0 }
    }

    fn value(self) -> f32 {
        self.value
    }

    fn unary(value: f32, op: Unary, x: Bar) -> Bar {
        let (x, e) = (f64::from(x.value), x.error);
        let y = f64::from(value);
        // How much the function's value changes with an argument error of e, and the ulps of the function itself.
        let exp_ulps = 3.0 + 2.0 * x.abs();
        let (error, ulps) = match op {
            Unary::Neg => return Bar { value, error: e },
            Unary::Exp => (y * e.exp_m1(), exp_ulps),
            // s' = s·(1 − s), at most 1/4, and at most s.
            Unary::Sigmoid => ((e / 4.0).min(y * e.exp_m1()), exp_ulps + 2.5),
            // |f'| < 1.1.
            Unary::Silu => (1.1 * e, exp_ulps + 2.5),
            // f' is the sigmoid, at most 1. The exponential is of −|x|, and the result is above it.
            Unary::Softplus => (e, 9.0),
            Unary::Rsqrt if x > e => ((x - e).sqrt().recip() - x.sqrt().recip(), 2.0),
            Unary::Rsqrt => return Bar::unknown(value),
            // Slopes and values are at most 1: a few ulps of 1.
            Unary::Cos | Unary::Sin => (e + 4.0 * ULP, 0.0),
        };
        // An exact argument causes no error, even if the value is infinite.
        Bar::within(value, if e == 0.0 && !matches!(op, Unary::Cos | Unary::Sin) { 0.0 } else { error }, ulps)
    }

    fn binary(value: f32, op: Binary, a: Bar, b: Bar) -> Bar {
        match op {
            Binary::Add | Binary::Sub => Bar::rounded(value, a.error + b.error),
            Binary::Mul => Bar::rounded(value, a.size() * b.error + b.size() * a.error + a.error * b.error),
            Binary::Div if b.size() > b.error => {
                let y = f64::from(value).abs();
                Bar::within(value, (a.error + y * b.error) / (b.size() - b.error), 2.5)
            }
            Binary::Div => Bar::unknown(value),
            Binary::Max | Binary::Min => Bar { value, error: a.error.max(b.error) },
        }
    }

    /// In any order.
    fn sum(value: f32, terms: &[Bar]) -> Bar {
        let errors: f64 = terms.iter().map(|t| t.error).sum();
        let sizes: f64 = terms.iter().map(|t| t.size()).sum();
        Bar::rounded(value, errors + sum_error(terms.len()) * (sizes + errors))
    }

    fn max(value: f32, terms: &[Bar]) -> Bar {
        Bar { value, error: terms.iter().map(|v| v.error).fold(0.0, f64::max) }
    }

    fn add(sum: &mut Terms, x: Bar, _: f32, magnitude: f64) {
        sum.sizes += x.size() * magnitude;
        sum.errors += x.error * magnitude;
    }

    fn scalar(scalars: &mut Scalars, at: usize, instr: &Instr, result: Bar) -> Bar {
        scalars.add(at, instr, result)
    }

    fn product(value: f32, Terms { sizes, errors }: Terms, terms: usize) -> Bar {
        let relative = sum_error(terms) + SCALES;
        Bar::rounded(value, errors + relative * (sizes + errors))
    }

    /// Unknown if another order is possible within the bars.
    fn top_k(x: &[Bar], order: &[usize], k: usize) -> Vec<Bar> {
        let key = |i: usize| if x[i].value.is_nan() { f32::INFINITY } else { x[i].value };
        let before = |a: usize, b: usize| {
            // Exact equal values are ordered by index.
            let gap = f64::from(key(a)) - f64::from(key(b));
            x[a].error + x[b].error == 0.0 || gap > x[a].error + x[b].error
        };
        let certain = (0..k).all(|i| order[i + 1..].iter().all(|other| before(order[i], *other)));
        let id = |i: &usize| if certain { Bar::exact(*i as f32) } else { Bar::unknown(*i as f32) };
        order[..k].iter().map(id).collect()
    }

    fn picked(self, id: Bar) -> Bar {
        if id.error > 0.0 { Bar::unknown(self.value) } else { self }
    }

    fn rounded_q8(block: &[Bar; q8::BLOCK], rounded: &q8::Block) -> [Bar; q8::BLOCK] {
        let error = largest(block.map(|bar| bar.error)) / 127.0 + 2.0 * U * f64::from(rounded.scale) + TINY;
        Bar::stepped(block, rounded.quants, rounded.scale, error)
    }

    fn attended(values: &[f32], attention: &Attention<'_>) -> Vec<Bar> {
        anchor::bars(values, attention)
    }

    /// Unknown if other positions may be chosen within the errors.
    fn listed(list: &[f32], indexing: &Indexing) -> Vec<Bar> {
        let certain = indexing.is_certain(list.len());
        list.iter().map(|p| if certain { Bar::exact(*p) } else { Bar::unknown(*p) }).collect()
    }
}

#[cfg(test)]
mod tests;
