//! The values that attention on matrix units rounds to halves: queries and weights.

use half::f16;
use weft_kern::{Kernel, Part, Sizes, View};
use weft_render::Schedule;

use crate::arg::Arg;

/// The error of a weight rounded to a half, in roundings of a float: a half has 11 bits of precision, a float 24.
const OF_WEIGHTS: usize = 1 << 13;

/// Rounds the queries of attention on matrix units to halves. Returns the number of roundings to allow for its weights.
pub(crate) fn round_queries(kernel: &Kernel, sizes: &Sizes, schedule: &Schedule, args: &mut [Arg]) -> usize {
    let mut roundings = 0;
    for (part, form) in kernel.parts.iter().zip(&schedule.parts) {
        let Some(attend) = part.attention() else { continue };
        if form.rounds_queries() {
            roundings += OF_WEIGHTS;
            round(&mut args[attend.q.param], &rows(part, &attend.q, sizes), attend.k_len);
        }
    }
    roundings
}

/// Where the rows of a view begin.
fn rows(part: &Part, view: &View, sizes: &Sizes) -> Vec<usize> {
    let mut rows = vec![view.offset];
    for (dim, stride) in part.rows.iter().zip(&view.strides) {
        let count = dim.eval(sizes);
        rows = rows.iter().flat_map(|row| (0..count).map(move |i| row + i * stride)).collect();
    }
    rows
}

/// Rounds rows of `len` floats to halves, each scaled by the power of two that brings its largest value to at least 1, and less than 2.
fn round(arg: &mut Arg, rows: &[usize], len: usize) {
    let mut floats = arg.floats(&arg.bytes);
    for row in rows {
        let values = &mut floats[*row..row + len];
        let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        // Its exponent.
        let scale = f32::from_bits(largest.max(f32::MIN_POSITIVE).to_bits() & 0x7f80_0000);
        values.iter_mut().for_each(|value| *value = f16::from_f32(*value / scale).to_f32() * scale);
    }
    arg.bytes = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rounded_to_eleven_bits_whatever_their_size() {
        let steps = |steps: f32, size: f32| (1.0 + steps / 1024.0) * size;
        for size in [1.0, 3e-30, 7e30] {
            let values = [steps(5.0, size), steps(5.3, size), steps(-3000.0, size), 0.0];
            let mut arg = Arg::f32(&values);
            round(&mut arg, &[0, 3], 1);
            round(&mut arg, &[1], 2);
            let size = f32::from_bits(size.to_bits() & 0x7f80_0000);
            let found = arg.floats(&arg.bytes).iter().map(|value| value / size * 1024.0).collect::<Vec<_>>();
            assert!(found.iter().all(|value| value.fract() == 0.0), "{found:?}");
            let near =
                values.iter().zip(&found).all(|(value, found)| (value / size * 1024.0 - found).abs() <= 1.0);
            assert!(near, "{found:?} of {values:?}");
        }
    }
}
