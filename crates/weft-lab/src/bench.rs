//! How fast a loaded model reads prompts and writes replies.
//!
//! Tokens are drawn from the vocabulary, so that experts are picked as evenly as a random text has them picked. Everything is sampled in
//! turns, round by round: what comes over the machine meanwhile comes over all settings, and over the roofs that they are held against.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use weft_device::Roof;
use weft_engine::{Engine, Finish, GenerateOptions, LogitProcessor, Request, Sampling};
use weft_random::Random;

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::need::{Need, PerToken, decode_together, prefill};
use crate::roofs::Roofs;
use crate::samples::Samples;

/// What is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BenchOptions {
    /// Tokens of a prompt; 0 for none.
    pub prefill: usize,
    /// Tokens of a reply; 0 for none.
    pub decode: usize,
    /// How many tokens are in the cache before either.
    pub depths: BTreeSet<usize>,
    /// How many replies are computed at once; each number is measured by itself.
    pub parallel: BTreeSet<usize>,
    /// Samples of everything, after one round that does not count.
    pub repeat: usize,
}

impl BenchOptions {
    /// Tokens of a sequence that the engine must have room for.
    pub fn context(&self) -> usize {
        let deepest = self.depths.last().copied().unwrap_or(0);
        deepest.saturating_add(self.prefill.max(self.decode))
    }

    /// Tokens that are computed in all.
    fn tokens(&self) -> u64 {
        let replies = self.parallel.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
        let tokens = self.decode.saturating_mul(replies).saturating_add(self.prefill) as u64;
        let each = (self.repeat as u64).saturating_add(1).saturating_mul(tokens);
        let deepest = self.depths.last().map_or(0, |&depth| depth as u64);
        each.saturating_mul(self.depths.len() as u64).saturating_add(deepest)
    }
}

/// What was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Bench {
    /// The machine.
    pub host: Host,
    /// What the device could do meanwhile. Of `f32` there are no samples: no limit is made of them.
    pub roofs: Roofs,
    /// What the model takes.
    pub per_token: PerToken,
    /// Every phase at every depth.
    pub settings: Vec<Setting>,
}

/// Something that is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// What is computed.
    pub phase: Phase,
    /// How many tokens are in the cache before it.
    pub depth: usize,
    /// How many sequences are computed at once.
    pub sequences: usize,
    /// How many tokens each of them has.
    pub tokens: usize,
    /// Tokens a second.
    pub rates: Samples,
    /// What it needs at least. A prompt's attention is left out.
    pub need: Need,
}

/// How tokens are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// As many at once as the engine takes, for the logits of the last: a prompt.
    Prefill,
    /// One after another, each for its logits: a reply.
    Decode,
}

impl Phase {
    /// For people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}

impl Bench {
    /// Tokens a second that the device could do at most, if only what the setting needs took time; NaN if that is not known.
    pub fn limit(&self, setting: &Setting) -> f64 {
        setting.need.limit(setting.sequences * setting.tokens, &self.roofs)
    }

    /// How much of the limit is reached, 1 being all; NaN if that is not known.
    pub fn share(&self, setting: &Setting) -> f64 {
        setting.rates.median() / self.limit(setting)
    }

    /// All of it, for programs.
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
            // Runs of one at a time are known by the same names as before several could be measured.
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

/// Measures a model, and its device with `meter`. `on` is told between samples how many tokens are computed; `cancel` is looked at before every step.
///
/// # Errors
/// If the engine has no room for it or a step fails; [`Error::Interrupted`] if it was cancelled.
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

/// A model being measured.
struct Run<'a> {
    engine: &'a mut Engine,
    random: Random,
    /// What is in the cache before everything that is measured; of a smaller depth it is the beginning.
    before: Vec<u32>,
    cancel: &'a AtomicBool,
    /// Tokens computed, of all.
    progress: (u64, u64),
    on: OnProgress<'a>,
}

/// A reply that was decided before: its tokens are chosen whatever the model says.
struct Decided(Vec<u32>);

impl LogitProcessor for Decided {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        let token = self.0.get(tokens.len() - reply);
        if let Some(logit) = token.and_then(|token| logits.get_mut(*token as usize)) {
            *logit = f32::INFINITY;
        }
        Ok(())
    }
}

