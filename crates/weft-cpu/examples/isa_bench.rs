//! Scratch.
#![allow(missing_docs, dead_code, unreachable_pub)]
#[path = "../tests/support/mod.rs"]
mod support;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::data::Random;
use support::{Arg, Case, activations, dot, kernel, matrices, store_to, view};
use weft_cpu::{CpuDevice, CpuOptions, Isa};
use weft_device::{Device, Program, Region, Step, Weight};
use weft_kern::*;
use weft_quant::GgmlType;
fn main() {
    let (n, k) = (1024, 2048);
    let one = std::num::NonZeroUsize::MIN;
    for isa in Isa::ALL.into_iter().filter(|i| i.is_available() && *i != Isa::Portable) {
        let mut probe = weft_cpu::Probe::new(isa, 1 << 22).unwrap();
        let roof: Vec<f64> = [weft_cpu::Roof::Dot, weft_cpu::Roof::MulAdd]
            .into_iter()
            .map(|r| {
                (0..3).map(|_| probe.sample(r, one, Duration::from_millis(60)).unwrap()).fold(0.0, f64::max)
                    / 1e9
            })
            .collect();
        println!("{isa}: dot {:.0} GMAC/s, muladd {:.0} G/s", roof[0], roof[1]);
        for ty in [GgmlType::Q4_0, GgmlType::Q4_K, GgmlType::Q6_K, GgmlType::Q8_0, GgmlType::IQ4_XS] {
            print!("  {:8}", ty.to_string());
            let mut random = Random::new(1);
            let weight = random.weight(ty, n * k);
            for tokens in [1, 2, 4, 6, 8, 60] {
                let args = vec![
                    activations(ty, &random.floats(tokens * k)),
                    Arg::weight(ty, n * k, weight.clone()),
                    Arg::out(Format::F32, tokens * n),
                ];
                let w = matrices(1, Pick::Only, 1, n, k);
                let case = Case::new(
                    kernel(
                        &[Dim::T],
                        n,
                        dot(view(0, &[k], 1), w, false),
                        vec![Instr::Acc(0), store_to(2, &[n], 0)],
                    ),
                    args,
                    tokens,
                    1,
                );
                let mut device = CpuDevice::new(CpuOptions { threads: Some(1), isa: Some(isa) }).unwrap();
                let regions: Vec<Region> = case
                    .args
                    .iter()
                    .map(|arg| {
                        let buffer = if arg.weight {
                            device
                                .pack(Weight { ty, rows: n, row_len: k, bytes: Arc::new(arg.bytes.clone()) })
                                .unwrap()
                        } else {
                            let b = device.alloc(arg.bytes.len()).unwrap();
                            device.write(b, 0, &arg.bytes).unwrap();
                            b
                        };
                        Region { buffer, offset: 0, values: arg.values }
                    })
                    .collect();
                let program = device
                    .compile(&Program {
                        max: case.sizes(),
                        kernels: vec![Arc::new(case.kernel.clone())],
                        steps: vec![Step { kernel: 0, args: regions }],
                    })
                    .unwrap();
                let mut best = f64::INFINITY;
                let end = Instant::now() + Duration::from_millis(60);
                let mut reps = 0;
                while Instant::now() < end || reps < 5 {
                    let t = Instant::now();
                    device.replay(program, &case.sizes()).unwrap();
                    best = best.min(t.elapsed().as_secs_f64());
                    reps += 1;
                }
                print!("  T={tokens}: {:6.1}", (tokens * n * k) as f64 / best / 1e9);
            }
            println!();
        }
    }
}
