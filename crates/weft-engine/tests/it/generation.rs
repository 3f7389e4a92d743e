//! Generations: the prefix cache, how replies end, running together, preemption and cancellation.

use weft_engine::inspect::Batch;
use weft_engine::{
    Engine, EngineOptions, Error, Event, Finish, Generation, LogitProcessor, Reply, Request, Sampling,
};
use weft_random::Random;

use crate::mechanisms::is_varied;
use crate::support::{Fixture, THREADS, fixtures};

fn options(context: usize) -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(context).batch(7)
}

fn engine(options: EngineOptions) -> (Engine, Vec<u32>) {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    (options.open(&fixture.path).unwrap(), fixture.tokens)
}

/// A greedy request that does not end with the turn.
fn greedy(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

fn ids(reply: &Reply) -> Vec<u32> {
    reply.tokens.iter().map(|token| token.id).collect()
}

/// The text, tokens and end of a generation, from its unread events.
fn drain(generation: &mut Generation) -> (String, Vec<u32>, Option<Finish>) {
    let (mut text, mut tokens) = (String::new(), Vec::new());
    while let Some(event) = generation.poll() {
        match event {
            Event::Text(more) => text += &more,
            Event::Token(token) => tokens.push(token.id),
            Event::Finished(finish) => return (text, tokens, Some(finish)),
            _ => {}
        }
    }
    (text, tokens, None)
}

#[test]
fn the_prefix_cache_changes_no_reply() {
    let (mut engine, prompt) = engine(options(128));
    let first = engine.complete(greedy(&prompt, 10)).unwrap();
    assert_eq!((first.usage.prompt_tokens, first.usage.cached_tokens, first.usage.tokens), (32, 0, 10));
    assert_eq!(first.finish, Finish::Length);
    let again = engine.complete(greedy(&prompt, 10)).unwrap();
    assert_eq!((again.usage.cached_tokens, &again.text, ids(&again)), (31, &first.text, ids(&first)));
    // Another end of the prompt: the common prefix counts token by token.
    let other: Vec<u32> = prompt[..20].iter().chain(&[5, 6, 7]).copied().collect();
    let branched = engine.complete(greedy(&other, 10)).unwrap();
    assert_eq!(branched.usage.cached_tokens, 20);
    // The next turn of a conversation: the reply is cached too, except for its last token.
    let turn: Vec<u32> = prompt.iter().copied().chain(ids(&first)).chain([9, 8]).collect();
    let next = engine.complete(greedy(&turn, 5)).unwrap();
    assert_eq!(next.usage.cached_tokens, 32 + 9);

    let (mut fresh, _) = self::engine(options(128));
    for (request, warm) in [(greedy(&other, 10), branched), (greedy(&turn, 5), next)] {
        let cold = fresh.complete(request.cache(false)).unwrap();
        assert_eq!((cold.usage.cached_tokens, cold.text, cold.tokens), (0, warm.text, warm.tokens));
    }
    assert_eq!(fresh.stats().pages_kept, 0, "nothing is kept without `cache`");
}

#[test]
fn prompts_share_pages_only_with_the_same_salt() {
    let (mut engine, prompt) = engine(options(128));
    let salted = |salt: &str| Request::new(prompt.as_slice()).max_tokens(1).salt(salt);
    let cached = [("", 0), ("a", 0), ("b", 0), ("a", 31), ("", 31)];
    for (salt, expected) in cached {
        let reply = engine.complete(salted(salt)).unwrap();
        assert_eq!(reply.usage.cached_tokens, expected, "salt `{salt}`");
    }
}

#[test]
fn a_stop_string_ends_the_reply_and_is_not_shown() {
    let (mut engine, prompt) = engine(options(128));
    let whole = engine.complete(greedy(&prompt, 20)).unwrap().text;
    let (at, _) = whole.char_indices().nth(whole.chars().count() / 2).unwrap();
    let end = whole[at..].char_indices().nth(3).map_or(whole.len(), |(i, _)| at + i);
    let stop = &whole[at..end];
    let cut = engine.complete(greedy(&prompt, 20).stop("never said").stop(stop)).unwrap();
    assert_eq!(cut.text, whole[..whole.find(stop).unwrap()]);
    assert_eq!(cut.finish, Finish::Stop(stop.into()));
}

#[test]
fn replies_end_with_the_context_or_before_they_begin() {
    let (mut engine, prompt) = engine(options(40));
    let full = engine.complete(greedy(&prompt, 1000)).unwrap();
    // The last token of the context still has a successor.
    assert_eq!((full.finish, full.tokens.len()), (Finish::Context, 40 - 32 + 1));
    let none = engine.complete(greedy(&prompt[..20], 0)).unwrap();
    assert_eq!((none.finish, none.tokens, none.usage.tokens), (Finish::Length, vec![], 0));
    assert_eq!(engine.stats().pages_held, 0);
}

#[test]
fn a_refused_request_does_not_disturb_others() {
    let (mut engine, prompt) = engine(options(40));
    let expected = engine.complete(greedy(&prompt, 4)).unwrap().text;
    let long: Vec<u32> = prompt.iter().chain(&prompt).copied().collect();
    let too_long = engine.push(greedy(&long, 4));
    assert!(matches!(too_long, Err(Error::Context { more: 64, context: 40, .. })));
    for wrong in [&[1, 2, 999_999, 3][..], &[]] {
        assert!(matches!(engine.push(greedy(wrong, 4)), Err(Error::Batch(_))), "{wrong:?}");
    }
    assert_eq!(engine.complete(greedy(&prompt, 4)).unwrap().text, expected);
}

/// A processor that forces one token, and checks what it is shown.
struct Always(u32);

impl LogitProcessor for Always {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        assert!(tokens[reply..].iter().all(|token| *token == self.0));
        logits
            .iter_mut()
            .enumerate()
            .filter(|(id, _)| *id as u32 != self.0)
            .for_each(|(_, l)| *l = f32::NEG_INFINITY);
        Ok(())
    }
}

