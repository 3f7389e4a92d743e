//! Benchmarks: how fast a loaded model computes prompts and replies.
//!
//! Tokens are random, so that the router picks experts as evenly as for random text. What is in the cache
//! before a sample is computed, and has ended, before its clock starts: a sample has the tokens that it names
//! and no others. All settings and the device's limits are sampled in turns, round by round, so that whatever
//! disturbs the machine affects all of them alike.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::inspect::{Batch, SeqId};
use weft_engine::{
    Ask, Crossings, Drafter, Engine, Finish, GenerateOptions, Generation, LogitProcessor, Request, Sampling,
    SlotUse, Speculate, Usage,
};
use weft_random::Random;

use crate::OnProgress;
use crate::clock::Now;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::need::{Need, PerToken, decode_together, prefill};
use crate::roofs::Roofs;
use crate::samples::Samples;

/// Options of a benchmark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BenchOptions {
    /// Tokens of a prompt; 0 to measure none.
    pub prefill: usize,
    /// Tokens of a reply; 0 to measure none.
    pub decode: usize,
    /// Tokens in the cache before either; each depth is measured.
    pub depths: BTreeSet<usize>,
    /// Replies computed at once; each number is measured.
    pub parallel: BTreeSet<usize>,
    /// Wrong guesses computed with each token of a reply; each number is measured.
    pub guesses: BTreeSet<usize>,
    /// The source of guesses where that number is 0. The engine must have been opened with it.
    pub speculate: Speculate,
    /// Samples of each setting, after a warm-up round.
    pub repeat: usize,
    /// The tokens that are drawn from, at most: the fewer, the more often experts are chosen again.
    pub vocabulary: usize,
}

impl BenchOptions {
    /// The context that the engine must have room for, in tokens.
    pub fn context(&self) -> usize {
        let deepest = self.depths.last().copied().unwrap_or(0);
        // At depth 0, a reply has a prompt of one token. Guesses need room after the last token.
        let reply = self.decode.saturating_add(self.guesses.last().copied().unwrap_or(0));
        deepest.saturating_add(self.prefill).max(deepest.max(1).saturating_add(reply))
    }

    /// Tokens computed in all.
    fn tokens(&self) -> u64 {
        let replies = self.parallel.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
        let replies = replies.saturating_mul(self.guesses.len());
        let tokens = self.decode.saturating_mul(replies).saturating_add(self.prefill) as u64;
        let each = (self.repeat as u64).saturating_add(1).saturating_mul(tokens);
        let deepest = self.depths.last().map_or(0, |&depth| depth as u64);
        each.saturating_mul(self.depths.len() as u64).saturating_add(deepest)
    }
}

/// The results of a benchmark.
#[derive(Clone, PartialEq, Debug)]
pub struct Bench {
    /// The machine.
    pub host: Host,
    /// The device's limits, measured in the same rounds. `f32` arithmetic is not measured: no setting is limited by it.
    pub roofs: Roofs,
    /// The cost of a token.
    pub per_token: PerToken,
    /// The settings that were measured: each phase at each depth.
    pub settings: Vec<Setting>,
}

/// A phase at one depth, and how fast it was.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The phase.
    pub phase: Phase,
    /// Tokens in the cache before it.
    pub depth: usize,
    /// Sequences computed at once.
    pub sequences: usize,
    /// Tokens of each sequence.
    pub tokens: usize,
    /// Wrong guesses computed with each token of a reply; 0 if they were left to the engine.
    pub guesses: usize,
    /// Steps of replies, and the tokens guessed in them that were computed and that were right.
    pub speculation: [u64; 3],
    /// How often the experts that tokens chose were in slots of the device.
    pub slots: SlotUse,
    /// What two devices did together.
    pub crossings: Crossings,
    /// Tokens per second.
    pub rates: Samples,
    /// An estimate of the least that it needs, without a prompt's attention. Replies decoded together are counted as if no two chose the
    /// same expert, and as if each had a cache of its own.
    pub need: Need,
}

/// How tokens are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// A prompt: as many tokens a step as the engine takes, with logits for the last one.
    Prefill,
    /// A reply: one token a step, each with logits.
    Decode,
}

impl Phase {
    /// Its name, in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}

impl Bench {
    /// The roofline limit of a setting in tokens per second; NaN if it is not known.
    pub fn limit(&self, setting: &Setting) -> f64 {
        setting.need.limit(setting.sequences * setting.tokens, &self.roofs)
    }

