//! Benchmarks: how fast a loaded model computes prompts and replies.
//!
//! Tokens are random, so that the router picks experts as evenly as for random text. All settings and the device's limits are
//! sampled in turns, round by round, so that whatever disturbs the machine affects all of them alike.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::{Engine, Finish, GenerateOptions, Generation, LogitProcessor, Request, Sampling, Usage};
use weft_random::Random;

use crate::OnProgress;
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
    /// Samples of each setting, after a warm-up round.
    pub repeat: usize,
}

impl BenchOptions {
    /// The context that the engine must have room for, in tokens.
    pub fn context(&self) -> usize {
        let deepest = self.depths.last().copied().unwrap_or(0);
        // A reply without depth has a prompt of one token.
        deepest.saturating_add(self.prefill).max(deepest.max(1).saturating_add(self.decode))
    }

    /// Tokens computed in all.
    fn tokens(&self) -> u64 {
        let replies = self.parallel.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
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
            let Setting { phase, depth, sequences, tokens, rates, need } = setting;
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
    let BenchOptions { prefill: prompt, decode: reply, .. } = *options;
    let per_token = PerToken::of(engine.inspect());
    let mut settings = Vec::new();
    if prompt > 0 {
        let need = prefill(engine.inspect(), prompt);
        settings
            .extend(options.depths.iter().map(|&depth| Setting::new(Phase::Prefill, depth, prompt, need)));
    }
    if reply > 0 {
        for &depth in &options.depths {
            settings.extend(options.parallel.iter().map(|&sequences| {
                let need = decode_together(engine.inspect(), depth, reply, sequences);
                Setting { sequences, ..Setting::new(Phase::Decode, depth, reply, need) }
            }));
        }
    }
    let threads = NonZeroUsize::new(engine.device().threads).unwrap_or(NonZeroUsize::MIN);
    let mut roofs = Roofs::new(threads);
    let mut run = Run {
        engine,
        random: Random::new(0),
        before: Vec::new(),
        cancel,
        progress: (0, options.tokens()),
        on,
    };
    run.all(options, &mut settings, &mut |engine| {
        meter.sample(
            engine.inspect_mut().device_mut(),
            &mut roofs,
            &[Roof::Read, Roof::ReadInOrder, Roof::Dot],
        )
    })?;
    Ok(Bench { host: Host::this(), roofs, per_token, settings })
}

impl Setting {
    fn new(phase: Phase, depth: usize, tokens: usize, need: Need) -> Setting {
        Setting { phase, depth, sequences: 1, tokens, rates: Samples::new(), need }
    }
}

/// A benchmark in progress.
struct Run<'a> {
    engine: &'a mut Engine,
    random: Random,
    /// The tokens in the cache at the greatest depth; smaller depths use their beginning.
    before: Vec<u32>,
    cancel: &'a AtomicBool,
    /// Tokens computed, and their total.
    progress: (u64, u64),
    on: OnProgress<'a>,
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

impl Run<'_> {
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
                    let (tokens, seconds) = self.sample(setting)?;
                    if round > 0 {
                        setting.rates.push(tokens as f64 / seconds);
                    }
                    self.tell(setting.sequences * setting.tokens);
                }
            }
        }
        Ok(())
    }

    /// Takes a sample of a setting, with random tokens. Returns the number of tokens computed and the seconds.
    fn sample(&mut self, setting: &Setting) -> Result<(usize, f64), Error> {
        let &Setting { phase, depth, sequences, tokens, .. } = setting;
        match phase {
            Phase::Prefill => self.sample_prefill(depth, tokens),
            Phase::Decode => self.sample_decode(depth, tokens, sequences),
        }
    }

    /// Computes a prompt of `tokens` tokens after `depth` others.
    fn sample_prefill(&mut self, depth: usize, tokens: usize) -> Result<(usize, f64), Error> {
        // Earlier samples may have taken some of their pages.
        self.fill(depth)?;
        let mut prompt = self.before[..depth].to_vec();
        prompt.extend((0..tokens).map(|_| self.token()));
        let generation = [self.push(prompt, 1)?];
        let started = Instant::now();
        self.step_until(&generation, |usage| usage.tokens > 0)?;
        Ok((tokens, started.elapsed().as_secs_f64()))
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
        let started = Instant::now();
        for _ in 0..tokens {
            self.step()?;
            // If prompts took several steps, the first reply can fill its context before the last has all its tokens.
            if generations.iter().any(|one| one.finish().is_some()) {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
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
        self.random.below(self.engine.model().graph().config.vocab) as u32
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
pub(crate) mod tests {
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};

    use weft_cpu::{CpuProbe, Isa};
    use weft_device::Probe;
    use weft_engine::EngineOptions;
    use weft_engine::inspect::Runner;

    use super::*;

    fn fixture() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf")
    }

    fn small(context: usize, sequences: usize) -> EngineOptions {
        // Prompts are longer than a batch, so that they take several steps.
        EngineOptions::default().threads(2).context(context).sequences(sequences).batch(4)
    }

    /// A tiny model with room for `sequences` sequences of `context` tokens.
    pub(crate) fn runner(context: usize, sequences: usize) -> Runner {
        let report = &mut |_| ControlFlow::Continue(());
        Runner::load(&fixture(), &small(context, sequences), report).unwrap()
    }

    /// A meter that reads little, since tests need no accurate figures.
    fn meter() -> Meter {
        Meter::from(Box::new(CpuProbe::new(Isa::best(), 1 << 20).unwrap()) as Box<dyn Probe>)
    }

    fn options() -> BenchOptions {
        let depths = [9, 0].into();
        BenchOptions { prefill: 6, decode: 3, depths, parallel: [1].into(), repeat: 2 }
    }

    #[test]
    fn every_phase_is_sampled_at_every_depth() {
        let options = options();
        let mut engine = small(options.context(), 1).open(fixture()).unwrap();
        let mut told = Vec::new();
        let bench =
            bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |done, total| {
                told.push((done, total));
            });
        let bench = bench.unwrap();
        let found: Vec<_> = bench.settings.iter().map(|s| (s.phase, s.depth, s.tokens)).collect();
        use Phase::{Decode, Prefill};
        assert_eq!(found, [(Prefill, 0, 6), (Prefill, 9, 6), (Decode, 0, 3), (Decode, 9, 3)]);
        for setting in &bench.settings {
            assert_eq!(setting.rates.all().len(), 2);
            let share = bench.share(setting);
            assert!(share.is_finite() && share > 0.0, "{setting:?}");
        }
        let [shallow, deep] = [2, 3].map(|i| bench.settings[i].need.amount);
        assert_eq!(deep - shallow, 3.0 * 9.0 * bench.per_token.kv_bytes as f64);
        // One for each depth in each round after the warm-up.
        for roof in [Roof::Read, Roof::ReadInOrder, Roof::Dot] {
            assert_eq!(bench.roofs.of(roof).all().len(), 4, "{roof:?}");
        }
        assert_eq!(told.first(), Some(&(0, 63)));
        assert_eq!(told.last(), Some(&(9 + 2 * 3 * (6 + 3), 63)));
        assert!(told.is_sorted());
    }

    #[test]
    fn samples_count_only_the_tokens_they_time() {
        // Depths that end within pages, and so many that the cache cannot keep all.
        let depths: BTreeSet<usize> = [0, 9, 40, 70, 100].into();
        let options = BenchOptions { prefill: 33, decode: 40, depths, parallel: [1, 3].into(), repeat: 1 };
        let mut engine = small(options.context(), 3).batch(64).open(fixture()).unwrap();
        let cancel = AtomicBool::new(false);
        let mut run = Run {
            engine: &mut engine,
            random: Random::new(0),
            before: Vec::new(),
            cancel: &cancel,
            progress: (0, 0),
            on: &mut |_, _| {},
        };
        run.before = (0..100).map(|_| run.token()).collect();
        for round in 0..2 {
            for &depth in &options.depths {
                assert_eq!(run.sample_prefill(depth, 33).unwrap().0, 33);
                for sequences in [1, 3] {
                    let (tokens, _) = run.sample_decode(depth, 40, sequences).unwrap();
                    // Three prompts may take two steps, in which the first replies get ahead.
                    let expected = 40 * sequences - 2 * (sequences - 1)..=40 * sequences;
                    assert!(expected.contains(&tokens), "{tokens} at {depth} in round {round}");
                }
            }
        }
    }

    #[test]
    fn a_share_is_the_rate_divided_by_the_limit() {
        let mut roofs = Roofs::new(NonZeroUsize::new(2).unwrap());
        roofs.read = [29e9, 30e9, 31e9].into_iter().collect();
        roofs.dot.push(256e9);
        let rates = |samples: [f64; 3]| samples.into_iter().collect();
        let decode = Setting {
            rates: rates([4.0, 3.0, 40.0]),
            ..Setting::new(Phase::Decode, 100, 10, Need { roof: Roof::Read, amount: 37.5e9 })
        };
        let prefill = Setting {
            rates: rates([10.0, 20.0, 30.0]),
            ..Setting::new(Phase::Prefill, 0, 512, Need { roof: Roof::Dot, amount: 2.0 * 512e9 })
        };
        let per_token = PerToken { weight_bytes: 3_000_000_000, kv_bytes: 7, multiplications: 2_000_000_000 };
        let bench = Bench { host: Host::this(), roofs, per_token, settings: vec![decode, prefill] };
        let shares: Vec<f64> = bench.settings.iter().map(|s| bench.share(s)).collect();
        assert_eq!(shares, [0.5, 0.15625]);
        let json = bench.json();
        assert_eq!(
            json["settings"][0],
            json!({
                "phase": "decode",
                "depth": 100,
                "tokens": 10,
                "tokens_per_second": { "median": 4.0, "min": 3.0, "max": 40.0, "samples": [4.0, 3.0, 40.0] },
                "needs": { "bytes": 37.5e9 },
                "limit_tokens_per_second": 8.0,
                "share_of_limit": 0.5,
            })
        );
        assert_eq!(json["settings"][1]["needs"], json!({ "multiplications": 1024e9 }));
        assert_eq!(json["roofs"]["read_bytes_per_second"]["median"], 30e9);
        assert_eq!(json["roofs"].get("mul_add_multiplications_per_second"), None, "it is not measured");
        assert_eq!(json["per_token"]["kv_bytes_per_token_before"], 7);
    }

    #[test]
    fn prefill_has_no_limit_if_only_the_bandwidth_is_known() {
        let mut roofs = Roofs::new(NonZeroUsize::MIN);
        roofs.read.push(30e9);
        let setting = |phase, roof| Setting {
            rates: [4.0].into_iter().collect(),
            ..Setting::new(phase, 0, 10, Need { roof, amount: 37.5e9 })
        };
        let settings = vec![setting(Phase::Decode, Roof::Read), setting(Phase::Prefill, Roof::Dot)];
        let per_token = PerToken { weight_bytes: 1, kv_bytes: 1, multiplications: 1 };
        let json = Bench { host: Host::this(), roofs, per_token, settings }.json();
        let of = |i: usize| {
            (&json["settings"][i]["limit_tokens_per_second"], &json["settings"][i]["share_of_limit"])
        };
        assert_eq!(of(0), (&json!(8.0), &json!(0.5)));
        assert_eq!(of(1), (&Value::Null, &Value::Null));
        let roofs = json["roofs"].as_object().unwrap();
        assert_eq!(roofs.keys().collect::<Vec<_>>(), ["threads", "read_bytes_per_second"]);
    }

    #[test]
    fn each_number_of_parallel_replies_is_a_setting() {
        let options = BenchOptions { prefill: 0, depths: [9].into(), parallel: [1, 3].into(), ..options() };
        assert_eq!(options.tokens(), 9 + 3 * (3 + 3 * 3));
        let mut engine = small(options.context(), 3).open(fixture()).unwrap();
        let cancel = AtomicBool::new(false);
        let mut last = 0;
        let bench = bench(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| last = done).unwrap();
        let found: Vec<_> =
            bench.settings.iter().map(|s| (s.sequences, s.tokens, s.rates.all().len())).collect();
        assert_eq!((found.as_slice(), last), (&[(1, 3, 2), (3, 3, 2)][..], options.tokens()));
        let json = bench.json();
        assert_eq!(
            [&json["settings"][0]["sequences"], &json["settings"][1]["sequences"]],
            [&Value::Null, &json!(3)]
        );
        assert_eq!(engine.stats().pages_held, 0);
    }

    #[test]
    fn a_phase_without_tokens_is_not_measured() {
        let options = BenchOptions { decode: 0, depths: [5].into(), ..options() };
        assert_eq!((options.context(), options.tokens()), (11, 5 + 3 * 6));
        let mut engine = small(options.context(), 1).open(fixture()).unwrap();
        let bench =
            bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
        assert_eq!(bench.settings.iter().map(|s| s.phase).collect::<Vec<_>>(), [Phase::Prefill]);
    }

    #[test]
    fn the_engine_is_usable_after_a_cancellation() {
        let options = BenchOptions { repeat: 1_000_000, ..options() };
        let mut engine = small(options.context(), 1).open(fixture()).unwrap();
        // If a generation were left behind, the next one would wait for its pages.
        for _ in 0..3 {
            let cancel = AtomicBool::new(false);
            let ended = bench(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| {
                cancel.store(done > 20, Ordering::Relaxed);
            });
            assert!(matches!(ended, Err(Error::Interrupted)));
        }
    }

    #[test]
    fn a_context_that_is_too_short_is_an_error() {
        let options = options();
        let mut engine = small(options.context() - 1, 1).open(fixture()).unwrap();
        let ended = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {});
        assert!(matches!(ended, Err(Error::Engine(weft_engine::Error::Context { .. }))), "{ended:?}");
    }
}
