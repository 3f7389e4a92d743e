//! Speculation changes no reply: every event is the same as without, whatever is guessed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use weft_engine::{
    Ask, Drafter, Engine, EngineOptions, Event, Finish, Generation, LogitProcessor, MOST_GUESSES, Request,
    Sampling, Speculate,
};
use weft_gguf::{Gguf, Metadata, Writer};
use weft_random::Random;

use crate::mechanisms::is_varied;
use crate::support::{Fixture, THREADS, fixtures};

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(96).batch(24)
}

/// How a drafter guesses that knows all replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guesses {
    /// Always right, and beyond the end of the reply.
    Right,
    /// Never right.
    Wrong,
    /// Right up to some token, wrong from then on; tokens outside the vocabulary; nothing.
    Mixed,
}

/// Knows all replies, and how many guesses it was asked for.
struct Knowing {
    texts: Arc<Mutex<Vec<Vec<u32>>>>,
    guesses: Guesses,
    random: Random,
    open: Arc<Mutex<BTreeMap<u64, usize>>>,
}

impl Drafter for Knowing {
    fn draft(&mut self, asks: &mut [Ask<'_>]) {
        let texts = self.texts.lock().unwrap();
        for ask in asks {
            *self.open.lock().unwrap().entry(ask.generation()).or_default() += 1;
            let len = ask.tokens().len();
            let text = texts.iter().find(|text| text.len() > len && text.starts_with(ask.tokens()));
            let next = text.map_or(&[][..], |text| &text[len..]);
            let right = next.iter().copied().chain([5, 6, 7]).take(MOST_GUESSES);
            match self.guesses {
                Guesses::Right => ask.guess(right),
                Guesses::Wrong => ask.guess(right.map(|token| token ^ 1)),
                Guesses::Mixed => {
                    let (at, what) = (self.random.below(8), self.random.below(4));
                    let wrong = |(i, token)| match what {
                        0 => token,
                        1 if i >= at => token ^ 1,
                        2 if i == at => u32::MAX,
                        _ => token,
                    };
                    ask.guess(right.enumerate().map(wrong).take(if what == 3 { at } else { MOST_GUESSES }));
                }
            }
        }
    }

    fn ended(&mut self, generation: u64) {
        self.open.lock().unwrap().remove(&generation);
    }
}

/// Forbids the last token, and checks that it is told of every token in order.
#[derive(Default)]
struct NoRepeats {
    told: Vec<u32>,
}

impl LogitProcessor for NoRepeats {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        if tokens[reply..] != self.told {
            return Err(format!("told {:?}, shown {:?}", self.told, &tokens[reply..]));
        }
        tokens.last().into_iter().for_each(|last| logits[*last as usize] = f32::NEG_INFINITY);
        Ok(())
    }

    fn chosen(&mut self, token: u32) {
        self.told.push(token);
    }
}

/// Allows one token at most places.
struct Fixed;

impl LogitProcessor for Fixed {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        let only = self.only(tokens, reply);
        let forbidden = |id: &usize| only.is_some_and(|only| only as usize != *id);
        (0..logits.len()).filter(forbidden).for_each(|id| logits[id] = f32::NEG_INFINITY);
        Ok(())
    }

    fn only(&mut self, tokens: &[u32], reply: usize) -> Option<u32> {
        let len = tokens.len() - reply;
        (!len.is_multiple_of(3)).then_some(40 + (len % 3) as u32)
    }
}

