//! The promises of every device: memory, weights, and errors instead of crashes.

use std::sync::Arc;

use weft_device::{BufferId, Device, DeviceError, Program, ProgramId, Weight, WeightBytes};
use weft_kern::Sizes;
use weft_quant::GgmlType;

fn weight(ty: GgmlType, rows: usize, row_len: usize) -> Weight {
    let bytes = ty.row_bytes(row_len as u64).unwrap() as usize * rows;
    let bytes: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8).collect();
    Weight { ty, rows, row_len, bytes: Arc::new(bytes), tiles: None }
}

/// Buffers of any size, written and read at any offset.
pub fn memory_is_zero_and_keeps_what_is_written_at_any_offset(device: &mut dyn Device) {
    for len in [0, 1, 3, 4, 5, 64, 1000, 1_000_003] {
        let buffer = device.alloc(len).unwrap();
        let mut expected = vec![0u8; len];
        let mut found = vec![1u8; len];
        device.read(buffer, 0, &mut found).unwrap();
        assert!(found == expected, "{len} bytes are not zero");
        for (offset, n) in [(0, len), (1, 1), (2, 7), (3, 64), (4, 8), (len / 2, len - len / 2), (len, 0)] {
            if offset + n > len {
                continue;
            }
            let bytes: Vec<u8> = (0..n).map(|i| (i + offset + 1) as u8).collect();
            device.write(buffer, offset, &bytes).unwrap();
            expected[offset..offset + n].copy_from_slice(&bytes);
            let mut part = vec![0; n];
            device.read(buffer, offset, &mut part).unwrap();
            assert!(part == bytes, "{n} bytes at {offset} of {len}");
        }
        device.read(buffer, 0, &mut found).unwrap();
        assert!(found == expected, "all of {len} bytes");
    }
}

/// Buffers, ranges and programs that do not exist, and weights read by the host.
pub fn what_does_not_exist_is_a_usage_error(device: &mut dyn Device) {
    let buffer = device.alloc(10).unwrap();
    let mut out = [0; 4];
    let usage = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Usage(_))), "{result:?}");
    };
    usage(device.read(buffer, 7, &mut out));
    usage(device.read(buffer, usize::MAX, &mut out));
    usage(device.read(BufferId(99), 0, &mut out));
    usage(device.write(buffer, 8, &[0; 3]));
    usage(device.write(BufferId(99), 0, &[]));
    usage(device.replay(ProgramId(0), &Sizes::default()));
    let weight = device.pack(weight(GgmlType::Q4_0, 3, 64)).unwrap();
    usage(device.read(weight, 0, &mut out));
    usage(device.write(weight, 0, &[0; 4]));
    let nothing =
        device.compile(&Program { max: Sizes::default(), kernels: vec![], launches: vec![] }).unwrap();
    device.replay(nothing, &Sizes::default()).unwrap();
    usage(device.replay(nothing, &Sizes::of(1)));
}

/// Weights with and without tiles, of matching and other sizes.
pub fn weights_come_in_any_form_that_fits(device: &mut dyn Device) {
    for (ty, rows, row_len) in [
        (GgmlType::F32, 3, 5),
        (GgmlType::F16, 3, 5),
        (GgmlType::BF16, 1, 1),
        (GgmlType::Q4_0, 17, 64),
        (GgmlType::Q6_K, 16, 256),
        (GgmlType::Q4_0, 0, 64),
    ] {
        let weight = weight(ty, rows, row_len);
        device.pack(weight.clone()).unwrap();
        if let Some(tile) = device.caps().packing.unwrap().tile(ty, row_len) {
            let with = |tiles: WeightBytes| Weight { tiles: Some(tiles), ..weight.clone() };
            let right = vec![0u8; rows.div_ceil(tile.rows) * tile.bytes];
            device.pack(with(Arc::new(right))).unwrap();
            let wrong = vec![0u8; tile.bytes + 64 * rows + 1];
            assert!(matches!(device.pack(with(Arc::new(wrong))), Err(DeviceError::Usage(_))));
        }
        let wrong = Weight { rows: rows + 1, ..weight };
        assert!(matches!(device.pack(wrong), Err(DeviceError::Weight { .. })));
    }
}

/// Buffers beyond the largest one.
pub fn what_is_too_large_is_refused_with_the_limit(device: &mut dyn Device) {
    let most = device.caps().largest_buffer;
    for bytes in [most + 1, usize::MAX] {
        match device.alloc(bytes) {
            Err(DeviceError::TooLarge { bytes: asked, largest, .. }) => {
                assert_eq!((asked, largest), (bytes, most));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Everything made since a mark is gone, and its ids are free.
pub fn a_rewound_device_has_forgotten(device: &mut dyn Device) {
    let kept = device.alloc(4).unwrap();
    let mark = device.checkpoints().unwrap().mark();
    let gone = device.alloc(4).unwrap();
    device.checkpoints().unwrap().rewind(mark);
    device.write(kept, 0, &[1; 4]).unwrap();
    assert!(device.write(gone, 0, &[1; 4]).is_err());
    assert_eq!(device.alloc(4).unwrap(), gone);
}
