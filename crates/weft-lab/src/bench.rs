//! How fast a loaded model reads prompts and writes replies.
//!
//! Tokens are drawn from the vocabulary, so that experts are picked as evenly as a random text has them picked. Everything is sampled in
//! turns, round by round: what comes over the machine meanwhile comes over all settings, and over the roofs that they are held against.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use weft_cpu::Roof;
use weft_engine::{Batch, Engine, SeqId, Switches};
use weft_random::Random;

use crate::OnProgress;
use crate::error::Error;
use crate::host::Host;
use crate::meter::Meter;
use crate::need::{Need, PerToken, prefill};
use crate::roofline::Roofs;
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
    /// Samples of everything, after one round that does not count.
    pub repeat: usize,
    /// The decisions that the engine was loaded with.
    pub switches: Switches,
}

impl BenchOptions {
    /// Tokens of a sequence that the engine must have room for. It must have one for each depth.
    pub fn context(&self) -> usize {
        let deepest = self.depths.last().copied().unwrap_or(0);
        deepest.saturating_add(self.prefill.max(self.decode))
    }

    /// Tokens that are computed in all.
    fn tokens(&self) -> u64 {
        let each = (self.repeat as u64).saturating_add(1).saturating_mul((self.prefill + self.decode) as u64);
        self.depths.iter().fold(0, |sum: u64, &depth| sum.saturating_add(depth as u64).saturating_add(each))
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
    /// How many tokens it has.
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
        setting.need.limit(setting.tokens, &self.roofs)
    }

