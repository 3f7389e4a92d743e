//! The driver's compiled texts are kept, in a file that may be damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::device;
use weft_device::{Backend, KernelLaunch, OpenOptions, Program, Region};
use weft_kern::Sizes;
use weft_wgpu::GpuBackend;

/// `y = x + x`, for each value of each token.
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
        let max = Sizes::of(8);
        let launches = vec![KernelLaunch { kernel: 0, args: args.into() }];
        let program = Program { max, kernels: vec![Arc::clone(&kernel)], launches };
        let program = device.compile(&program).unwrap();
        device.write(x, 0, &1.5f32.to_le_bytes().repeat(32)).unwrap();
        device.replay(program, &Sizes::of(5)).unwrap();
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