/// Requests of all kinds, some with a common beginning.
fn request(tokens: &[u32], i: usize, cache: bool) -> Request {
    let prompt = if i.is_multiple_of(3) { &tokens[i / 2..] } else { &tokens[..20 + i % 12] };
    let mut sampling = Sampling::default().temperature((i % 2) as f32).seed(i as u64);
    if i % 4 == 1 {
        (sampling.repeat_penalty, sampling.frequency_penalty, sampling.repeat_last_n) = (1.3, 0.2, 9);
    }
    let request = Request::new(prompt).ignore_end(!i.is_multiple_of(5)).cache(cache).max_tokens(5 + 4 * i);
    let request = request.sampling(sampling);
    match i {
        2 => request.min_tokens(6).stop_token(17),
        3 => request.logprobs(2),
        5 => request.processor(NoRepeats::default()),
        6 => request.processor(Fixed),
        7 => request.logit_bias(11, 2.0).logprobs(0),
        8 => request.prompt_logprobs(1),
        9 => request.processor(NoRepeats::default()).processor(Fixed).max_tokens(None),
        10 => request.max_tokens(None),
        11 => request.max_tokens(1),
        12 => request.max_tokens(0),
        _ => request,
    }
}

const REQUESTS: usize = 13;

/// The events of a generation but for its progress, and the tokens of its reply.
fn read(one: &mut Generation) -> (Vec<Event>, Vec<u32>) {
    let events = std::iter::from_fn(|| one.poll()).filter(|event| !matches!(event, Event::Prompt { .. }));
    // How text is cut into events is no part of the reply.
    let mut all: Vec<Event> = Vec::new();
    let mut tokens = Vec::new();
    for event in events {
        match (all.last_mut(), &event) {
            (Some(Event::Text(text)), Event::Text(more)) => *text += more,
            (_, Event::Token(token)) => {
                tokens.push(token.id);
                all.push(event);
            }
            _ => all.push(event),
        }
    }
    (all, tokens)
}

/// The events of all requests, each computed alone and without speculation, and their texts.
fn expected(fixture: &Fixture) -> (Vec<Vec<Event>>, Vec<Vec<u32>>) {
    let mut alone = options().open(&fixture.path).unwrap();
    let all = (0..REQUESTS).map(|i| {
        let mut one = alone.push(request(&fixture.tokens, i, false)).unwrap();
        while alone.step().unwrap() {}
        let prompt =
            if i.is_multiple_of(3) { &fixture.tokens[i / 2..] } else { &fixture.tokens[..20 + i % 12] };
        let (events, tokens) = read(&mut one);
        (events, [prompt, &tokens].concat())
    });
    all.unzip()
}

fn speculate(engine: &mut Engine, texts: &[Vec<u32>], guesses: Guesses) -> Arc<Mutex<BTreeMap<u64, usize>>> {
    let open = Arc::default();
    let texts = Arc::new(Mutex::new(texts.to_vec()));
    engine.speculate_by(Knowing { texts, guesses, random: Random::new(7), open: Arc::clone(&open) });
    open
}

#[test]
fn no_guess_changes_a_reply() {
    guessed(is_varied);
}

#[test]
#[ignore = "slow"]
fn no_guess_changes_a_reply_of_other_fixtures() {
    guessed(|name| !is_varied(name));
}

