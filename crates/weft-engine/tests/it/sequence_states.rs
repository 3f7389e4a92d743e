//! The engine with a model that has states of whole sequences: the layers of a fixture, and after each a running sum over its
//! sequence.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::Device;
use weft_engine::inspect::{Batch, Runner, SeqId, memory_need};
use weft_engine::{
    Ask, Drafter, Engine, EngineOptions, Event, Finish, Generation, MOST_GUESSES, Model, PromptCache, Reply,
    Request, Sampling, Speculate,
};
use weft_ir::{Builder, Dim, Graph, KEPT, Op, Recurrence, StateKind};
use weft_models::Segment;
use weft_quant::GgmlType;
use weft_random::Random;

const CONTEXT: usize = 256;

/// One with attention over all positions, one whose layers also have windows, and one that has such states itself.
const FIXTURES: [&str; 3] = ["qwen3-tiny-q4_0", "gemma3-tiny-q4_0", "qwen35-tiny-q4_k_m"];

/// Adds to each row a sum of all rows up to it, with a decay that depends on the rows.
fn scan(hidden: usize) -> Graph {
    let heads = 4;
    let mut g = Builder::new("scan");
    let x = g.input("x", GgmlType::F32, [Dim::T, hidden.into()]);
    let rows = g.reshape(x, [Dim::T, heads.into(), (hidden / heads).into()]);
    let first = g.slice(x, 1, 0, heads);
    let decay = g.sigmoid(first);
    let width = g.scan_state(Recurrence::Decay, &[rows, decay]).and_then(|layout| layout.values()).unwrap();
    let state = g.sequence_state("sums", [Dim::S, width.into()]);
    let lists = g.scan_rows();
    let sums = g.scan(Recurrence::Decay, &[rows, decay], state, lists);
    let sums = g.reshape(sums, [Dim::T, hidden.into()]);
    let share = g.scalar(0.25);
    let share = g.mul(sums, share);
    let x = g.add(x, share);
    g.output("x", x);
    g.finish().unwrap()
}

/// Returns whether a segment has states of whole sequences.
fn has_states(segment: &Segment) -> bool {
    let is_state = |op: &Op| matches!(op, Op::State { kind: StateKind::PerSequence, .. });
    segment.graph.nodes().iter().any(|node| is_state(&node.op))
}

/// A fixture with such states.
fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format!("{name}.gguf"));
    Model::open(&path, GgmlType::F16).unwrap().change(|model| {
        if model.segments.iter().any(has_states) {
            return;
        }
        let graph = Arc::new(scan(model.config.hidden));
        for segment in std::mem::take(&mut model.segments) {
            let layer = segment.layer;
            model.segments.push(segment);
            if let Some(layer) = layer {
                let states = vec![("sums".into(), format!("sums.{layer}"))];
                let (name, graph) = (format!("scan {layer}"), Arc::clone(&graph));
                model.segments.push(Segment {
                    name,
                    layer: Some(layer),
                    graph,
                    weights: Vec::new(),
                    states,
                    columns: Vec::new(),
                });
            }
        }
    })
}

fn device(threads: usize) -> Box<dyn Device> {
    Box::new(CpuDevice::new(CpuOptions { threads: Some(threads), isa: None }).unwrap())
}

fn options() -> EngineOptions {
    EngineOptions::default().context(CONTEXT).batch(64)
}

fn runner(name: &str, threads: usize, options: &EngineOptions) -> Runner {
    Runner::new(model(name), device(threads), options, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn engine(name: &str, options: &EngineOptions) -> Engine {
    Engine::new(model(name), device(1), options).unwrap()
}

fn tokens(n: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.below(500) as u32).collect()
}

fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|logit| logit.to_bits()).collect()
}

fn compute(runner: &mut Runner, seq: SeqId, tokens: &[u32]) -> Vec<u32> {
    let mut batch = Batch::new();
    tokens.iter().for_each(|token| batch.push(seq, *token, true));
    bits(runner.step(&batch).unwrap())
}

/// All logits of a sequence, computed `chunk` tokens at a time.
fn all(runner: &mut Runner, tokens: &[u32], chunk: usize) -> Vec<u32> {
    let seq = runner.new_sequence();
    let logits = tokens.chunks(chunk).flat_map(|chunk| compute(runner, seq, chunk)).collect();
    runner.free(seq);
    logits
}

#[test]
fn the_state_matters() {
    let tokens = tokens(40, 1);
    let with = all(&mut runner(FIXTURES[0], 1, &options()), &tokens, 64);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/qwen3-tiny-q4_0.gguf");
    let without = Runner::load(&path, &options().threads(1), &mut |_| ControlFlow::Continue(()));
    assert!(with != all(&mut without.unwrap(), &tokens, 64));
    // Other tokens at the beginning change the last row.
    let mut other = tokens.clone();
    other[0] += 1;
    let other = all(&mut runner(FIXTURES[0], 1, &options()), &other, 64);
    assert!(other[other.len() - 9..] != with[with.len() - 9..]);
}

