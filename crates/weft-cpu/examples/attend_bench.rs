//! Scratch.
#![allow(missing_docs, dead_code, unreachable_pub)]
#[path = "../tests/support/mod.rs"]
mod support;
use std::sync::Arc;
use std::time::Instant;
use support::data::Random;
use support::{Arg, Case, kernel, load, store_to, view};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{Device, Program, Step};
use weft_kern::*;
use weft_quant::GgmlType;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let threads: usize = a[1].parse().unwrap();
    let ty: GgmlType = a[2].parse().unwrap();
    let depth: usize = a[3].parse().unwrap();
    let tokens: usize = a[4].parse().unwrap();
    let reps: usize = a[5].parse().unwrap();
    let (heads, k_len, v_len, page, layers) = (20, 576, 512, 32, 8);
    let mut random = Random::new(1);
    let n = depth + tokens;
    let pages = n.div_ceil(page);
    let state = random.weight(ty, pages * page * k_len);
    let pos: Vec<i32> = (depth..n).map(|p| p as i32).collect();
    let list: Vec<i32> = (0..pages as i32).collect();
    let args = vec![
        Arg::f32(&random.floats(tokens * heads * k_len)),
        Arg::read(Format::Ggml(ty), pages * page * k_len, state.clone()),
        Arg::i32(&pos),
        Arg::i32(&vec![0; tokens]),
        Arg::i32(&list),
        Arg::out(Format::F32, tokens * heads * v_len),
    ];
    let k = Cached { param: 1, offset: 0, row_stride: k_len, head_stride: 0 };
    let attend = Attend {
        q: view(0, &[heads * k_len, k_len], 1),
        k,
        v: k,
        pos: 2,
        first: 3,
        pages: 4,
        scale: F32(0.05),
        heads,
        kv_heads: 1,
        k_len,
        page,
    };
    let body = vec![Instr::Acc(0), store_to(5, &[heads * v_len, v_len], 0)];
    let kernel = kernel(&[Dim::T, Dim::Const(heads)], v_len, Anchor::Attend(Box::new(attend)), body);
    let case = Case::new(kernel, args, tokens, 1);
    let mut device = CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap();
    let mut steps = vec![];
    for _ in 0..layers {
        steps.push(Step { kernel: 0, args: load(&mut device, &case) });
    }
    let program = device
        .compile(&Program { max: case.sizes(), kernels: vec![Arc::new(case.kernel.clone())], steps })
        .unwrap();
    let mut times: Vec<f64> = (0..reps)
        .map(|_| {
            let t = Instant::now();
            device.replay(program, &case.sizes()).unwrap();
            t.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let mac = (layers * tokens * heads * (k_len + v_len)) as f64 * (depth as f64 + tokens as f64 / 2.0);
    println!(
        "{ty} depth {depth} x{tokens}: min {:.3} ms median {:.3} ms a step of 8 layers, {:.1} GMAC/s",
        times[0] * 1e3,
        times[reps / 2] * 1e3,
        mac / times[0] / 1e9
    );
}
