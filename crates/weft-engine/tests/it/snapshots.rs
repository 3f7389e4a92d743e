//! The prompt cache on disk with models that have states of whole sequences: a later engine continues from a snapshot, bit for bit.

use std::fs;
use std::path::PathBuf;

use weft_engine::{Engine, EngineOptions, PromptCache};
use weft_random::Random;

use crate::prompts::{TestFolder, check, request};
use crate::support::{Fixture, THREADS};

const FIXTURES: [&str; 3] = ["qwen35moe-tiny-q4_0", "qwen35-odd-q8_0", "kimi-linear-tiny-q4_0"];

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(512).batch(64)
}

fn open(name: &str, options: EngineOptions) -> Engine {
    options.open(Fixture::load(name).path).unwrap()
}

fn prompt(seed: u64, len: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.below(250) as u32).collect()
}

#[test]
fn a_restart_goes_on_from_a_snapshot_and_changes_no_bit() {
    for name in FIXTURES {
        let folder = TestFolder::new(name);
        let with_cache = |options: EngineOptions| open(name, options.prompts(folder.cache()));
        let alone = |prompt: &[u32]| open(name, options()).complete(request(prompt).cache(false)).unwrap();
        // Twelve full pages, and the thirteenth is full in the reply.
        let first = prompt(1, 412);
        let cold = alone(&first);
        check(&with_cache(options()).complete(request(&first)).unwrap(), &cold, 0, name);
        // Thirteen pages, and the states after twelve of them and after thirteen.
        assert_eq!(folder.files().len(), 13 + 2, "{name}");
        let turn: Vec<u32> =
            [&first[..], &cold.tokens.iter().map(|t| t.id).collect::<Vec<_>>(), &prompt(2, 20)].concat();
        let [branch, second] = [3, 4].map(|seed| [&first[..300], &prompt(seed, 30)].concat());
        for (batch, threads) in [(64, 2), (7, 1), (200, 3)] {
            let case = format!("{name}, steps of {batch}, {threads} threads");
            let mut engine = with_cache(options().batch(batch).threads(threads));
            check(&engine.complete(request(&first)).unwrap(), &cold, 12 * 32, &case);
            let stats = engine.stats();
            let found = stats.prompt_cache;
            assert_eq!((found.restored, found.damaged, found.failed), (12 + 1, 0, 0), "{case}");
            assert_eq!((stats.prefix_queries, stats.prefix_hits), (412, 12 * 32), "{case}");
            // In memory by now.
            check(&engine.complete(request(&first)).unwrap(), &cold, 12 * 32, &case);
            assert_eq!(engine.stats().prompt_cache.restored, 13, "{case}");
        }
        check(&with_cache(options()).complete(request(&turn)).unwrap(), &alone(&turn), 13 * 32, name);
        // The first prompt that differs there computes all, and leaves a snapshot for the next one.
        let mut engine = with_cache(options());
        engine.complete(request(&first)).unwrap();
        check(&engine.complete(request(&branch)).unwrap(), &alone(&branch), 0, name);
        drop(engine);
        check(&with_cache(options()).complete(request(&second)).unwrap(), &alone(&second), 9 * 32, name);
    }
}

#[test]
fn without_a_file_the_latest_snapshot_before_it_serves() {
    let name = FIXTURES[0];
    let folder = TestFolder::new("damaged");
    let first = prompt(1, 300);
    let longer = [&first[..], &prompt(2, 120)].concat();
    let with_cache = || open(name, options().prompts(folder.cache()));
    let alone = |prompt: &[u32]| open(name, options()).complete(request(prompt).cache(false)).unwrap();
    let right = alone(&longer);
    for prompt in [&first, &longer] {
        let mut engine = with_cache();
        engine.complete(request(prompt).max_tokens(1)).unwrap();
        while engine.idle().unwrap() {}
    }
    let files = folder.files();
    assert_eq!(files.len(), 13 + 2, "thirteen pages, and the states after nine and all of them");
    let by_size = |file: &PathBuf| fs::metadata(file).unwrap().len();
    let (mut sizes, mut cached) = (files.iter().map(by_size).collect::<Vec<_>>(), Vec::new());
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes.len(), 2, "a page and a snapshot differ in size");
    for (number, file) in files.iter().enumerate() {
        let bytes = fs::read(file).unwrap();
        for (how, bad) in [("missing", None), ("a bit", Some(bytes.len() - 1)), ("short", Some(0))] {
            match bad {
                None => fs::remove_file(file).unwrap(),
                Some(0) => fs::write(file, &bytes[..bytes.len() / 2]).unwrap(),
                Some(at) => {
                    let mut bad = bytes.clone();
                    bad[at] ^= 1;
                    fs::write(file, bad).unwrap();
                }
            }
            let mut engine = with_cache();
            let reply = engine.complete(request(&longer)).unwrap();
            assert_eq!(reply.tokens, right.tokens, "file {number}, {how}");
            cached.push(reply.usage.cached_tokens);
            let damaged = engine.stats().prompt_cache.damaged;
            drop(engine);
            if reply.usage.cached_tokens == 13 * 32 {
                // Nobody reads it.
                fs::write(file, &bytes).unwrap();
                continue;
            }
            assert_eq!(damaged, u64::from(how != "missing"), "file {number}, {how}");
            assert_eq!(fs::read(file).unwrap(), bytes, "file {number}, {how}: written again");
        }
    }
    // Without one of the first nine pages nothing is of use; without one of the other four or the states after them, the states
    // after nine are.
    let count = |tokens: usize| cached.iter().filter(|cached| **cached == tokens).count();
    assert_eq!([0, 9 * 32, 13 * 32].map(count), [3 * 9, 3 * 5, 3], "{cached:?}");
}

#[test]
fn a_limit_too_small_for_a_snapshot_is_refused() {
    let folder = TestFolder::new("small");
    let open = |bytes: u64| {
        let cache = PromptCache { bytes, ..folder.cache() };
        options().prompts(cache).open(Fixture::load(FIXTURES[0]).path)
    };
    let why = open(100_000).err().unwrap().to_string();
    let least = why.split("expected at least ").nth(1).and_then(|rest| rest.split(',').next());
    let least: u64 = least.unwrap().parse().unwrap();
    assert!(why.ends_with("the size of a page and a snapshot of this model"), "{why}");
    assert!(open(least - 1).is_err());
    let mut engine = open(least).unwrap();
    engine.complete(request(&prompt(1, 412))).unwrap();
    drop(engine);
    assert!(folder.cache().usage().unwrap().bytes <= least);
}
