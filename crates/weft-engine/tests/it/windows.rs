//! Layers with a sliding window that keep only their window in the KV cache: no bit and no reply changes.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use weft_cpu::{CpuDevice, CpuOptions};
use weft_engine::inspect::{Batch, Runner, memory_need};
use weft_engine::{Engine, EngineOptions, Error, Finish, Generation, Reply, Request, Sampling, Speculate};
use weft_gguf::Gguf;
use weft_models::BuildOptions;
use weft_random::Random;

use crate::packed_models::Folder;
use crate::support::{Fixture, THREADS, all_logits, bits};

const CONTEXT: usize = 256;

/// Fixtures with windows of 12 and 7 positions.
const FIXTURES: [&str; 5] =
    ["gemma3-tiny-q4_0", "gemma3-odd-q8_0", "gemma4-odd-q5_0", "gpt-oss-tiny-mxfp4", "gpt-oss-odd-q4_0"];

/// A cache of eight pages, or of six where layers have a window.
fn options(windows: bool) -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(CONTEXT).batch(16).windows(windows)
}

fn random(vocab: usize, n: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.below(vocab) as u32).collect()
}

fn tokens(fixture: &Fixture, n: usize, seed: u64) -> Vec<u32> {
    random(fixture.vocab, n, seed)
}