    /// How much of the limit is reached, 1 being all; NaN if that is not known.
    pub fn share(&self, setting: &Setting) -> f64 {
        setting.rates.median() / self.limit(setting)
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let setting = |setting: &Setting| {
            let Setting { phase, depth, tokens, rates, need } = setting;
            let unit = match need.roof {
                Roof::Read | Roof::ReadInOrder => "bytes",
                Roof::Dot | Roof::MulAdd => "multiplications",
            };
            json!({
                "phase": phase.name(),
                "depth": depth,
                "tokens": tokens,
                "tokens_per_second": rates.json(),
                "needs": { unit: need.amount },
                "limit_tokens_per_second": self.limit(setting),
                "share_of_limit": self.share(setting),
            })
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
    let per_token = PerToken::of(engine, &options.switches)?;
    let mut settings = Vec::new();
    if prompt > 0 {
        let need = prefill(engine, &options.switches, prompt)?;
        settings
            .extend(options.depths.iter().map(|&depth| Setting::new(Phase::Prefill, depth, prompt, need)));
    }
    if reply > 0 {
        let need = |depth| per_token.decode(depth, reply);
        let setting = |&depth| Setting::new(Phase::Decode, depth, reply, need(depth));
        settings.extend(options.depths.iter().map(setting));
    }
    let threads = NonZeroUsize::new(engine.device().threads).unwrap_or(NonZeroUsize::MIN);
    let mut roofs = Roofs::new(threads);
    let depths: Vec<_> = options.depths.iter().map(|&depth| (depth, engine.new_sequence())).collect();
    let mut run = Run {
        engine,
        random: Random::new(0),
        batch: Batch::new(),
        cancel,
        progress: (0, options.tokens()),
        on,
    };
    let measured = run.all(&depths, options.repeat, &mut settings, &mut |engine| {
        meter.sample(engine, &mut roofs, &[Roof::Read, Roof::ReadInOrder, Roof::Dot])
    });
    depths.iter().for_each(|(_, seq)| run.engine.free(*seq));
    measured?;
    Ok(Bench { host: Host::this(), roofs, per_token, settings })
}

impl Setting {
    fn new(phase: Phase, depth: usize, tokens: usize, need: Need) -> Setting {
        Setting { phase, depth, tokens, rates: Samples::new(), need }
    }
}

/// A model being measured.
struct Run<'a> {
    engine: &'a mut Engine,
    random: Random,
    batch: Batch,
    cancel: &'a AtomicBool,
    /// Tokens computed, of all.
    progress: (u64, u64),
    on: OnProgress<'a>,
}

impl Run<'_> {
    /// Fills the cache and takes all samples, those of the device before those of each depth.
    fn all(
        &mut self,
        depths: &[(usize, SeqId)],
        repeat: usize,
        settings: &mut [Setting],
        device: &mut dyn FnMut(&mut Engine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let batch = self.engine.batch();
        self.tell(0);
        for &(depth, seq) in depths {
            for begin in (0..depth).step_by(batch) {
                self.compute(seq, batch.min(depth - begin), Phase::Prefill)?;
                self.tell(batch.min(depth - begin));
            }
        }
        for round in 0..=repeat {
            for &(depth, seq) in depths {
                if round > 0 {
                    device(self.engine)?;
                }
                for setting in settings.iter_mut().filter(|setting| setting.depth == depth) {
                    let started = Instant::now();
                    self.compute(seq, setting.tokens, setting.phase)?;
                    let seconds = started.elapsed().as_secs_f64();
                    if round > 0 {
                        setting.rates.push(setting.tokens as f64 / seconds);
                    }
                    self.engine.truncate(seq, depth);
                    self.tell(setting.tokens);
                }
            }
        }
        Ok(())
    }

    /// Computes `tokens` tokens at the end of a sequence.
    fn compute(&mut self, seq: SeqId, tokens: usize, phase: Phase) -> Result<(), Error> {
        let at_once = match phase {
            Phase::Prefill => self.engine.batch(),
            Phase::Decode => 1,
        };
        let mut done = 0;
        while done < tokens {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            self.batch.clear();
            for _ in 0..at_once.min(tokens - done) {
                done += 1;
                let token = self.token();
                self.batch.push(seq, token, phase == Phase::Decode || done == tokens);
            }
            self.engine.step(&self.batch)?;
        }
        Ok(())
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
    use std::path::Path;

    use weft_cpu::Probe;
    use weft_engine::EngineOptions;

    use super::*;

    /// A tiny model.
    pub(crate) fn engine(context: usize, sequences: usize) -> Engine {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/glm-tiny-q4_0.gguf");
        let (threads, context) = (Some(2), Some(context));
        // Less than the prompts below, so that they take several steps.
        let options = EngineOptions { threads, context, sequences, batch: 4, ..EngineOptions::default() };
        Engine::load(&fixture, &options, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// One with next to nothing to read, for tests, which ask for no true figures.
    fn meter() -> Meter {
        Probe::new(Host::this().isa, 1 << 20).unwrap().into()
    }

    fn options() -> BenchOptions {
        let depths = [9, 0].into();
        BenchOptions { prefill: 6, decode: 3, depths, repeat: 2, switches: Switches::default() }
    }

    #[test]
    fn every_phase_is_sampled_at_every_depth() {
        let options = options();
        let mut engine = engine(options.context(), options.depths.len());
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
    fn what_is_not_wanted_is_not_measured() {
        let options = BenchOptions { decode: 0, depths: [5].into(), ..options() };
        assert_eq!((options.context(), options.tokens()), (11, 5 + 3 * 6));
        let mut engine = engine(options.context(), 1);
        let bench =
            bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
        assert_eq!(bench.settings.iter().map(|s| s.phase).collect::<Vec<_>>(), [Phase::Prefill]);
    }

    #[test]
    fn whoever_cancels_gets_the_engine_back() {
        let options = BenchOptions { repeat: 1_000_000, ..options() };
        let mut engine = engine(options.context(), options.depths.len());
        // If a sequence were left behind, the second would find no room.
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
        let mut engine = engine(options.context() - 1, options.depths.len());
        let ended = bench(&mut engine, &mut meter(), &options, &AtomicBool::new(false), &mut |_, _| {});
        assert!(matches!(ended, Err(Error::Engine(weft_engine::Error::Context { .. }))), "{ended:?}");
    }
}
