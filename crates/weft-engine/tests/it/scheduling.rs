//! The contents of steps: prompts together with replies, prompts that begin alike, and the counts of an engine.

use weft_engine::{CacheEvent, Engine, EngineOptions, Error, Event, Generation, Request, Sampling, Stats};

use crate::support::{Fixture, THREADS};

fn engine(set: impl FnOnce(EngineOptions) -> EngineOptions) -> Engine {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let options = EngineOptions::default().threads(THREADS).context(160).sequences(8).batch(64);
    set(options).open(&fixture.path).unwrap()
}

fn request(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

/// A prompt of `len` tokens, the same for each `seed` up to its last one.
fn prompt(seed: u32, len: u32, last: u32) -> Vec<u32> {
    (0..len - 1).map(|i| (7 * i + seed) % 1000).chain([last]).collect()
}

/// The unread tokens of a generation, and how far its prompt is.
fn read(one: &mut Generation) -> (Vec<u32>, Option<usize>) {
    let (mut tokens, mut prompt) = (Vec::new(), None);
    while let Some(event) = one.poll() {
        match event {
            Event::Token(token) => tokens.push(token.id),
            Event::Prompt { done, .. } => prompt = Some(done),
            _ => {}
        }
    }
    (tokens, prompt)
}

/// Runs all to their ends, and checks that each reply is the same as alone, without the prefix cache.
fn finish(engine: &mut Engine, all: Vec<(Generation, Vec<u32>, usize)>) {
    while engine.step().unwrap() {}
    let mut alone = self::engine(|options| options.sequences(1));
    for (mut one, prompt, tokens) in all {
        let expected = alone.complete(request(&prompt, tokens).cache(false)).unwrap();
        let expected: Vec<u32> = expected.tokens.iter().map(|token| token.id).collect();
        assert_eq!(read(&mut one).0, expected);
    }
    let Stats { running, waiting, pages_held, .. } = engine.stats();
    assert_eq!((running, waiting, pages_held), (0, 0, 0));
}

#[test]
fn prompts_that_begin_together_compute_their_common_pages_once() {
    let mut engine = engine(|options| options);
    let all: Vec<_> = (0..4)
        .map(|i| {
            let prompt = prompt(1, 110, 900 + i);
            (engine.push(request(&prompt, 3)).unwrap(), prompt, 3)
        })
        .collect();
    for _ in 0..3 {
        engine.step().unwrap();
    }
    assert_eq!(engine.stats().computed, 110 + 3 * (110 - 96) + 1, "two chunks, then the rest of all");
    while engine.step().unwrap() {}
    let cached: Vec<usize> = all.iter().map(|(one, ..)| one.usage().cached_tokens).collect();
    assert_eq!(cached, [0, 96, 96, 96]);
    let Stats { steps, computed, generated, prefix_queries, prefix_hits, preempted, .. } = engine.stats();
    assert_eq!((prefix_queries, prefix_hits), (4 * 110, 3 * 96));
    assert_eq!((generated, preempted), (4 * 3, 0));
    // The last token of a reply is not computed.
    assert_eq!((computed, steps), (110 + 3 * (110 - 96) + 4 * 2, 5));
    finish(&mut engine, all);
}

#[test]
fn requests_wait_only_for_pages_that_they_can_use() {
    let mut engine = engine(|options| options.batch(160));
    // The second shares a page with the first. Others share nothing, less than a page, or may not share.
    let prompts = [prompt(1, 70, 1), prompt(1, 40, 2), prompt(2, 30, 1), prompt(1, 20, 3)];
    let mut all: Vec<_> =
        prompts.iter().map(|prompt| (engine.push(request(prompt, 2)).unwrap(), prompt.clone(), 2)).collect();
    for other in [request(&prompts[0], 2).salt("b"), request(&prompts[0], 2).cache(false)] {
        all.push((engine.push(other.max_tokens(2)).unwrap(), prompts[0].clone(), 2));
    }
    engine.step().unwrap();
    let tokens: Vec<usize> = all.iter().map(|(one, ..)| one.usage().tokens).collect();
    // 160 tokens are the prompts of 30 and 20, which wait a step for the others, and half of those of 70.
    assert_eq!((tokens, engine.stats().waiting), (vec![0; 6], 1));
    engine.step().unwrap();
    assert!(all.iter().all(|(one, ..)| one.usage().tokens == 1));
    assert_eq!((all[1].0.usage().tokens, all[1].0.usage().cached_tokens), (1, 32));
    finish(&mut engine, all);
}

#[test]
fn a_request_goes_on_by_itself_if_the_other_ends() {
    let mut engine = engine(|options| options.batch(40));
    let [first, second, third] = [1, 2, 3].map(|last| prompt(1, 150, last));
    let cancelled = engine.push(request(&first, 2)).unwrap();
    let mut all: Vec<_> = [second, third]
        .map(|prompt| (engine.push(request(&prompt, 2)).unwrap(), prompt, 2))
        .into_iter()
        .collect();
    engine.step().unwrap();
    assert_eq!((engine.stats().running, engine.stats().waiting), (1, 2));
    drop(cancelled);
    engine.step().unwrap();
    // The second has one full page and eight rows of the first one's next page, and the third waits for the second.
    assert_eq!((engine.stats().running, engine.stats().waiting), (1, 1));
    assert_eq!(read(&mut all[0].0).1, Some(80));
    while engine.step().unwrap() {}
    let cached: Vec<usize> = all.iter().map(|(one, ..)| one.usage().cached_tokens).collect();
    assert_eq!(cached, [40, 128]);
    assert_eq!(engine.stats().computed, 40 + 110 + (150 - 128) + 2);
}

/// With room for hardly more than one sequence, generations that wait for each other's pages preempt each other as well.
#[test]
fn requests_that_begin_alike_all_end_in_a_small_cache() {
    let mut engine = engine(|options| options.sequences(1).batch(24));
    let all: Vec<_> = (0..12)
        .map(|i: u32| {
            let (prompt, tokens) = (prompt(i % 3, 40 + 9 * (i % 5), i), 3 + (11 * i as usize) % 40);
            (engine.push(request(&prompt, tokens)).unwrap(), prompt, tokens)
        })
        .collect();
    finish(&mut engine, all);
    assert!(engine.stats().preempted > 0);
}

#[test]
fn prompts_that_come_together_are_done_together() {
    let mut engine = engine(|options| options);
    let mut all: Vec<_> = (0..5)
        .map(|i| {
            let prompt = prompt(i, 100, 1);
            (engine.push(request(&prompt, 3)).unwrap(), prompt, 3)
        })
        .collect();
    // One that is done sooner leaves the rest of its share to the others.
    let short = prompt(9, 10, 1);
    all.push((engine.push(request(&short, 1)).unwrap(), short, 1));
    for _ in 0..500 / 64 {
        engine.step().unwrap();
        assert!(all[..5].iter().all(|(one, ..)| one.usage().tokens == 0));
    }
    assert_eq!(all[5].0.usage().tokens, 1);
    engine.step().unwrap();
    assert!(all[..5].iter().all(|(one, ..)| one.usage().tokens == 1));
    finish(&mut engine, all);
}

#[test]
fn beside_replies_a_short_prompt_does_not_wait_for_a_long_one() {
    let mut engine = engine(|options| options.chunk(32));
    let first = prompt(5, 8, 1);
    let mut all = vec![(engine.push(request(&first, 40)).unwrap(), first, 40)];
    engine.step().unwrap();
    for (seed, len) in [(1, 150), (2, 120), (3, 16)] {
        let prompt = prompt(seed, len, 1);
        all.push((engine.push(request(&prompt, 2)).unwrap(), prompt, 2));
    }
    engine.step().unwrap();
    // Half of the chunk is the oldest prompt's.
    assert_eq!([1, 2].map(|i: usize| read(&mut all[i].0).1), [Some(16), Some(0)]);
    assert_eq!(all[3].0.usage().tokens, 1);
    finish(&mut engine, all);
}

/// Prompts that share a step hold pages for longer. They begin only if there is room for all of them, so that none is
/// computed twice.
#[test]
fn prompts_share_steps_as_far_as_there_is_room() {
    let mut engine = engine(|options| options.sequences(2));
    let all: Vec<_> = (0..7)
        .map(|i| {
            let prompt = prompt(i, 90, 1);
            (engine.push(request(&prompt, 3)).unwrap(), prompt, 3)
        })
        .collect();
    engine.step().unwrap();
    // Each needs three of ten pages.
    assert_eq!((engine.stats().running, engine.stats().waiting), (3, 4));
    while engine.step().unwrap() {}
    let Stats { computed, preempted, .. } = engine.stats();
    assert_eq!((computed, preempted), (7 * (90 + 2), 0));
    finish(&mut engine, all);
}

#[test]
fn a_step_with_replies_takes_a_chunk_of_prompts() {
    let mut engine = engine(|options| options.chunk(10));
    let short = prompt(5, 8, 1);
    let replying = engine.push(request(&short, 60)).unwrap();
    engine.step().unwrap();
    let mut prompting = engine.push(request(&prompt(1, 100, 1), 2)).unwrap();
    let other = engine.push(request(&prompt(2, 15, 1), 2)).unwrap();
    let mut done = Vec::new();
    while other.usage().tokens == 0 {
        let before = replying.usage().tokens;
        engine.step().unwrap();
        assert_eq!(replying.usage().tokens, before + 1, "the reply goes on");
        done.extend(read(&mut prompting).1);
    }
    // Tokens of the last chunk that the first prompt leaves go to the next prompt.
    assert_eq!(done, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    drop(replying);
    while engine.step().unwrap() {}
    assert_eq!((prompting.usage().tokens, other.usage().tokens), (2, 2));
    // Without replies, prompts get the whole batch.
    let mut alone = engine.push(request(&prompt(3, 100, 1), 1)).unwrap();
    engine.step().unwrap();
    assert_eq!(read(&mut alone).1, Some(64));
    let Err(Error::Option(why)) =
        EngineOptions::default().chunk(0).open(Fixture::load("glm-tiny-q4_k_m").path)
    else {
        panic!("a chunk of 0 tokens")
    };
    assert!(why.contains("at least 1"), "{why}");
}

#[test]
fn forgotten_prefixes_are_computed_again() {
    let mut engine = engine(|options| options);
    let prompt = prompt(1, 100, 1);
    let cached = |engine: &mut Engine| engine.complete(request(&prompt, 1)).unwrap().usage.cached_tokens;
    assert_eq!((cached(&mut engine), cached(&mut engine)), (0, 96));
    assert!(engine.stats().pages_kept > 0);
    engine.forget_prefixes();
    assert_eq!(engine.stats().pages_kept, 0);
    assert_eq!((cached(&mut engine), cached(&mut engine)), (0, 96));
    // Requests without the cache are not counted.
    let before = engine.stats();
    engine.complete(request(&prompt, 1).cache(false)).unwrap();
    assert_eq!(engine.stats().prefix_queries, before.prefix_queries);
}

#[test]
fn the_prefix_cache_reports_what_it_holds() {
    // Room for 5 pages of 32 tokens.
    let mut engine = engine(|options| options.sequences(1));
    engine.watch_cache();
    let tokens = |seed| prompt(seed, 70, 5);
    let stored = |events: Vec<CacheEvent>| -> Vec<(u64, Option<u64>, Vec<u32>)> {
        let stored = events.into_iter().map(|event| match event {
            CacheEvent::Stored { page, before, tokens } => (page, before, tokens.into()),
            other => panic!("{other:?}"),
        });
        stored.collect()
    };
    engine.complete(request(&tokens(1), 1)).unwrap();
    let found = stored(engine.cache_events());
    let [(first, None, one), (second, Some(before), two)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((before, [&one[..], two].concat()), (first, tokens(1)[..64].to_vec()));
    // Pages that are found are not stored again, and private pages are not reported.
    engine.complete(request(&tokens(1), 1)).unwrap();
    engine.complete(request(&tokens(2), 1).salt("another")).unwrap();
    let salted = engine.cache_events();
    assert!(salted.iter().all(|event| matches!(event, CacheEvent::Removed { .. })), "{salted:?}");
    // Two more prompts need the pages of the first.
    let others = [3, 4].map(|seed| engine.complete(request(&tokens(seed), 1)).map(|_| engine.cache_events()));
    let others = others.into_iter().flat_map(Result::unwrap).collect::<Vec<_>>();
    let removed = salted.iter().chain(&others).filter_map(|event| match event {
        CacheEvent::Removed { page } => Some(*page),
        _ => None,
    });
    let removed: Vec<u64> = removed.collect();
    assert!(removed.contains(first) && removed.contains(second), "{others:?}");
    engine.forget_prefixes();
    assert_eq!(engine.cache_events(), [CacheEvent::Cleared]);
}
