//! What every device promises, checked on this one: memory, weights, and errors instead of crashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::device;
use weft_device::{
    Backend, BufferId, Checkpoints, Device, DeviceError, KernelLaunch, OpenOptions, Program, ProgramId,
    Region, Weight, WeightBytes,
};
use weft_kern::Sizes;
use weft_quant::GgmlType;
use weft_wgpu::GpuBackend;

fn weight(ty: GgmlType, rows: usize, row_len: usize) -> Weight {
    let bytes = ty.row_bytes(row_len as u64).unwrap() as usize * rows;
    let bytes: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8).collect();
    Weight { ty, rows, row_len, bytes: Arc::new(bytes), tiles: None }
}

#[test]
fn memory_is_zero_and_keeps_what_is_written_at_any_offset() {
    let Some(mut device) = device("memory") else { return };
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

#[test]
fn what_does_not_exist_is_a_usage_error() {
    let Some(mut device) = device("usage") else { return };
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
    usage(device.replay(nothing, &Sizes { tokens: 1, ..Sizes::default() }));
}

#[test]
fn weights_come_in_any_form_that_fits() {
    let Some(mut device) = device("weights") else { return };
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

#[test]
fn what_is_too_large_is_refused_with_the_limit() {
    let Some(mut device) = device("limits") else { return };
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

/// `y = x + x`, for as many values as there are tokens.
const PLAN: &str = "plan twice T=8 R=0 S=0 P=0 arena=0 {
b0 = input x : f32[T, 4]
b1 = output y : f32[T, 4]
kernel twice {
  p0 read f32
  p1 write f32
  rows [T] cols 4
  map
  v0 = load 4 p0[0; 4; 1]
  v1 = add v0 v0
  v2 = store v1 p1[0; 4; 1]
}
call twice b0 b1
}
";

#[test]
fn what_the_driver_made_of_texts_is_kept_and_damage_to_it_harms_nobody() {
    if device("kept pipelines").is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kept-{}", std::process::id()));
    let kernel = Arc::new(weft_kern::parse_plan(PLAN).unwrap().kernels.remove(0));
    let run = || {
        let options = OpenOptions { folder: Some(folder.clone()), ..OpenOptions::default() };
        let mut device = GpuBackend.open(None, &options).unwrap();
        let [x, y] = [0, 1].map(|_| device.alloc(128).unwrap());
        let args = [x, y].map(|buffer| Region { buffer, offset: 0, values: 32 });
        let max = Sizes { tokens: 8, ..Sizes::default() };
        let launches = vec![KernelLaunch { kernel: 0, args: args.into() }];
        let program = Program { max, kernels: vec![Arc::clone(&kernel)], launches };
        let program = device.compile(&program).unwrap();
        device.write(x, 0, &1.5f32.to_le_bytes().repeat(32)).unwrap();
        device.replay(program, &Sizes { tokens: 5, ..Sizes::default() }).unwrap();
        let mut out = [0; 128];
        device.read(y, 0, &mut out).unwrap();
        let out: Vec<f32> = out.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(out, [[3.0; 20].as_slice(), &[0.0; 12]].concat());
    };
    let files = || -> Vec<PathBuf> {
        fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    run();
    // Adapters without a pipeline cache keep nothing.
    let files_before = files().len();
    for file in files() {
        let whole = fs::read(&file).unwrap();
        run();
        for damaged in [&whole[..whole.len() / 2], b"", b"weftgpu1 and something else"] {
            fs::write(&file, damaged).unwrap();
            run();
            assert_eq!(fs::read(&file).unwrap()[..8], whole[..8], "it is made anew");
        }
    }
    assert!(files().len() <= 1, "{:?}", files());
    assert_eq!(GpuBackend.clear(&folder).unwrap() > 0, files_before > 0);
    assert!(files().is_empty());
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_rewound_device_has_forgotten() {
    let Some(mut device) = device("rewind") else { return };
    let kept = device.alloc(4).unwrap();
    let mark = device.mark();
    let gone = device.alloc(4).unwrap();
    device.rewind(mark);
    device.write(kept, 0, &[1; 4]).unwrap();
    assert!(device.write(gone, 0, &[1; 4]).is_err());
    assert_eq!(device.alloc(4).unwrap(), gone);
}