fn guessed(chosen: fn(&str) -> bool) {
    for (name, _) in fixtures().iter().filter(|(name, _)| chosen(name)) {
        let mut fixture = Fixture::load(name);
        // Some have longer prompts.
        fixture.tokens.truncate(32);
        let (expected, texts) = expected(&fixture);
        // With room for one sequence of full length, generations preempt each other.
        let all = name == "glm-tiny-q4_k_m";
        let rooms = if all { &[(12, 24), (1, 7), (1, 64)][..] } else { &[(12, 24)] };
        for &(sequences, batch) in rooms {
            let options = options().sequences(sequences).batch(batch).speculate(Speculate::Lookup);
            let mut engine = options.open(&fixture.path).unwrap();
            // A draft model takes a while.
            let drafts = all && batch != 64;
            for how in if all { 0..5 + usize::from(drafts) } else { 3..5 } {
                let open = match how {
                    0 => None,
                    1 => Some(speculate(&mut engine, &texts, Guesses::Right)),
                    2 => Some(speculate(&mut engine, &texts, Guesses::Wrong)),
                    3 => Some(speculate(&mut engine, &texts, Guesses::Mixed)),
                    4 => {
                        engine.speculate(&Speculate::Auto).unwrap();
                        None
                    }
                    _ => {
                        let draft = Sure::of(&Fixture::load("glm-tiny-q8_0"), "guesses");
                        engine.speculate(&Speculate::Model(draft.0.clone())).unwrap();
                        None
                    }
                };
                // First with an empty prefix cache, then with the one that speculation has left.
                for warm in [false, true] {
                    if !warm {
                        engine.forget_prefixes();
                    }
                    let push = |i| engine.push(request(&fixture.tokens, i, true)).unwrap();
                    let mut all: Vec<Generation> = (0..REQUESTS).map(push).collect();
                    while engine.step().unwrap() {}
                    for (i, (one, expected)) in all.iter_mut().zip(&expected).enumerate() {
                        let (found, _) = read(one);
                        assert_eq!(
                            found, *expected,
                            "{name}, {sequences}, {batch}, {how}, {warm}: request {i}"
                        );
                    }
                }
                let stats = engine.stats();
                let guessed = stats.speculation;
                assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0), "{name} {how}");
                assert_eq!(guessed.accepted, guessed.accepted_at.iter().sum::<u64>());
                let [all, right] = [0, 1].map(|i| guessed.by_source.iter().map(|by| by[i]).sum::<u64>());
                assert_eq!([all, right], [guessed.guessed, guessed.accepted]);
                match how {
                    1 => assert!(
                        guessed.accepted > 0 && 5 * guessed.accepted > 4 * guessed.guessed,
                        "{guessed:?}"
                    ),
                    2 => assert!(guessed.guessed > 0 && guessed.accepted == 0, "{guessed:?}"),
                    3 => assert!(guessed.accepted > 0 && guessed.accepted < guessed.guessed, "{guessed:?}"),
                    5 => assert!(guessed.guessed > 0, "{guessed:?}"),
                    _ => {}
                }
                assert!(
                    open.is_none_or(|open| open.lock().unwrap().is_empty()),
                    "a generation has not ended"
                );
            }
            assert_eq!(engine.stats().preempted > 0, sequences == 1, "{name}, {sequences}, {batch}");
        }
    }
}

#[test]
fn right_guesses_save_steps() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let mut engine = options().speculate(Speculate::Lookup).open(&fixture.path).unwrap();
    let request = || Request::new(&fixture.tokens[..20]).ignore_end(true).max_tokens(49).cache(false);
    let plain = engine.complete(request()).unwrap();
    let text =
        [&fixture.tokens[..20], &plain.tokens.iter().map(|token| token.id).collect::<Vec<_>>()].concat();
    speculate(&mut engine, &[text], Guesses::Right);
    let before = engine.stats();
    let fast = engine.complete(request()).unwrap();
    assert_eq!(fast.tokens, plain.tokens);
    let after = engine.stats();
    // The prompt with the first token, then three times a token and fifteen guesses.
    assert_eq!((after.steps - before.steps, after.generated - before.generated), (1 + 3, 49));
    assert_eq!((fast.usage.guessed, fast.usage.accepted, fast.usage.tokens), (45, 45, 49));
    assert_eq!(after.speculation.accepted_at, [3; MOST_GUESSES]);
}

#[test]
fn looking_up_finds_what_an_earlier_reply_said() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let mut engine = options().sequences(4).speculate(Speculate::Lookup).open(&fixture.path).unwrap();
    let request = |salt: &str| Request::new(&fixture.tokens[..20]).ignore_end(true).max_tokens(60).salt(salt);
    let first = engine.complete(request("")).unwrap();
    let before = engine.stats().steps;
    let again = engine.complete(request("")).unwrap();
    assert_eq!(first.tokens, again.tokens);
    assert!(engine.stats().steps - before < 10, "{} steps", engine.stats().steps - before);
    assert!(again.usage.accepted > 40, "{:?}", again.usage);
    // A request with another salt learns nothing of it, not even by time.
    let other = engine.complete(request("other")).unwrap();
    assert_eq!((other.tokens, other.usage.accepted), (first.tokens, first.usage.accepted));
}

