//! Every result of rounding is within the bars, and the bars are narrow.

use super::*;
use crate::bar::independent;

/// `op` of a bar.
fn unary(op: Unary, x: Bar) -> Bar {
    Bar::unary(op.apply(x.value), op, x)
}

/// `op` of two bars.
fn binary(op: Binary, a: Bar, b: Bar) -> Bar {
    Bar::binary(op.apply(a.value, b.value), op, a, b)
}

/// A block of bars, rounded to `q8`.
fn rounded_q8(block: &[Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
    let mut bars = *block;
    Bar::round_stored(Format::Q8, &mut bars);
    bars
}

/// Whether the result of an operation in `f32`, on operands anywhere within their bars, is within its own.
fn holds(bar: Bar, found: f32) {
    let off = (f64::from(found) - f64::from(bar.value)).abs();
    assert!(found == bar.value || off <= bar.error, "{found} is {off:e} from {bar:?}");
}

const VALUES: [f32; 9] = [0.0, 1.0, -1.5, 1e-3, -80.0, 7.25, 3e4, 1e-30, 88.0];
const ERRORS: [f32; 4] = [0.0, 1e-6, 1e-3, 0.1];

/// A value, a bar around it, and values in the bar.
fn bars() -> impl Iterator<Item = (Bar, [f32; 3])> {
    VALUES.into_iter().flat_map(|value| {
        ERRORS.into_iter().map(move |error| {
            let [low, high] = [value - error, value + error];
            let far =
                (f64::from(low) - f64::from(value)).abs().max((f64::from(high) - f64::from(value)).abs());
            (Bar { value, error: far }, [low, value, high])
        })
    })
}

#[test]
fn functions_stay_within_their_bars() {
    for (bar, inside) in bars() {
        let root = f64::from(bar.value) > bar.error;
        for op in Unary::ALL.iter().filter(|op| **op != Unary::Rsqrt || root) {
            let result = unary(*op, bar);
            inside.iter().for_each(|x| holds(result, op.apply(*x)));
        }
    }
    // 1/√x is unknown where x may be 0.
    assert_eq!(unary(Unary::Rsqrt, Bar { value: 1e-3, error: 2e-3 }).error, f64::INFINITY);
}

#[test]
fn operations_stay_within_their_bars() {
    for (a, inside_a) in bars() {
        for (b, inside_b) in bars() {
            for op in Binary::ALL {
                let result = binary(*op, a, b);
                if result.error.is_finite() {
                    inside_a
                        .iter()
                        .for_each(|x| inside_b.iter().for_each(|y| holds(result, op.apply(*x, *y))));
                }
            }
        }
    }
    let by_zero = binary(Binary::Div, Bar::exact(1.0), Bar { value: 1e-7, error: 1e-6 });
    assert_eq!(by_zero.error, f64::INFINITY);
}

/// Bars are only as wide as a few roundings.
#[test]
fn bars_of_exact_operands_are_a_few_ulps() {
    for value in [1.0f32, -3.5, 0.01] {
        for op in Unary::ALL.iter().filter(|op| **op != Unary::Rsqrt || value > 0.0) {
            let bar = unary(*op, Bar::exact(value));
            assert!(bar.error <= 20.0 * ULP * f64::from(bar.value).abs().max(1.0), "{op:?}: {bar:?}");
        }
        let bar = binary(Binary::Mul, Bar::exact(value), Bar::exact(0.3));
        assert!(bar.error <= 1.1 * ULP * f64::from(bar.value).abs(), "{bar:?}");
    }
    assert_eq!((sum_error(16), sum_error(10_000)), (16.0 * U, 900.0 * U));
}

#[test]
fn sums_in_another_order_stay_within_their_bars() {
    let terms: Vec<f32> = (0..5000).map(|i| ((i * 7919 % 1009) as f32 - 504.0) * 0.731).collect();
    let exact = terms.iter().map(|x| f64::from(*x)).sum::<f64>() as f32;
    let bar = Bar::sum(exact, &terms.iter().map(|x| Bar::exact(*x)).collect::<Vec<_>>());
    let forward: f32 = terms.iter().sum();
    let backward: f32 = terms.iter().rev().sum();
    assert!(forward != backward, "rounding shows");
    [forward, backward].into_iter().for_each(|sum| holds(bar, sum));
    // A forgotten term of the average size shows.
    let size = terms.iter().map(|x| x.abs()).sum::<f32>() / 5000.0;
    assert!(bar.error < f64::from(size), "{bar:?} hides {size}");
}

#[test]
fn independent_errors_seldom_add_up() {
    assert_eq!(independent([1.0, 2.0].into_iter()), 3.0);
    assert_eq!(independent(std::iter::repeat_n(1.0, 10_000)), 900.0);
    assert_eq!(independent([f64::INFINITY, 1.0].into_iter()), f64::INFINITY);
}

#[test]
fn rounding_goes_to_the_neighbour_only_where_it_may() {
    let mut values = [0.0f32; q8::BLOCK];
    values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32 * 4.0 - 62.3);
    // The step is 62.3 / 127: put one value at the midpoint of two.
    let step = 62.3f32 / 127.0;
    values[3] = step * 10.5;
    let block = values.map(|value| Bar { value, error: 1e-5 });
    let bars = rounded_q8(&block);
    for (i, bar) in bars.iter().enumerate() {
        assert_eq!(bar.error > 0.9 * f64::from(step), i == 3, "{i}: {bar:?}");
    }
    // For any block within the bars, the rounded block is within the rounded bars.
    for shift in [-1e-5f32, -0.5e-5, 0.5e-5, 1e-5] {
        for every in 1..5 {
            let moved: [f32; 32] =
                std::array::from_fn(|i| if i % every == 0 { values[i] + shift } else { values[i] - shift });
            let found = q8::quantise(&moved);
            let fits =
                block.iter().zip(moved).all(|(bar, v)| (v - bar.value).abs() as f64 <= bar.error * 1.5);
            assert!(fits);
            let wider = rounded_q8(&values.map(|value| Bar { value, error: 2e-5 }));
            for (bar, quant) in wider.iter().zip(found.quants) {
                holds(*bar, f32::from(quant) * found.scale);
            }
        }
    }
    // The same with a half as scale, which may be rounded to either neighbour too.
    for shift in [-1e-5f32, 1e-5] {
        let bars = Bar::rounded_q8_0(&block);
        let mut bytes = [0; 34];
        let mut found = [0.0; 32];
        weft_quant::encode(GgmlType::Q8_0, &values.map(|v| v + shift), &mut bytes).unwrap();
        weft_quant::decode(GgmlType::Q8_0, &bytes, &mut found).unwrap();
        bars.iter().zip(found).for_each(|(bar, found)| holds(*bar, found));
        assert!(bars[4].error < 0.2 * f64::from(step), "{:?}", bars[4]);
    }
    // Nothing but noise.
    let noise = rounded_q8(&[Bar { value: 1e-6, error: 1e-5 }; 32]);
    holds(noise[0], 1.1e-5);
    assert!(rounded_q8(&[Bar::exact(0.0); 32]).iter().all(|bar| bar.value == 0.0 && bar.error < 1e-37));
}