    /// The fraction of the limit that was reached; NaN if it is not known.
    pub fn share(&self, setting: &Setting) -> f64 {
        setting.rates.median() / self.limit(setting)
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let setting = |setting: &Setting| {
            let Setting {
                phase,
                depth,
                sequences,
                tokens,
                guesses,
                speculation,
                slots,
                crossings,
                rates,
                need,
            } = setting;
            let unit = match need.roof {
                Roof::Read | Roof::ReadInOrder => "bytes",
                Roof::Dot | Roof::MulAdd => "multiplications",
            };
            let mut json = json!({
                "phase": phase.name(),
                "depth": depth,
                "tokens": tokens,
                "tokens_per_second": rates.json(),
                "needs": { unit: need.amount },
                "limit_tokens_per_second": self.limit(setting),
                "share_of_limit": self.share(setting),
            });
            // Omitted for a single sequence, so that results can be compared with older ones.
            if *sequences > 1 {
                json["sequences"] = json!(sequences);
            }
            let [steps, guessed, accepted] = speculation;
            if *guessed > 0 {
                json["wrong_guesses"] = json!(guesses);
                json["steps"] = json!(steps);
                json["guessed_tokens"] = json!(guessed);
                json["accepted_tokens"] = json!(accepted);
            }
            if slots.chosen > 0 {
                let SlotUse { chosen, found, copied } = slots;
                json["experts"] = json!({ "chosen": chosen, "in_slots": found, "bytes_copied": copied });
            }
            if crossings.count > 0 {
                let Crossings { count, waited, second } = crossings;
                json["crossings"] = json!({
                    "count": count,
                    "waited_seconds": waited.as_secs_f64(),
                    "second_device_seconds": second.as_secs_f64(),
                });
            }
            json
        };
        json!({
            "machine": self.host.json(),
            "roofs": self.roofs.json(),
            "per_token": self.per_token.json(),
            "settings": self.settings.iter().map(setting).collect::<Value>(),
        })
    }
}

/// Measures a model's speed, and its device's limits with `meter`. `on` is called between samples with the number of tokens computed;
/// `cancel` is checked before every step.
///
/// # Errors
/// If the engine's context is too short or a step fails; [`Error::Interrupted`] if it was cancelled.
pub fn bench(
    engine: &mut Engine,
    meter: &mut Meter,
    options: &BenchOptions,
    cancel: &AtomicBool,
    on: OnProgress<'_>,
) -> Result<Bench, Error> {
    let per_token = PerToken::of(engine.inspect());
    let mut settings = settings(engine, options);
    let threads = NonZeroUsize::new(engine.device().threads).unwrap_or(NonZeroUsize::MIN);
    let mut roofs = Roofs::new(threads);
    let begun = Instant::now();
    let now = || begun.elapsed();
    let mut run = Run::new(engine, options, &now, cancel, on);
    run.all(options, &mut settings, &mut |engine| {
        meter.sample(
            engine.inspect_mut().device_mut(),
            &mut roofs,
            &[Roof::Read, Roof::ReadInOrder, Roof::Dot],
        )
    })?;
    Ok(Bench { host: Host::this(), roofs, per_token, settings })
}

/// The measurements: each phase at each depth.
fn settings(engine: &Engine, options: &BenchOptions) -> Vec<Setting> {
    let BenchOptions { prefill: prompt, decode: reply, .. } = *options;
    let mut settings = Vec::new();
    if prompt > 0 {
        let need = prefill(engine.inspect(), prompt);
        settings
            .extend(options.depths.iter().map(|&depth| Setting::new(Phase::Prefill, depth, prompt, need)));
    }
    if reply > 0 {
        for &depth in &options.depths {
            for &sequences in &options.parallel {
                let need = decode_together(engine.inspect(), depth, reply, sequences);
                let setting = Setting { sequences, ..Setting::new(Phase::Decode, depth, reply, need) };
                settings
                    .extend(options.guesses.iter().map(|&guesses| Setting { guesses, ..setting.clone() }));
            }
        }
    }
    settings
}

impl Setting {
    fn new(phase: Phase, depth: usize, tokens: usize, need: Need) -> Setting {
        Setting {
            phase,
            depth,
            sequences: 1,
            tokens,
            guesses: 0,
            speculation: [0; 3],
            slots: SlotUse::default(),
            crossings: Crossings::default(),
            rates: Samples::new(),
            need,
        }
    }
}

/// A benchmark in progress.
struct Run<'a> {
    engine: &'a mut Engine,
    random: Random,
    vocabulary: usize,
    speculate: Speculate,
    /// The number of wrong guesses that are computed now.
    guesses: Option<usize>,
    /// The tokens in the cache at the greatest depth; smaller depths use their beginning.
    before: Vec<u32>,
    now: Now<'a>,
    cancel: &'a AtomicBool,
    /// Tokens computed, and their total.
    progress: (u64, u64),
    on: OnProgress<'a>,
}

