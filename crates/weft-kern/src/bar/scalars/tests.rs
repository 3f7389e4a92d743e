//! Devices that round in their own ways stay within the bars, and the bars of normalised numbers stay narrow.

use weft_ir::F32;

use super::*;
use crate::bar::U;
use crate::interp::{binary, program};

/// A row program of scalars.
#[derive(Default)]
struct Body(Vec<Instr>);

impl Body {
    fn push(&mut self, instr: Instr) -> usize {
        self.0.push(instr);
        self.0.len() - 1
    }

    fn op(&mut self, op: Binary, a: usize, b: usize) -> usize {
        self.push(Instr::Binary(op, a, b))
    }

    /// These values divided by their sum and a small number.
    fn normalised(&mut self, values: [usize; 4]) -> [usize; 4] {
        let sum = values[1..].iter().fold(values[0], |sum, value| self.op(Binary::Add, sum, *value));
        let small = self.push(Instr::Const(F32(1e-6)));
        let sum = self.op(Binary::Add, sum, small);
        values.map(|value| self.op(Binary::Div, value, sum))
    }

    fn bars(&self) -> Vec<Bar> {
        let values = program::<Bar>(&self.0, &[], &[0], &[], &mut Vec::new()).unwrap();
        values.into_iter().map(|value| value[0]).collect()
    }

    /// The values of a device that is off by up to so many units in the last place after each operation, as `noise` says, from −1 to 1.
    fn device(&self, noise: &mut dyn FnMut() -> f64) -> Vec<f32> {
        let mut all: Vec<f32> = Vec::new();
        for instr in &self.0 {
            let (value, ulps) = match instr {
                Instr::Const(value) => (value.0, 0.0),
                Instr::Unary(op, x) => (op.apply(all[*x]), 3.0),
                Instr::Binary(op @ (Binary::Max | Binary::Min), a, b) => (op.apply(all[*a], all[*b]), 0.0),
                Instr::Binary(op, a, b) => {
                    (op.apply(all[*a], all[*b]), if *op == Binary::Div { 2.5 } else { 0.0 })
                }
                other => panic!("{other:?}"),
            };
            all.push((f64::from(value) * (1.0 + ulps * U * noise())) as f32);
        }
        all
    }

    /// Devices with all kinds of rounding are within the bars.
    fn check(&self) -> Vec<Bar> {
        let bars = self.bars();
        let mut state = 1u32;
        for kind in 0..40 {
            let mut random = move || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223 + kind);
                f64::from(state) / f64::from(u32::MAX) * 2.0 - 1.0
            };
            // Also with all errors as large as they may be.
            let found = self.device(&mut || if kind % 2 == 0 { random() } else { random().signum() });
            for (i, (bar, found)) in bars.iter().zip(found).enumerate() {
                let off = (f64::from(found) - f64::from(bar.value)).abs();
                assert!(
                    off <= bar.error || off == 0.0,
                    "{i}: {found} is {off:e} from {bar:?}: {:?}",
                    self.0[i]
                );
            }
        }
        bars
    }
}

/// Powers of a matrix with entries of very different sizes.
fn powers(body: &mut Body, sharpness: f32) -> [[usize; 4]; 4] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let value = body.push(Instr::Const(F32(sharpness * ((7 * i + 3 * j * j) % 5) as f32)));
            let top = body.push(Instr::Const(F32(sharpness * 4.0)));
            let below = body.op(Binary::Sub, value, top);
            body.push(Instr::Unary(Unary::Exp, below))
        })
    })
}

#[test]
fn normalising_a_matrix_again_and_again_keeps_bars_narrow() {
    for sharpness in [0.1f32, 0.7, 2.0] {
        let mut body = Body::default();
        let mut matrix = powers(&mut body, sharpness);
        for _ in 0..40 {
            matrix = matrix.map(|row| body.normalised(row));
            matrix = std::array::from_fn(|j| std::array::from_fn(|i| matrix[i][j]));
        }
        let bars = body.check();
        for at in matrix.as_flattened() {
            let Bar { value, error } = bars[*at];
            assert!(error < 2000.0 * U * f64::from(value).max(0.01), "{error:e} of {value}");
        }
    }
}

#[test]
fn causes_cancel() {
    // (x + 1) − (y + 1), where y is x: no error of x is left.
    let mut body = Body::default();
    let x = body.push(Instr::Const(F32(3.3)));
    let x = body.push(Instr::Unary(Unary::Exp, x));
    let one = body.push(Instr::Const(F32(1.0)));
    let sum = body.op(Binary::Add, x, one);
    let back = body.op(Binary::Sub, sum, x);
    let bars = body.check();
    assert!(bars[x].error > 9.0 * U * 27.0);
    assert!(bars[back].error < 5.0 * U * 28.0, "{:?}", bars[back]);
    let forgetful = binary(Binary::Sub, bars[sum], bars[x]);
    assert!(forgetful.error > 2.0 * bars[x].error);
}

#[test]
fn products_and_extremes_stay_within_their_bars() {
    let mut body = Body::default();
    let [a, b] = [0.7, -1.3].map(|x| {
        let x = body.push(Instr::Const(F32(x)));
        body.push(Instr::Unary(Unary::Sigmoid, x))
    });
    let product = body.op(Binary::Mul, a, b);
    let low = body.op(Binary::Min, a, b);
    let high = body.op(Binary::Max, a, b);
    let quotient = body.op(Binary::Div, product, low);
    let minus = body.push(Instr::Unary(Unary::Neg, high));
    let rest = body.op(Binary::Add, quotient, minus);
    let power = body.push(Instr::Unary(Unary::Exp, rest));
    let bars = body.check();
    // a · b / b − a: the errors of the factors are gone.
    assert!(bars[rest].error < 20.0 * U && bars[power].error < 40.0 * U, "{:?}", &bars[rest..]);
    // Nothing is known of a quotient by what may be 0.
    let zero = body.op(Binary::Sub, a, a);
    let by_zero = body.op(Binary::Div, a, zero);
    assert_eq!(body.bars()[by_zero].error, f64::INFINITY);
}
