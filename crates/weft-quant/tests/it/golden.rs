//! The codec against GGML's vectors, which `vectors.py` makes and describes.

use std::fs;
use std::path::Path;

use weft_quant::{GgmlType, decode, encode, unpack_row};

fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; run vectors.py", path.display()))
}

fn read_f32(name: &str) -> Vec<f32> {
    let bytes = read(name);
    let (numbers, rest) = bytes.as_chunks();
    assert!(rest.is_empty() && !numbers.is_empty(), "{name}: expected whole f32 values");
    numbers.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn assert_same_bits(ty: GgmlType, what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{ty}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (block, value) = (i / ty.block_len(), i % ty.block_len());
        assert!(
            found.to_bits() == expected.to_bits(),
            "{ty}: {what} of value {value} of block {block}: found {found:e}, expected {expected:e}"
        );
    }
}

#[test]
fn the_layout_table_matches_ggml() {
    let text = String::from_utf8(read("types.txt")).unwrap();
    let types = GgmlType::ALL.iter().filter(|ty| **ty != GgmlType::Q8_1);
    assert_eq!(text.lines().count(), types.clone().count());
    for (line, ty) in text.lines().zip(types) {
        assert_eq!(line, format!("{} {ty} {} {}", ty.id(), ty.block_len(), ty.block_bytes()));
        assert_eq!(GgmlType::from_id(ty.id()), Some(*ty));
        assert_eq!(ty.name().to_uppercase().parse(), Ok(*ty));
    }
}

#[test]
fn decodes_like_ggml_bit_for_bit() {
    for &ty in GgmlType::ALL.iter().filter(|ty| ty.can_decode()) {
        let expected = read_f32(&format!("{ty}.f32"));
        let mut found = vec![f32::NAN; expected.len()];
        decode(ty, &read(&format!("{ty}.blocks")), &mut found).unwrap();
        assert_same_bits(ty, "decode", &found, &expected);
    }
}

#[test]
fn encodes_like_ggml_bit_for_bit() {
    let values = read_f32("input.f32");
    use GgmlType::*;
    for ty in [F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, TQ1_0, TQ2_0, MXFP4] {
        let values = &values[..values.len() / ty.block_len() * ty.block_len()];
        let expected = read(&format!("{ty}.encoded"));
        let mut found = vec![0xa5; expected.len()];
        encode(ty, values, &mut found).unwrap();
        let blocks = found.chunks(ty.block_bytes()).zip(expected.chunks(ty.block_bytes()));
        for (i, (found, expected)) in blocks.enumerate() {
            let input = &values[i * ty.block_len()..][..ty.block_len()];
            assert_eq!(found, expected, "{ty}: block {i}, {input:?}");
        }
    }
}

/// The decoded value is exactly `scale * q + min`: one multiplication and, with a minimum, one addition.
#[test]
fn integers_times_scales_equal_decoded_values() {
    for &ty in GgmlType::ALL {
        let Some(layout) = ty.int_layout() else { continue };
        let expected = read_f32(&format!("{ty}.f32"));
        let groups = expected.len() / layout.group;
        let mut q = vec![99; expected.len()];
        let mut scales = vec![f32::NAN; groups];
        let mut mins = vec![f32::NAN; if layout.has_min { groups } else { 0 }];
        unpack_row(ty, &read(&format!("{ty}.blocks")), &mut q, &mut scales, &mut mins);
        let found: Vec<f32> = (0..expected.len())
            .map(|i| {
                let product = scales[i / layout.group] * f32::from(q[i]);
                mins.get(i / layout.group).map_or(product, |min| product + min)
            })
            .collect();
        assert_same_bits(ty, "integer view", &found, &expected);
    }
}
