//! Batch invariance: logits are bit-identical whatever the threads, the chunks, the rest of the batch and the cache.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use expect_test::expect_file;

use crate::mechanisms::is_varied;
use crate::support::{Fixture, THREADS, all_logits, bits, fixtures, usual};
use weft_cpu::{CpuDevice, CpuOptions};
use weft_engine::inspect::{Batch, PlansId, Runner};
use weft_engine::{EngineOptions, Mode, Model, Switches, decisions};
use weft_quant::GgmlType;

fn options(threads: usize, sequences: usize) -> EngineOptions {
    EngineOptions::default().threads(threads).context(128).sequences(sequences)
}

/// `bits.txt` has a checksum of each fixture's logits. Windows and Arm compute the same, which `.ci/windows full` and `.ci/arm` check by
/// this test. Whoever changes the order of a sum writes the file again, and says so in the changelog.
#[test]
fn every_system_computes_the_same_bits() {
    let checksum = |bits: Vec<u32>| {
        // FNV-1a, by words.
        let step = |hash: u64, word: u32| (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
        bits.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
    };
    let line = |name: &str| format!("{name} {:016x}\n", checksum(bits(&usual(&Fixture::load(name)))));
    let found: String = fixtures().iter().map(|(name, _)| line(name)).collect();
    expect_file!["bits.txt"].assert_eq(&found);
}

#[test]
fn threads_and_chunks_change_nothing() {
    for (name, _) in &fixtures() {
        let varied: &[(usize, &[usize])] = &[(1, &[1, 512]), (3, &[7])];
        computed(name, if is_varied(name) { varied } else { &[(2, &[7])] });
    }
}

#[test]
#[ignore = "slow"]
fn any_threads_and_chunks_change_nothing() {
    for (name, _) in &fixtures() {
        computed(name, &[1, 2, 3].map(|threads| (threads, &[1, 7, 512][..])));
    }
}

/// Computes a fixture's logits on numbers of threads, each in chunks of some lengths.
fn computed(name: &str, ways: &[(usize, &[usize])]) {
    let fixture = Fixture::load(name);
    for (threads, chunks) in ways {
        let mut runner = fixture.runner(options(*threads, 1));
        for chunk in *chunks {
            let found = bits(&all_logits(&mut runner, &fixture.tokens, *chunk));
            assert!(found == bits(&usual(&fixture)), "{name}: {threads} threads, chunks of {chunk}");
        }
    }
}

/// While other programs want the cores, steps are computed on fewer threads than a moment ago.
#[test]
#[ignore = "slow"]
fn steps_on_different_numbers_of_threads_change_nothing() {
    for (name, _) in &fixtures() {
        let fixture = Fixture::load(name);
        let mut device = CpuDevice::new(CpuOptions { threads: Some(5), isa: None }).unwrap();
        device.vary_threads();
        let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
        let report = &mut |_| ControlFlow::Continue(());
        let mut runner = Runner::new(model, Box::new(device), &options(5, 1), report).unwrap();
        for chunk in [1, 7, 128] {
            assert!(
                bits(&all_logits(&mut runner, &fixture.tokens, chunk)) == bits(&usual(&fixture)),
                "{name}: chunks of {chunk}"
            );
        }
    }
}

#[test]
fn threads_and_chunks_change_nothing_with_a_cache_of_few_bits() {
    for (name, kv) in [
        ("glm-tiny-q4_k_m", GgmlType::Q8_0),
        ("glm-tiny-q4_k_m", GgmlType::Q5_1),
        ("glm-tiny-q4_k_m", GgmlType::Q4_0),
        ("deepseek32-tiny-q4_0", GgmlType::Q5_1),
        ("gpt-oss-tiny-mxfp4", GgmlType::Q4_0),
        ("gemma4-tiny-q4_0", GgmlType::Q5_1),
    ] {
        let fixture = Fixture::load(name);
        let options = |threads| options(threads, 1).kv(kv);
        let expected = bits(&all_logits(&mut fixture.runner(options(1)), &fixture.tokens, 512));
        for (threads, chunk) in [(2, 1), (3, 7), (2, 512)] {
            let found = bits(&all_logits(&mut fixture.runner(options(threads)), &fixture.tokens, chunk));
            assert!(found == expected, "{name}, {kv}: {threads} threads, chunks of {chunk}");
        }
    }
}

/// Logits of many rows are computed in one replay of the head where there is room for many sequences.
#[test]
fn rows_computed_together_change_nothing() {
    for (name, _) in &fixtures() {
        let fixture = Fixture::load(name);
        for &sequences in if is_varied(name) { &[3, 16][..] } else { &[16] } {
            let found = all_logits(&mut fixture.runner(options(THREADS, sequences)), &fixture.tokens, 512);
            assert!(bits(&found) == bits(&usual(&fixture)), "{name}, {sequences} sequences");
        }
    }
}

/// Fusion does not change the order of sums: switching any decision that is on or by cost changes no bit, nor does
/// switching all of them. Each is switched by itself where a fixture is one of those that have every mechanism. Equal plans need not run.
#[test]
fn fusion_changes_no_bit() {
    switched(is_varied, &[7]);
}

/// The same with all fixtures, and in steps of one token also where a decision is switched by itself.
#[test]
#[ignore = "slow"]
fn fusion_changes_no_bit_of_any_fixture() {
    switched(|_| true, &[1, 512]);
}

/// Switches decisions where a fixture is chosen; `chunks_alone` are those where one is switched by itself.
fn switched(chosen: fn(&str) -> bool, chunks_alone: &[usize]) {
    let taken: Vec<_> = decisions().filter(|d| d.default != Mode::Off).collect();
    let together = [Mode::Off, Mode::On].map(|mode| taken.iter().map(|d| (*d, mode)).collect());
    let alone = taken.iter().map(|d| vec![(*d, Mode::Off)]);
    let sets: Vec<Vec<_>> = together.into_iter().chain(alone).collect();
    let mut same: BTreeSet<&str> = taken.iter().map(|d| d.name).collect();
    for (name, _) in fixtures().iter().filter(|(name, _)| chosen(name)) {
        let fixture = Fixture::load(name);
        let mut runner = fixture.runner(options(THREADS, 1));
        for set in if is_varied(name) { &sets[..] } else { &sets[..2] } {
            let mut switches = Switches::default();
            set.iter().for_each(|(d, mode)| switches.set(d, *mode));
            let plans = runner.add_plans(&switches).unwrap();
            if !runner.same_plans(PlansId::LOADED, plans).unwrap() {
                if let [(decision, _)] = set[..] {
                    same.remove(decision.name);
                }
                runner.use_plans(plans).unwrap();
                for chunk in if set.len() > 1 { &[1, 512][..] } else { chunks_alone } {
                    let found = bits(&all_logits(&mut runner, &fixture.tokens, *chunk));
                    assert!(found == bits(&usual(&fixture)), "{name}: {set:?}, chunks of {chunk}");
                }
            }
            runner.drop_plans();
        }
    }
    println!("switched by themselves, these change no plan of the fixtures: {same:?}");
    assert!(3 * same.len() < taken.len(), "{same:?} change no plan: this tests little");
}

#[test]
fn other_sequences_change_nothing() {
    for (name, _) in &fixtures() {
        let fixture = Fixture::load(name);
        let (a, b) = (&fixture.tokens[..20], &fixture.tokens[5..32]);
        let mut runner = fixture.runner(options(THREADS, 3));
        let expected = [a, b].map(|tokens| bits(&all_logits(&mut runner, tokens, 512)));

        // Both at once, interleaved in uneven steps with a third sequence that is dropped halfway.
        let seqs = [runner.new_sequence(), runner.new_sequence()];
        let other = runner.new_sequence();
        let mut found = [Vec::new(), Vec::new()];
        let mut fed = [0, 0];
        let mut step = 0;
        while fed[0] < a.len() || fed[1] < b.len() {
            let mut batch = Batch::new();
            let mut owners = Vec::new();
            for i in 0..5 + step % 4 {
                let which = (i * 3 + step) % 2;
                let tokens = [a, b][which];
                if let Some(token) = tokens.get(fed[which]) {
                    batch.push(seqs[which], *token, true);
                    owners.push(which);
                    fed[which] += 1;
                }
                if step == 1 {
                    batch.push(other, fixture.tokens[i], false);
                }
            }
            if step == 2 {
                runner.free(other);
            }
            let logits = runner.step(&batch).unwrap();
            for (row, which) in logits.chunks_exact(fixture.vocab).zip(owners) {
                found[which].extend(bits(row));
            }
            step += 1;
        }
        assert!(found == expected, "{name}");
    }
}

#[test]
fn truncating_changes_nothing() {
    let fixture = Fixture::load("glm-tiny-q8_0");
    let mut runner = fixture.runner(options(2, 1));
    let expected = bits(&all_logits(&mut runner, &fixture.tokens, 512));
    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    fixture.tokens[..10].iter().for_each(|t| batch.push(seq, *t, false));
    // A continuation that is removed again: its rows in the cache must never be read.
    (0..30).for_each(|t| batch.push(seq, t, false));
    runner.step(&batch).unwrap();
    runner.truncate(seq, 10);
    batch.clear();
    fixture.tokens[10..].iter().for_each(|t| batch.push(seq, *t, true));
    let found = bits(runner.step(&batch).unwrap());
    assert!(found == expected[10 * fixture.vocab..]);
}
