//! Whole models as CUDA texts, on the CPU.

use std::ops::ControlFlow;
use std::path::Path;

use crate::support::{Fixture, all_logits, bits, mean_kl};
use weft_check::Emulator;
use weft_engine::inspect::{Batch, Runner, StepShape};
use weft_engine::{EngineOptions, Model};
use weft_quant::GgmlType;

/// Sizes of steps, each with the number of tokens that are computed in them.
type Steps = [(usize, usize); 5];
const FEW: Steps = [(11, 22), (7, 21), (3, 9), (2, 6), (1, 20)];
const MANY: Steps = [(11, 33), (7, 64), (3, 36), (2, 32), (1, 32)];

fn check(name: &str, kv: GgmlType) {
    check_in(name, kv, &FEW);
}

/// CUDA texts are as accurate as the CPU, and give the same bits in steps of any size.
fn check_in(name: &str, kv: GgmlType, steps: &Steps) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let Some(emulator) = Emulator::for_test(name, &folder) else { return };
    let fixture = Fixture::load(name);
    let model = Model::open(&fixture.path, kv).unwrap();
    let options = EngineOptions::default().context(128).batch(64).kv(kv);
    let go_on = &mut |_| ControlFlow::Continue(());
    let mut runner = Runner::new(model, Box::new(emulator), &options, go_on).unwrap();
    // As many tokens as in the largest step. The first ones have golden logits.
    let tokens: Vec<u32> = fixture.tokens.iter().copied().cycle().take(64).collect();
    let logits = all_logits(&mut runner, &tokens, 64);
    let known = logits.len().min(fixture.golden.len());
    let kl = mean_kl(&logits[..known], &fixture.golden[..known], fixture.vocab);
    let int8 = fixture.int8_mean_kl;
    println!("{name}: mean KL {kl:.2e}, llama.cpp's int8 path {int8:.2e}");
    // An 8-bit cache at most doubles the loss.
    let most = if kv == GgmlType::Q8_0 { 2.0 } else { 1.2 };
    assert!(kl <= most * int8, "{name}: {kl}");
    let first = bits(&logits);
    for &(chunk, count) in steps {
        let logits = all_logits(&mut runner, &tokens[..count], chunk);
        assert!(first[..logits.len()] == bits(&logits), "{name}: {chunk} at once give other bits than 64");
    }
}

#[test]
fn latent_attention_and_experts() {
    check("glm-tiny-q4_k_m", GgmlType::F16);
}

#[test]
fn attention_to_chosen_positions() {
    check("deepseek32-tiny-q4_0", GgmlType::F16);
}

#[test]
fn attention_to_positions_that_another_layer_chose() {
    check("glm-dsa-tiny-q4_0", GgmlType::BF16);
}

#[test]
fn streams_and_pools_of_positions() {
    check("glm5-next-tiny-q4_0", GgmlType::F16);
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
fn linear_attention_and_experts() {
    check("qwen35moe-odd-q4_k_m", GgmlType::F16);
}

#[test]
fn a_dense_model_with_an_8_bit_cache() {
    check("llama-tiny-q6_k", GgmlType::Q8_0);
}

#[test]
#[ignore = "slow"]
fn steps_of_more_tokens() {
    for (name, kv) in [
        ("glm-tiny-q4_k_m", GgmlType::F16),
        ("deepseek32-tiny-q4_0", GgmlType::F16),
        ("glm-dsa-tiny-q4_0", GgmlType::BF16),
        ("glm5-next-tiny-q4_0", GgmlType::F16),
        ("qwen3moe-tiny-q4_k_m", GgmlType::BF16),
        ("gpt-oss-odd-q4_0", GgmlType::F16),
        ("gemma3-odd-q8_0", GgmlType::F16),
        ("qwen35moe-odd-q4_k_m", GgmlType::F16),
        ("llama-tiny-q6_k", GgmlType::Q8_0),
    ] {
        check_in(name, kv, &MANY);
    }
}

/// A token in a short context has programs of its own, in which attention has other texts. Bits are the same before, at and after their
/// last positions.
#[test]
fn programs_for_short_contexts() {
    short_contexts("glm4moe-tiny-q4_0");
}

/// The same with latent attention.
#[test]
#[ignore = "slow"]
fn programs_for_short_contexts_with_latent_attention() {
    short_contexts("glm-tiny-q4_0");
}

fn short_contexts(name: &str) {
    // One chunk of 64 positions; and of six multiprocessors, each two have a chunk.
    const SHORT: usize = 64;
    const NEAR: usize = 192;
    const STEP: usize = 15;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let Some(emulator) = Emulator::small_for_test("short contexts", &folder, 6) else { return };
    let fixture = Fixture::load(name);
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let options = EngineOptions::default().context(3 * NEAR).batch(STEP);
    let mut runner =
        Runner::new(model, Box::new(emulator), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let texts_of = |runner: &Runner, depth: usize| -> Vec<String> {
        let shape = StepShape { tokens: 1, depth, logits: 0 };
        let launches = 0..runner.launches(&shape).len();
        launches.map(|launch| runner.text(&shape, launch).unwrap().unwrap()).collect()
    };
    let depths = [0, SHORT - 1, SHORT, NEAR - 1, NEAR];
    let [first, short, next, near, far] = depths.map(|depth| texts_of(&runner, depth));
    assert!(first == short && next == near);
    for (these, those) in [(&short, &near), (&near, &far)] {
        assert_eq!(these.len(), those.len());
        let differ = these.iter().zip(those).filter(|(one, other)| one != other);
        assert!(differ.clone().count() > 0 && differ.clone().all(|(one, _)| one.contains("attend")));
    }

    let tokens: Vec<u32> = fixture.tokens.iter().copied().cycle().take(NEAR + 5).collect();
    let all = all_logits(&mut runner, &tokens, STEP);
    let vocab = all.len() / tokens.len();
    let seq = runner.new_sequence();
    for first in (0..tokens.len()).step_by(STEP) {
        let mut batch = Batch::new();
        let few: Vec<u32> = tokens[first..].iter().copied().take(STEP).collect();
        // Those around a program's last position come one by one.
        let one_by_one = [SHORT, NEAR].iter().any(|last| (first..first + STEP).contains(last));
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