/// The prefix cache is left as without speculation.
#[test]
fn wrong_guesses_are_not_in_the_prefix_cache() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let (_, texts) = expected(&fixture);
    let turn = |engine: &mut Engine, i: usize| {
        let first = engine.complete(request(&fixture.tokens, i, true)).unwrap();
        let kept = engine.stats().pages_kept;
        // The next turn of the conversation.
        let prompt: Vec<u32> = texts[i].iter().copied().chain([9, 8, 7]).take(90).collect();
        let next = Request::new(prompt).ignore_end(true).sampling(Sampling::greedy()).max_tokens(5);
        let next = engine.complete(next).unwrap();
        (first.tokens, kept, next.usage.cached_tokens, next.tokens)
    };
    for guesses in [Guesses::Right, Guesses::Wrong, Guesses::Mixed] {
        for i in [0, 1, 2, 4, 7, 9, 10] {
            let mut plain = options().open(&fixture.path).unwrap();
            let mut speculating = options().open(&fixture.path).unwrap();
            speculate(&mut speculating, &texts, guesses);
            assert_eq!(turn(&mut speculating, i), turn(&mut plain, i), "{guesses:?}, request {i}");
        }
    }
}

/// Requests come and are dropped at random moments, in a small cache: finished replies are right, and no page leaks.
#[test]
fn cancellations_leave_nothing() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let (expected, texts) = expected(&fixture);
    let mut engine = options().sequences(2).open(&fixture.path).unwrap();
    let open = speculate(&mut engine, &texts, Guesses::Mixed);
    let mut random = Random::new(11);
    let mut running: Vec<(usize, Generation)> = Vec::new();
    let mut finished = 0;
    for i in 0..80 {
        let i = i % REQUESTS;
        running.push((i, engine.push(request(&fixture.tokens, i, true)).unwrap()));
        for _ in 0..random.below(4) {
            engine.step().unwrap();
        }
        if random.below(3) == 0 {
            drop(running.remove(random.below(running.len())));
        }
        running.retain_mut(|(i, one)| {
            let ended = one.finish().is_some();
            if ended {
                assert_eq!(read(one).0, expected[*i], "request {i}");
                finished += 1;
            }
            !ended
        });
    }
    drop(running);
    while engine.step().unwrap() {}
    let stats = engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.pages_held), (0, 0, 0));
    assert!(finished > 20 && stats.preempted > 0 && stats.speculation.accepted > 0, "{finished} {stats:?}");
    assert!(open.lock().unwrap().is_empty());
}

/// A stop string may begin in one accepted token and end in another.
#[test]
fn stops_end_replies_within_a_guess() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let mut engine = options().open(&fixture.path).unwrap();
    let request =
        || Request::new(&fixture.tokens[..20]).ignore_end(true).max_tokens(40).sampling(Sampling::greedy());
    let whole = engine.complete(request()).unwrap();
    let ids: Vec<u32> = whole.tokens.iter().map(|token| token.id).collect();
    let texts = [[&fixture.tokens[..20], &ids].concat()];
    for from in whole.text.char_indices().map(|(at, _)| at).step_by(7) {
        let stop: String = whole.text[from..].chars().take(5).collect();
        speculate(&mut engine, &texts, Guesses::Right);
        let fast = engine.complete(request().stop(stop.as_str())).unwrap();
        engine.speculate(&Speculate::Off).unwrap();
        let plain = engine.complete(request().stop(stop.as_str())).unwrap();
        assert_eq!((&fast.text, &fast.tokens, &fast.finish), (&plain.text, &plain.tokens, &plain.finish));
        assert_eq!(fast.finish, Finish::Stop(stop));
    }
    for token in [ids[0], ids[7], ids[20]] {
        speculate(&mut engine, &texts, Guesses::Right);
        let fast = engine.complete(request().stop_token(token)).unwrap();
        assert_eq!(fast.finish, Finish::StopToken(token));
        let end = ids.iter().position(|id| *id == token).unwrap();
        assert_eq!(fast.usage.tokens, end + 1);
    }
}