#[test]
fn processors_do_not_change_log_probabilities() {
    let (mut engine, prompt) = engine(options(64));
    let free = engine.complete(greedy(&prompt, 1).logprobs(2)).unwrap();
    let [token] = free.tokens.as_slice() else { panic!("{free:?}") };
    let [first, second] = token.likeliest.as_slice() else { panic!("{token:?}") };
    assert_eq!((first.0, Some(first.1)), (token.id, token.logprob));
    assert!(first.1 > second.1 && first.1 < 0.0);

    let forced = engine.complete(greedy(&prompt, 3).logprobs(1).processor(Always(second.0))).unwrap();
    assert_eq!(ids(&forced), [second.0; 3]);
    assert_eq!(forced.tokens[0].logprob, Some(second.1));
    assert_eq!(forced.tokens[0].likeliest, [*first]);
}

#[test]
fn replies_do_not_depend_on_the_batch() {
    batched(is_varied);
}

#[test]
#[ignore = "slow"]
fn replies_of_other_fixtures_do_not_depend_on_the_batch() {
    batched(|name| !is_varied(name));
}

fn batched(chosen: fn(&str) -> bool) {
    for (name, _) in fixtures().iter().filter(|(name, _)| chosen(name)) {
        let mut fixture = Fixture::load(name);
        // Some have longer prompts.
        fixture.tokens.truncate(32);
        let open = |options: EngineOptions| options.open(&fixture.path).unwrap();
        // Some with a common prefix, some without; of various lengths; greedy and sampled.
        let requests: Vec<(Vec<u32>, usize, Sampling)> = (0..12)
            .map(|i: usize| {
                let prompt =
                    if i.is_multiple_of(3) { &fixture.tokens[i / 2..] } else { &fixture.tokens[..20 + i] };
                let sampling = Sampling::default().temperature((i % 2) as f32).seed(i as u64);
                (prompt.to_vec(), 6 + 3 * i, sampling)
            })
            .collect();
        let request = |(prompt, tokens, sampling): &(Vec<u32>, usize, Sampling), cache| {
            let request = Request::new(prompt.as_slice()).ignore_end(true).cache(cache);
            request.max_tokens(*tokens).sampling(*sampling)
        };
        let mut single = open(options(96));
        let alone: Vec<Vec<u32>> =
            requests.iter().map(|one| ids(&single.complete(request(one, false)).unwrap())).collect();
        // With room for one sequence of full length, generations preempt each other. So it is for fixtures that are not varied.
        let rooms = if is_varied(name) { &[(1, 7), (1, 64), (12, 16)][..] } else { &[(1, 7)] };
        for &(sequences, batch) in rooms {
            let mut engine = open(options(96).sequences(sequences).batch(batch));
            for warm in [false, true] {
                let mut all: Vec<Generation> =
                    requests.iter().map(|one| engine.push(request(one, true)).unwrap()).collect();
                while engine.step().unwrap() {}
                let found: Vec<Vec<u32>> = all.iter_mut().map(|one| drain(one).1).collect();
                assert!(found == alone, "{name}, {sequences} sequences, batches of {batch}, warm {warm}");
            }
            let stats = engine.stats();
            assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0));
            assert_eq!(stats.preempted > 0, sequences == 1, "{stats:?}");
        }
    }
}