impl Run<'_> {
    /// Fills the cache and takes all samples, those of the device before those of each depth.
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
            self.generate(vec![(self.before.clone(), Vec::new())])?;
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

    /// Computes what a setting says, with random tokens. Returns how many were computed and how long it took.
    fn sample(&mut self, setting: &Setting) -> Result<(usize, f64), Error> {
        let (new, reply) = match setting.phase {
            Phase::Prefill => (setting.tokens, 1),
            // The first token of the reply comes out of the last one of the prompt.
            Phase::Decode => (1, setting.tokens),
        };
        let sequence = |run: &mut Self| {
            let mut prompt = run.before[..setting.depth].to_vec();
            prompt.extend((0..new).map(|_| run.token()));
            (prompt, (0..reply).map(|_| run.token()).collect())
        };
        let sequences = (0..setting.sequences).map(|_| sequence(self)).collect();
        let started = Instant::now();
        let computed = self.generate(sequences)?;
        Ok((computed, started.elapsed().as_secs_f64()))
    }

    /// Answers prompts with replies that are decided, all at once, and returns how many tokens that computed: all but those that were in the
    /// cache and the last of each reply.
    fn generate(&mut self, sequences: Vec<(Vec<u32>, Vec<u32>)>) -> Result<usize, Error> {
        let mut generations = Vec::with_capacity(sequences.len());
        for (prompt, reply) in sequences {
            let mut options = GenerateOptions::default();
            options.max_tokens = Some(reply.len());
            options.sampling = Sampling::greedy();
            options.ignore_end = true;
            let request = Request::new(prompt).options(options).processor(Decided(reply));
            generations.push(self.engine.push(request)?);
        }
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.engine.step()?;
            if generations.iter().all(|generation| generation.finish().is_some()) {
                break;
            }
        }
        let computed = generations.iter().map(|generation| match generation.finish() {
            Some(Finish::Failed(why)) => Err(weft_engine::Error::Batch(why).into()),
            _ => {
                let usage = generation.usage();
                Ok(usage.prompt_tokens - usage.cached_tokens + usage.tokens.saturating_sub(1))
            }
        });
        computed.sum()
    }

    /// A token of the vocabulary: the same ones each time.
    fn token(&mut self) -> u32 {
        self.random.below(self.engine.model().graph().config.vocab) as u32
    }

    fn tell(&mut self, tokens: usize) {
        self.progress.0 += tokens as u64;
        (self.on)(self.progress.0, self.progress.1);
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
        // A batch is less than the prompts below, so that they take several steps.
        EngineOptions::default().threads(2).context(context).sequences(sequences).batch(4)
    }

    /// A tiny model.
    pub(crate) fn engine(context: usize, sequences: usize) -> Runner {
        let report = &mut |_| ControlFlow::Continue(());
        Runner::load(&fixture(), &small(context, sequences), report).unwrap()
    }

    /// One with next to nothing to read, for tests, which ask for no true figures.
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
        // For each depth in each round that counts.
        for roof in [Roof::Read, Roof::ReadInOrder, Roof::Dot] {
            assert_eq!(bench.roofs.of(roof).all().len(), 4, "{roof:?}");
        }
        assert_eq!(told.first(), Some(&(0, 63)));
        assert_eq!(told.last(), Some(&(9 + 2 * 3 * (6 + 3), 63)));
        assert!(told.is_sorted());
    }

    #[test]
    fn a_share_is_the_rate_over_the_limit() {
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
    fn what_multiplies_has_no_limit_where_only_reading_is_known() {
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
    fn replies_at_once_are_settings_of_their_own() {
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
    fn what_is_not_wanted_is_not_measured() {
        let options = BenchOptions { decode: 0, depths: [5].into(), ..options() };
        assert_eq!((options.context(), options.tokens()), (11, 5 + 3 * 6));
        let mut engine = small(options.context(), 1).open(fixture()).unwrap();
        let bench =
            bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
        assert_eq!(bench.settings.iter().map(|s| s.phase).collect::<Vec<_>>(), [Phase::Prefill]);
    }

    #[test]
    fn whoever_cancels_gets_the_engine_back() {
        let options = BenchOptions { repeat: 1_000_000, ..options() };
        let mut engine = small(options.context(), 1).open(fixture()).unwrap();
        // If a generation were left behind, the next would wait for its room.
        for _ in 0..3 {
            let cancel = AtomicBool::new(false);
            let ended = bench(&mut engine, &mut meter(), &options, &cancel, &mut |done, _| {
                cancel.store(done > 20, Ordering::Relaxed);
            });
            assert!(matches!(ended, Err(Error::Interrupted)));
        }
    }

    #[test]
    fn an_engine_without_room_is_an_error() {
        let options = options();
        let mut engine = small(options.context() - 1, 1).open(fixture()).unwrap();
        let ended = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {});
        assert!(matches!(ended, Err(Error::Engine(weft_engine::Error::Context { .. }))), "{ended:?}");
    }
}
