//! Blocks of values anywhere within their bars, rounded and read back, are within the rounded bars, which are narrow.

use super::*;
use crate::interp::Number;

/// Numbers in −1..1, always the same.
fn numbers(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }
}

fn read_back(ty: GgmlType, values: &[f32; q8::BLOCK]) -> [f32; q8::BLOCK] {
    let (mut bytes, mut read) = (vec![0; ty.block_bytes()], [0.0; q8::BLOCK]);
    weft_quant::encode(ty, values, &mut bytes).unwrap();
    weft_quant::decode(ty, &bytes, &mut read).unwrap();
    read
}

fn rounded(ty: GgmlType, block: [Bar; q8::BLOCK]) -> [Bar; q8::BLOCK] {
    let mut bars = block;
    Bar::round_stored(Format::Ggml(ty), &mut bars);
    bars
}

#[test]
fn blocks_stay_within_their_bars() {
    for ty in [GgmlType::Q4_0, GgmlType::Q5_1] {
        let mut next = numbers(7);
        let (mut wide, mut all) = (0, 0);
        for case in 0..4000 {
            let (size, error) = ([1.0, 1e-3, 300.0][case % 3], [0.0, 1e-6, 1e-4, 0.02][case % 4]);
            let shift = [0.0, 0.0, 2.0][case / 12 % 3];
            let mut values: [f32; q8::BLOCK] = std::array::from_fn(|_| size * (next() + shift));
            // Two values of the largest magnitude and both signs; all values the same; one value at the middle of two steps.
            match case % 7 {
                0 => (values[4], values[9]) = (1.5 * size, -1.5 * size),
                1 if case % 5 == 0 => values = [size; q8::BLOCK],
                2 => (values[0], values[1]) = (size * 8.0, size * 2.5),
                _ => {}
            }
            let error = f64::from(size) * error;
            let bars = rounded(ty, values.map(|value| Bar { value, error }));
            for _ in 0..8 {
                let found = read_back(ty, &values.map(|value| value + 0.999 * error as f32 * next()));
                for (bar, found) in bars.iter().zip(found) {
                    let off = (f64::from(found) - f64::from(bar.value)).abs();
                    assert!(off <= bar.error, "{ty}, case {case}: {found} is {off:e} from {bar:?}");
                }
            }
            if error <= 1e-6 * f64::from(size) {
                let range = 2.0 * size * (1.0 + shift);
                wide += bars.iter().filter(|bar| bar.error > 0.02 * f64::from(range)).count();
                all += bars.len();
            }
        }
        // A device has no choice where a value is not at the middle of two steps.
        assert!(wide * 20 < all, "{ty}: {wide} bars of {all} are as wide as a step");
    }
}

#[test]
fn blocks_of_nothing_but_errors_and_of_infinities_are_known_to_be_so() {
    for ty in [GgmlType::Q4_0, GgmlType::Q5_1] {
        let noise = rounded(ty, [Bar { value: 1e-3, error: 1e-2 }; q8::BLOCK]);
        assert!(noise.iter().all(|bar| bar.error >= 1.1e-2 && bar.error < 0.1), "{ty}: {noise:?}");
        let zero = rounded(ty, [Bar::exact(0.0); q8::BLOCK]);
        assert!(zero.iter().all(|bar| bar.value == 0.0 && bar.error < 1e-5), "{ty}: {zero:?}");
        let mut wild = [Bar::exact(1.0); q8::BLOCK];
        wild[3].value = f32::INFINITY;
        assert!(rounded(ty, wild).iter().all(|bar| bar.error.is_infinite()), "{ty}");
    }
}
