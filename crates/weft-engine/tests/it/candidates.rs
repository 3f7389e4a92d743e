//! Devices that choose the likeliest tokens: replies are those that all logits give.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_check::Emulator;
use weft_cpu::{CpuDevice, CpuOptions};
use weft_device::{BufferId, Caps, Device, DeviceError, Forward};
use weft_engine::{
    Engine, EngineOptions, Event, FailureKind, Finish, Generation, LogitProcessor, Mode, Model, Reply,
    Request, Sampling, Speculate, Switches, decision,
};
use weft_quant::GgmlType;

use crate::packed_models::Folder;
use crate::support::{Fixture, THREADS, with_metadata};

/// The CPU as a distant device, which counts the bytes that are read.
struct Distant {
    cpu: CpuDevice,
    caps: Caps,
    read: Arc<AtomicUsize>,
}

impl Distant {
    fn new(read: &Arc<AtomicUsize>) -> Distant {
        let cpu = CpuDevice::new(CpuOptions { threads: Some(2), ..CpuOptions::default() }).unwrap();
        let mut caps = cpu.caps().clone();
        caps.hardware.distant = true;
        Distant { cpu, caps, read: Arc::clone(read) }
    }
}

impl Forward for Distant {
    fn inner(&self) -> &dyn Device {
        &self.cpu
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        &mut self.cpu
    }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn read(&self, buffer: BufferId, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.read.fetch_add(out.len(), Ordering::Relaxed);
        self.cpu.read(buffer, offset, out)
    }
}

fn options() -> EngineOptions {
    EngineOptions::default().threads(THREADS).context(128).sequences(8).batch(40)
}

/// An engine on a distant device, and one on a near one.
fn engines(fixture: &Fixture, options: &EngineOptions, read: &Arc<AtomicUsize>) -> [Engine; 2] {
    let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
    let distant = Engine::new(model, Box::new(Distant::new(read)), options).unwrap();
    [distant, options.open(&fixture.path).unwrap()]
}

/// Runs requests together.
fn replies(engine: &mut Engine, requests: Vec<Request>) -> Vec<(Vec<u32>, String)> {
    let mut all: Vec<Generation> = requests.into_iter().map(|one| engine.push(one).unwrap()).collect();
    while engine.step().unwrap() {}
    let events = |one: &mut Generation| {
        let (mut tokens, mut rest) = (Vec::new(), String::new());
        while let Some(event) = one.poll() {
            match event {
                Event::Token(token) => tokens.push(token.id),
                Event::Prompt { .. } => {}
                other => rest += &format!("{other:?} "),
            }
        }
        (tokens, rest)
    };
    all.iter_mut().map(events).collect()
}

fn sampling(seed: u64, change: impl FnOnce(&mut Sampling)) -> Sampling {
    let mut sampling = Sampling::default().seed(seed);
    change(&mut sampling);
    sampling
}

/// Allows every second token, or a single token, which it announces.
struct Allows {
    only: bool,
}

impl LogitProcessor for Allows {
    fn process(&mut self, tokens: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
        let only = tokens.len() * 7 % logits.len();
        let allowed = |id: usize| if self.only { id == only } else { id.is_multiple_of(2) };
        logits
            .iter_mut()
            .enumerate()
            .filter(|(id, _)| !allowed(*id))
            .for_each(|(_, l)| *l = f32::NEG_INFINITY);
        Ok(())
    }

    fn only(&mut self, tokens: &[u32], _: usize) -> Option<u32> {
        self.only.then_some(tokens.len() as u32 * 7 % 2048)
    }
}