/// A fixture with a window of `positions` positions, in a file of this name.
fn with_window(folder: &Folder, name: &str, positions: u32) -> PathBuf {
    let mut bytes = std::fs::read(Fixture::load(name).path).unwrap();
    let key = b".attention.sliding_window";
    let at = bytes.windows(key.len()).position(|some| some == key).unwrap() + key.len();
    // The type of the value, `u32`.
    assert_eq!(bytes[at..at + 4], 4u32.to_le_bytes());
    bytes[at + 4..at + 8].copy_from_slice(&positions.to_le_bytes());
    let path = folder.0.join(format!("{positions}-{name}.gguf"));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn load(path: &Path, options: EngineOptions) -> Runner {
    Runner::load(path, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The bytes of the KV cache.
fn cache(path: &Path, options: &EngineOptions) -> u64 {
    let device = CpuDevice::new(CpuOptions { threads: Some(1), isa: None }).unwrap();
    let model = weft_models::build(&Gguf::open(path).unwrap(), &BuildOptions::default()).unwrap();
    memory_need(&model, &device, options).unwrap().cache
}

#[test]
fn the_cache_of_layers_with_a_window_is_smaller() {
    // Of four layers with states of equal size, two have a window.
    let path = Fixture::load("gpt-oss-tiny-mxfp4").path;
    let whole = cache(&path, &options(false));
    assert_eq!(cache(&path, &options(true)), whole / 8 * 4 + whole / 8 * 3);
    // Steps of the whole context need the whole cache.
    assert_eq!(cache(&path, &options(true).batch(CONTEXT)), whole);
    let long = |windows| options(windows).context(2048).sequences(2);
    let (less, whole) = (cache(&path, &long(true)), cache(&path, &long(false)));
    assert!(less < whole * 5 / 8, "{less} of {whole}");
}

#[test]
fn bits_are_those_of_a_whole_cache() {
    compared(&[(1, &[1, 16]), (3, &[7])]);
}

#[test]
#[ignore = "slow"]
fn bits_are_those_of_a_whole_cache_with_any_threads_and_chunks() {
    compared(&[1, 3].map(|threads| (threads, &[1, 7, 16][..])));
}

/// Compares the bits of models with windows on numbers of threads, each in chunks of some lengths.
fn compared(ways: &[(usize, &[usize])]) {
    let folder = Folder::new("windows");
    let mut paths: Vec<PathBuf> = FIXTURES.iter().map(|name| Fixture::load(name).path).collect();
    // Windows of one position, of a whole page, and of more.
    paths.extend([1, 32, 41].map(|positions| with_window(&folder, "gpt-oss-odd-q4_0", positions)));
    for path in paths {
        let options = |windows| options(windows).context(CONTEXT + 64);
        assert!(cache(&path, &options(true)) < cache(&path, &options(false)), "{}", path.display());
        let mut whole = load(&path, options(false).threads(1));
        let vocab = whole.model().graph().config.vocab;
        let tokens = random(vocab, CONTEXT, 1);
        let expected = bits(&all_logits(&mut whole, &tokens, 16));
        for &(threads, chunks) in ways {
            let mut runner = load(&path, options(true).threads(threads));
            for chunk in chunks {
                let found = bits(&all_logits(&mut runner, &tokens, *chunk));
                assert!(found == expected, "{}: {threads} threads, chunks of {chunk}", path.display());
            }
        }
    }
}

/// Two sequences interleaved in uneven steps, in pages that others have used.
#[test]
fn other_sequences_change_no_bit() {
    for name in FIXTURES {
        let fixture = Fixture::load(name);
        let texts = [tokens(&fixture, CONTEXT, 2), tokens(&fixture, 150, 3)];
        let mut whole = fixture.runner(options(false).threads(1));
        let expected = [0, 1].map(|i| bits(&all_logits(&mut whole, &texts[i], 16)));
        let mut runner = fixture.runner(options(true).sequences(2));
        let other = runner.new_sequence();
        let mut random = Random::new(4);
        let seqs = [runner.new_sequence(), runner.new_sequence()];
        let (mut fed, mut found) = ([0, 0], [Vec::new(), Vec::new()]);
        while (0..2).any(|i| fed[i] < texts[i].len()) {
            let mut batch = Batch::new();
            let mut owners = Vec::new();
            for i in 0..2 {
                let n = random.below(8).min(texts[i].len() - fed[i]);
                texts[i][fed[i]..][..n].iter().for_each(|token| batch.push(seqs[i], *token, true));
                owners.extend((0..n).map(|_| i));
                fed[i] += n;
            }
            if fed[0] < 60 {
                batch.push(other, 1, false);
            } else {
                runner.free(other);
            }
            let logits = runner.step(&batch).unwrap();
            for (row, which) in logits.chunks_exact(fixture.vocab).zip(owners) {
                found[which].extend(bits(row));
            }
        }
        assert!(found == expected, "{name}");
    }
}

#[test]
fn truncating_changes_no_bit_and_says_what_is_left() {
    let fixture = Fixture::load("gemma3-tiny-q4_0");
    let tokens = tokens(&fixture, 200, 5);
    let expected = bits(&all_logits(&mut fixture.runner(options(false)), &tokens, 16));
    let mut runner = fixture.runner(options(true));
    let seq = runner.new_sequence();
    let mut batch = Batch::new();
    let mut found = Vec::new();
    for some in tokens.chunks(5) {
        // Guesses that are removed again.
        batch.clear();
        (0..11).for_each(|token| batch.push(seq, token, false));
        runner.step(&batch).unwrap();
        assert_eq!(runner.truncate(seq, found.len() / fixture.vocab), found.len() / fixture.vocab);
        batch.clear();
        some.iter().for_each(|token| batch.push(seq, *token, true));
        found.extend(bits(runner.step(&batch).unwrap()));
    }
    assert!(found == expected);
    // The window of a token there is gone, so all is computed again.
    assert_eq!((runner.truncate(seq, 9), runner.len(seq)), (0, 0));
    batch.clear();
    tokens[..16].iter().for_each(|token| batch.push(seq, *token, true));
    assert!(bits(runner.step(&batch).unwrap()) == expected[..16 * fixture.vocab]);
}

fn greedy(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

fn ids(reply: &Reply) -> Vec<u32> {
    reply.tokens.iter().map(|token| token.id).collect()
}

fn open(fixture: &Fixture, options: EngineOptions) -> Engine {
    options.open(&fixture.path).unwrap()
}

#[test]
fn prefixes_are_found_where_the_window_is_there_and_change_no_reply() {
    for name in FIXTURES {
        let fixture = Fixture::load(name);
        let prompt = tokens(&fixture, 150, 6);
        let mut engine = open(&fixture, options(true));
        let first = engine.complete(greedy(&prompt, 30)).unwrap();
        assert_eq!(first.usage.cached_tokens, 0);
        // The next turn finds all of the first: its last window is kept.
        let turn: Vec<u32> = prompt.iter().copied().chain(ids(&first)).chain([5, 6]).collect();
        let second = engine.complete(greedy(&turn, 20)).unwrap();
        assert_eq!(second.usage.cached_tokens, 150 + 29, "{name}");
        // A prompt that leaves the first one early finds what there is, which may be nothing.
        let early: Vec<u32> = prompt[..70].iter().copied().chain([7; 40]).collect();
        let third = engine.complete(greedy(&early, 20)).unwrap();
        assert_eq!((engine.stats().running, engine.stats().pages_held), (0, 0));
        let mut whole = open(&fixture, options(false));
        for (request, found) in
            [(greedy(&prompt, 30), first), (greedy(&turn, 20), second), (greedy(&early, 20), third)]
        {
            let cold = whole.complete(request.cache(false)).unwrap();
            assert_eq!((cold.text, cold.tokens), (found.text, found.tokens), "{name}");
        }
    }
}

/// Far more generations than there are pages for: they wait, or are computed again.
#[test]
fn generations_that_wait_for_pages_give_the_same_replies() {
    let fixture = Fixture::load("gpt-oss-odd-q4_0");
    let prompts: Vec<Vec<u32>> = (0..12)
        .map(|i| {
            let mut prompt = tokens(&fixture, 40, 10 + i / 4);
            prompt.extend(tokens(&fixture, 3 + 7 * i as usize, 50 + i));
            prompt
        })
        .collect();
    let mut whole = open(&fixture, options(false));
    let expected: Vec<Vec<u32>> =
        prompts.iter().map(|prompt| ids(&whole.complete(greedy(prompt, 60).cache(false)).unwrap())).collect();
    for speculate in [Speculate::Off, Speculate::Lookup] {
        for sequences in [1, 2] {
            let options = options(true).sequences(sequences).chunk(8).speculate(speculate.clone());
            let mut engine = open(&fixture, options);
            let all: Vec<Generation> =
                prompts.iter().map(|prompt| engine.push(greedy(prompt, 60)).unwrap()).collect();
            let mut most = 0;
            while engine.step().unwrap() {
                most = most.max(engine.stats().running);
            }
            assert!(most > 1, "nothing ran together");
            for ((mut generation, expected), i) in all.into_iter().zip(&expected).zip(0..) {
                let mut found = Vec::new();
                let mut finish = None;
                while let Some(event) = generation.poll() {
                    match event {
                        weft_engine::Event::Token(token) => found.push(token.id),
                        weft_engine::Event::Finished(why) => finish = Some(why),
                        _ => {}
                    }
                }
                assert_eq!(
                    (&found, finish),
                    (expected, Some(Finish::Length)),
                    "{i} of {sequences}, {speculate:?}"
                );
            }
            assert_eq!(engine.stats().pages_held, 0);
        }
    }
}

#[test]
fn sequences_by_hand_are_refused_when_pages_run_out() {
    let fixture = Fixture::load("gpt-oss-odd-q4_0");
    let mut runner = fixture.runner(options(true));
    let mut held = Vec::new();
    let error = loop {
        let seq = runner.new_sequence();
        let mut batch = Batch::new();
        batch.push(seq, 1, true);
        match runner.step(&batch) {
            Ok(_) => held.push(seq),
            Err(error) => break error,
        }
    };
    // Six pages, where other layers have eight.
    assert!(matches!(error, Error::Pages { needed: 1, free: 0 }), "{error}");
    assert_eq!(held.len(), 6);
    held.into_iter().for_each(|seq| runner.free(seq));
    let tokens = tokens(&fixture, CONTEXT, 8);
    assert_eq!(all_logits(&mut runner, &tokens, 16).len(), CONTEXT * fixture.vocab);
}

/// The same on a GPU.
#[test]
#[ignore = "slow"]
fn bits_on_a_gpu_are_those_of_a_whole_cache() {
    for name in FIXTURES {
        let fixture = Fixture::load(name);
        let tokens = tokens(&fixture, 150, 9);
        let options = |windows| options(windows).threads(None);
        let Some(mut whole) = crate::gpu::load(&fixture.path, options(false)) else { return };
        let expected = bits(&all_logits(&mut whole, &tokens, 16));
        let mut runner = crate::gpu::load(&fixture.path, options(true)).unwrap();
        for chunk in [1, 7, 16] {
            assert!(bits(&all_logits(&mut runner, &tokens, chunk)) == expected, "{name}: chunks of {chunk}");
        }
    }
}