#[test]
fn bits_do_not_depend_on_steps_threads_or_company() {
    for name in FIXTURES {
        let texts: Vec<Vec<u32>> = (0..8).map(|i| tokens(60 + 9 * i as usize, i)).collect();
        let options = options().context(128).sequences(8);
        let mut first = runner(name, 1, &options);
        let expected: Vec<Vec<u32>> = texts.iter().map(|text| all(&mut first, text, 64)).collect();
        let vocab = first.model().graph().config.vocab;
        for (threads, company) in [(1, 1), (2, 3), (1, 8)] {
            let mut runner = runner(name, threads, &options);
            for chunk in [1, 7, 64] {
                let seqs: Vec<SeqId> = (0..company).map(|_| runner.new_sequence()).collect();
                let mut found = vec![Vec::new(); company];
                let mut fed = vec![0; company];
                while (0..company).any(|i| fed[i] < texts[i].len()) {
                    let mut batch = Batch::new();
                    let mut owners = Vec::new();
                    for i in (0..company).rev() {
                        let n = chunk.min(texts[i].len() - fed[i]).min(64 - batch.len());
                        texts[i][fed[i]..][..n].iter().for_each(|token| batch.push(seqs[i], *token, true));
                        owners.extend((0..n).map(|_| i));
                        fed[i] += n;
                    }
                    let logits = runner.step(&batch).unwrap();
                    for (row, owner) in logits.chunks_exact(vocab).zip(owners) {
                        found[owner].extend(bits(row));
                    }
                }
                assert!(found == expected[..company], "{name}: {company} in steps of {chunk}");
                seqs.into_iter().for_each(|seq| runner.free(seq));
            }
        }
    }
}

#[test]
fn going_back_changes_no_bit_and_says_what_is_left() {
    for name in FIXTURES {
        let tokens = tokens(100, 5);
        let mut runner = runner(name, 1, &options());
        let expected = all(&mut runner, &tokens, 64);
        let vocab = runner.model().graph().config.vocab;
        let seq = runner.new_sequence();
        let mut done = 0;
        while done < tokens.len() {
            // Guesses that are removed again: all of them, and then all but some that are right.
            let right = 3.min(tokens.len() - done);
            for wanted in [done, done + right - 1] {
                compute(&mut runner, seq, &[&tokens[done..done + right], &[1; 5]].concat());
                assert_eq!((runner.truncate(seq, wanted), runner.len(seq)), (done, done));
            }
            let found = compute(&mut runner, seq, &tokens[done..done + right]);
            assert!(found == expected[done * vocab..][..right * vocab], "{name}: {done}");
            done += right;
        }
        assert_eq!(runner.truncate(seq, 50), 0);
        assert!(compute(&mut runner, seq, &tokens[..20]) == expected[..20 * vocab]);
    }
}

/// Some right and some wrong guesses of each number: all rows have the bits that they have without, and none is computed again.
#[test]
fn guesses_change_no_bit_and_none_is_computed_again() {
    for name in FIXTURES.into_iter().chain(["kimi-linear-tiny-q4_0"]) {
        let tokens: Vec<u32> = tokens(100, 5).iter().map(|token| token % 300).collect();
        let mut runner = runner(name, 1, &options());
        let expected = all(&mut runner, &tokens, 64);
        let vocab = runner.model().graph().config.vocab;
        let seq = runner.new_sequence();
        let cases = (1..=KEPT).flat_map(|guesses| (0..=guesses).map(move |right| (guesses, right)));
        let (mut done, mut count) = (7, 7);
        compute(&mut runner, seq, &tokens[..7]);
        for (guesses, right) in cases.chain([(0, 0), (2, 2), (0, 0), (1, 0)]) {
            let mut batch = Batch::new();
            batch.push(seq, tokens[done], true);
            let of = |i: usize| if i < right { tokens[done + 1 + i] } else { tokens[done + 1 + i] ^ 1 };
            (0..guesses).for_each(|i| batch.push_guess(seq, of(i)));
            let found = bits(runner.step(&batch).unwrap());
            let next = done + 1 + right;
            assert!(
                found[..(1 + right) * vocab] == expected[done * vocab..next * vocab],
                "{name}: {right} of {guesses}"
            );
            assert_eq!(runner.truncate(seq, next), next, "{name}: {right} of {guesses}");
            (done, count) = (next, count + 1 + right);
        }
        assert!(done == count && done > 40);
        let found = compute(&mut runner, seq, &tokens[done..]);
        assert!(found == expected[done * vocab..], "{name}");
    }
}