/// A copy of a model whose logits are 30 times as large, so that it is sure of its likeliest tokens; removed when dropped. (The
/// fixtures have random weights, and are sure of nothing.)
struct Sure(PathBuf);

impl Sure {
    fn of(fixture: &Fixture, test: &str) -> Sure {
        let path = std::env::temp_dir().join(format!("weft-draft-{test}-{}.gguf", std::process::id()));
        let model = Gguf::open(&fixture.path).unwrap();
        let mut metadata = Metadata::new();
        model.metadata().iter().for_each(|(key, value)| drop(metadata.insert(key, value.clone())));
        let mut writer = Writer::new(metadata).unwrap();
        model.tensors().iter().for_each(|t| writer.declare(&t.name, t.ty, &t.shape).unwrap());
        let mut data = writer.create(&path).unwrap();
        for tensor in model.tensors() {
            let bytes = model.data(tensor);
            if tensor.name == "output_norm.weight" {
                let values = bytes.as_chunks().0.iter().map(|x| 30.0 * f32::from_le_bytes(*x));
                let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
                data.write(&tensor.name, &bytes).unwrap();
            } else {
                data.write(&tensor.name, bytes).unwrap();
            }
        }
        data.finish().unwrap();
        Sure(path)
    }
}

impl Drop for Sure {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A model that drafts for itself is right about every greedy token.
#[test]
fn a_model_drafts_for_itself() {
    let fixture = Fixture::load("glm-tiny-q4_0");
    let draft = Sure::of(&fixture, "itself");
    let replies = |speculate: Speculate, sequences: usize| {
        let mut engine = options().sequences(sequences).speculate(speculate).open(&fixture.path).unwrap();
        let push = |i: usize| {
            let request = Request::new(&fixture.tokens[i..20 + 4 * i]).ignore_end(true).max_tokens(30);
            engine.push(request.sampling(Sampling::default().temperature(0.0))).unwrap()
        };
        let mut all: Vec<Generation> = (0..4).map(push).collect();
        while engine.step().unwrap() {}
        let replies: Vec<_> = all.iter_mut().map(|one| read(one).1).collect();
        (replies, engine.stats().speculation)
    };
    let (expected, none) = replies(Speculate::Off, 4);
    assert_eq!(none.guessed, 0);
    // With room for one sequence, most replies are not guessed.
    for sequences in [4, 1] {
        let (found, stats) = replies(Speculate::Model(draft.0.clone()), sequences);
        assert_eq!(found, expected, "{sequences}");
        assert!(stats.guessed > 0 && stats.accepted == stats.guessed, "{sequences}: {stats:?}");
        assert_eq!(stats.by_source[3], [stats.guessed; 2]);
    }
}

#[test]
fn a_draft_model_that_cannot_go_back_is_refused() {
    let hybrid = Fixture::load("qwen35-tiny-q4_k_m").path;
    let error =
        options().speculate(Speculate::Model(hybrid.clone())).open(&hybrid).err().unwrap().to_string();
    assert!(error.contains("has states of whole sequences") && error.contains("`lookup`"), "{error}");
}

#[test]
fn a_draft_model_of_another_vocabulary_is_refused() {
    let [glm, llama] = ["glm-tiny-q4_0", "llama-tiny-q6_k"].map(|name| Fixture::load(name).path);
    let error = options().speculate(Speculate::Model(llama)).open(&glm).err().unwrap().to_string();
    assert!(error.contains("has another vocabulary than the model: expected"), "{error}");
    assert!(error.contains("llama-tiny-q6_k.gguf"), "{error}");
    let mut engine = options().open(&glm).unwrap();
    let error = engine.speculate(&Speculate::Model("none.gguf".into())).unwrap_err().to_string();
    assert!(error.contains("none.gguf"), "{error}");
}