#[test]
fn a_choice_is_certain_if_no_other_is_possible() {
    let top = |values: &[(f32, f64)], order: &[usize], k: usize| {
        let bars: Vec<Bar> = values.iter().map(|&(value, error)| Bar { value, error }).collect();
        let ids = Bar::top_k(&bars, order, k);
        (ids.iter().map(|id| id.value as usize).collect::<Vec<_>>(), ids[0].error)
    };
    let last_may_be_first = top(&[(1.0, 0.1), (3.0, 0.1), (2.0, 0.1), (0.0, 5.0)], &[1, 2, 0, 3], 1);
    assert_eq!(last_may_be_first, (vec![1], f64::INFINITY));
    let clear = top(&[(1.0, 0.1), (3.0, 0.1), (2.0, 0.1), (0.0, 0.5)], &[1, 2, 0, 3], 2);
    assert_eq!(clear, (vec![1, 2], 0.0));
    let close = top(&[(1.0, 0.6), (3.0, 0.1), (2.0, 0.6)], &[1, 2, 0], 2);
    assert_eq!(close, (vec![1, 2], f64::INFINITY));
    let equal = top(&[(2.0, 0.0), (2.0, 0.0), (f32::NAN, 0.0)], &[0, 1, 2], 3);
    assert_eq!(equal, (vec![0, 1, 2], 0.0));
}
