//! Properties for any input: errors within a format's step, wrong lengths refused, no panics.

use proptest::prelude::*;
use weft_quant::{CodecError, GgmlType, decode, encode, unpack_row};

fn types(is_it: impl Fn(&GgmlType) -> bool) -> impl Strategy<Value = GgmlType> {
    prop::sample::select(GgmlType::ALL.iter().copied().filter(is_it).collect::<Vec<_>>())
}

/// 256 values of a common magnitude, some zero, around a common offset.
fn values() -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![9 => -1.0f32..1.0, 1 => Just(0.0)];
    (prop::collection::vec(value, 256), 0.0f32..3.0, prop_oneof![2 => Just(0.0), 1 => -2.0f32..2.0])
        .prop_map(|(values, size, offset)| values.iter().map(|x| (x + offset) * 10f32.powf(size)).collect())
}

fn max_abs(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |max, x| max.max(x.abs()))
}

/// How far encoding may move the values of a block.
fn tolerance(ty: GgmlType, block: &[f32]) -> f32 {
    let farthest = max_abs(block);
    let min = block.iter().copied().fold(f32::MAX, f32::min);
    let max = block.iter().copied().fold(f32::MIN, f32::max);
    // The relative error of a half-precision scale is up to 2⁻¹¹, and so is that of the largest value.
    let half_ulp = farthest / 2048.0;
    match ty {
        GgmlType::F32 => 0.0,
        GgmlType::F16 => half_ulp,
        GgmlType::BF16 => farthest / 256.0,
        // There is a code for −8 (−16) steps and none for 8 (16): a whole step on that side.
        GgmlType::Q4_0 => farthest / 8.0 + half_ulp,
        GgmlType::Q5_0 => farthest / 16.0 + half_ulp,
        GgmlType::Q8_0 => farthest / 254.0 + half_ulp,
        GgmlType::Q4_1 => (max - min) / 30.0 + 3.0 * half_ulp,
        GgmlType::Q5_1 => (max - min) / 62.0 + 3.0 * half_ulp,
        // For the widest group: one step, as the search may clip; a minimum off by one of 63; and a scale off by one
        // of 63 (127) for the largest code.
        GgmlType::Q4_K => {
            (max - min.min(0.0)) * (1.0 / 15.0 + 1.0 / 63.0) - min.min(0.0) / 63.0 + 3.0 * half_ulp
        }
        GgmlType::Q5_K => {
            (max - min.min(0.0)) * (1.0 / 31.0 + 1.0 / 63.0) - min.min(0.0) / 63.0 + 3.0 * half_ulp
        }
        // The search may clip the farthest on one side, and on the other the table ends earlier.
        GgmlType::IQ4_NL | GgmlType::IQ4_XS => 0.35 * farthest + half_ulp,
        GgmlType::TQ1_0 | GgmlType::TQ2_0 => 0.5 * farthest + half_ulp,
        // Steps are a quarter of the farthest at most, and so is what clips.
        GgmlType::MXFP4 => 0.25 * farthest,
        // As for Q4_K, with scales and minima of 15 steps.
        GgmlType::Q2_K => {
            (max - min.min(0.0)) * (1.0 / 3.0 + 1.0 / 15.0) - min.min(0.0) / 15.0 + 3.0 * half_ulp
        }
        // As for Q6_K: one step, and a scale off by one of 31.
        GgmlType::Q3_K => farthest * (1.0 / 3.0 + 1.0 / 31.0) + half_ulp,
        GgmlType::Q6_K => farthest * (1.0 / 31.0 + 1.0 / 127.0) + half_ulp,
        _ => unreachable!("{ty} has no encoder"),
    }
}

proptest! {
    #[test]
    fn values_move_by_less_than_a_step(ty in types(|ty| ty.can_encode()), values in values()) {
        let mut bytes = vec![0; ty.row_bytes(256).unwrap() as usize];
        encode(ty, &values, &mut bytes).unwrap();
        let mut found = vec![f32::NAN; 256];
        decode(ty, &bytes, &mut found).unwrap();
        let len = if ty.is_quantised() { ty.block_len() } else { 1 };
        for (values, found) in values.chunks(len).zip(found.chunks(len)) {
            // Scales that are subnormal halves are off by 2⁻²⁵, whatever their magnitude.
            let tolerance = tolerance(ty, values) + 1e-4;
            for (x, y) in values.iter().zip(found) {
                prop_assert!((x - y).abs() <= tolerance, "{ty}: {x} became {y}, more than {tolerance} away");
            }
        }
    }

    #[test]
    fn any_floats_encode(ty in types(|ty| ty.can_encode()), bits in prop::collection::vec(any::<u32>(), 256)) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let mut bytes = vec![0; ty.row_bytes(256).unwrap() as usize];
        encode(ty, &values, &mut bytes).unwrap();
    }

    /// Finite values only, so that extreme scales are reached and not only the check for NaN: of mixed magnitudes,
    /// and all of one magnitude.
    #[test]
    fn finite_floats_of_any_size_encode(
        ty in types(|ty| ty.can_encode()),
        mixed in prop::collection::vec(any::<f32>(), 256),
        alike in prop::collection::vec(-1.0f64..1.0, 256),
        exponent in -149i32..128,
    ) {
        let alike = alike.iter().map(|x| (x * 2f64.powi(exponent)) as f32).collect();
        for values in [mixed, alike] {
            prop_assert!(values.iter().all(|x| x.is_finite()));
            let mut bytes = vec![0; ty.row_bytes(256).unwrap() as usize];
            encode(ty, &values, &mut bytes).unwrap();
        }
    }

    #[test]
    fn any_bytes_decode(ty in types(|ty| ty.can_decode()), seed in prop::collection::vec(any::<u8>(), 1024)) {
        let blocks = 1024 / ty.block_bytes();
        let bytes = &seed[..blocks * ty.block_bytes()];
        let mut values = vec![0.0; blocks * ty.block_len()];
        decode(ty, bytes, &mut values).unwrap();
        if let Some(layout) = ty.int_layout() {
            let groups = values.len() / layout.group;
            let mut mins = vec![0.0; if layout.has_min { groups } else { 0 }];
            unpack_row(ty, bytes, &mut vec![0; values.len()], &mut vec![0.0; groups], &mut mins);
        }
    }

    #[test]
    fn lengths_that_do_not_match_are_refused(
        ty in types(|ty| ty.can_decode()),
        values in 0usize..600,
        bytes in 0usize..600,
    ) {
        let fits = ty.row_bytes(values as u64) == Some(bytes as u64);
        let expected = if fits { Ok(()) } else { Err(CodecError::Length { ty, values, bytes }) };
        prop_assert_eq!(decode(ty, &vec![0; bytes], &mut vec![0.0; values]), expected.clone());
        if ty.can_encode() {
            prop_assert_eq!(encode(ty, &vec![0.0; values], &mut vec![0; bytes]), expected);
        }
    }
}