#[test]
fn every_way_to_choose_gives_the_same_reply() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let read = Arc::new(AtomicUsize::new(0));
    let [mut distant, mut near] = engines(&fixture, &options(), &read);
    let flat = |s: &mut Sampling| (s.top_k, s.top_p, s.min_p, s.temperature) = (0, 1.0, 0.0, 2.0);
    let peaked = |s: &mut Sampling| (s.top_k, s.top_p, s.temperature) = (0, 0.2, 0.3);
    let dry =
        |s: &mut Sampling| (s.dry_multiplier, s.dry_allowed_length, s.dry_last_n) = (2.0, 1, usize::MAX);
    let typical = |s: &mut Sampling| (s.typical_p, s.xtc_probability, s.xtc_threshold) = (0.7, 0.5, 0.02);
    let dynamic = |s: &mut Sampling| (s.top_k, s.dynatemp_range, s.temperature) = (50, 0.9, 1.0);
    let ways: [&dyn Fn(Request) -> Request; 18] = [
        &|request| request.sampling(Sampling::greedy()),
        &|request| request,
        &|request| request.sampling(sampling(1, flat)),
        &|request| request.sampling(sampling(2, peaked)),
        &|request| request.sampling(sampling(3, |s| s.repeat_penalty = 1.3)),
        &|request| request.sampling(sampling(5, |s| (s.presence_penalty, s.frequency_penalty) = (0.5, 0.1))),
        &|request| request.sampling(sampling(6, |s| (s.repeat_penalty, s.presence_penalty) = (0.7, -0.2))),
        &|request| request.sampling(sampling(7, dry)),
        &|request| request.sampling(sampling(8, typical)),
        &|request| request.sampling(sampling(9, dynamic)),
        &|request| request.sampling(sampling(10, |s| s.top_n_sigma = 1.5)),
        &|request| request.sampling(sampling(11, |s| s.mirostat = true)),
        &|request| request.sampling(sampling(12, |s| s.mirostat = true)).processor(Allows { only: true }),
        &|request| {
            request.sampling(sampling(13, |s| {
                [&dry as &dyn Fn(&mut Sampling), &typical, &dynamic].iter().for_each(|set| set(s))
            }))
        },
        &|request| request.logprobs(3),
        &|request| request.logit_bias(7, 3.0),
        &|request| request.processor(Allows { only: false }),
        &|request| request.sampling(sampling(4, flat)).processor(Allows { only: true }),
    ];
    let requests = || -> Vec<Request> {
        let request = |(i, way): (usize, &&dyn Fn(Request) -> Request)| {
            let at = i % 10;
            let prompt = &fixture.tokens[at..fixture.tokens.len() - 2 * at];
            way(Request::new(prompt).ignore_end(true).max_tokens(20))
        };
        ways.iter().enumerate().map(request).collect()
    };
    let expected = replies(&mut near, requests());
    assert!(expected.iter().all(|(tokens, _)| tokens.len() == 20), "{expected:?}");
    // One after another, and all together.
    for (request, expected) in requests().into_iter().zip(&expected) {
        assert_eq!(&replies(&mut distant, vec![request])[0], expected);
    }
    assert_eq!(replies(&mut distant, requests()), expected);
}

#[test]
fn logits_are_read_where_candidates_are_not_enough() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let read = Arc::new(AtomicUsize::new(0));
    let [mut distant, _] = engines(&fixture, &options(), &read);
    let mut bytes = |request: Request| -> usize {
        let before = read.load(Ordering::Relaxed);
        let Reply { tokens, .. } =
            distant.complete(request.cache(false).ignore_end(true).max_tokens(16)).unwrap();
        assert_eq!(tokens.len(), 16);
        read.load(Ordering::Relaxed) - before
    };
    let prompt = &fixture.tokens[..9];
    let (candidates, logits) = (64 * 8, fixture.vocab * 4);
    assert_eq!(bytes(Request::new(prompt).sampling(Sampling::greedy())), 16 * candidates);
    assert_eq!(bytes(Request::new(prompt)), 16 * candidates);
    let penalised = sampling(0, |s| s.repeat_penalty = 1.1);
    assert_eq!(bytes(Request::new(prompt).sampling(penalised)), 16 * candidates);
    assert_eq!(bytes(Request::new(prompt).processor(Allows { only: true })), 16 * candidates);
    let several = |s: &mut Sampling| {
        (s.dry_multiplier, s.typical_p, s.xtc_probability, s.dynatemp_range) = (1.0, 0.9, 0.5, 0.3)
    };
    assert_eq!(bytes(Request::new(prompt).sampling(sampling(0, several))), 16 * candidates);
    for all in [|s: &mut Sampling| s.mirostat = true, |s: &mut Sampling| s.top_n_sigma = 1.0] {
        assert_eq!(bytes(Request::new(prompt).sampling(sampling(0, all))), 16 * logits);
    }
    assert_eq!(bytes(Request::new(prompt).processor(Allows { only: false })), 16 * logits);
    assert_eq!(bytes(Request::new(prompt).logprobs(0)), 16 * logits);
    // A flat distribution, which candidates do not decide: they are read twice in 16 tokens, without success.
    let flat = sampling(0, |s| (s.top_k, s.top_p, s.min_p, s.temperature) = (0, 1.0, 0.0, 100.0));
    assert_eq!(bytes(Request::new(prompt).sampling(flat)), 16 * logits + 2 * candidates);
}