/// Requests come and are dropped at random moments, in a small cache: finished replies are right, and no page leaks.
#[test]
fn cancellations_do_not_disturb_others() {
    let (mut engine, prompt) = engine(options(96).sequences(2).batch(24));
    let mut random = Random::new(11);
    let request = |i: usize| greedy(&prompt[i % 5..20 + i % 11], 1 + i % 17);
    let mut running: Vec<(usize, Generation, Vec<u32>)> = Vec::new();
    let mut finished = Vec::new();
    for i in 0..60 {
        running.push((i, engine.push(request(i)).unwrap(), Vec::new()));
        for _ in 0..random.below(4) {
            engine.step().unwrap();
        }
        if random.below(3) == 0 {
            drop(running.remove(random.below(running.len())));
        }
        running.retain_mut(|(i, one, tokens)| {
            let (_, more, finish) = drain(one);
            tokens.extend(more);
            if finish.is_some() {
                finished.push((*i, std::mem::take(tokens)));
            }
            finish.is_none()
        });
    }
    drop(running);
    assert!(!engine.step().unwrap());
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0));
    assert!(finished.len() > 20 && stats.preempted > 0, "{} finished, {stats:?}", finished.len());
    let (mut alone, _) = self::engine(options(96));
    for (i, tokens) in finished {
        assert_eq!(ids(&alone.complete(request(i)).unwrap()), tokens, "request {i}");
    }
}

#[test]
fn the_first_to_come_is_the_first_to_end() {
    let (mut engine, prompt) = engine(options(64).batch(16));
    let mut all: Vec<Generation> = (0..8).map(|_| engine.push(greedy(&prompt[8..], 30)).unwrap()).collect();
    let mut ended = Vec::new();
    while engine.step().unwrap() {
        let done = all.iter_mut().enumerate().filter_map(|(i, one)| drain(one).2.map(|_| i));
        ended.extend(done);
    }
    assert_eq!(ended, (0..8).collect::<Vec<_>>());
    assert!(engine.stats().preempted > 0);
}

#[test]
fn a_dropped_generation_frees_its_pages_in_the_same_step() {
    let (mut engine, prompt) = engine(options(64).sequences(2));
    let kept = engine.push(greedy(&prompt, 20)).unwrap();
    let mut dropped = engine.push(greedy(&prompt[1..], 20)).unwrap();
    while dropped.usage().tokens < 3 {
        assert!(engine.step().unwrap());
    }
    let held = engine.stats().pages_held;
    drop(dropped);
    assert!(engine.step().unwrap());
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting), (1, 0));
    assert!(stats.pages_held < held && stats.pages_held == kept_pages(&kept), "{held} held, then {stats:?}");

    // During its prompt, and before it has begun.
    let [prompting, queued] = [0, 1].map(|_| engine.push(greedy(&prompt[2..], 20)).unwrap());
    assert!(engine.step().unwrap());
    dropped = prompting;
    dropped.cancel();
    drop(queued);
    assert!(engine.step().unwrap());
    assert_eq!(drain(&mut dropped).2, Some(Finish::Cancelled));
    assert_eq!((engine.stats().running, engine.stats().waiting), (1, 0));
    drop(kept);
    assert!(!engine.step().unwrap(), "nothing is left to compute");
    assert_eq!(engine.stats().pages_held, 0);
}

/// The number of pages of a generation. Its last token is not in the cache.
fn kept_pages(one: &Generation) -> usize {
    (one.usage().prompt_tokens + one.usage().tokens - 1).div_ceil(32)
}