/// Guesses tokens at random.
struct Wrong {
    random: Random,
    guesses: usize,
    vocab: usize,
}

impl Drafter for Wrong {
    fn draft(&mut self, asks: &mut [Ask<'_>]) {
        let Wrong { random, guesses, vocab } = self;
        asks.iter_mut().for_each(|ask| ask.guess((0..*guesses).map(|_| random.below(*vocab) as u32)));
    }
}

/// Forces a reply to be these tokens, whatever the model predicts.
struct Decided(Vec<u32>);

impl LogitProcessor for Decided {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        let token = self.0.get(tokens.len() - reply);
        if let Some(logit) = token.and_then(|token| logits.get_mut(*token as usize)) {
            *logit = f32::INFINITY;
        }
        Ok(())
    }

    fn only(&mut self, tokens: &[u32], reply: usize) -> Option<u32> {
        self.0.get(tokens.len() - reply).copied()
    }
}

impl<'a> Run<'a> {
    fn new(
        engine: &'a mut Engine,
        options: &BenchOptions,
        now: Now<'a>,
        cancel: &'a AtomicBool,
        on: OnProgress<'a>,
    ) -> Run<'a> {
        let (random, speculate) = (Random::new(0), options.speculate.clone());
        let progress = (0, options.tokens());
        let vocabulary = options.vocabulary;
        Run {
            engine,
            random,
            vocabulary,
            speculate,
            guesses: None,
            before: Vec::new(),
            now,
            cancel,
            progress,
            on,
        }
    }

    /// Fills the cache and takes all samples. In each round, the device is sampled before the settings of each depth.
    fn all(
        &mut self,
        options: &BenchOptions,
        settings: &mut [Setting],
        device: &mut dyn FnMut(&mut Engine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.tell(0);
        let deepest = options.depths.last().copied().unwrap_or(0);
        self.before = (0..deepest).map(|_| self.token()).collect();
        if deepest > 0 {
            self.fill(deepest)?;
            self.tell(deepest);
        }
        for round in 0..=options.repeat {
            for &depth in &options.depths {
                if round > 0 {
                    device(self.engine)?;
                }
                for setting in settings.iter_mut().filter(|setting| setting.depth == depth) {
                    self.guess(setting.guesses)?;
                    let before = self.engine.stats();
                    let (tokens, seconds) = self.sample(setting)?;
                    let after = self.engine.stats();
                    if round > 0 {
                        setting.rates.push(tokens as f64 / seconds);
                        let [steps, guessed, accepted] = &mut setting.speculation;
                        *steps += after.steps - before.steps;
                        *guessed += after.speculation.guessed - before.speculation.guessed;
                        *accepted += after.speculation.accepted - before.speculation.accepted;
                        let SlotUse { chosen, found, copied } = &mut setting.slots;
                        *chosen += after.slots.chosen - before.slots.chosen;
                        *found += after.slots.found - before.slots.found;
                        *copied += after.slots.copied - before.slots.copied;
                        setting.crossings.add(after.crossings.since(before.crossings));
                    }
                    self.tell(setting.sequences * setting.tokens);
                }
            }
        }
        self.guess(0)
    }

    /// Takes a sample of a setting, with random tokens. Returns the number of tokens computed and the seconds.
    fn sample(&mut self, setting: &Setting) -> Result<(usize, f64), Error> {
        let &Setting { phase, depth, sequences, tokens, .. } = setting;
        match phase {
            Phase::Prefill => self.sample_prefill(depth, tokens),
            Phase::Decode => self.sample_decode(depth, tokens, sequences),
        }
    }

    /// Sets what guesses, unless it does already: it learns from one sample to the next.
    fn guess(&mut self, guesses: usize) -> Result<(), Error> {
        if self.guesses == Some(guesses) {
            return Ok(());
        }
        self.guesses = Some(guesses);
        let vocab = self.engine.model().graph().config.vocab;
        match guesses {
            0 => self.engine.speculate(&self.speculate)?,
            _ => self.engine.speculate_by(Wrong { random: Random::new(1), guesses, vocab }),
        }
        Ok(())
    }

    /// Computes a prompt of `tokens` tokens after `depth` others, which are in the cache and not computed
    /// here, whatever the prefix cache still has of them.
    fn sample_prefill(&mut self, depth: usize, tokens: usize) -> Result<(usize, f64), Error> {
        // Earlier samples may have taken some of their pages.
        self.fill(depth)?;
        let before = self.before[..depth].to_vec();
        let prompt: Vec<u32> = (0..tokens).map(|_| self.token()).collect();
        let seq = self.engine.begin_by_hand(&before)?;
        let sampled = self.sample_after(seq, &before, &prompt);
        self.engine.inspect_mut().free(seq);
        Ok((tokens, sampled?))
    }

    /// The seconds that a prompt takes after the tokens `before`, some of which the sequence has.
    fn sample_after(&mut self, seq: SeqId, before: &[u32], prompt: &[u32]) -> Result<f64, Error> {
        let cached = self.engine.inspect().len(seq);
        self.compute(seq, &before[cached..], false)?;
        // Steps without logits may still be running.
        self.engine.inspect_mut().device_mut().wait()?;
        let started = (self.now)();
        self.compute(seq, prompt, true)?;
        Ok(((self.now)() - started).as_secs_f64())
    }

    /// Computes tokens of a sequence, as many a step as the engine takes, with logits for the last one if
    /// they are wanted.
    fn compute(&mut self, seq: SeqId, tokens: &[u32], logits: bool) -> Result<(), Error> {
        let mut batch = Batch::new();
        let runner = self.engine.inspect_mut();
        let mut left = tokens.len();
        for step in tokens.chunks(runner.batch()) {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            batch.clear();
            for token in step {
                left -= 1;
                batch.push(seq, *token, logits && left == 0);
            }
            runner.advance(&batch)?;
        }
        Ok(())
    }

    /// Computes `tokens` tokens of `sequences` replies after `depth` others. The clock starts when all replies have begun, so that it
    /// measures nothing of prompts, whatever the cache still has of them.
    fn sample_decode(
        &mut self,
        depth: usize,
        tokens: usize,
        sequences: usize,
    ) -> Result<(usize, f64), Error> {
        let mut generations = Vec::with_capacity(sequences);
        for _ in 0..sequences {
            let first = if depth == 0 { vec![self.token()] } else { self.before[..depth].to_vec() };
            generations.push(self.push(first, self.engine.context())?);
        }
        self.step_until(&generations, |usage| usage.tokens > 0)?;
        let count = |all: &[Generation]| all.iter().map(|one| one.usage().tokens).sum::<usize>();
        let before = count(&generations);
        let started = (self.now)();
        for _ in 0..tokens {
            self.step()?;
            // If prompts took several steps, the first reply can fill its context before the last has all its tokens.
            if generations.iter().any(|one| one.finish().is_some()) {
                break;
            }
        }
        let seconds = ((self.now)() - started).as_secs_f64();
        generations.iter().try_for_each(failed)?;
        let computed = count(&generations) - before;
        drop(generations);
        // Frees their pages.
        self.step()?;
        Ok((computed, seconds))
    }

    /// Computes the first `depth` tokens of `before`, unless the prefix cache has them.
    fn fill(&mut self, depth: usize) -> Result<(), Error> {
        if depth == 0 {
            return Ok(());
        }
        let generation = [self.push(self.before[..depth].to_vec(), 0)?];
        self.step_until(&generation, |_| false)
    }

    /// Begins a reply of random tokens to a prompt.
    fn push(&mut self, prompt: Vec<u32>, reply: usize) -> Result<Generation, Error> {
        let mut options = GenerateOptions::default();
        options.max_tokens = Some(reply);
        options.sampling = Sampling::greedy();
        options.ignore_end = true;
        let decided = Decided((0..reply).map(|_| self.token()).collect());
        Ok(self.engine.push(Request::new(prompt).options(options).processor(decided))?)
    }

    /// Steps until each generation has ended or is as far as `enough` says.
    fn step_until(
        &mut self,
        generations: &[Generation],
        enough: impl Fn(Usage) -> bool,
    ) -> Result<(), Error> {
        while !generations.iter().all(|one| one.finish().is_some() || enough(one.usage())) {
            self.step()?;
        }
        generations.iter().try_for_each(failed)
    }

    /// Computes a step.
    fn step(&mut self) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.engine.step()?;
        Ok(())
    }

    /// The next random token; every run draws the same ones.
    fn token(&mut self) -> u32 {
        let vocab = self.engine.model().graph().config.vocab;
        // Spread over all of them.
        let drawn = self.vocabulary.clamp(1, vocab);
        (self.random.below(drawn) * (vocab / drawn)) as u32
    }

    fn tell(&mut self, tokens: usize) {
        self.progress.0 += tokens as u64;
        (self.on)(self.progress.0, self.progress.1);
    }
}

/// The error of a generation that failed.
fn failed(generation: &Generation) -> Result<(), Error> {
    match generation.finish() {
        Some(Finish::Failed(why)) => Err(weft_engine::Error::Batch(why.message).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