#[test]
fn tokens_of_a_batch_may_be_in_any_order() {
    let mut runner = runner(FIXTURES[0], 1, &options().sequences(2));
    // Sequence, token, and whether its logits are wanted.
    let apart = [(0, 5, true), (1, 6, true), (0, 7, false), (1, 8, true), (0, 9, true)];
    let mut logits = |order: [usize; 5]| {
        let seqs = [runner.new_sequence(), runner.new_sequence()];
        let mut batch = Batch::new();
        order.into_iter().for_each(|at| batch.push(seqs[apart[at].0], apart[at].1, apart[at].2));
        let all = runner.step(&batch).unwrap().to_vec();
        assert_eq!(seqs.map(|seq| runner.len(seq)), [3, 2]);
        seqs.into_iter().for_each(|seq| runner.free(seq));
        let vocab = all.len() / 4;
        let wanted = order.into_iter().filter(|at| apart[*at].2);
        let mut rows: Vec<(usize, Vec<f32>)> =
            wanted.zip(all.chunks_exact(vocab).map(<[f32]>::to_vec)).collect();
        rows.sort_by_key(|(at, _)| *at);
        rows
    };
    assert_eq!(logits([0, 1, 2, 3, 4]), logits([0, 2, 4, 1, 3]));
}

fn greedy(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

fn ids(reply: &Reply) -> Vec<u32> {
    reply.tokens.iter().map(|token| token.id).collect()
}

fn cold(name: &str, request: Request) -> Vec<u32> {
    ids(&engine(name, &options()).complete(request.cache(false)).unwrap())
}

#[test]
fn prefixes_are_found_at_snapshots_and_change_no_reply() {
    for name in FIXTURES {
        let mut engine = engine(name, &options().batch(40));
        let prompt = tokens(150, 6);
        let mut ask = |prompt: &[u32], reply: usize, cached: usize| {
            let found = engine.complete(greedy(prompt, reply)).unwrap();
            assert_eq!(found.usage.cached_tokens, cached, "{name}: {}", prompt.len());
            assert_eq!(ids(&found), cold(name, greedy(prompt, reply)), "{name}: {}", prompt.len());
            ids(&found)
        };
        let reply = ask(&prompt, 30, 0);
        // The same prompt again finds all full pages, and the next turn also those of the reply.
        ask(&prompt, 5, 128);
        ask(&[&prompt[..], &reply, &[5, 6]].concat(), 10, 160);
        // One that leaves it early finds no state there, and leaves one for the next.
        let early = |last: u32| [&prompt[..100], &[last; 40]].concat();
        ask(&early(7), 3, 0);
        ask(&early(8), 3, 96);
        assert_eq!((engine.stats().running, engine.stats().pages_held), (0, 0));
    }
}

#[test]
fn equal_prompts_at_once_are_computed_once() {
    let prompt = tokens(150, 7);
    let mut engine = engine(FIXTURES[0], &options().sequences(4));
    let mut all: Vec<Generation> = (0..4).map(|_| engine.push(greedy(&prompt, 4)).unwrap()).collect();
    // A prompt that differs after three pages.
    let other = [&prompt[..100], &[9; 20]].concat();
    all.push(engine.push(greedy(&other, 4)).unwrap());
    while engine.step().unwrap() {}
    let computed = 128 + 4 * (22 + 3) + 24 + 3;
    assert_eq!(engine.stats().computed, computed);
    let expected = cold(FIXTURES[0], greedy(&prompt, 4));
    for (i, mut generation) in all.into_iter().enumerate() {
        let found = reply(&mut generation);
        assert_eq!(found, if i < 4 { expected.clone() } else { cold(FIXTURES[0], greedy(&other, 4)) });
    }
}

/// The tokens of a reply that ended with its length.
fn reply(generation: &mut Generation) -> Vec<u32> {
    let (mut found, mut finish) = (Vec::new(), None);
    while let Some(event) = generation.poll() {
        match event {
            Event::Token(token) => found.push(token.id),
            Event::Finished(why) => finish = Some(why),
            _ => {}
        }
    }
    assert_eq!(finish, Some(Finish::Length));
    found
}

/// Knows the replies, and guesses some tokens wrong.
struct Mixed {
    /// One more than the most tokens that it guesses.
    most: usize,
    texts: Vec<Vec<u32>>,
    random: Random,
}

impl Drafter for Mixed {
    fn draft(&mut self, asks: &mut [Ask<'_>]) {
        for ask in asks {
            let text = self.texts.iter().find(|text| text.starts_with(ask.tokens()));
            let next = text.map_or(&[][..], |text| &text[ask.tokens().len()..]);
            let wrong = self.random.below(6);
            let guess = next.iter().enumerate().map(|(i, token)| if i == wrong { token ^ 1 } else { *token });
            ask.guess(guess.take(self.random.below(self.most)).collect::<Vec<_>>());
        }
    }
}

/// Far more generations than there is room for, so that some wait and some are computed again, with guesses and without.
#[test]
fn generations_give_the_same_replies_whatever_runs_beside_them() {
    for name in FIXTURES {
        let prompt = |i: u64| [tokens(40, 10 + i / 4), tokens(3 + 7 * i as usize, 50 + i)].concat();
        let prompts: Vec<Vec<u32>> = (0..9).map(prompt).collect();
        let mut alone = engine(name, &options());
        let expected: Vec<Vec<u32>> = prompts
            .iter()
            .map(|prompt| ids(&alone.complete(greedy(prompt, 60).cache(false)).unwrap()))
            .collect();
        let texts: Vec<Vec<u32>> = prompts.iter().zip(&expected).map(|(a, b)| [&a[..], b].concat()).collect();
        let mixed = |most| Mixed { most, texts: texts.clone(), random: Random::new(3) };
        for (sequences, guesses) in [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)] {
            let options = options().sequences(sequences).batch(20).chunk(8);
            let mut engine = engine(name, &options);
            match guesses {
                0 => {}
                1 => engine.speculate(&Speculate::Lookup).unwrap(),
                2 => engine.speculate_by(mixed(MOST_GUESSES)),
                _ => engine.speculate_by(mixed(1 + KEPT)),
            }
            let mut all: Vec<Generation> =
                prompts.iter().map(|prompt| engine.push(greedy(prompt, 60)).unwrap()).collect();
            let mut most = 0;
            while engine.step().unwrap() {
                most = most.max(engine.stats().running);
            }
            let stats = engine.stats();
            assert!(most > 1 && stats.pages_held == 0, "{most} ran together");
            assert!(sequences > 1 || stats.preempted > 0, "none was computed again");
            let accepted = stats.speculation.accepted;
            assert!(guesses < 2 || (accepted > 50 && accepted < stats.speculation.guessed), "{accepted}");
            for ((generation, expected), i) in all.iter_mut().zip(&expected).zip(0..) {
                assert_eq!(&reply(generation), expected, "{name}: {i} of {sequences}, guesses {guesses}");
            }
        }
    }
}

/// A step computes one token and guesses of each reply: what was right is not computed again.
#[test]
fn each_token_is_computed_once() {
    for name in FIXTURES {
        let prompt = tokens(40, 9);
        let expected = cold(name, greedy(&prompt, 60));
        let texts = vec![[&prompt[..], &expected].concat()];
        let mut engine = engine(name, &options());
        engine.speculate_by(Mixed { most: 1 + KEPT, texts, random: Random::new(4) });
        assert_eq!(ids(&engine.complete(greedy(&prompt, 60)).unwrap()), expected, "{name}");
        let stats = engine.stats();
        let (guessed, accepted) = (stats.speculation.guessed, stats.speculation.accepted);
        assert!(accepted > 10 && accepted < guessed, "{name}: {accepted} of {guessed}");
        // The last token of a reply is not computed.
        assert_eq!(stats.computed, 40 + 59 + guessed - accepted, "{name}: {accepted} of {guessed}");
    }
}

#[test]
fn memory_is_counted_and_bounded() {
    let model = model(FIXTURES[0]);
    let config = &model.graph().config;
    // Each layer has four heads, with a state and kept rows, which have a decay, too.
    let slot = (4 * (config.hidden + KEPT * (config.hidden + 4)) * config.layers()) as u64;
    let need = memory_need(model.graph(), &*device(1), &options().sequences(3)).unwrap();
    // Two for each sequence, and eight snapshots.
    assert_eq!((need.slots, need.states), (3 * (2 + 8), slot * need.slots as u64));
    // Without the layers that were added, the rest is the same.
    let plain = model.change(|model| model.segments.retain(|segment| !has_states(segment)));
    let plain = memory_need(plain.graph(), &*device(1), &options().sequences(3)).unwrap();
    assert_eq!((plain.cache, plain.states, plain.slots), (need.cache, 0, 0));
}

#[test]
fn prompts_on_disk_are_found_by_a_later_engine() {
    for name in FIXTURES {
        let folder = std::env::temp_dir().join(format!("weft-states-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let options = options().context(512);
        let prompt = tokens(400, 8);
        let expected = engine(name, &options).complete(greedy(&prompt, 9)).unwrap();
        for cached in [0, 384] {
            let options = options.clone().prompts(PromptCache::new(folder.clone(), 1 << 30));
            let mut engine = engine(name, &options);
            let reply = engine.complete(greedy(&prompt, 9)).unwrap();
            assert_eq!((&reply.tokens, reply.usage.cached_tokens), (&expected.tokens, cached), "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