/// Sequences computed by hand keep their pages. A generation that finds none left fails and does not wait forever.
#[test]
fn a_generation_without_room_fails() {
    let (mut engine, prompt) = engine(options(64));
    let runner = engine.inspect_mut();
    let (seq, mut batch) = (runner.new_sequence(), Batch::new());
    for token in &prompt {
        batch.clear();
        batch.push(seq, *token, false);
        runner.step(&batch).unwrap();
    }
    let mut one = engine.push(greedy(&prompt, 9)).unwrap();
    let error = loop {
        match engine.step() {
            Ok(computed) => assert!(computed),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Pages { needed: 1, free: 0 }), "{error}");
    let (_, tokens, finish) = drain(&mut one);
    assert!(tokens.len() == 1 && matches!(finish, Some(Finish::Failed(_))), "{tokens:?} {finish:?}");
    assert!(!engine.step().unwrap());
    engine.inspect_mut().free(seq);
    assert_eq!(engine.complete(greedy(&prompt, 9)).unwrap().tokens.len(), 9);
}

#[test]
fn engines_and_generations_can_move_to_other_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Engine>();
    is_send::<Request>();
    is_send::<Generation>();
    is_sync::<Generation>();
}

#[test]
fn prompts_are_computed_in_chunks_without_an_extra_step() {
    let (mut engine, prompt) = engine(options(64));
    let mut one = engine.push(greedy(&prompt, 2)).unwrap();
    let mut done = Vec::new();
    let mut steps = 0;
    while engine.step().unwrap() {
        steps += 1;
        while let Some(event) = one.poll() {
            if let Event::Prompt { done: now, total: 32 } = event {
                done.push(now);
            }
        }
    }
    assert_eq!(done, [0, 7, 14, 21, 28, 32]);
    // Five chunks, the last with the first token's logits, and one more token.
    assert_eq!(steps, 5 + 1);
}

#[test]
fn later_requests_do_not_starve_an_earlier_one() {
    // One long prompt that needs all pages, after a reply; and short ones that begin alike, without end.
    let (mut engine, prefix) = engine(options(128).batch(16));
    let prompt = |more: u32, seed: u32| [prefix.as_slice(), &Vec::from_iter(seed..seed + more)].concat();
    let mut seed = 0;
    let mut short = |engine: &mut Engine| {
        seed = (seed + 1) % 15;
        engine.push(greedy(&prompt(4, 100 * seed), 20)).unwrap()
    };
    let mut others = vec![short(&mut engine)];
    for _ in 0..5 {
        engine.step().unwrap();
    }
    let long = engine.push(greedy(&prompt(58, 3), 2)).unwrap();
    for _ in 0..60 {
        others.resize_with(3, || short(&mut engine));
        engine.step().unwrap();
        others.retain(|other| other.finish().is_none());
    }
    assert_eq!(long.finish(), Some(Finish::Length));
}

#[test]
fn progress_of_a_prompt_never_goes_back() {
    let (mut engine, prompt) = engine(options(64).batch(2));
    let _first = engine.push(greedy(&prompt[..20], 30)).unwrap();
    let mut second = engine.push(Request::new(&prompt[..30]).cache(false).max_tokens(2)).unwrap();
    while engine.step().unwrap() {}
    assert!(engine.stats().preempted > 0);
    let events = std::iter::from_fn(|| second.poll());
    let done: Vec<usize> = events
        .filter_map(|event| if let Event::Prompt { done, .. } = event { Some(done) } else { None })
        .collect();
    assert!(done.is_sorted() && done.last() == Some(&30), "{done:?}");
}

#[test]
fn durations_are_measured_without_tokens() {
    let (mut engine, prompt) = engine(options(64));
    assert!(!engine.complete(greedy(&prompt, 0)).unwrap().timings.prompt.is_zero());
    let cancelled = engine.push(greedy(&prompt, 3)).unwrap();
    cancelled.cancel();
    engine.step().unwrap();
    assert!(!cancelled.timings().queued.is_zero());
}

#[test]
fn a_reply_goes_on_elsewhere_with_the_same_tokens() {
    let (mut engine, prompt) = engine(options(128));
    let sampled = |prompt: &[u32], tokens| {
        greedy(prompt, tokens).sampling(Sampling::default().temperature(1.5).seed(3))
    };
    let whole = ids(&engine.complete(sampled(&prompt, 12)).unwrap());
    let other = Sampling::default().temperature(1.5).seed(4);
    let different = engine.complete(greedy(&prompt, 12).sampling(other)).unwrap();
    assert_ne!(ids(&different), whole, "the seed counts");
    let moved = [&prompt[..], &whole[..5]].concat();
    assert_eq!(ids(&engine.complete(sampled(&moved, 7)).unwrap()), whole[5..]);
}