/// Tokens that a file forbids are in no reply, however its tokens are chosen, and candidates still decide.
#[test]
fn suppressed_tokens_are_in_no_reply() {
    let mut fixture = Fixture::load("glm-tiny-q4_k_m");
    let prompt = fixture.tokens[..9].to_vec();
    let request = || Request::new(prompt.as_slice()).cache(false).ignore_end(true).max_tokens(16);
    let ways: [&dyn Fn(Request) -> Request; 6] = [
        &|request| request.sampling(Sampling::greedy()),
        &|request| request,
        &|request| request.sampling(sampling(3, |s| s.repeat_penalty = 1.3)),
        &|request| request.sampling(sampling(4, |s| s.mirostat = true)),
        &|request| request.sampling(Sampling::greedy()).logprobs(1),
        &|request| request.processor(Allows { only: false }),
    ];
    let requests = || -> Vec<Request> { ways.iter().map(|way| way(request())).collect() };
    let mut usual = options().open(&fixture.path).unwrap();
    let mut usual = replies(&mut usual, requests());
    let chosen: BTreeSet<u32> = usual.drain(..).flat_map(|(tokens, _)| tokens).collect();

    let folder = Folder::new("suppressed");
    let path = folder.0.join("model.gguf");
    // Ids outside the vocabulary mean nothing.
    let mut ids: Vec<i32> = chosen.iter().map(|id| *id as i32).chain([-5, 1 << 30]).collect();
    ids.reverse();
    with_metadata(&fixture.path, &path, |metadata| {
        drop(metadata.insert("tokenizer.ggml.suppress_tokens", ids));
    });
    fixture.path = path;
    let read = Arc::new(AtomicUsize::new(0));
    let [mut distant, mut near] = engines(&fixture, &options(), &read);
    let expected = replies(&mut near, requests());
    for (tokens, _) in &expected {
        assert_eq!(tokens.len(), 16);
        assert!(tokens.iter().all(|token| !chosen.contains(token)), "{tokens:?} of {chosen:?}");
    }
    for (request, expected) in requests().into_iter().zip(&expected) {
        assert_eq!(&replies(&mut distant, vec![request])[0], expected);
    }
    let before = read.load(Ordering::Relaxed);
    distant.complete(request().sampling(Sampling::greedy())).unwrap();
    assert_eq!(read.load(Ordering::Relaxed) - before, 16 * 64 * 8);
    // Guesses are checked in the same way.
    near.speculate(&Speculate::Lookup).unwrap();
    assert_eq!(replies(&mut near, requests()), expected);
    // A grammar that allows nothing else ends the reply with an error.
    let only = chosen.first().copied();
    for engine in [&mut distant, &mut near] {
        let reply = engine.complete(request().processor(Forces(only))).unwrap();
        let is_refused =
            matches!(&reply.finish, Finish::Failed(why) if why.kind == FailureKind::NothingAllowed);
        assert!(is_refused, "{:?} {:?}", reply.finish, reply.tokens);
    }
}

/// Allows a single token, which it announces.
struct Forces(Option<u32>);

impl LogitProcessor for Forces {
    fn process(&mut self, _: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
        let others = (0u32..).zip(logits).filter(|(id, _)| Some(*id) != self.0);
        others.for_each(|(_, logit)| *logit = f32::NEG_INFINITY);
        Ok(())
    }

    fn only(&mut self, _: &[u32], _: usize) -> Option<u32> {
        self.0
    }
}

#[test]
fn the_decision_can_be_switched_off() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let mut switches = Switches::default();
    switches.set(decision("head.candidates").unwrap(), Mode::Off);
    let read = Arc::new(AtomicUsize::new(0));
    let [mut distant, _] = engines(&fixture, &options().switches(switches), &read);
    let request = Request::new(&fixture.tokens[..9]).sampling(Sampling::greedy()).ignore_end(true);
    distant.complete(request.max_tokens(4)).unwrap();
    assert_eq!(read.load(Ordering::Relaxed), 4 * fixture.vocab * 4);
}

/// CUDA texts choose what the host chooses from their logits.
#[test]
fn cuda_texts_choose_the_same() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
    let fixture = Fixture::load("qwen3moe-tiny-q4_k_m");
    let open = |mode: Mode| {
        let emulator = Emulator::for_test("candidates", &folder)?;
        let model = Model::open(&fixture.path, GgmlType::F16).unwrap();
        let mut switches = Switches::default();
        switches.set(decision("head.candidates").unwrap(), mode);
        Some(Engine::new(model, Box::new(emulator), &options().switches(switches)).unwrap())
    };
    let [Some(mut on), Some(mut off)] = [Mode::On, Mode::Off].map(open) else { return };
    let requests = || -> Vec<Request> {
        let peaked = |s: &mut Sampling| (s.top_k, s.top_p, s.temperature) = (0, 0.3, 0.5);
        [Sampling::greedy(), Sampling::default(), sampling(3, peaked)]
            .into_iter()
            .zip(5..)
            .map(|(sampling, len)| {
                Request::new(&fixture.tokens[..len]).ignore_end(true).max_tokens(4).sampling(sampling)
            })
            .collect()
    };
    assert_eq!(replies(&mut on, requests()), replies(&mut off, requests()));
}
