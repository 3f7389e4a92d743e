//! Whole models as CUDA texts, on the CPU.

use std::ops::ControlFlow;
use std::path::Path;

use crate::support::{Fixture, all_logits, bits, mean_kl};
use weft_check::Emulator;
use weft_engine::inspect::{Batch, Runner, StepShape};
use weft_engine::{EngineOptions, Model};
use weft_quant::GgmlType;

/// CUDA texts are as accurate as the CPU, and give the same bits in steps of any size.
fn check(name: &str, kv: GgmlType) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let Some(emulator) = Emulator::for_test(name, &folder) else { return };
    let fixture = Fixture::load(name);
    let model = Model::open(&fixture.path, kv).unwrap();
    let options = EngineOptions::default().context(128).batch(64).kv(kv);
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runner = Runner::new(model, Box::new(emulator), &options, go_on).unwrap();
    // As many as the largest step, of which the first have golden logits.
    let tokens: Vec<u32> = fixture.tokens.iter().copied().cycle().take(64).collect();
    let mut first = None;
    for (chunk, count) in [(64, 64), (11, 33), (7, 64), (3, 36), (2, 32), (1, 32)] {
        let logits = all_logits(&mut runner, &tokens[..count], chunk);
        let known = logits.len().min(fixture.golden.len());
        let kl = mean_kl(&logits[..known], &fixture.golden[..known], fixture.vocab);
        let int8 = fixture.int8_mean_kl;
        println!("{name}, {chunk} tokens at once: mean KL {kl:.2e}, llama.cpp's int8 path {int8:.2e}");
        // An 8-bit cache at most doubles the loss.
        let most = if kv == GgmlType::Q8_0 { 2.0 } else { 1.2 };
        assert!(kl <= most * int8, "{name}, {chunk} at once: {kl}");
        let first = first.get_or_insert_with(|| bits(&logits));
        assert!(first[..logits.len()] == bits(&logits), "{name}: {chunk} at once give other bits than 64");
    }
}

#[test]
fn latent_attention_and_experts() {
    check("glm-tiny-q4_k_m", GgmlType::F16);
}

#[test]
fn grouped_attention_and_experts() {
    check("qwen3moe-tiny-q4_k_m", GgmlType::BF16);
}

#[test]
fn windows_and_sinks() {
    check("gpt-oss-odd-q4_0", GgmlType::F16);
}

#[test]
fn windows_and_norms_after_branches() {
    check("gemma3-odd-q8_0", GgmlType::F16);
}

#[test]
fn a_dense_model_with_an_8_bit_cache() {
    check("llama-tiny-q6_k", GgmlType::Q8_0);
}

/// A token in a short context has a program of its own, whose attention is another text. Bits are the same before, at and
/// after its last position.
#[test]
fn a_program_for_short_contexts() {
    // Four multiprocessors: two chunks of 64 positions for each of two.
    const NEAR: usize = 128;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let Some(emulator) = Emulator::small_for_test("short contexts", &folder, 4) else { return };
    let fixture = Fixture::load("glm-tiny-q4_0");
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let options = EngineOptions::default().context(2 * NEAR).batch(15);
    let mut runner =
        Runner::new(model, Box::new(emulator), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let texts_of = |runner: &Runner, depth: usize| -> Vec<String> {
        let shape = StepShape { tokens: 1, depth, logits: 0 };
        let launches = 0..runner.launches(&shape).len();
        launches.map(|launch| runner.text(&shape, launch).unwrap().unwrap()).collect()
    };
    let [near, last, far] = [0, NEAR - 1, NEAR].map(|depth| texts_of(&runner, depth));
    assert!(near == last && last.len() == far.len());
    let differ = last.iter().zip(&far).filter(|(last, far)| last != far);
    assert!(differ.clone().count() > 0 && differ.clone().all(|(last, _)| last.contains("attend")));

    let tokens: Vec<u32> = fixture.tokens.iter().copied().cycle().take(NEAR + 5).collect();
    let all = all_logits(&mut runner, &tokens, 15);
    let vocab = all.len() / tokens.len();
    let seq = runner.new_sequence();
    for first in (0..tokens.len()).step_by(15) {
        let mut batch = Batch::new();
        let few: Vec<u32> = tokens[first..].iter().copied().take(15).collect();
        // The last tokens come one by one.
        let one_by_one = first == 120;
        if !one_by_one {
            few.iter().for_each(|token| batch.push(seq, *token, false));
            runner.step(&batch).unwrap();
            continue;
        }
        for (at, token) in (first..).zip(few) {
            batch.clear();
            batch.push(seq, token, true);
            let own = bits(runner.step(&batch).unwrap());
            assert!(own == bits(&all[at * vocab..][..vocab]), "token {at} has other bits by itself");
        }
    }
}
